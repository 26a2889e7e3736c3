"""Noticing that nothing moves, on a clock of our own, and the thread that looks."""

import gc
import threading
import weakref

import numpy as np

from spotter.config import RewardConfig
from spotter.envs.backends.watchdog import Silence, Watchdog
from spotter.envs.make import make_vector
from tests.envs.helpers import config


def test_silence_is_told_once():
    silence = Silence(10)
    heard = [silence.is_too_long("a", now) for now in (0, 9, 10, 11, 50)]
    assert heard == [False, False, True, False, False]


def test_any_change_starts_anew():
    silence = Silence(10)
    assert not silence.is_too_long("a", 0)
    assert not silence.is_too_long("b", 9)
    assert not silence.is_too_long("b", 18)
    assert silence.is_too_long("b", 19)
    assert not silence.is_too_long("c", 20)
    assert silence.is_too_long("c", 30), "the next one is told as well"


def test_waiting_for_nobody_is_not_silence():
    silence = Silence(10)
    for now in (0, 100, 200):
        assert not silence.is_too_long(None, now)
    assert not silence.is_too_long("a", 300), "the clock starts with the first sign"


class Vector:
    def __init__(self) -> None:
        self.barked = threading.Event()

    def sign(self):
        return "still the same"

    def alarm(self) -> None:
        self.barked.set()


def test_the_thread_calls_the_alarm_and_ends():
    vector = Vector()
    dog = Watchdog(vector.sign, vector.alarm, timeout_s=0.02)
    assert vector.barked.wait(60)
    dog.stop()


def test_the_thread_keeps_nobody_alive():
    vector = Vector()
    dog = Watchdog(vector.sign, vector.alarm, timeout_s=0.01)
    gone = weakref.ref(vector)
    vector.barked.wait(60)
    del vector
    for _ in range(6000):
        gc.collect()
        if gone() is None:
            break
        threading.Event().wait(0.01)
    assert gone() is None
    dog.stop()


def test_a_long_replay_is_not_taken_for_a_hang():
    """Each replayed step is a sign of life, however long the tape."""
    env = config("tests.envs.slow:Slow-v0", backend="process", count=2, workers=2, timeout_s=1.0)
    with make_vector(env, RewardConfig()) as first, make_vector(env, RewardConfig()) as second:
        first.reset([1, 2])
        for _ in range(60):
            first.step(np.zeros(2, np.int64))
        second.reset([3, 4])
        assert second.replay(first.replay_logs()).all()
        assert second.take_faults() == []
