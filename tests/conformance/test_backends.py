"""Both of our back-ends through the whole contract, one test per check."""

from dataclasses import replace

import pytest

from spotter.testing import backends
from tests.envs.helpers import both_backends, vector

CHECKS = [getattr(backends, name) for name in dir(backends) if name.startswith("check_")]


def maker(backend):
    return lambda env, count: vector(env, backend, count, workers=2)


@both_backends
@pytest.mark.parametrize(
    "check", [c for c in CHECKS if c is not backends.check_backend], ids=lambda c: c.__name__
)
def test_contract(check, backend):
    check(maker(backend))


def test_check_backend_runs_every_check(monkeypatch):
    ran = []
    for check in CHECKS:
        if check is not backends.check_backend:
            monkeypatch.setattr(backends, check.__name__, lambda _, n=check.__name__: ran.append(n))
    backends.check_backend(maker("sync"))
    assert sorted(ran) == sorted(c.__name__ for c in CHECKS if c is not backends.check_backend)


@pytest.mark.parametrize("fault", ["late flags", "stale final", "aliased"])
def test_the_contract_notices_a_broken_backend(fault):
    """A suite that cannot fail proves nothing."""

    def broken(env, count):
        inner = vector(env, "sync", count)
        step = inner.step

        def bad_step(action, active=None):
            episodes = step(action, active)
            if fault == "late flags":
                inner.buffers.terminated[:] = False
            elif fault == "stale final":
                inner.buffers.final_obs["obs"][:] = inner.buffers.obs["obs"]
            else:
                inner.buffers.obs["obs"][:] = inner.buffers.obs["obs"][0]
            return episodes

        inner.step = bad_step
        return inner

    with pytest.raises(AssertionError):
        backends.check_transitions(broken)


@pytest.mark.parametrize(
    ("method", "broken", "check"),
    [
        (
            "replay_logs",
            lambda replay_logs: [replace(t, actions=t.actions[:-1]) for t in replay_logs],
            "check_replay_logs",
        ),
        ("take_faults", lambda faults: [], "check_lost_envs"),
        (
            "take_faults",
            lambda faults: [replace(f, replay_log=None) for f in faults],
            "check_lost_envs",
        ),
    ],
)
def test_the_contract_notices_wrong_replay_logs_and_faults(method, broken, check):
    def make(env, count):
        inner = vector(env, "sync", count)
        right = getattr(inner, method)
        setattr(inner, method, lambda: broken(right()))
        return inner

    with pytest.raises(AssertionError):
        getattr(backends, check)(make)
