"""Config: data outside, typed inside. `resolve()` is the door."""

from spotter.config.base import Settings, Whole
from spotter.config.demo import DemoConfig
from spotter.config.layers import Layer
from spotter.config.load import Resolved, changed, from_older, resolve, validate
from spotter.config.models import (
    NOT_THE_GAME,
    AlgoConfig,
    EnvConfig,
    Expect,
    LauncherConfig,
    RunConfig,
    SinkConfig,
    Work,
    WrapperConfig,
)
from spotter.config.plugin import FreeForm
from spotter.config.policy import CoreConfig, EncoderConfig, PolicyConfig
from spotter.config.rewards import CountConfig, IntrinsicConfig, RewardConfig, SignalConfig
from spotter.config.watching import (
    AlertsConfig,
    BudgetConfig,
    CheckpointConfig,
    EvalConfig,
    PlateauAction,
    PlateauConfig,
    VideoConfig,
)

__all__ = [
    "NOT_THE_GAME",
    "AlertsConfig",
    "AlgoConfig",
    "BudgetConfig",
    "CheckpointConfig",
    "CoreConfig",
    "CountConfig",
    "DemoConfig",
    "EncoderConfig",
    "EnvConfig",
    "EvalConfig",
    "Expect",
    "FreeForm",
    "IntrinsicConfig",
    "LauncherConfig",
    "Layer",
    "PlateauAction",
    "PlateauConfig",
    "PolicyConfig",
    "Resolved",
    "RewardConfig",
    "RunConfig",
    "Settings",
    "SignalConfig",
    "SinkConfig",
    "VideoConfig",
    "Whole",
    "Work",
    "WrapperConfig",
    "changed",
    "from_older",
    "resolve",
    "validate",
]
