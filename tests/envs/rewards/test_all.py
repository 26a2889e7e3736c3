"""What every signal has in common, whichever are there."""

import pytest

from spotter import plugins
from spotter.config import RewardConfig

EXAMPLES = {
    "action_reward": {"values": [0, 1]},
    "cartpole_centre": {"centre": 1},
    "doom": {"what": "kills"},
    "info": {"key": "a.b", "delta": True},
    "mario": {"what": "progress"},
    "mountain_car": {"measure": "height"},
    "state_count": {"bins": [3, 4.0], "low": [None, -1], "scope": "both", "bonus": "first"},
    "step_penalty": {"after": 1e2},
}


@pytest.mark.parametrize("source", plugins.names("signals"))
def test_configs_survive_being_saved(source):
    reward = RewardConfig(signals=[{"source": source, "weight": 0.5, **EXAMPLES[source]}])
    assert reward.signals[0].name == source
    assert RewardConfig.model_validate(reward.model_dump(mode="json")) == reward
