"""The whole of a bench, with trainings whose speed is known."""

from types import SimpleNamespace

import pytest

from spotter.bench import run
from spotter.bench.limits import Limits
from spotter.bench.measure import Ratio
from spotter.bench.run import bench, combinations
from spotter.bench.trials import Change, Trial
from spotter.types import UserError
from tests.bench.fakes import Clock, Subject, findings


@pytest.fixture
def world(monkeypatch):
    """`world.seconds(config)` is how long an update takes; `world.open` what is not closed."""
    world = SimpleNamespace(clock=Clock(), open=[], made=[], seconds=lambda config: 0.1)

    class Trained(Subject):
        def __init__(self, config, weights=None):
            super().__init__(world.clock, world.seconds(config))
            self.training = SimpleNamespace(config=config)
            self.threads = config.threads or 1
            world.open.append(self)
            world.made.append(config)

        def hold(self):
            return "weights"

        def __enter__(self):
            return self

        def __exit__(self, *exception):
            world.open.remove(self)

    class Meter:
        def __init__(self, subject, clock):
            pass

        def measure(self, seconds):
            world.clock.now += seconds

        def result(self):
            return Limits(10_000.0, 2500.0, 1000, 1000)

    monkeypatch.setattr(run, "Trained", Trained)
    monkeypatch.setattr(run, "Meter", Meter)
    monkeypatch.setattr(
        run, "_present", lambda base: run.Present("sync", 1, "cpu", ("cpu", "cuda"), cores=2)
    )
    monkeypatch.setattr("spotter.bench.trials.usable_backends", lambda config: ["sync", "batch"])
    return world


@pytest.fixture
def config(make_config):
    return make_config("CartPole-v1")


def found(world, config, seconds=60.0):
    result = bench(config, seconds, clock=world.clock)
    assert world.open == []
    return result


def test_where_the_time_goes(world, config):
    result = found(world, config)
    assert result.profile.rate == pytest.approx(1000)
    assert result.profile.bottleneck == "learn"
    assert result.limits.bound == 2000


def test_what_is_faster_is_found_and_tried_together(world, config):
    def seconds(config):
        fast = 0.5 if config.env.backend == "batch" else 1.0
        fast *= 0.8 if config.device == "cuda" else 1.0
        return 0.1 * fast * (2.0 if config.threads == 2 else 1.0)

    world.seconds = seconds
    result = found(world, config)
    assert result.free.change.settings == {"env.backend": "batch", "device": "cuda"}
    assert result.free.gain == pytest.approx(2.5)
    assert result.learning is None


def test_gains_that_do_not_add_up_are_found_out(world, config):
    def seconds(config):
        batch, cuda = config.env.backend == "batch", config.device == "cuda"
        return 0.2 if batch and cuda else 0.05 if batch else 0.08 if cuda else 0.1

    world.seconds = seconds
    result = found(world, config)
    assert result.free.change.settings == {"env.backend": "batch"}


def test_what_alters_learning_is_kept_apart(world, config):
    world.seconds = lambda config: 0.05 if config.env.count == 8 else 0.1
    result = found(world, config)
    assert result.free is None
    assert result.learning.change.settings["env.count"] == 8
    assert not result.learning.change.free


def test_more_copies_follow_and_nothing_is_tried_twice(world, config):
    world.seconds = lambda config: 0.1 / min(config.env.count, 64)
    counts = [trial.change.settings for trial in found(world, config).trials]
    assert {"env.count": 64} in counts
    assert {"env.count": 256} not in counts, "no gain beyond 64"
    assert all(counts.count(settings) == 1 for settings in counts)


def test_a_back_end_that_refuses_does_not_end_it(world, config):
    def seconds(config):
        if config.env.backend == "batch":
            raise UserError("env.backend: batch cannot do it\nand more")
        if config.device == "cuda":
            raise RuntimeError("out of memory")
        return 0.1

    world.seconds = seconds
    result = found(world, config)
    problems = {trial.problem for trial in result.trials if trial.ratio is None}
    assert problems == {"env.backend: batch cannot do it", "out of memory"}
    assert any(trial.ratio for trial in result.trials)


def test_the_time_is_kept(world, config):
    found(world, config, 60.0)
    assert 40 < world.clock.now < 70


def test_without_time_it_says_what_was_not_tried(world, config):
    world.seconds = lambda config: 3.0
    result = found(world, config, 40.0)
    assert result.not_tried
    tried = [trial.change for trial in result.trials]
    assert not set(map(id, tried)) & set(map(id, result.not_tried))
    assert world.clock.now < 80


def test_an_interrupt_closes_everything(world, config):
    def seconds(config):
        if config.env.backend == "batch":
            raise KeyboardInterrupt
        return 0.1

    world.seconds = seconds
    with pytest.raises(KeyboardInterrupt):
        bench(config, 60.0, clock=world.clock)
    assert world.open == []


def test_the_users_mistake_is_not_swallowed(world, config):
    def seconds(config):
        raise UserError("device: cuda is not available here")

    world.seconds = seconds
    with pytest.raises(UserError, match="cuda"):
        bench(config, 60.0, clock=world.clock)


def _trial(group, settings, gain, free=True):
    return Trial(Change(group, settings, free), Ratio.of([gain]))


def test_combinations():
    batch = _trial("backend", {"env.backend": "batch"}, 2.0)
    pool = _trial("backend", {"env.backend": "envpool"}, 1.5)
    cuda = _trial("device", {"device": "cuda"}, 1.2)
    more = _trial("count", {"env.count": 64}, 3.0, free=False)
    slow = _trial("threads", {"threads": 2}, 0.5)
    assert combinations([batch, slow]) == []
    free, both = combinations([batch, pool, cuda, more, slow])
    assert (free.settings, free.free) == ({"env.backend": "batch", "device": "cuda"}, True)
    assert both.settings == {"env.backend": "batch", "device": "cuda", "env.count": 64}
    assert not both.free


def test_learning_is_altered_only_where_that_beats_what_is_free(config):
    batch = _trial("backend", {"env.backend": "batch"}, 2.0)
    more = _trial("count", {"env.count": 64}, 1.5, free=False)
    assert findings(config, [batch, more]).learning is None
    assert findings(config, [more]).learning is more
