"""Which changes are tried, in which order, and which follow."""

import pytest

from spotter.bench import trials
from spotter.bench.measure import Ratio
from spotter.bench.trials import (
    Change,
    Present,
    Trial,
    candidates,
    changed,
    following,
    usable_backends,
)
from spotter.config import resolve
from spotter.types import UserError

PRESENT = Present("sync", 1, "cpu", cores=2)


@pytest.fixture(autouse=True)
def reasons(monkeypatch):
    """Why each optional back-end cannot serve; "" makes it able to."""
    reasons = dict.fromkeys(("batch", "native", "envpool"), "not installed")

    class Backend:
        def __init__(self, name):
            self.reason_against = lambda env, reward: reasons[name]

    monkeypatch.setattr(trials, "_OPTIONAL", {name: Backend(name) for name in reasons})
    return reasons


@pytest.fixture
def config(make_config):
    return make_config("CartPole-v1", {"name": "ppo", "steps": 64, "minibatch": 64})


def labels(config, present=PRESENT, bottleneck="learn"):
    return [change.label for change in candidates(config, present, bottleneck)]


def test_everything_that_fits_free_ones_first(config):
    assert labels(config) == [
        "threads=2",
        "env.backend=process",
        "algo.overlap=true",
        "algo.minibatch=128",
        "algo.minibatch=256",
        "env.count=8 algo.steps=32",
        "env.count=16 algo.steps=16",
        "env.count=8",
        "env.count=16",
        "env.count=2",
        "algo.steps=128",
    ]


def test_the_bottleneck_decides_what_comes_first(config):
    assert labels(config, bottleneck="env")[0] == "env.backend=process"
    assert labels(config, bottleneck="env")[2:4] == [
        "algo.overlap=true",
        "env.count=8 algo.steps=32",
    ]


@pytest.mark.parametrize("bottleneck", ["env", "policy", "transfer", "learn", "idle"])
def test_every_bottleneck_tries_the_same_changes(config, bottleneck):
    assert sorted(labels(config, bottleneck=bottleneck)) == sorted(labels(config))


def test_free_is_what_leaves_learning_alone(config):
    for change in candidates(config, Present("sync", 1, "cuda", ("cpu", "cuda")), "env"):
        learns_from = {"env.count", "algo.steps", "algo.minibatch", "algo.overlap"} & set(
            change.settings
        )
        assert change.free is not bool(learns_from)


def test_rollouts_of_the_same_size_stay_so(config):
    change = next(c for c in candidates(config, PRESENT, "learn") if len(c.settings) == 2)
    other = change.applied(config)
    assert other.env.count * other.algo.steps == config.env.count * config.algo.steps


def test_nothing_is_tried_that_the_config_refuses(make_config):
    config = make_config("CartPole-v1", {"name": "ppo", "steps": 16, "minibatch": 64})
    assert "env.count=2" not in labels(config), "a rollout of 32 holds no minibatch of 64"
    assert not any("minibatch" in label for label in labels(config)), "64 is the whole rollout"


def test_fractions_of_a_rollout_end_at_the_whole(make_config):
    config = make_config("CartPole-v1", {"name": "ppo", "minibatch": 0.5})
    assert [label for label in labels(config) if "minibatch" in label] == ["algo.minibatch=1.0"]


def test_whole_episodes_have_neither_steps_nor_minibatches(make_config):
    found = labels(make_config("CartPole-v1", "reinforce"))
    assert found == ["threads=2", "env.backend=process", "env.count=8", "env.count=16",
                     "env.count=2"]  # fmt: skip


def test_other_devices_where_there_are_any(config):
    present = Present("sync", 1, "cpu", ("cpu", "cuda"), cores=2)
    assert "device=cuda" in labels(config, present)
    assert "device=cpu" not in labels(config, present)


def test_back_ends_that_can_serve(config, reasons):
    reasons["batch"] = ""
    assert usable_backends(config) == ["sync", "process", "batch"]
    present = Present("batch", 1, "cpu", cores=2)
    assert "env.backend=sync" in labels(config, present)
    assert "env.backend=batch" not in labels(config, present)


def test_workers_of_a_process_back_end(make_config):
    config = make_config("CartPole-v1", env={"backend": "process", "workers": 2})
    found = candidates(config, Present("process", 1, "cpu", cores=2), "env")
    assert found[0].settings == {"env.backend": "sync", "env.workers": None}
    assert found[0].applied(config).env.workers is None
    assert {"env.backend": "process", "env.workers": 1} in [change.settings for change in found]


def test_every_back_end_can_be_asked(config, monkeypatch):
    monkeypatch.undo()
    assert set(usable_backends(config)) >= {"sync", "process"}


def _trial(settings, gain, group="count"):
    free = group == "backend"
    return Trial(Change(group, settings, free), Ratio.of([gain, gain]))


def test_still_more_copies_while_it_pays(config):
    two, four = _trial({"env.count": 8}, 1.3), _trial({"env.count": 16}, 1.6)
    (next_,) = following(config, four, [two, four])
    assert next_.settings == {"env.count": 32}
    flat = _trial({"env.count": 16}, 1.35)
    assert following(config, flat, [two, flat]) == []


def test_p39_workers_are_counted_once_processes_pay(config, monkeypatch):
    monkeypatch.setattr("spotter.system.machine.cores", lambda: 4)
    won = _trial({"env.backend": "process"}, 2.0, "backend")
    assert [c.label for c in following(config, won, [won])] == [
        "env.backend=process env.workers=3",
        "env.backend=process env.workers=2",
    ]
    lost = _trial({"env.backend": "process"}, 0.5, "backend")
    assert following(config, lost, [lost]) == []


def test_a_changed_config_is_checked(config):
    assert changed(config, {"env.count": 8, "threads": 2}).threads == 2
    with pytest.raises(UserError, match="minibatch"):
        changed(config, {"algo.minibatch": 63})


def test_recipes_survive_being_changed():
    for address in ("CartPole-v1:ppo_centre", "MountainCar-v0:ppo_count", "Taxi-v4:ppo"):
        config = resolve(address).config
        assert changed(config, {"threads": None}) == config
