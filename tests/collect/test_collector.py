"""Collecting: a scripted environment whose advantages are computed by hand."""

from types import SimpleNamespace

import pytest
import torch

from spotter.collect.collector import Collector
from spotter.collect.rewards import RewardMixer
from spotter.config import EnvConfig, PolicyConfig, RewardConfig
from spotter.engines import functional as F
from spotter.engines import rollout_actor
from spotter.envs.make import make_vector
from spotter.packing import pack, unpack
from spotter.policy.actor import Acted
from spotter.schedules import constant
from spotter.testing.scripted import FAULTY_ID, ID
from spotter.types import Progress
from tests.policy.counting import Counting

START = Progress(0, None)


class Oracle:
    """An actor whose value of (episode e, step s) is 10·e + s, so every number is known."""

    def __init__(self):
        self.policy = SimpleNamespace(initial_state=lambda count: ())
        self.generator = torch.Generator()

    def prepare(self, steps, count):
        pass

    def act(self, obs, mask, state, rows):
        value = self.value(obs, state)
        return Acted(torch.zeros(len(value), dtype=torch.long), torch.zeros_like(value), value)

    def value(self, obs, state):
        return torch.as_tensor(10 * obs["obs"][:, 1] + obs["obs"][:, 2])

    def complete(self, rollout):
        pass


def scripted(backend="sync", count=2, env_id=ID, **kwargs):
    kwargs.setdefault("ends", ["terminated", "truncated", "both"])
    env = {
        "id": env_id,
        "family": "gymnasium",
        "count": count,
        "backend": backend,
        "kwargs": kwargs,
    }
    workers = 2 if backend == "process" else None
    return make_vector(EnvConfig(**env, workers=workers), RewardConfig())


def collector(vector, actor=None):
    mixer = RewardMixer(RewardConfig(), vector.signal_kinds, vector.count)
    return Collector(vector, actor or Oracle(), mixer, constant(0.5), range(vector.count))


@pytest.mark.parametrize("backend", ["sync", "process"])
def test_p03_advantages_of_episodes_of_length_1_2_3_by_hand(backend):
    """Ends in turn: terminated, truncated, both (termination wins), terminated, running on."""
    with scripted(backend) as vector:
        rollout = collector(vector).collect(8, START)
    for instance in range(2):
        assert rollout.reward[:, instance].tolist() == [1, 101, 102, 201, 202, 203, 301, 401]
        assert rollout.value[:, instance].tolist() == [0, 10, 11, 20, 21, 22, 30, 40]
        #   t0 ended (0), t2 was cut off at (1, 2) → 12, t5 and t6 ended, t7 runs on at (4, 1) → 41
        assert rollout.next_value[:, instance].tolist() == [0, 11, 12, 21, 22, 0, 0, 41]
        ends = [True, False, True, False, False, True, True, False]
        assert rollout.episode_end[:, instance].tolist() == ends
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
    from spotter.training.training import Training

    with Training(config) as training:
        rollout = training.source.worker.gather(START).rollout
        lengths = rollout.valid.sum(0)
        assert lengths.max() == rollout.steps
        assert lengths.min() < rollout.steps
        assert training.source.worker.collector.env_steps == int(lengths.sum())
        batch = rollout.flatten(rollout.reward, rollout.reward)
        assert len(batch) == int(lengths.sum())
        for instance in range(4):
            length = int(lengths[instance])
            assert rollout.reward[length:, instance].abs().sum() == 0
            assert rollout.episode_end[length - 1, instance]


def test_parts_of_an_episode_add_up_to_its_reward(make_config):
    from spotter.training.training import Training

    signals = [{"name": "slow", "source": "step_penalty", "weight": 0.25}]
    config = make_config("CartPole-v1", reward={"signals": signals, "weight": 2.0})
    with Training(config) as training:
        episodes = [episode for _ in range(4) for episode in training.step().episodes]
    assert episodes
    for episode in episodes:
        assert episode.score == episode.length
        assert episode.parts == {"env": 2.0 * episode.length, "slow": -0.25 * episode.length}
        assert episode.reward == pytest.approx(1.75 * episode.length)


def counting(vector):
    return collector(vector, rollout_actor.make(Counting(vector.spaces, PolicyConfig()), 0))


def test_a_memory_is_carried_and_starts_where_an_episode_starts():
    """Episodes of 1, 2, 3 steps, the last one of the first rollout unfinished."""
    with scripted() as vector:
        collect = counting(vector)
        first = collect.collect(5, START)
        assert first.state[0].tolist() == [[0], [0]]
        values, after = first.value.clone(), first.next_value.clone()
        second = collect.collect(5, START)
    for instance in range(2):
        assert values[:, instance].tolist() == [0, 0, 1, 0, 1]
        assert after[:, instance].tolist() == [0, 1, 2, 1, 2], "2: a truncated episode's last state"
        assert second.state[0][instance].tolist() == [2], "what the rollout began with"
        assert second.action[:, instance].tolist() == [2, 0, 0, 1, 0]


def test_whole_episodes_begin_without_memory():
    with scripted(count=3) as vector:
        collect = counting(vector)
        for lengths in ([1, 2], [3, 1]):
            rollout = collect.collect_episodes(2, START)
            assert not rollout.state[0].any()
            turns = [step for length in lengths for step in range(length)]
            assert rollout.action[:, 0].tolist() == turns


def test_an_env_that_failed_starts_without_memory():
    with scripted(env_id=FAULTY_ID, seed=0, step=2, lengths=[9], ends=["terminated"]) as vector:
        rollout = counting(vector).collect(4, START)
    assert rollout.action[:, 0].tolist() == [0, 1, 0, 1]
    assert rollout.action[:, 1].tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize("halves", [1, 2])
def test_a_memory_is_carried_in_groups_of_envs(make_config, halves):
    pytest.importorskip("ale_py")
    from spotter.envs.backends.native import NativeVector

    config = make_config("ALE/Breakout-v5", env={"family": "atari", "time_limit": 3})
    with NativeVector(config.env, config.reward, 2, halves=halves) as vector:
        collect = counting(vector)
        for state in ([0, 0], [2, 2]):
            rollout = collect.collect(5, START)
            assert rollout.state[0][:, 0].tolist() == state
        assert rollout.value[:, 0].tolist() == rollout.value[:, 1].tolist() == [2, 0, 1, 2, 0]
        assert rollout.next_value[:, 1].tolist() == [3, 1, 2, 3, 1]


def test_a_memory_is_restored_with_its_episode(make_config, monkeypatch):
    from spotter.training.training import Training

    monkeypatch.setattr("spotter.training.training.Policy", Counting)
    config = make_config("CartPole-v1")
    with Training(config) as one, Training(config) as other:
        first, second = (training.source.worker.collector for training in (one, other))
        first.collect(5, START)
        data, arrays = pack(first.state())
        assert second.restore(unpack(data, arrays)) == []
        rollout = second.collect(2, START)
        assert rollout.state[0][:, 0].tolist() == [5] * 4
        data["tapes"] = []  # envs that cannot be restored begin another episode
        second.restore(unpack(data, arrays))
        assert not second.collect(2, START).state[0].any()
