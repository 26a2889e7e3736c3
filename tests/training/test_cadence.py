"""When a run evaluates by default, and how much: never more than its share of the env steps."""

import json
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from spotter.rundir.run import Run, home
from spotter.rundir.trust import trusting
from spotter.training import checkpoint
from spotter.training.cadence import Cadence, Plan, Seen, relative_cost, upgraded
from spotter.training.resume import resume
from spotter.training.run import train
from spotter.types import UserError

BEFORE_CADENCE = Path(__file__).parents[1] / "museum" / "before-join"
BUDGET = 1_000_000
AUTO = {"every_steps": "auto", "episodes": "auto"}


def cadence(make_config, env="LunarLander-v3", threshold=200.0, budget=BUDGET, **settings):
    config = make_config(env, eval={**AUTO, **settings}, budget={"env_steps": budget})
    return Cadence(config, threshold)


def follow(cadence, length, score=0.0, every=1000, until=BUDGET, confirm=0, greedy=None):
    """Train on, and play every evaluation that is due; the env steps at which one was made."""
    made = []
    for env_steps in range(every, until + 1, every):
        seen = Seen(env_steps, length(env_steps), score)
        if cadence.is_due(seen):
            plan = cadence.plan(seen)
            played = (greedy or length)(env_steps)
            cadence.note([int(played)] * plan.episodes, confirm)
            cadence.wait_after(env_steps)
            made.append(env_steps)
    return made


@pytest.mark.parametrize("length", [20, 300, 1000])
@pytest.mark.parametrize("budget", [20_000, 100_000, 1_000_000])
def test_evaluation_and_test_stay_within_their_share(make_config, length, budget):
    one = cadence(make_config, budget=budget)
    follow(one, lambda _: length, until=budget)
    plan = one.plan(Seen(budget, length, 0.0))
    one.note([length] * (plan.episodes * plan.test_parts), 0)
    assert one.played <= max(0.1 * budget, length), "a single episode is the least"


def test_long_runs_evaluate_about_twenty_times(make_config):
    made = follow(cadence(make_config), lambda _: 300)
    assert 10 <= len(made) <= 40
    gaps = {b - a for a, b in pairwise(made[1:])}
    assert max(gaps) <= 2 * min(gaps)


def test_short_episodes_are_played_often_enough_to_mean_something(make_config):
    one = cadence(make_config, "FrozenLake-v1", 0.7)
    follow(one, lambda _: 10)
    assert one.episodes >= 20


def test_short_episodes_without_a_limit_are_not_taken_for_long_ones(make_config):
    one = cadence(make_config, "Blackjack-v1", None, budget=300_000)
    follow(one, lambda _: 2, until=300_000)
    assert one.episodes > 15


def test_episodes_that_grow_are_played_less_often(make_config):
    """A walker falls at first; later each of its episodes takes a hundred times as long."""
    made = follow(cadence(make_config, "BipedalWalker-v3"), lambda t: 16 if t < 2e5 else 1600)
    one = cadence(make_config, "BipedalWalker-v3")
    follow(one, lambda t: 16 if t < 2e5 else 1600)
    assert one.played <= 0.07 * BUDGET
    assert sum(at < 200_000 for at in made) > 3


def test_confirmations_count(make_config):
    one = cadence(make_config)
    follow(one, lambda _: 300, confirm=5000)
    assert one.played <= 0.06 * BUDGET


def test_a_score_that_may_be_the_threshold_is_looked_at_sooner(make_config):
    waiting, promising = cadence(make_config), cadence(make_config)
    assert len(follow(promising, lambda _: 300, score=250.0)) > len(follow(waiting, lambda _: 300))
    assert promising.played <= 0.1 * BUDGET


def test_before_an_episode_has_ended_it_is_as_long_as_it_is_by_now(make_config):
    one = cadence(make_config, threshold=None)
    count = one.config.env.count
    assert not one.is_due(Seen(60_000, None, None)), f"{60_000 / count} steps each, and going on"
    assert one.is_due(Seen(60_000, 20.0, None))


def test_the_first_evaluation_may_reach_the_limit(make_config):
    """A greedy policy that has learnt not to fall stands still, where training falls at once."""
    one = cadence(make_config, "BipedalWalker-v3", budget=40_000)
    made = follow(one, lambda _: 100, until=40_000, greedy=lambda _: 1600)
    plan = one.plan(Seen(40_000, 100.0, None))
    assert (len(made), plan.episodes, plan.test_parts) == (1, 1, 1)
    assert one.played + 1600 <= 4000


def test_greedy_episodes_that_outgrow_training_do_not_outgrow_the_share(make_config):
    """FlappyBird: training falls after 300 steps, the best weights fly on for thousands."""
    one = cadence(make_config, "Blackjack-v1", None)
    made = follow(one, lambda _: 300, greedy=lambda t: 300 if t < 900_000 else 10_000)
    assert made[-1] >= 900_000 > made[-2], "no other evaluation is due after the first long one"
    before, seen = one.episodes, Seen(BUDGET, 300.0, None)
    plan = one.plan(seen)
    assert 1 <= plan.episodes < before and not plan.must_confirm
    assert 2 * 10_000 * plan.episodes > plan.confirm_steps, "a confirmation finds no room"
    one.note([10_000] * plan.episodes, 0)
    test = one.plan(seen)
    one.note([10_000] * test.episodes * test.test_parts, 0)
    assert one.played <= 0.1 * BUDGET + 10_000


def test_what_is_written_is_obeyed(make_config):
    one = cadence(make_config, every_steps=5000, episodes=50)
    assert follow(one, lambda _: 1000, until=30_000) == [
        5000,
        10_000,
        15_000,
        20_000,
        25_000,
        30_000,
    ]
    assert one.plan(Seen(30_000, 1000.0, None)) == Plan(50, 3000)


def test_where_only_the_cadence_is_written_the_test_is_whole(make_config):
    plan = cadence(make_config, every_steps=5000, budget=20_000).plan(Seen(5000, 300.0, None))
    assert plan.episodes * plan.test_parts > 20 - plan.episodes


def test_what_was_chosen_can_be_said(make_config):
    one = cadence(make_config)
    one.plan(Seen(50_000, 250.0, 0.0))
    assert one.choice(Seen(50_000, 250.0, 0.0)) == (
        f"evaluations play {one.episodes} episodes each, now about 250 env steps long "
        "(eval.episodes: auto)"
    )


def test_short_episodes_are_played_more_often_once_they_are_known_to_be_short(make_config):
    one = cadence(make_config, env="Blackjack-v1", threshold=None)
    follow(one, lambda _: 2, until=100_000, greedy=lambda _: 2)
    assert one.episodes == 100
    assert one.played <= 0.1 * 100_000
    written = cadence(make_config, env="Blackjack-v1", threshold=None, episodes=9)
    follow(written, lambda _: 2, until=100_000)
    assert written.episodes == 9


def test_one_long_episode_gives_way_to_five_that_turn_out_shorter(make_config):
    """Without a limit and with a small budget, the first evaluation may afford a single episode."""
    one = cadence(make_config, "Blackjack-v1", None, budget=100_000)
    follow(one, lambda _: 290, until=100_000)
    assert one.episodes >= 4
    assert one.played <= 0.1 * 100_000


def test_by_env_steps(make_config):
    one = cadence(make_config, env_steps=3000)
    assert one.plan(Seen(10_000, 100.0, None)).episodes == 30
    assert one.plan(Seen(20_000, 1000.0, None)).episodes == 30, "the same for the whole run"


def test_episodes_and_env_steps_exclude_each_other(make_config):
    with pytest.raises(UserError, match=r"eval\.env_steps and eval\.episodes exclude each other"):
        make_config("CartPole-v1", eval={"episodes": 5, "env_steps": 1000})


def test_null_evaluates_at_the_end_only(make_config):
    assert follow(cadence(make_config, every_steps=None), lambda _: 10) == []


def test_the_test_plays_on_where_there_is_room(make_config):
    one = cadence(make_config)
    plan = one.plan(Seen(BUDGET, 500.0, None))
    assert plan.episodes < 20 and 50 <= plan.episodes * plan.test_parts <= 100


def test_only_batched_environments_cost_less_than_training(make_config):
    assert relative_cost(make_config("LunarLander-v3")) == 1.0
    assert 0.05 < relative_cost(make_config("CartPole-v1")) < 0.4


def test_it_goes_on_where_it_was(make_config):
    one, other = cadence(make_config), cadence(make_config)
    follow(one, lambda _: 300, until=500_000)
    other.restore(json.loads(json.dumps(one.state())), 500_000, ())
    assert other == one
    other.restore(one.state(), 500_000, ["eval.share"])
    assert other.episodes is None, "chosen again"


def test_an_earlier_version_counted_only_confirmations():
    old = {
        "next_evaluation": 20_000,
        "confirm_steps": 50,
        "unranked": [10_000],
        "unranked_steps": 7,
    }
    seen = Seen(10_000, 300.0, -200.0)
    new = upgraded(old, seen, 20)
    assert new["cadence"]["next_at"] == 20_000
    assert new["cadence"]["confirmed"] == 57
    assert new["unranked"] == [(10_000, Plan(20, 950))]
    assert new["seen"] == seen
    assert upgraded(new, seen, 20) is new


@pytest.mark.parametrize("way", ["unranked", "pending", "cut_short"])
def test_a_run_of_an_earlier_version_evaluates_as_many_episodes_as_its_config_says(way):
    """Whatever it had left to do: `eval.episodes` is 2 there."""
    (exhibit,) = BEFORE_CADENCE.iterdir()
    step = home() / exhibit.name / "checkpoints" / "step-000000032"
    shutil.copytree(exhibit, home() / exhibit.name)
    for name in ("score.json", "../best.json"):
        (step / name).unlink()
    saved = json.loads((step / "state.json").read_text())
    saved["trainer"][way] = {"unranked": [32], "pending": 32, "cut_short": True}[way]
    (step / "state.json").write_text(json.dumps(saved))
    with trusting(True):
        origin = resume(exhibit.name, ["budget.env_steps=96", "eval.every_steps=32"])
        result = train(origin.config, new_run=lambda: origin.take_up([], ""), origin=origin)
    found = [len(event["scores"]) for event in result.run.evaluations()]
    assert len(found) >= 3 and set(found) == {2}
    assert len(checkpoint.read_scores(step)["eval"]["scores"]) == 2


def test_a_run_keeps_to_its_share(make_config):
    """A real one, by what it has played in evaluations, confirmations and test."""
    sections = {"budget": {"env_steps": 30_000}, "video": {"when": None}, "eval": AUTO}
    config = make_config("MountainCar-v0", **sections)
    result = train(config, new_run=lambda: Run.create(config, "x"))
    played = [
        sum(event["lengths"]) for event in result.run.events() if event["event"] == "evaluation"
    ]
    assert len(played) >= 3
    assert sum(played) * relative_cost(result.config) <= 0.1 * result.env_steps
