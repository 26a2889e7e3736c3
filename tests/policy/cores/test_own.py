"""A core of one's own, with settings of its own."""

import sys

import pytest
import torch

from spotter.config import resolve
from spotter.engines.network import choose_engine
from spotter.policy.actor_critic import Policy
from spotter.training.training import Training
from spotter.types import ActionSpec, Leaf, Spaces, UserError

LEAKY = """
    import torch
    from torch import nn

    from spotter.config import CoreConfig
    from spotter.policy.core import Core


    class Config(CoreConfig):
        decay: float = 0.5


    class Leaky(Core):
        def __init__(self, inputs, decay):
            super().__init__()
            self.features, self.decay = inputs, decay
            self.weight = nn.Parameter(torch.ones(inputs))

        def initial_state(self, count):
            return (self.weight.new_zeros(count, self.features),)

        def forward(self, x, state):
            mean = self.decay * state[0] + (1 - self.decay) * x
            return self.weight * mean, (mean,)


    def build(inputs, policy, config):
        return Leaky(inputs, config.decay)
"""
SPACES = Spaces({"obs": Leaf("vector", (3,), "float32")}, ActionSpec("discrete", (), (2,)))


@pytest.fixture(autouse=True)
def leaky(folder, monkeypatch):
    monkeypatch.syspath_prepend(".")
    folder("leaky.py", LEAKY)
    yield
    sys.modules.pop("leaky", None)


@pytest.mark.parametrize(
    ("written", "decay"),
    [("leaky", 0.5), ({"name": "leaky"}, 0.5), ({"name": "leaky", "decay": 0.9}, 0.9)],
)
def test_a_name_or_a_map_with_settings(written, decay):
    config = resolve("CartPole-v1", {"policy.core": written}).config
    assert config.as_data()["policy"]["core"] == {"name": "leaky", "decay": decay}
    policy = Policy(SPACES, config.policy)
    assert policy.memory.actor.decay == decay
    assert [part.shape for part in policy.initial_state(2)] == [(2, 64)] * 2


def test_a_run_learns_with_it():
    config = resolve(
        "CartPole-v1", ["policy.core=leaky", "policy.core.decay=0.8", "env.count=2", "algo.steps=8",
                        "algo.minibatch=8", "budget.env_steps=100"]
    ).config  # fmt: skip
    with Training(config) as training:
        before = training.policy.memory.actor.weight.detach().clone()
        training.step()
        assert not torch.equal(training.policy.memory.actor.weight, before)


def test_only_torch_computes_it():
    chosen = ["policy.core=leaky"]
    assert choose_engine(Policy(SPACES, resolve("CartPole-v1", chosen).config.policy)) == (
        "torch", "its memory is neither gru nor lstm"
    )  # fmt: skip
    config = resolve("CartPole-v1", [*chosen, "policy.engine=numpy"]).config
    with pytest.raises(UserError, match=r"its memory is neither gru nor lstm; use torch$"):
        Training(config)


def test_one_without_settings(folder):
    text = LEAKY.replace(", config):", "):").replace("config.decay", "0.25")
    folder(
        "bare.py", text[: text.index("    class Config")] + text[text.index("    class Leaky") :]
    )
    config = resolve("CartPole-v1", ["policy.core=bare"]).config
    assert config.as_data()["policy"]["core"] == {"name": "bare"}
    assert Policy(SPACES, config.policy).memory.actor.decay == 0.25
    with pytest.raises(UserError, match=r"policy.core.size is not a setting"):
        resolve("CartPole-v1", ["policy.core=bare", "policy.core.size=3"])


def test_a_module_that_is_no_core(folder):
    folder(
        "noncore.py", "from torch import nn\n\ndef build(inputs, policy):\n    return nn.Identity()"
    )
    config = resolve("CartPole-v1", ["policy.core=noncore"]).config
    with pytest.raises(UserError, match=r"noncore builds Identity, which is not made from spotter"):
        Policy(SPACES, config.policy)


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("grru", r"unknown core 'grru'; did you mean 'gru'\?"),
        ({"name": "gru", "size": 0}, r"policy.core.size should be at least 1, got 0"),
        ({"name": "lstm", "units": 3}, r"policy.core.units is not a setting"),
        ({"size": 3}, r"policy.core needs `name`; known: gru, lstm"),
        (5, r"policy.core should be a map with `name`, got 5"),
    ],
)
def test_mistakes_are_one_sentence(written, sentence):
    with pytest.raises(UserError, match=sentence):
        resolve("CartPole-v1", {"policy.core": written})


def test_a_name_and_its_settings_one_by_one():
    config = resolve("CartPole-v1", ["policy.core=gru", "policy.core.size=8"]).config
    assert config.as_data()["policy"]["core"] == {"name": "gru", "size": 8, "layers": 1}
    assert resolve("CartPole-v1", ["policy.core=null"]).config.policy.core is None
