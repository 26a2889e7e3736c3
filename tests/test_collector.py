"""Collecting: a scripted environment whose advantages are computed by hand."""

import pytest
import torch

from spotter import functional as F
from spotter.collector import Collector
from spotter.config import EnvConfig, RewardConfig
from spotter.envs.make import make_vector
from spotter.nets.actor_critic import Acted
from spotter.rewards import RewardMixer
from spotter.schedules import constant
from spotter.testing.scripted import ID
from spotter.types import Progress

START = Progress(0, None)


class Oracle:
    """A policy whose value of (episode e, step s) is 10·e + s, so every number is known."""

    def act(self, obs, mask=None, generator=None, deterministic=False):
        value = self.value(obs)
        return Acted(torch.zeros(len(value), dtype=torch.long), torch.zeros_like(value), value)

    def value(self, obs):
        return 10 * obs["obs"][:, 1] + obs["obs"][:, 2]


def scripted(backend="sync", count=2, **kwargs):
    kwargs.setdefault("ends", ["terminated", "truncated", "both"])
    env = {"id": ID, "family": "gymnasium", "count": count, "backend": backend, "kwargs": kwargs}
    workers = 2 if backend == "process" else None
    return make_vector(EnvConfig(**env, workers=workers), RewardConfig())


def collector(vector):
    mixer = RewardMixer(RewardConfig(), vector.signal_kinds, vector.count)
    seeds = range(vector.count)
    return Collector(vector, Oracle(), mixer, constant(0.5), seeds, 0, torch.device("cpu"))


@pytest.mark.parametrize("backend", ["sync", "process"])
def test_p03_advantages_of_episodes_of_length_1_2_3_by_hand(backend):
    """Ends in turn: terminated, truncated, both (termination wins), terminated, running on."""
    with scripted(backend) as vector:
        rollout = collector(vector).collect(8, START)
    for copy in range(2):
        assert rollout.reward[:, copy].tolist() == [1, 101, 102, 201, 202, 203, 301, 401]
        assert rollout.value[:, copy].tolist() == [0, 10, 11, 20, 21, 22, 30, 40]
        #   t0 ended (0), t2 was cut off at (1, 2) → 12, t5 and t6 ended, t7 runs on at (4, 1) → 41
        assert rollout.next_value[:, copy].tolist() == [0, 11, 12, 21, 22, 0, 0, 41]
        ends = [True, False, True, False, False, True, True, False]
        assert rollout.episode_end[:, copy].tolist() == ends
    advantage = F.gae(
        rollout.reward, rollout.value, rollout.next_value, rollout.episode_end, 0.5, 0.5
    )
    by_hand = [1, 120.75, 97, 250.8125, 237.25, 181, 271, 381.5]
    assert advantage[:, 0].tolist() == by_hand
    assert advantage[:, 1].tolist() == by_hand


def test_p06_the_policy_acts_on_the_reset_observation_never_on_the_final_one():
    with scripted() as vector:
        rollout = collector(vector).collect(6, START)
    episodes_and_steps = rollout.obs["obs"][:, 0, 1:3].tolist()
    assert episodes_and_steps == [[0, 0], [1, 0], [1, 1], [2, 0], [2, 1], [2, 2]]


def test_p10_rows_do_not_share_memory_with_a_careless_environment():
    with scripted(reuses_array=True) as vector:
        rollout = collector(vector).collect(6, START)
    assert len({tuple(row) for row in rollout.obs["obs"][:, 0].tolist()}) == 6


def test_episodes_run_on_into_the_next_rollout():
    with scripted(lengths=[5]) as vector:
        collect = collector(vector)
        first = collect.collect(3, START)
        assert not first.episode_end.any()
        assert first.next_value[-1].tolist() == [3.0, 3.0]
        second = collect.collect(3, START)
        assert second.obs["obs"][:, 0, 1:3].tolist() == [[0, 3], [0, 4], [1, 0]]
    assert [(episode.length, episode.score) for episode in collect.episodes] == [(5, 15.0)] * 2
    assert collect.env_steps == 12
    assert collect.vector_steps == 6


def test_whole_episodes_are_collected_per_copy_and_idle_copies_are_not_learnt_from():
    with scripted(count=3) as vector:
        collect = collector(vector)
        vector.reset([0, 1, 2])
        rollout = collect.collect_episodes(3, START)
    assert rollout.steps == 6
    assert rollout.valid.all()
    assert rollout.episode_end.sum(0).tolist() == [3, 3, 3]


@pytest.mark.parametrize("lengths", [[300], [3, 300]])
def test_storage_grows_for_long_episodes_without_losing_rows(lengths):
    with scripted(lengths=lengths, count=2) as vector:
        collect = collector(vector)
        rollout = collect.collect_episodes(len(lengths), START)
        assert rollout.steps == sum(lengths)
        steps = [step for length in lengths for step in range(length)]
        assert rollout.obs["obs"][:, 0, 2].tolist() == steps
        again = collect.collect_episodes(1, START)
        assert again.steps == lengths[0]


def test_copies_that_are_done_stand_still(make_config):
    config = make_config("CartPole-v1", "reinforce")
    from spotter.training import Training

    with Training(config) as training:
        rollout = training.algorithm.collect(training.collector, START)
        lengths = rollout.valid.sum(0)
        assert lengths.max() == rollout.steps
        assert lengths.min() < rollout.steps
        assert training.collector.env_steps == int(lengths.sum())
        batch = rollout.flatten(rollout.reward, rollout.reward)
        assert len(batch) == int(lengths.sum())
        for copy in range(4):
            length = int(lengths[copy])
            assert rollout.reward[length:, copy].abs().sum() == 0
            assert rollout.episode_end[length - 1, copy]


def test_parts_of_an_episode_add_up_to_its_reward(make_config):
    from spotter.training import Training

    signals = [{"name": "slow", "source": "step_penalty", "weight": 0.25}]
    config = make_config("CartPole-v1", reward={"signals": signals, "weight": 2.0})
    with Training(config) as training:
        episodes = [episode for _ in range(4) for episode in training.step().episodes]
    assert episodes
    for episode in episodes:
        assert episode.score == episode.length
        assert episode.parts == {"env": 2.0 * episode.length, "slow": -0.25 * episode.length}
        assert episode.reward == pytest.approx(1.75 * episode.length)
