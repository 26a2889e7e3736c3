"""The transition contract of envs/vector.py as checks any vector back-end can be put through.

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
from spotter.envs.vector import VectorEnv
from spotter.testing.scripted import ACTIONS, ID, LENGTHS, End, Transition, script
from spotter.types import Episode

MakeBackend = Callable[[EnvConfig, int], VectorEnv]
"""A back-end with that many copies of that environment, in training mode, without signals."""

SEEDS: Final = (11, 22, 33)
ENDS: Final[tuple[End, ...]] = ("terminated", "truncated", "both", "truncated")


def check_backend(make_backend: MakeBackend) -> None:
    """Every check of this file."""
    check_transitions(make_backend)
    check_nested_observations(make_backend)
    check_masks(make_backend)
    check_episode_statistics(make_backend)
    check_manual_reset(make_backend)
    check_inactive_copies(make_backend)
    check_seeding(make_backend)


def scripted(**kwargs: Any) -> EnvConfig:
    return EnvConfig(id=ID, family="gymnasium", kwargs=kwargs)


def random_actions(steps: int, count: int = len(SEEDS)) -> npt.NDArray[np.int64]:
    """[steps, count]"""
    return np.random.default_rng(0).integers(0, ACTIONS, (steps, count))


def truth(
    actions: npt.NDArray[np.int64],
    lengths: Sequence[int] = LENGTHS,
    ends: Sequence[End] = ("terminated",),
) -> list[list[Transition]]:
    """[steps][copies]: what copies started with `SEEDS` must deliver."""
    copies = [
        script(seed, actions[:, column].tolist(), lengths, ends)
        for column, seed in enumerate(SEEDS[: actions.shape[1]])
    ]
    return [list(row) for row in zip(*copies, strict=True)]


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


def check_inactive_copies(make_backend: MakeBackend) -> None:
    """Copies that are left out neither move nor report."""
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
    """Copies differ, the same seeds give the same run, later episodes continue the stream."""
    env = EnvConfig(id="CartPole-v1", family="gymnasium", time_limit=5)
    with make_backend(env, len(SEEDS)) as vector:
        first, again, other = (_starts(vector, seeds) for seeds in (SEEDS, SEEDS, (1, 2, 3)))
    assert (first == again).all(), "the same seeds must give the same run"
    assert not (first == other).any(), "other seeds must give another run"
    starts = {tuple(start) for episode in first.tolist() for start in episode}
    assert len(starts) == first.shape[0] * first.shape[1], "copies and episodes must differ"


def _starts(vector: VectorEnv, seeds: Sequence[int]) -> npt.NDArray[Any]:
    """[episodes, copies, 4]: the first observations of four episodes each."""
    starts = [vector.reset(seeds).obs["obs"].copy()]
    for step in range(1, 16):
        vector.step(np.full(vector.count, step % 2))
        if step % 5 == 0:
            assert vector.buffers.truncated.all()
            starts.append(vector.buffers.obs["obs"].copy())
    return np.array(starts)
