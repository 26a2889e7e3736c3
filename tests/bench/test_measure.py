"""Rates, stages, and comparisons in turns."""

import pytest
import torch

from spotter.bench.measure import Ratio, Sample, Trained, alternate, sample, warm_up
from tests.bench.fakes import STEPS, Clock, Subject


def test_whole_updates_until_the_time_is_up():
    clock = Clock()
    found = sample(Subject(clock, 0.4), 1.0, clock)
    assert found.updates == 3
    assert found.env_steps == 3 * STEPS
    assert found.rate == pytest.approx(STEPS / 0.4)
    assert found.update_s == pytest.approx(0.4)


def test_a_long_update_is_measured_all_the_same():
    clock = Clock()
    assert sample(Subject(clock, 50.0), 0.1, clock).updates == 1


def test_stages_add_up_with_what_nobody_accounts_for():
    clock = Clock()
    found = sample(Subject(clock, 1.0), 2.0, clock)
    assert found.share("learn") == pytest.approx(0.5)
    assert found.share("idle") == pytest.approx(0.1)
    assert sum(found.share(stage) for stage in found.stages) == pytest.approx(1.0)
    assert found.microseconds("env") == pytest.approx(1e6 * 0.2 / STEPS)
    assert found.bottleneck == "learn"


def test_stretches_join():
    stages = dict.fromkeys(("env", "policy", "transfer", "learn", "idle"), 0.5)
    joined = Sample.joined([Sample(1, 10, 2.5, stages), Sample(2, 40, 2.5, stages)])
    assert (joined.updates, joined.rate, joined.stages["env"]) == (3, 10.0, 1.0)


def test_p38_warm_up_is_not_in_the_rate():
    clock = Clock()
    subject = Subject(clock, 0.5, first=100.0)
    warm_up(subject, clock=clock)
    assert sample(subject, 1.0, clock).rate == pytest.approx(STEPS / 0.5)


def test_in_turns():
    clock, log = Clock(), []
    a, b = Subject(clock, 0.25, "a", log), Subject(clock, 0.25, "b", log)
    found = alternate(a, b, 2, 1.0, clock)
    assert log == list("abbaabba")
    assert (found.median, found.spread) == (pytest.approx(1.0), pytest.approx(0.0))


def test_what_seems_faster_has_to_prove_it_again():
    clock, log = Clock(), []
    a, b = Subject(clock, 0.5, "a", log), Subject(clock, 0.25, "b", log)
    assert alternate(a, b, 1, 1.0, clock).median == pytest.approx(2.0)
    assert log == list("abba" * 2)


def test_luck_does_not_last():
    clock, log = Clock(), []
    a, b = Subject(clock, 0.5, "a", log), Subject(clock, 0.25, "b", log)
    usual = b.step

    def lucky_at_first():
        b.seconds = 0.25 if clock.now < 4 else 0.6
        return usual()

    b.step = lucky_at_first
    found = alternate(a, b, 1, 1.0, clock)
    assert log == list("abba" * 2)
    assert not found.is_faster


def test_a_machine_that_slows_down_favours_nobody():
    clock = Clock()
    a, b = (Subject(clock, 0.1, drift=0.05) for _ in range(2))
    found = alternate(a, b, 2, 1.0, clock)
    assert found.median == pytest.approx(1.0, abs=0.02)
    assert found.spread > 0
    assert not found.is_faster


def test_what_is_clearly_slower_is_given_up():
    clock, log = Clock(), []
    a, b = Subject(clock, 0.1, "a", log), Subject(clock, 0.5, "b", log)
    assert alternate(a, b, 5, 1.0, clock).median == pytest.approx(0.2, rel=0.2)
    assert log == list("abba")


@pytest.mark.parametrize(
    ("ratios", "faster"),
    [
        ([1.2, 1.3], True),
        ([1.9, 0.99, 1.9], False),
        ([1.01, 1.02], False),
        ([0.5, 0.6], False),
    ],
)
def test_faster_means_every_time_and_by_enough(ratios, faster):
    assert Ratio.of(ratios).is_faster is faster


def test_each_subject_brings_its_threads(make_config):
    with (
        Trained(make_config("CartPole-v1", threads=1)) as one,
        Trained(make_config("CartPole-v1", threads=2)) as two,
    ):
        one.prepare()
        assert torch.get_num_threads() == 1
        two.prepare()
        assert torch.get_num_threads() == 2


def test_every_stretch_begins_with_the_same_policy(make_config):
    with Trained(make_config("CartPole-v1")) as base, Trained(make_config("CartPole-v1")) as other:
        base.step()
        other.weights = weights = base.hold()
        base.step()
        changed = [x.clone() for x in base.training.policy.parameters()]
        for subject in (base, other):
            subject.prepare()
            for name, x in subject.training.policy.state_dict().items():
                assert torch.equal(x, weights.policy[name])
        now = list(base.training.policy.parameters())
        assert not all(torch.equal(x, y) for x, y in zip(changed, now, strict=True))
        other.step()  # goes on from there
