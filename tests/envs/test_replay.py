"""Snapshots of objects, what they leave alone, and tapes made from them."""

import json
import random
from collections import deque

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.classic_control import CartPoleEnv

from spotter import packing
from spotter.envs import replay as replay_log
from spotter.envs.backends import logbook
from spotter.envs.backends.logbook import Logbook
from spotter.envs.replay import Layers, Start
from spotter.types import Fault
from tests.envs.helpers import config, vector, zeros


class Thing:
    """Any object; attributes by keyword."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


def plain_values():
    return {
        "number": 3,
        "big": 2**200,
        "real": 0.1,
        "nan": float("nan"),
        "switch": True,
        "nothing": None,
        "word": "nan",
        "bytes": b"\x00\xff",
        "scalar": np.float32(0.1),
        "array": np.arange(6, dtype=np.int16).reshape(2, 3),
        "flag": np.bool_(True),
        "letters": np.array([[b"F", b"H"]]),
        "list": [1, [2, (3, np.ones(2))]],
        "tuple": (1, "a", None),
        "dict": {"a": 1, (1, 2): {3: "b"}},
        "set": {3, 1, 2},
        "frozen": frozenset({"x"}),
        "deque": deque([1, np.zeros(1)], maxlen=3),
    }


def same(a, b):
    """Equal in value and type, all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and (a == b).all()
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, deque) and a.maxlen != b.maxlen:
        return False
    if isinstance(a, list | tuple | deque):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b or (a != a and b != b)


def written_and_read(snapshot):
    data, arrays = packing.pack(snapshot)
    return packing.unpack(json.loads(json.dumps(data)), arrays)


@pytest.mark.parametrize("through", [lambda x: x, written_and_read], ids=["memory", "file"])
def test_plain_attributes_come_back_exactly(through):
    first, second = Thing(**plain_values()), Thing(number=8, other=1)
    snapshot = through(Layers([first]).snapshot())
    first.list[1][0] = first.array[0, 0] = 99  # a snapshot is a copy
    for _ in range(2):  # and stays one
        Layers([second]).put_back(snapshot)
        second.list[1][0] = second.list[1][0]
    for name, value in plain_values().items():
        assert same(getattr(second, name), value), name
    second.array[0, 0] = 55
    assert snapshot[0]["values"]["array"][0, 0] == 0


@pytest.mark.parametrize(
    "value",
    [
        object(),
        [1, object()],
        {"f": len},
        {object(): 1},
        np.array([None]),
        np.zeros(2, np.complex64),
        np.zeros(1, np.longdouble),
        {1, "mixed"},
        lambda: 0,
        1j,
    ],
)
def test_what_is_not_plain_is_left_alone(value):
    first, second = Thing(x=value, y=1), Thing(x="mine", y=2)
    Layers([second]).put_back(written_and_read(Layers([first]).snapshot()))
    assert (second.x, second.y) == ("mine", 1)


def test_an_endless_container_is_left_alone():
    thing = Thing(ring=[])
    thing.ring.append(thing.ring)
    layers = Layers([thing])
    thing.huge = list(range(200_000))
    assert layers.snapshot()[0]["values"] == {}


STREAMS = {
    "PCG64": lambda: np.random.default_rng(5),
    "MT19937": lambda: np.random.Generator(np.random.MT19937(5)),
    "Philox": lambda: np.random.Generator(np.random.Philox(5)),
    "RandomState": lambda: np.random.RandomState(5),
    "Random": lambda: random.Random(5),
}


@pytest.mark.parametrize("make", STREAMS.values(), ids=STREAMS)
def test_random_streams_go_on_where_they_were(make):
    first, second = Thing(draw=make()), Thing(draw=None)
    first.draw.random()
    snapshot = written_and_read(Layers([first]).snapshot())
    expected = [first.draw.random() for _ in range(3)]
    for _ in range(2):
        Layers([second]).put_back(snapshot)
        assert [second.draw.random() for _ in range(3)] == expected


def test_streams_are_set_in_place_and_shared_ones_stay_shared():
    draw = np.random.default_rng(1)
    snapshot = written_and_read(Layers([Thing(draw=draw), Thing(mine=draw)]).snapshot())
    outer, inner = Thing(draw=np.random.default_rng(2)), Thing(mine=None)
    held = outer.draw
    Layers([outer, inner]).put_back(snapshot)
    assert outer.draw is held and inner.mine is held
    assert held.random() == draw.random()


def test_an_array_in_two_places_stays_one():
    array = np.zeros(2)
    thing = Thing(a=array, b=[array])
    Layers([thing]).put_back(Layers([thing]).snapshot())
    assert thing.a is thing.b[0] and thing.a is not array


def test_large_tables_of_the_constructor_are_taken_for_constants():
    table = {state: {0: [(1.0, state, 0.0, False)]} for state in range(300)}
    thing = Thing(P=table, numbers=list(range(300)))
    layers = Layers([thing])
    assert layers.snapshot()[0]["values"] == {}
    thing.numbers = list(range(300))
    thing.P[300] = {}
    assert set(layers.snapshot()[0]["values"]) == {"P", "numbers"}, "these have changed"


def test_another_stack_is_refused():
    snapshot = Layers([Thing()]).snapshot()
    with pytest.raises(ValueError, match="another stack"):
        Layers([Thing(), Thing()]).put_back(snapshot)


@pytest.mark.parametrize(
    "state", [{"bit_generator": "seterr"}, {"bit_generator": "PCG64", "state": "rubbish"}]
)
def test_rubbish_streams_are_refused(state):
    layer = {
        "class": "Thing",
        "values": {},
        "streams": {"x": {"kind": "Generator", "state": state}},
    }
    with pytest.raises((ValueError, TypeError)):
        Layers([Thing()]).put_back([layer])


def test_only_the_first_object_of_a_class_is_opened(monkeypatch):
    """Opened objects are slow for good in Python 3.11 and 3.12; everybody else is spared."""
    monkeypatch.setattr(replay_log, "known_names", {})

    class Game:
        style = "classic"

        def __init__(self):
            self.score = 0
            self.np_random = None

    games = [Game() for _ in range(3)]
    layers = [Layers([game]) for game in games]
    snapshots = [layer.snapshot() for layer in layers]
    assert all(s[0]["values"] == {"score": 0, "np_random": None} for s in snapshots)
    assert [bool(layer.opened) for layer in layers] == [True, False, False]
    for game in games:
        game.style = "modern"
    snapshots = [layer.snapshot() for layer in layers]
    assert all(s[0]["values"]["style"] == "modern" for s in snapshots)
    assert not layers[1].opened and not layers[2].opened


def test_a_new_attribute_is_never_missed(monkeypatch):
    monkeypatch.setattr(replay_log, "known_names", {})

    class Game:
        late = None

        def __init__(self):
            self.a, self.b = 1, 2

    Layers([Game()]).snapshot()
    game = Game()
    layers = Layers([game])
    assert not layers.opened
    game.late, game.later = 5, None
    assert layers.snapshot()[0]["values"] == {"a": 1, "b": 2, "late": 5, "later": None}


class Untouched(CartPoleEnv):
    """A class whose objects no other test has given odd attributes."""


gym.register("Untouched-v0", entry_point=f"{__name__}:Untouched")


def test_copies_of_a_vector_keep_their_speed():
    with vector(config("Untouched-v0"), count=4) as vec:
        vec.reset([1, 2, 3, 4])
        vec.step(zeros(vec))
        for instance in vec._slices[0].instances:
            instance.snapshot()
            assert not instance.layers.opened


def test_a_tape_spans_short_episodes_but_not_for_ever():
    with vector(config("Scripted-v0", kwargs={"lengths": [300]}), count=1) as vec:
        vec.reset([5])
        lengths = []
        for _ in range(2500):
            vec.step(zeros(vec))
            lengths.append(len(vec._logbook._given) - vec._logbook._from[0])
        assert vec.replay_logs()[0].seed is None
        assert len(vec.replay_logs()[0].actions) == 100
    assert max(lengths) == 1199, "episodes of 300 steps: a new tape begins with the fifth"


def book(count=2, restarts=0):
    return Logbook(np.zeros((count, 3), np.float32), restarts)


def note(logbook, number, active=None):
    logbook.note(np.full((2, 3), number, np.float32), active)


def start(seed):
    return Start({"seed": seed}, seed)


def numbers(replay_log):
    return [float(action[0]) for action in replay_log.actions]


def test_inactive_copies_are_given_nothing():
    log = book()
    log.settle([(0, start(1)), (1, start(2))])
    note(log, 1.0)
    note(log, 2.0, np.array([False, True]))
    note(log, 3.0)
    log.begin(0, start(9))
    note(log, 4.0)
    assert [numbers(replay_log) for replay_log in log.replay_logs()] == [
        [4.0],
        [1.0, 2.0, 3.0, 4.0],
    ]
    assert log.seeds == [9, 2]


def test_a_fault_gets_the_tape_of_its_time():
    log = book(restarts=1)
    log.settle([(0, start(1)), (1, start(2))])
    note(log, 1.0)
    fault = Fault(1, "raised", "", "", None)
    assert log.settle([(1, fault), (1, start(3)), (0, start(4))]) is None
    too_many = log.settle([(0, fault)])
    assert too_many is not None and numbers(too_many.replay_log) == []
    first, second = log.take_faults()
    assert numbers(first.replay_log) == [1.0] and first.replay_log.seed == 2
    assert second is too_many and log.failures == 2 and not log.take_faults()


def test_the_logbook_forgets_what_no_tape_needs(monkeypatch):
    monkeypatch.setattr(logbook, "_TIDY_EVERY", 10)
    monkeypatch.setattr(logbook, "_LONGEST", 25)
    log = book()
    log.settle([(0, start(1)), (1, start(2))])
    for step in range(1, 101):
        note(log, float(step))
        if step % 4 == 0:
            log.begin(0, start(step))
        assert len(log._given) <= 40
        assert numbers(log.replay_log(0)) == [float(s) for s in range(step // 4 * 4 + 1, step + 1)]
    assert log.replay_log(1) == logbook.UNKNOWN, "too long to be worth playing"
    assert log.seeds[1] == 2
