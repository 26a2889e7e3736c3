"""The contract of a file in algos/, checked by training it for a few updates.

    from spotter.testing.algorithms import check_algorithm
    check_algorithm("my_algorithm", lr=1e-3)

Covers discrete, masked, tuple and continuous spaces of Gymnasium's own environments. Which numbers
an algorithm reports is its own matter, as long as they are declared.
"""

import math
from collections.abc import Mapping
from typing import Final

import torch

from spotter import packing, plugins
from spotter.config import RunConfig, validate
from spotter.metrics import common
from spotter.metrics.spec import Catalogue
from spotter.training.training import Training

ENVIRONMENTS: Final = {
    "CartPole-v1": {},
    "Taxi-v4": {},
    "Blackjack-v1": {},
    "Pendulum-v1": {"time_limit": 20},
}
GRADIENT_METRICS: Final = (
    "loss/policy",
    "loss/entropy",
    "loss/total",
    "policy/kl",
    "policy/approx_kl",
    "policy/clip_fraction",
    "policy/entropy",
    "value/explained_variance",
    "grad/norm",
    "net/dead_units",
)
"""What a policy gradient reports, so that the alerts and the doctor can judge it."""


def check_algorithm(name: str, **settings: object) -> None:
    """Every check of this file."""
    for env_id in ENVIRONMENTS:
        config = _config(name, env_id, settings)
        check_learns_something(config)
        check_metrics(config)
    check_repeats(_config(name, "CartPole-v1", settings))
    check_resumes(_config(name, "CartPole-v1", settings))
    check_normalizers(name, settings)


def _config(
    name: str, env_id: str, settings: Mapping[str, object], **sections: object
) -> RunConfig:
    env = {"id": env_id, "family": "gymnasium", "count": 2, **ENVIRONMENTS[env_id]}
    data = {"env": env, "algo": {"name": name, **settings}, "budget": {"env_steps": 10_000}}
    return validate(data | sections)


def check_learns_something(config: RunConfig) -> None:
    """Two updates change the weights, leave them finite, and count their steps."""
    with Training(config) as training:
        before = _weights(training)
        first, second = training.step(), training.step()
        after = _weights(training)
    assert torch.isfinite(after).all(), f"{config.algo.name} made weights infinite"
    assert not torch.equal(before, after), f"{config.algo.name} changed no weight"
    assert 0 < first.env_steps < second.env_steps
    assert not training.policy.training, "policies act in evaluation mode between updates"


def check_metrics(config: RunConfig) -> None:
    """Everything reported is declared, a number, and within the bounds it was declared with."""
    catalogue = Catalogue((*common.METRICS, *plugins.load("algos", config.algo.name).METRICS))
    with Training(config) as training:
        metrics = training.step().metrics
    for key, value in metrics.items():
        spec = catalogue.find(key)
        assert spec is not None, f"metric {key} is not declared"
        assert math.isfinite(value), f"{key} = {value}"
        assert spec.low is None or value >= spec.low - 1e-5, f"{key} = {value} is below {spec.low}"
        assert spec.high is None or value <= spec.high + 1e-5, f"{key} = {value} is too high"


def check_gradient_metrics(config: RunConfig) -> None:
    """What alerts read is there; for algorithms that follow a policy gradient."""
    with Training(config) as training:
        metrics = training.step().metrics
    missing = [key for key in GRADIENT_METRICS if key not in metrics]
    assert not missing, f"{config.algo.name} does not report {missing}"


def check_repeats(config: RunConfig) -> None:
    """The same seed gives the same weights, bit for bit."""
    runs = []
    for _ in range(2):
        with Training(config) as training:
            training.step()
            training.step()
            runs.append(_weights(training))
    assert torch.equal(*runs), f"{config.algo.name} does not repeat itself under one seed"


def check_resumes(config: RunConfig) -> None:
    """With `state()` as a checkpoint keeps it, another instance continues to the same weights."""
    with Training(config) as training:
        training.step()
        weights = {name: value.clone() for name, value in training.policy.state_dict().items()}
        state = packing.unpack(*packing.pack(training.state()))
        training.step()
        expected = _weights(training)
    with Training(config, state["env_steps"]) as training:
        training.restore(weights, state)
        training.step()
        assert torch.equal(_weights(training), expected), (
            f"{config.algo.name} does not continue like before after restore(state()); arrays that "
            "were tensors come back as NumPy arrays"
        )


def check_normalizers(name: str, settings: Mapping[str, object]) -> None:
    """Observation statistics are fed, value statistics where there is a critic, and learning
    continues with them."""
    policy = {"normalize_obs": "running", "normalize_values": True}
    config = _config(name, "CartPole-v1", settings, policy=policy)
    with Training(config) as training:
        training.step()
        norm = training.policy.inputs.get_submodule("obs")
        count = float(norm.get_buffer("count"))
        assert count == training.env_steps, f"statistics saw {count} of {training.env_steps} steps"
        values = training.policy.value_norm
        if config.algo.baseline_used == "value":
            assert values is not None and float(values.updates) > 0, "PopArt never saw a return"


def _weights(training: Training) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in training.policy.parameters()])
