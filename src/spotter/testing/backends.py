"""The transition contract of envs/backends/vector.py as checks any vector back-end can be put
through.

    from spotter.testing.backends import check_backend
    check_backend(lambda env, count: MyVector(env, count))

The back-end must be able to run ordinary Python environments: the checks use `Scripted-v0`, of
which every number is known, and CartPole.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from spotter.config import EnvConfig
from spotter.envs.backends.slices import EnvError
from spotter.envs.backends.vector import VectorEnv
from spotter.testing.scripted import ACTIONS, FAULTY_ID, ID, LENGTHS, End, Transition, script
from spotter.types import Array, Episode, ReplayLog

MakeBackend = Callable[[EnvConfig, int], VectorEnv]
"""A back-end with that many instances of that environment, in training mode, without signals."""

SEEDS: Final = (11, 22, 33)
ENDS: Final[tuple[End, ...]] = ("terminated", "truncated", "both", "truncated")


def check_backend(make_backend: MakeBackend) -> None:
    """Every check of this file."""
    check_transitions(make_backend)
    check_nested_observations(make_backend)
    check_masks(make_backend)
    check_episode_statistics(make_backend)
    check_manual_reset(make_backend)
    check_inactive_envs(make_backend)
    check_seeding(make_backend)
    check_lost_envs(make_backend)
    check_last_straw(make_backend)
    check_replay_logs(make_backend)
    check_unknown_tapes(make_backend)


def scripted(**kwargs: object) -> EnvConfig:
    return EnvConfig(id=ID, family="gymnasium", kwargs=kwargs)


def faulty(restarts: int = 1, **kwargs: object) -> EnvConfig:
    return EnvConfig(id=FAULTY_ID, family="gymnasium", kwargs=kwargs, restarts=restarts)


def random_actions(steps: int, count: int = len(SEEDS)) -> npt.NDArray[np.int64]:
    """[steps, count]"""
    return np.random.default_rng(0).integers(0, ACTIONS, (steps, count))


def truth(
    actions: npt.NDArray[np.int64],
    lengths: Sequence[int] = LENGTHS,
    ends: Sequence[End] = ("terminated",),
) -> list[list[Transition]]:
    """[steps][envs]: what envs started with `SEEDS` must deliver."""
    instances = [
        script(seed, actions[:, column].tolist(), lengths, ends)
        for column, seed in enumerate(SEEDS[: actions.shape[1]])
    ]
    return [list(row) for row in zip(*instances, strict=True)]


def check_transitions(make_backend: MakeBackend) -> None:
    """Exactly the true transitions, each with its true last observation and one flag at most.

    The environment overwrites one array for all its observations, so aliasing shows as well.
    """
    actions = random_actions(60)
    env = scripted(ends=list(ENDS), reuses_array=True)
    with make_backend(env, len(SEEDS)) as vector:
        before = vector.reset(SEEDS).obs["obs"].copy()
        for taken, expected in zip(actions, truth(actions, ends=ENDS), strict=True):
            vector.step(taken)
            buffers = vector.buffers
            for row, true in enumerate(expected):
                ended = true.terminated or true.truncated
                after = buffers.final_obs["obs"][row] if ended else buffers.obs["obs"][row]
                assert tuple(before[row]) == true.before.numbers
                assert tuple(after) == true.after.numbers
                assert tuple(buffers.obs["obs"][row]) == true.shown.numbers
                assert buffers.reward[row] == true.after.reward
                assert buffers.terminated[row] == true.terminated
                assert buffers.truncated[row] == true.truncated
            before = buffers.obs["obs"].copy()


def check_nested_observations(make_backend: MakeBackend) -> None:
    """Dict and Tuple leaves arrive whole, also those of an episode's end."""
    actions = random_actions(20)
    env = scripted(ends=list(ENDS), reuses_array=True, nested=True)
    with make_backend(env, len(SEEDS)) as vector:
        vector.reset(SEEDS)
        for taken, expected in zip(actions, truth(actions, ends=ENDS), strict=True):
            vector.step(taken)
            for row, true in enumerate(expected):
                _check_leaves(vector.buffers.obs, row, true.shown)
                if true.terminated or true.truncated:
                    _check_leaves(vector.buffers.final_obs, row, true.after)


def _check_leaves(obs: Any, row: int, moment: Any) -> None:
    assert tuple(obs["numbers"][row]) == moment.numbers
    assert (obs["pair/0"][row] == moment.step).all()
    assert obs["pair/0"][row].shape == (3, 6, 5), "images arrive channels first"
    assert obs["pair/1"][row] == moment.step


def check_masks(make_backend: MakeBackend) -> None:
    """`buffers.mask` belongs to the observation the next action is taken at."""
    actions = random_actions(20)
    with make_backend(scripted(masks=True), len(SEEDS)) as vector:
        mask = vector.reset(SEEDS).mask
        assert mask is not None
        for taken, expected in zip(actions, truth(actions), strict=True):
            assert [row.tolist() for row in mask] == [true.before.mask for true in expected]
            vector.step(taken)
            mask = vector.buffers.mask
            assert mask is not None
            assert [row.tolist() for row in mask] == [true.shown.mask for true in expected]


def check_episode_statistics(make_backend: MakeBackend) -> None:
    """Each finished episode is reported once, by the step that ends it, with its own numbers."""
    actions = random_actions(40)
    with make_backend(scripted(ends=list(ENDS)), len(SEEDS)) as vector:
        vector.reset(SEEDS)
        for taken, expected in zip(actions, truth(actions, ends=ENDS), strict=True):
            reported = sorted(vector.step(taken), key=lambda episode: episode.env)
            ended = [(row, t) for row, t in enumerate(expected) if t.terminated or t.truncated]
            assert reported == [_episode(row, true) for row, true in ended]


def _episode(row: int, true: Transition) -> Episode:
    length, number = true.after.step, true.after.episode
    score = sum(100.0 * number + step for step in range(1, length + 1))
    return Episode(row, score, length, terminated=true.terminated, reward=score)


def check_manual_reset(make_backend: MakeBackend) -> None:
    """A reset right after an episode's end starts afresh; the next step is a real one."""
    first_ends = np.zeros(len(SEEDS), dtype=np.int64)
    with make_backend(scripted(lengths=[1, 3]), len(SEEDS)) as vector:
        vector.reset(SEEDS)
        vector.step(first_ends)
        assert vector.buffers.terminated.all()
        again = vector.reset(SEEDS)
        assert not again.terminated.any() and not again.truncated.any()
        assert again.obs["obs"].tolist() == [[seed, 0, 0, -1] for seed in SEEDS]
        episodes = vector.step(first_ends)
        assert vector.buffers.final_obs["obs"].tolist() == [[seed, 0, 1, 0] for seed in SEEDS]
        assert [episode.length for episode in episodes] == [1] * len(SEEDS)


def check_inactive_envs(make_backend: MakeBackend) -> None:
    """Envs that are left out neither move nor report."""
    active = np.array([True, False, True])
    with make_backend(scripted(lengths=[2]), len(SEEDS)) as vector:
        vector.reset(SEEDS)
        ones = np.ones(len(SEEDS), dtype=np.int64)
        reported = [vector.step(ones, active), vector.step(ones, active)]
        assert [[episode.env for episode in step] for step in reported] == [[], [0, 2]]
        assert vector.buffers.obs["obs"][1].tolist() == [SEEDS[1], 0, 0, -1]
        assert vector.buffers.reward[1] == 0
        assert vector.buffers.terminated.tolist() == [True, False, True]
        vector.step(ones)
        assert vector.buffers.obs["obs"][1].tolist() == [SEEDS[1], 0, 1, 1]


def check_seeding(make_backend: MakeBackend) -> None:
    """Envs differ, the same seeds give the same run, later episodes continue the stream."""
    env = EnvConfig(id="CartPole-v1", family="gymnasium", time_limit=5)
    with make_backend(env, len(SEEDS)) as vector:
        first, again, other = (_starts(vector, seeds) for seeds in (SEEDS, SEEDS, (1, 2, 3)))
    assert (first == again).all(), "the same seeds must give the same run"
    assert not (first == other).any(), "other seeds must give another run"
    starts = {tuple(start) for episode in first.tolist() for start in episode}
    assert len(starts) == first.shape[0] * first.shape[1], "envs and episodes must differ"


def _starts(vector: VectorEnv, seeds: Sequence[int]) -> Array:
    """[episodes, envs, 4]: the first observations of four episodes each."""
    starts = [vector.reset(seeds).obs["obs"].copy()]
    for step in range(1, 16):
        vector.step(np.full(vector.count, step % 2))
        if step % 5 == 0:
            assert vector.buffers.truncated.all()
            starts.append(vector.buffers.obs["obs"].copy())
    return np.array(starts)


def check_lost_envs(make_backend: MakeBackend) -> None:
    """An env that fails loses that step and no other, is replaced, and is reported once."""
    actions = random_actions(12)
    env = faulty(seed=SEEDS[1], episode=2, step=2)  # in the fifth step
    with make_backend(env, len(SEEDS)) as vector:
        vector.reset(SEEDS)
        for step, (taken, expected) in enumerate(zip(actions, truth(actions), strict=True), 1):
            episodes = vector.step(taken)
            buffers = vector.buffers
            assert buffers.lost.tolist() == [False, step == 5, False]
            for row in (0, 2):
                assert tuple(buffers.obs["obs"][row]) == expected[row].shown.numbers
                assert buffers.reward[row] == expected[row].after.reward
            if step == 5:
                _check_replacement(vector, episodes)
        faults = vector.take_faults()
        assert [(fault.env, fault.kind) for fault in faults] == [(1, "raised")]
        assert f"environment 1 (seed {SEEDS[1]}, 1 steps into its episode" in faults[0].text
        assert "RuntimeError: the wheels came off" in faults[0].text
        assert "in _spoilt" in faults[0].traceback, "it leads into the environment's own code"
        assert faults[0].replay_log is not None
        assert [int(action) for action in faults[0].replay_log.actions] == actions[:5, 1].tolist()
        assert not vector.take_faults()


def _check_replacement(vector: VectorEnv, episodes: list[Episode]) -> None:
    buffers = vector.buffers
    seed, *rest = buffers.obs["obs"][1].tolist()
    assert seed not in SEEDS and rest == [0, 0, -1], "the first step of a new script"
    assert buffers.reward[1] == 0 and not buffers.terminated[1] and not buffers.truncated[1]
    assert 1 not in [episode.env for episode in episodes]


def check_last_straw(make_backend: MakeBackend) -> None:
    """One failure more than `env.restarts` raises, and is still among the faults."""
    ones = np.ones(len(SEEDS), dtype=np.int64)
    with make_backend(faulty(failure="nan reward", restarts=3), len(SEEDS)) as vector:
        vector.reset(SEEDS)
        vector.step(ones)
        assert vector.buffers.lost.all() and not vector.buffers.reward.any()
        assert [fault.kind for fault in vector.take_faults()] == ["not finite"] * 3
        try:
            vector.step(ones)
        except EnvError as error:
            assert error.fault is not None and error.fault.replay_log is not None
            assert "returned a reward of nan" in str(error)
            assert "3 failures before it used up env.restarts" in str(error)
        else:
            raise AssertionError("the fourth failure must raise")
        assert vector.take_faults(), "the fault that raised is handed over as well"


def check_replay_logs(make_backend: MakeBackend) -> None:
    """Other envs, brought to where these are, continue bit for bit, over episodes' ends too."""
    cart = EnvConfig(id="CartPole-v1", family="gymnasium")
    for env, steps in ((scripted(masks=True), 1), (scripted(masks=True), 8), (cart, 150)):
        _check_replay_logs(make_backend, env, random_actions(steps + 60) % 2, steps)


def _check_replay_logs(
    make_backend: MakeBackend, env: EnvConfig, actions: npt.NDArray[np.int64], steps: int
) -> None:
    with make_backend(env, len(SEEDS)) as first, make_backend(env, len(SEEDS)) as second:
        first.reset(SEEDS)
        for taken in actions[:steps]:
            first.step(taken)
        second.reset((1, 2, 3))
        second.step(actions[0])
        for _ in range(2):  # an env that was played to a point can be played to it again
            assert second.replay(first.replay_logs()).all()
            assert not second.buffers.lost.any() and not second.buffers.terminated.any()
            _check_same(first, second)
        for taken in actions[steps:]:
            assert first.step(taken) == second.step(taken)
            assert (first.buffers.reward == second.buffers.reward).all()
            _check_same(first, second)
        for a, b in zip(first.replay_logs(), second.replay_logs(), strict=True):
            assert a.seed == b.seed and np.array_equal(a.actions, b.actions)


def _check_same(first: VectorEnv, second: VectorEnv) -> None:
    for path, leaf in first.buffers.obs.items():
        assert (leaf == second.buffers.obs[path]).all()
    assert (first.buffers.signals_start == second.buffers.signals_start).all()
    if first.buffers.mask is not None:
        assert (first.buffers.mask == second.buffers.mask).all()


def check_unknown_tapes(make_backend: MakeBackend) -> None:
    """A log without a start begins a new episode; one with only a seed starts at the seed."""
    replay_logs = [
        ReplayLog({}, 77, ()),
        ReplayLog({}, None, ()),
        ReplayLog({}, 88, (np.array(1), np.array(2))),
    ]
    with make_backend(scripted(lengths=[9]), len(SEEDS)) as vector:
        vector.reset(SEEDS)
        assert vector.replay(replay_logs).tolist() == [True, False, True]
        obs = vector.buffers.obs["obs"].tolist()
        assert obs[0] == [77, 0, 0, -1] and obs[2] == [88, 0, 2, 2]
        assert obs[1][0] not in SEEDS and obs[1][1:] == [0, 0, -1]
        assert not vector.buffers.lost.any() and not vector.take_faults()
