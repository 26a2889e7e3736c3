"""Config: data outside, typed inside. `resolve()` is the door."""

from spotter.config.layers import Layer
from spotter.config.load import Resolved, resolve, validate
from spotter.config.models import (
    AlgoConfig,
    BudgetConfig,
    EnvConfig,
    EvalConfig,
    Expect,
    FreeForm,
    PolicyConfig,
    RewardConfig,
    RunConfig,
    Settings,
    SignalConfig,
    Whole,
    WrapperConfig,
)

__all__ = [
    "AlgoConfig",
    "BudgetConfig",
    "EnvConfig",
    "EvalConfig",
    "Expect",
    "FreeForm",
    "Layer",
    "PolicyConfig",
    "Resolved",
    "RewardConfig",
    "RunConfig",
    "Settings",
    "SignalConfig",
    "Whole",
    "WrapperConfig",
    "resolve",
    "validate",
]
