"""What a rollout looks like, in numbers and as a table."""

import csv
import io
from collections import Counter

import pytest
import torch

from spotter.collect import statistics
from spotter.engines import functional as F
from spotter.rundir.run import Run
from spotter.training import summary
from spotter.training.run import train
from spotter.training.training import Training


def collected(make_config, env_id="CartPole-v1", steps=40, **sections):
    with Training(make_config(env_id, {"name": "ppo", "steps": steps}, **sections)) as training:
        rollout = training.source.worker.collector.collect(steps, training.progress)
        return rollout, training.policy


def rows_of(rollout, gamma=0.99, lam=0.95):
    return list(csv.DictReader(io.StringIO(statistics.table(rollout, gamma, lam))))


def test_statistics_are_those_of_the_rollout(make_config):
    rollout, policy = collected(make_config)
    found = statistics.statistics(rollout, policy)
    action = rollout.action.float()
    assert found["action/mean"] == pytest.approx(action.mean().item())
    assert found["action/std"] == pytest.approx(action.std(correction=0).item())
    assert found["action/share/0"] + found["action/share/1"] == pytest.approx(1)
    assert found["policy/probability"] == pytest.approx(0.5, abs=0.01), "a fresh policy is uniform"
    assert found["rollout/reward_mean"] == 1
    assert found["rollout/lost"] == 0


@pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake-v1", "Blackjack-v1"])
def test_equal_samples_are_counted(make_config, env_id):
    family = {"env": {"family": "toy_text" if env_id != "CartPole-v1" else "classic"}}
    rollout, policy = collected(make_config, env_id, **family)
    found = statistics.statistics(rollout, policy)
    columns = [leaf.reshape(160, -1).tolist() for leaf in rollout.leaves.values()]
    columns.append(rollout.action.reshape(160, -1).tolist())
    counts = Counter(str(row) for row in zip(*columns, strict=True)).values()
    assert found["rollout/distinct"] == len(counts) / 160
    assert found["rollout/effective"] == pytest.approx(160 / sum(n * n for n in counts))
    assert (found["rollout/effective"] == 1) == (env_id == "CartPole-v1")


def test_envs_that_play_alike_bring_less(make_config):
    rollout, policy = collected(make_config)
    for block in (*rollout.leaves.values(), rollout.action):
        block[:] = block[:, :1].clone()
    found = statistics.statistics(rollout, policy)
    assert found["rollout/effective"] == found["rollout/distinct"] == 0.25


def test_continuous_actions_have_a_spread_instead_of_shares(make_config):
    found = statistics.statistics(*collected(make_config, "Pendulum-v1"))
    assert found["policy/std"] == pytest.approx(1.0)
    assert not [key for key in found if key.startswith("action/share")]


def test_a_box_action_has_numbers_of_its_own(make_config):
    lander = {"env": {"family": "box2d"}, "policy": {"log_std": 1.6}}
    rollout, policy = collected(make_config, "LunarLanderContinuous-v3", **lander)
    found = statistics.statistics(rollout, policy)
    for i in range(2):
        column = rollout.action[..., i]
        assert found[f"action/mean/{i}"] == pytest.approx(column.mean().item(), abs=1e-5)
        assert found[f"action/std/{i}"] == pytest.approx(column.std(correction=0).item(), rel=1e-4)
        assert found[f"policy/std/{i}"] == pytest.approx(4.953, abs=1e-3)
    outside = (rollout.action.abs() > 1).float().mean().item()
    assert found["action/outside"] == pytest.approx(outside)
    assert outside > 0.8


def test_choices_of_every_component_are_counted(make_config):
    dials = {"env": {"kwargs": {"actions": "dials"}}}
    rollout, policy = collected(make_config, "tests.episodes.odd:Odd-v0", **dials)
    found = statistics.statistics(rollout, policy)
    for i, choices in enumerate((2, 3)):
        column = rollout.action[..., i]
        for choice in range(choices):
            share = (column == choice).float().mean().item()
            assert found[f"action/share/{i}/{choice}"] == pytest.approx(share)
        assert found[f"action/mean/{i}"] == pytest.approx(column.float().mean().item())
        assert f"action/std/{i}" in found


def test_switches_have_means(make_config):
    switches = {"env": {"kwargs": {"actions": "switches"}}}
    found = statistics.statistics(*collected(make_config, "tests.episodes.odd:Odd-v0", **switches))
    assert [f"action/mean/{i}" in found for i in range(4)] == [True, True, True, False]


def test_actions_cut_by_their_bounds_raise_alerts(make_config):
    """Five times as wide as the bounds of both engines."""
    config = make_config(
        "LunarLanderContinuous-v3",
        {"name": "ppo", "steps": 250},
        env={"family": "box2d", "count": 4},
        policy={"log_std": 1.6},
        budget={"env_steps": 6000},
        eval={"every_steps": None, "episodes": 1},
        video={"when": None},
    )
    run = train(config, new_run=lambda: Run.create(config, "x")).run
    alerts = {event["id"]: event["saw"] for event in run.events() if event["event"] == "alert"}
    assert alerts["initial-action-std"].endswith("from the fresh policy, where bounds are ±1")
    assert alerts["action-std-explosion"].endswith(" where bounds are ±1")


def test_the_table_is_the_rollout(make_config):
    rollout, _ = collected(make_config)
    rows = rows_of(rollout)
    assert tuple(rows[0]) == statistics.COLUMNS
    assert len(rows) == rollout.steps * rollout.count
    advantage = F.gae(
        rollout.reward, rollout.value, rollout.next_value, rollout.episode_end, 0.99, 0.95
    )
    for row in rows[::7]:
        t, n = int(row["step"]), int(row["copy"])
        assert float(row["value"]) == rollout.value[t, n].item()
        assert float(row["advantage"]) == advantage[t, n].item()
        assert float(row["probability"]) == pytest.approx(rollout.log_prob[t, n].exp().item())
        assert (row["end"] == "terminated") == rollout.terminated[t, n].item()


@pytest.mark.parametrize("credit", ["to_go", "episode"])
@pytest.mark.parametrize("baseline", ["mean", "none"])
def test_the_table_shows_no_critic_that_was_not_used(make_config, baseline, credit):
    algo = {"name": "reinforce", "baseline": baseline, "returns": credit}
    with Training(make_config("CartPole-v1", algo)) as training:
        rollout = training.source.worker.collector.collect_episodes(1, training.progress)
        arrays = rollout.arrays()
        returns = training.algorithm._returns(arrays, 0.99)
        batch = arrays.flatten(returns, returns)
        expected = batch.target - batch.target.mean() if baseline == "mean" else batch.target
    text = statistics.table(rollout, 0.99, 1.0, baseline, credit)
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {row["value"] for row in rows} == {""}
    shown = sorted(float(row["advantage"]) for row in rows)
    assert shown == pytest.approx(sorted(expected.tolist()), abs=1e-3)


def test_rewards_add_up_within_episodes(make_config):
    rows = rows_of(collected(make_config)[0])
    assert any(row["end"] for row in rows), "an untrained CartPole falls within 40 steps"
    total = 0.0
    for row in rows:
        total = total + 1 if int(row["step"]) else 1.0
        assert float(row["cumulative"]) == total
        total = 0.0 if row["end"] else total


def test_long_rollouts_are_cut_short(make_config):
    rollout, _ = collected(make_config, steps=1500)
    rows = rows_of(rollout)
    assert len(rows) == 1500
    assert {row["copy"] for row in rows} == {"0"}


def test_lost_steps_are_marked_and_left_out(make_config):
    rollout, policy = collected(make_config)
    rollout.valid[5, 2] = False
    rollout.whole, rollout.lost = False, [(5, 6, 2)]
    assert statistics.statistics(rollout, policy)["rollout/lost"] == pytest.approx(1 / 160)
    lost = [row for row in rows_of(rollout) if row["end"] == "lost"]
    assert [(row["step"], row["copy"]) for row in lost] == [("5", "2")]


@pytest.mark.parametrize("core", ["gru", "lstm"])
def test_a_core_at_its_bounds_is_seen(make_config, core):
    rollout, policy = collected(make_config, policy={"core": core})
    assert "core/saturated" not in statistics.statistics(rollout, policy), "all at the beginning"
    held = torch.zeros_like(rollout.state[0])
    held[1], held[2], held[2, :, :16] = 0.5, 0.5, -0.999
    rollout.state = (held, *rollout.state[1:])
    found = statistics.statistics(rollout, policy)
    assert found["core/saturated"] == pytest.approx(16 / 128), "of the two envs that remember"
    critic = len(rollout.state) // 2
    rollout.state = (*rollout.state[:critic], torch.ones_like(held), *rollout.state[critic + 1 :])
    assert statistics.statistics(rollout, policy)["core/saturated"] == 1, "the critic's is worse"
    assert "core/saturated" not in statistics.statistics(*collected(make_config))


def test_alerts_know_what_a_run_explores_and_remembers_with(make_config):
    signals = [
        {"name": name, "source": "state_count", "scope": scope}
        for name, scope in (("world", "run"), ("level", "episode"))
    ]
    reward = {"signals": signals, "intrinsic": ["rnd"]}
    config = make_config("Acrobot-v1", {"name": "ppo"}, reward=reward, policy={"core": "gru"})
    with Training(config) as training:
        facts = summary.facts(training, None, fresh=True)
    assert (facts.intrinsic, facts.counted, facts.core) == (("rnd",), ("world",), True)
