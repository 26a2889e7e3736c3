"""Config: data outside, typed inside. `resolve()` is the door."""

from spotter.config.load import Layer, Resolved, resolve, validate
from spotter.config.models import (
    AlgoConfig,
    BudgetConfig,
    EnvConfig,
    EvalConfig,
    Expect,
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
