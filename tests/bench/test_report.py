"""Findings in words."""

import json
from dataclasses import replace

import pytest

from spotter.bench.measure import Ratio
from spotter.bench.report import (
    advice,
    as_data,
    headline,
    profile_rows,
    rollout_length,
    speed_rows,
    trial_rows,
)
from spotter.bench.trials import Change, Trial
from tests.bench.fakes import findings

BATCH = Trial(Change("backend", {"env.backend": "batch"}, True), Ratio.of([1.4, 1.5, 1.6]))
MORE = Trial(Change("count", {"env.count": 64}, False), Ratio.of([2.0, 2.2]))
SLOW = Trial(Change("threads", {"threads": 2}, True), Ratio.of([0.5]))
CANNOT = Trial(Change("device", {"device": "cuda"}, True), problem="out of memory")


@pytest.fixture
def config(make_config):
    return make_config("FrozenLake-v1", {"name": "ppo", "steps": 32})


def test_the_headline(config):
    assert headline("FrozenLake-v1:ppo", findings(config)) == (
        "FrozenLake-v1:ppo: 4 envs (auto: sync), 1 of 2 threads, cpu"
    )


def test_shares_and_costs(config):
    rows = profile_rows(findings(config))
    assert rows[0] == ["env", "10 %", "100.0"]
    assert rows[3] == ["learn", "60 %", "600.0"]
    assert rows[4] == ["idle", "0 %", "0.0"]


def test_speed_against_its_limits(config):
    rows = {name: (rate, meaning) for name, rate, meaning in speed_rows(findings(config))}
    assert rows["achieved"] == ("1,000", "over 10 updates")
    assert rows["environments alone"][0] == "10,000"
    assert rows["learning alone"][0] == "2,500"
    assert rows["bound"] == ("2,000", "one after the other; 50 % of it is achieved")


def test_trials_the_fastest_first(config):
    left = Change("steps", {"algo.steps": 64}, False)
    assert trial_rows(findings(config, [SLOW, CANNOT, BATCH, MORE], [left])) == [
        ["env.count=64", "2.10 ± 0.10", "changes learning"],
        ["env.backend=batch", "1.50 ± 0.10", "free"],
        ["threads=2", "0.50 ± 0.00", "free"],
        ["device=cuda", "cannot: out of memory", "free"],
        ["algo.steps=64", "not tried: no time", "changes learning"],
    ]


def test_what_to_change(config):
    text = " ".join(advice(findings(config, [BATCH, MORE, SLOW])))
    assert "Most of the time goes into learning (60 %)." in text
    assert "Set env.backend=batch: 1.50 ± 0.10 times as fast, and learning stays the same." in text
    assert "env.count=64 is 2.10 ± 0.10 times as fast but changes learning" in text


def test_what_a_back_end_costs_is_said(config):
    pool = Trial(Change("backend", {"env.backend": "envpool"}, True), Ratio.of([3.0]))
    assert "EnvPool plays its own version" in " ".join(advice(findings(config, [BATCH, pool])))
    assert "EnvPool" not in " ".join(advice(findings(config, [BATCH])))


def test_nothing_to_change(config):
    text = " ".join(advice(findings(config, [SLOW], [BATCH.change], env=0.7, learn=0.1)))
    assert "No free change was faster beyond doubt." in text
    assert "What else would help: a cheaper environment" in text
    assert "1 change was not tried; give it more --seconds." in text


@pytest.mark.parametrize(
    ("rewards", "steps", "words"),
    [
        (1000, None, ""),
        (100, None, "once in 10 steps: algo.steps=32 is long enough"),
        (20, 128, "once in 50 steps: algo.steps=128 instead of 32 would show each env 2 of them"),
        (0, None, "earned nothing in 1,000 env steps"),
    ],
)
def test_rollouts_as_long_as_rewards_are_apart(config, rewards, steps, words):
    proposal = rollout_length(findings(config, rewards=rewards))
    assert proposal.steps == steps
    assert words in proposal.sentence
    assert bool(proposal.sentence) is bool(words)


def test_rewards_too_far_apart_for_any_rollout(make_config):
    config = make_config("FrozenLake-v1", {"name": "a2c", "steps": 5})
    far = findings(config, rewards=1)
    assert rollout_length(far).steps == 2000
    further = replace(far, limits=replace(far.limits, random_steps=10_000))
    assert rollout_length(further).steps is None
    assert "no rollout is long enough" in rollout_length(further).sentence


def test_signals_and_whole_episodes_need_no_rollout_length(make_config):
    paid = make_config("FrozenLake-v1", reward={"signals": [{"source": "step_penalty"}]})
    assert rollout_length(findings(paid, rewards=1)).sentence == ""
    assert rollout_length(findings(make_config("FrozenLake-v1", "reinforce"))).sentence == ""


def test_for_programs(config):
    data = as_data("X:ppo", findings(config, [BATCH, MORE, CANNOT]))
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["profile"]["updates_per_s"] == 10
    assert data["limits"]["achieved"] == 0.5
    assert data["best"] == {"free": {"env.backend": "batch"}, "learning": {"env.count": 64}}
    assert data["trials"][0] == {
        "settings": {"env.backend": "batch"},
        "free": True,
        "faster": True,
        "ratio": 1.5,
        "low": 1.4,
        "high": 1.6,
    }
    assert data["trials"][2]["problem"] == "out of memory"
