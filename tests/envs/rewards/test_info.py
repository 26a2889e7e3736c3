import pytest

from spotter.config import RewardConfig
from spotter.envs.rewards.info import Info
from spotter.types import UserError
from tests.envs.helpers import both_backends, config, signal_vector, zeros


def step(signal, **info):
    return signal.step(None, 0, 0.0, info)


def test_the_value_itself():
    signal = Info("coins", delta=False)
    assert signal.start(None, {"coins": 3}) == 0
    assert [step(signal, coins=5), step(signal, coins=True), step(signal)] == [5, 1, 0]


def test_the_change_since_the_last_step():
    signal = Info("x", delta=True)
    signal.start(None, {"x": 3.0})
    assert [step(signal, x=5.0), step(signal, x=4.0), step(signal), step(signal, x=6.0)] == [
        2,
        -1,
        0,
        2,
    ]
    signal.start(None, {})
    assert step(signal, x=6.0) == 6, "a missing key counts 0 at the start"


def test_dots_reach_into_nested_maps():
    signal = Info("bag.coins", delta=False)
    signal.start(None, {})
    assert step(signal, bag={"coins": 2}) == 2
    assert step(signal, bag=7) == 0


def test_a_key_the_first_step_lacks_is_a_mistake():
    signal = Info("coin", delta=False)
    signal.start(None, {})
    with pytest.raises(UserError, match=r"info\['coin'\] is not there; info has coins, bag.gold"):
        step(signal, coins=1, bag={"gold": 2})


def test_what_is_no_number_is_a_mistake():
    signal = Info("level", delta=False)
    with pytest.raises(UserError, match="is 'castle', not a number"):
        signal.start(None, {"level": "castle"})


def test_it_reaches_the_buffers():
    env = config("Bandit-v0", "bandit", kwargs={"means": [0, 3], "pulls": 2})
    with signal_vector(env, source="info", key="regret", weight=-1) as vec:
        assert vec.signal_kinds == ("sum",)
        vec.reset([1])
        vec.step(zeros(vec))
        assert vec.buffers.signals.tolist() == [[3]]


@both_backends
def test_the_mistake_reaches_the_user_as_one_sentence(backend):
    env = config("Constant-v0", backend=backend, workers=1 if backend == "process" else None)
    with signal_vector(env, source="info", key="coins") as vec:
        vec.reset([1])
        with pytest.raises(UserError) as caught:
            vec.step(zeros(vec))
    assert str(caught.value).endswith("info['coins'] is not there; info has nothing")


def test_two_info_signals_need_two_names():
    both = [{"source": "info", "key": "a", "name": "a"}, {"source": "info", "key": "b"}]
    assert [signal.name for signal in RewardConfig(signals=both).signals] == ["a", "info"]
