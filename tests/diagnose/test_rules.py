"""Every rule, one by one: it speaks when it should, and holds its tongue when it should."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from spotter.diagnose.rules import ALERTS, IDS, unknown_ids
from tests.diagnose.rows import BOX, DISCRETE, Feed


def rising(update: int) -> float:
    return 20.0 + 2.0 * update


def test_a_healthy_run_is_left_in_peace():
    for facts in (DISCRETE, BOX, replace(DISCRETE, shaped=True), replace(DISCRETE, clips=False)):
        assert Feed(facts).rows(300, score=rising).fired == set()


def test_the_first_rows_are_left_in_peace():
    """Before three blocks nothing but a broken number, counter or start is worth a word."""
    awful = {"policy/approx_kl": 3.0, "policy/entropy": 0.0, "grad/norm": 1e9}
    assert Feed().rows(2, awful).fired == set()


def test_ids_are_distinct_kebab_case():
    assert len(set(IDS)) == len(IDS) == len(ALERTS)
    assert all(
        name == name.lower() and set(name) <= set("abcdefghijklmnopqrstuvwxyz-") for name in IDS
    )
    assert unknown_ids(["kl-high", "kl-hihg", "x"]) == ["kl-hihg", "x"]


def test_advice_is_one_line_without_a_full_stop():
    for rule in ALERTS.values():
        assert "\n" not in rule.advice
        assert not rule.advice.endswith((".", " "))
        assert rule.advice[0].islower()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_not_finite(value):
    feed = Feed().rows(1).rows(1, {"loss/value": value, "grad/norm": value})
    assert feed.active == {"not-finite"}
    (alert,) = feed.alerts
    assert alert.level == "critical"
    assert alert.metric in ("loss/value", "grad/norm")
    assert alert.saw.startswith(f"{alert.metric} = {value}, and 1 more")
    assert feed.rows(1).active == set()


def test_a_nan_does_not_poison_what_comes_after():
    feed = Feed().rows(50, score=rising)
    feed.rows(1, dict.fromkeys(feed.base, math.nan), score=math.nan)
    assert feed.active == {"not-finite"}
    assert feed.rows(100, score=rising).fired == {"not-finite"}


def test_a_large_finite_sum_is_no_nan():
    assert Feed().rows(5, {"loss/policy": 1.7e308, "loss/entropy": 1.7e308}).fired == set()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("policy/clip_fraction", 1.2),
        ("policy/clip_fraction", -0.2),  # a bound of 0 is a bound
        ("policy/approx_kl", -0.01),
        ("value/explained_variance", 1.05),
        ("time/fps", -3.0),
        ("policy/entropy", 0.8),  # above log 2, from the action space
        ("action/mean", 1.5),
        ("action/mean", -0.5),
        ("grad/trunk", -1.0),  # a family's bounds hold for its members
    ],
)
def test_out_of_bounds(key, value):
    feed = Feed().rows(4, {key: value})
    assert "out-of-bounds" not in feed.active
    feed.rows(1, {key: value})
    assert "out-of-bounds" in feed.active
    assert key in feed.saw("out-of-bounds")
    assert "out-of-bounds" not in feed.rows(5, {key: 0.5 if value > 0 else 0.6}).active


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("policy/kl", -0.05),  # k1 may be negative
        ("policy/approx_kl", -1e-8),  # rounding
        ("value/explained_variance", 1.00001),
        ("policy/entropy", math.log(2) + 1e-6),
        ("loss/policy", -5.0),
        ("value/explained_variance", -0.1),
    ],
)
def test_not_out_of_bounds(key, value):
    assert "out-of-bounds" not in Feed().rows(20, {key: value}).fired


def test_one_value_out_of_bounds_is_forgiven():
    feed = Feed().rows(3).rows(1, {"policy/clip_fraction": 1.2}).rows(30)
    assert "out-of-bounds" not in feed.fired


def test_bounds_follow_from_the_reward_clip():
    clipped = replace(DISCRETE, reward_clip=1.0)
    assert "out-of-bounds" in Feed(clipped).rows(5, {"rollout/reward_mean": 1.5}).active
    assert "out-of-bounds" not in Feed().rows(5, {"rollout/reward_mean": 1.5}).active


@pytest.mark.parametrize(
    ("facts", "metric", "fine", "beyond"),
    [
        ({"obs_range": (-2.0, 3.0)}, "obs/mean", -2.0, -2.1),
        ({"obs_range": (-2.0, 3.0)}, "obs/std", 2.5, 2.6),
        ({"episode_limit": 500}, "train/length", 500.0, 501.0),
        ({"score_range": (0.0, 500.0), "score_is_bounded": True}, "eval/score", 500.0, 501.0),
        ({"reward_clip": 1.0}, "rollout/reward_std", 1.0, 1.1),
        ({"action_choices": (2, 3)}, "action/mean/1", 2.0, 2.1),
        ({"action_choices": (2, 3)}, "action/std/0", 0.5, 1.1),
    ],
)
def test_bounds_follow_from_spaces_scores_and_limits(facts, metric, fine, beyond):
    known = replace(DISCRETE, **facts)
    assert "out-of-bounds" not in Feed(known).rows(5, {metric: fine}).active
    assert "out-of-bounds" in Feed(known).rows(5, {metric: beyond}).active
    assert "out-of-bounds" not in Feed().rows(5, {metric: beyond}).active


def test_usual_scores_are_no_bounds():
    usual = replace(DISCRETE, score_range=(-500.0, 320.0))
    assert "out-of-bounds" not in Feed(usual).rows(5, score=-700.0).active


def test_more_than_the_best_score_cannot_be_asked_for():
    """Where no threshold says when it is good, the end of the range does."""
    free = replace(DISCRETE, threshold=None)
    assert "score-flat" in Feed(free).rows(200, score=33.9).fired
    best = replace(free, score_range=(0.0, 34.0))
    assert Feed(best).rows(200, score=33.9).fired == set()


def test_box_entropy_has_no_bounds():
    assert "out-of-bounds" not in Feed(BOX).rows(5, {"policy/entropy": -4.0}).fired


def test_stuck_counter():
    feed = Feed().rows(2)
    assert feed.rows(1, env_steps=0).active == {"stuck-counter"}
    assert feed.rows(1).active == set()
    assert feed.rows(1, env_steps=-1500).active == {"stuck-counter"}
    assert feed.saw("stuck-counter") == "1,500 env steps after 3,000 on the row before"


def test_samples_lost():
    assert "samples-lost" in Feed().rows(6, {"rollout/lost": 0.2}).active
    assert Feed().rows(50, {"rollout/lost": 0.01}).fired == set()
    assert Feed().rows(20).rows(1, {"rollout/lost": 0.2}).rows(20).fired == set()


@pytest.mark.parametrize("mean", [0.1, 0.9])
def test_initial_action_mean(mean):
    feed = Feed().rows(1, {"action/mean": mean})
    assert feed.active == {"initial-action-mean"}
    assert feed.rows(20, {"action/mean": mean}).active == set()  # a matter of the start alone


def test_initial_action_std():
    four = replace(DISCRETE, action_count=4)
    uniform = {"action/mean": 1.5, "action/std": math.sqrt(15 / 12)}
    assert Feed(four).rows(1, uniform).active == set()
    assert Feed(four).rows(1, uniform | {"action/std": 0.5}).active == {"initial-action-std"}
    assert Feed(four).rows(1, uniform | {"action/std": 1.5}).active == {"initial-action-std"}


@pytest.mark.parametrize(
    "facts",
    [
        replace(DISCRETE, masked=True),
        replace(DISCRETE, fresh=False),
        replace(BOX, action_bounded=(False, False)),
    ],
)
def test_the_start_is_not_judged_where_it_need_not_be_uniform(facts):
    both = {f"action/mean{part}": 0.9 for part in ("", "/0", "/1")}
    both |= {f"action/std{part}": 0.01 for part in ("", "/0", "/1")}
    feed = Feed(facts).rows(1, both)
    assert not feed.fired & {"initial-action-mean", "initial-action-std"}


@pytest.mark.parametrize(
    ("facts", "changes", "alert", "saw"),
    [
        (
            replace(DISCRETE, action_kind="multi_discrete", action_count=6, action_choices=(2, 3)),
            {"action/mean/0": 0.5, "action/mean/1": 1.9, "action/std/0": 0.5, "action/std/1": 0.8},
            "initial-action-mean",
            "a mean of 1.9 for component 1 from the fresh policy, where a uniform one has 1",
        ),
        (
            replace(DISCRETE, action_kind="binary", action_count=4, action_choices=(2, 2)),
            {"action/mean/0": 0.5, "action/mean/1": 0.4, "action/std/0": 0.5, "action/std/1": 0.2},
            "initial-action-std",
            "a standard deviation of 0.2 for component 1 from the fresh policy, where a uniform "
            "one has 0.5",
        ),
        (
            BOX,
            {"action/mean/0": 0.0, "action/mean/1": -0.6, "action/std/0": 1, "action/std/1": 1},
            "initial-action-mean",
            "a mean of -0.6 for component 1 from the fresh policy, where a uniform one has 0",
        ),
        (
            BOX,
            {"action/mean/0": 0.3, "action/mean/1": 0.0, "action/std/0": 5, "action/std/1": 1},
            "initial-action-std",
            "a standard deviation of 5 for component 0 from the fresh policy, where bounds are ±1",
        ),
    ],
)
def test_the_start_of_every_component_is_judged(facts, changes, alert, saw):
    feed = Feed(facts).rows(1, changes)
    assert feed.active == {alert}
    assert feed.saw(alert) == saw


def test_a_few_samples_may_be_uneven_by_chance():
    assert Feed().rows(1, {"action/mean": 0.7}, env_steps=40).fired == set()
    assert Feed().rows(1, {"action/mean": 0.7}, env_steps=400).active == {"initial-action-mean"}


def test_a_later_rollout_may_be_uneven():
    assert Feed().rows(1).rows(10, {"action/mean": 0.95, "action/std": 0.2}).fired == set()


def test_entropy_collapse():
    feed = Feed().rows(10).rows(12, {"policy/entropy": 0.01})
    assert "entropy-collapse" in feed.active
    assert feed.saw("entropy-collapse") == "entropy at 0.01 nats, down from 0.693"


def test_entropy_collapse_is_seen_even_if_it_was_in_the_first_update():
    assert "entropy-collapse" in Feed().rows(20, {"policy/entropy": 0.001}).active


def test_low_entropy_is_fine_where_the_score_is():
    quiet = {"policy/entropy": 0.01}
    assert Feed().rows(300, quiet, score=rising).fired == set()
    feed = Feed().rows(10).rows(60, quiet, score=460.0)  # 97 % of the way to the threshold
    assert "entropy-collapse" not in feed.fired
    free = replace(DISCRETE, threshold=None)
    feed = Feed(free).rows(10).rows(60, quiet, score=60.0)  # far above the start, and no threshold
    assert "entropy-collapse" not in feed.fired
    assert "entropy-collapse" in Feed(free).rows(10).rows(60, quiet).fired


def test_a_component_that_is_never_varied():
    """The entropy of all components together stays high."""
    dials = replace(DISCRETE, action_kind="multi_discrete", action_count=6, action_choices=(2, 3))
    shares = {"action/share/0/0": 0.5, "action/share/0/1": 0.5, "action/share/1/2": 0.3}
    stuck = shares | {"action/share/0/0": 0.0, "action/share/0/1": 1.0}
    feed = Feed(dials).rows(10, shares).rows(15, stuck)
    assert "entropy-collapse" in feed.active
    said = "component 0 of the action at 1 in 100.0% of all samples, 50% at the start"
    assert feed.saw("entropy-collapse") == said
    assert Feed(dials).rows(10, shares).rows(60, stuck, score=rising).fired == set()
    assert "entropy-collapse" not in Feed(dials).rows(30, stuck).fired, "so from the start"


def test_entropy_that_was_low_from_the_start_is_no_collapse():
    for facts in (replace(DISCRETE, masked=True), replace(DISCRETE, fresh=False)):
        assert "entropy-collapse" not in Feed(facts).rows(50, {"policy/entropy": 0.03}).fired


def test_box_entropy_collapse_is_a_drop_not_a_share():
    start = {"policy/entropy": 0.2, "policy/std": 1.0}
    feed = Feed(BOX).rows(10, start).rows(30, {"policy/entropy": -4.0})
    assert "entropy-collapse" not in feed.fired  # 4.2 nats over 2 numbers
    assert "entropy-collapse" in feed.rows(10, {"policy/entropy": -7.0}).active


def test_action_std_collapse():
    assert "action-std-collapse" in Feed(BOX).rows(20).rows(9, {"policy/std": 0.02}).active
    assert "action-std-collapse" not in Feed(BOX).rows(20).rows(9, {"policy/std": 0.2}).fired
    solved = Feed(BOX).rows(20).rows(20, {"policy/std": 0.02}, score=250.0)
    assert "action-std-collapse" not in solved.active


def test_the_spread_of_one_number_among_several():
    wide = {"policy/std/0": 1.0, "policy/std/1": 1.0}
    feed = Feed(BOX).rows(3, wide).rows(8, wide | {"policy/std/1": 3.0})
    assert feed.active == {"action-std-explosion"}
    assert feed.saw("action-std-explosion") == "a std of 3 for component 1, where bounds are ±1"
    feed = Feed(BOX).rows(20, wide).rows(9, wide | {"policy/std/0": 0.01})
    assert "action-std-collapse" in feed.active
    assert feed.saw("action-std-collapse") == "a std of 0.01 for component 0, down from 1"


def test_action_std_explosion():
    feed = Feed(BOX).rows(3).rows(8, {"policy/std": 4.0})
    assert "action-std-explosion" in feed.active
    assert Feed(BOX).rows(3).rows(8, {"policy/std": 1.8}).fired == set()
    wide = Feed(BOX).rows(10, {"policy/std": 5.0})  # from the start: the bounds are no wider
    assert "action-std-explosion" in wide.active
    free = replace(BOX, action_bounded=(False, False))
    assert "action-std-explosion" not in Feed(free).rows(10, {"policy/std": 5.0}).fired
    assert "action-std-explosion" in Feed(free).rows(3).rows(8, {"policy/std": 4.0}).active
    solved = Feed(BOX).rows(20, {"policy/std": 5.0}, score=250.0)
    assert "action-std-explosion" not in solved.active
    assert "action-std-explosion" not in Feed().rows(3).rows(8, {"policy/std": 4.0}).fired


def test_kl_high():
    feed = Feed().rows(5, {"policy/approx_kl": 0.09, "policy/kl": 0.09})
    assert feed.active == {"kl-high"}
    assert feed.saw("kl-high") == "a mean KL of 0.09 per update, above 0.05"
    assert feed.rows(8).active == set()


def test_one_outlier_in_kl_is_forgiven():
    assert (
        Feed().rows(20).rows(1, {"policy/approx_kl": 0.15, "policy/kl": 0.15}).rows(20).fired
        == set()
    )


def test_kl_high_respects_the_target():
    moves = {"policy/approx_kl": 0.09, "policy/kl": 0.09}
    assert Feed(replace(DISCRETE, target_kl=0.06)).rows(9, moves).fired == set()
    moves = {"policy/approx_kl": 0.03, "policy/kl": 0.03}
    assert Feed(replace(DISCRETE, target_kl=0.01)).rows(9, moves).active == {"kl-high"}
    scheduled = moves | {"hp/algo.target_kl": 0.01}
    assert Feed(replace(DISCRETE, target_kl=0.5)).rows(9, scheduled).active == {"kl-high"}


def test_kl_low():
    still = {"policy/approx_kl": 1e-7, "policy/kl": 1e-7}
    assert Feed().rows(30, still).active == {"kl-low"}
    assert "kl-low" not in Feed(replace(DISCRETE, clips=False)).rows(30, still).fired


@pytest.mark.parametrize("rule", ["kl-low", "clip-low"])
def test_a_policy_may_keep_still_on_purpose(rule):
    still = {"policy/approx_kl": 1e-7, "policy/kl": 1e-7, "policy/clip_fraction": 0.0}
    assert rule in Feed().rows(30, still).fired
    faded = Feed().rows(15).rows(30, still | {"hp/algo.lr": 1e-5})
    assert rule not in faded.fired
    warming = Feed(replace(DISCRETE, lr_peak=1e-3)).rows(30, still | {"hp/algo.lr": 1e-5})
    assert rule not in warming.fired
    assert rule not in Feed().rows(30, still, score=490.0).fired  # nothing left to learn
    saturated = Feed().rows(30, still | {"policy/entropy": 0.0})
    assert rule not in saturated.fired  # raising the rate would be wrong advice
    assert "entropy-collapse" in saturated.fired


def test_a_rate_that_was_tiny_from_the_start_is_no_excuse():
    still = {"policy/approx_kl": 1e-9, "policy/kl": 0.0, "hp/algo.lr": 1e-7}
    assert "kl-low" in Feed().rows(30, still).active


def test_kl_disagreement():
    feed = Feed().rows(6, {"policy/kl": 0.01, "policy/approx_kl": 0.04})
    assert feed.active == {"kl-disagreement"}
    assert feed.alerts[0].level == "info"
    assert Feed().rows(20, {"policy/kl": 0.0001, "policy/approx_kl": 0.002}).fired == set()
    assert Feed().rows(20, {"policy/kl": 0.03, "policy/approx_kl": 0.045}).fired == set()
    assert "kl-disagreement" in Feed().rows(6, {"policy/kl": -0.09, "policy/approx_kl": 0.03}).fired


def test_clip_high():
    assert Feed().rows(6, {"policy/clip_fraction": 0.7}).active == {"clip-high"}
    assert Feed().rows(20, {"policy/clip_fraction": 0.4}).fired == set()
    narrowed = Feed().rows(10).rows(20, {"policy/clip_fraction": 0.8, "hp/algo.clip": 0.01})
    assert narrowed.fired == set()  # a range that closes by schedule leaves everything outside
    assert (
        Feed(replace(DISCRETE, clips=False)).rows(9, {"policy/clip_fraction": 0.8}).fired == set()
    )


def test_clip_low():
    assert Feed().rows(20, {"policy/clip_fraction": 0.0}).active == {"clip-low"}
    assert Feed().rows(20, {"policy/clip_fraction": 0.01}).fired == set()


def test_explained_variance_low():
    blind = {"value/explained_variance": -0.3}
    assert "explained-variance-low" not in Feed().rows(15, blind).fired
    assert "explained-variance-low" in Feed().rows(30, blind).active
    assert "explained-variance-low" not in Feed().rows(60, {"value/explained_variance": 0.1}).fired


def test_explained_variance_is_not_judged_where_it_means_nothing():
    blind = {"value/explained_variance": -0.3}
    alike = blind | {"return/mean": 50.0, "return/std": 0.1}
    for feed in (
        Feed().rows(60, alike),  # a perfect policy: all returns are the same
        Feed(replace(DISCRETE, critic=False)).rows(60, blind),
        Feed().rows(200, blind, score=rising),  # it learns all the same
        Feed().rows(60, blind | {"eval/score": 490.0, "eval/solved": 1.0, "eval/env_steps": 1.0}),
    ):
        assert "explained-variance-low" not in feed.fired


def test_gradient_explosion():
    assert Feed().rows(20).rows(6, {"grad/norm": 400.0}).active == {"gradient-explosion"}
    assert Feed().rows(20).rows(9, {"grad/norm": 40.0}).fired == set()
    assert Feed().rows(20, {"grad/norm": 0.01}).rows(9, {"grad/norm": 3.0}).fired == set()


def test_gradients_far_above_the_clip_from_the_start():
    feed = Feed().rows(6, {"grad/norm": 1.5e4})
    assert feed.active == {"gradient-explosion"}
    assert "algo.max_grad_norm = 0.5" in feed.saw("gradient-explosion")


def test_dead_units():
    assert "dead-units" in Feed().rows(3).rows(9, {"net/dead_units": 0.4}).active
    assert "dead-units" in Feed().rows(9, {"net/dead_units": 0.6}).active
    assert "dead-units" not in Feed().rows(3).rows(9, {"net/dead_units": 0.2}).fired


def test_units_with_nothing_to_react_to_are_not_dead():
    images = replace(DISCRETE, images=True)
    assert "dead-units" not in Feed(images).rows(9, {"net/dead_units": 0.6}).fired
    assert "dead-units" in Feed(images).rows(3).rows(9, {"net/dead_units": 0.6}).fired
    constant = {"net/dead_units": 1.0, "obs/std": 0.0}
    assert "dead-units" not in Feed().rows(30, constant).fired
    assert "dead-units" not in Feed().rows(30, {"net/dead_units": 1.0}).fired


def test_score_flat():
    feed = Feed().rows(200)
    assert feed.active == {"score-flat"}
    assert feed.alerts[0].level == "info"
    assert Feed().rows(200, score=490.0).fired == set()  # nothing left to gain
    assert Feed().rows(19, played=100).fired == set()  # too early to say
    assert Feed().rows(200, score=lambda update: 20 + update / 4).fired == set()


def test_score_flat_waits_for_a_fifth_of_the_budget():
    assert Feed().rows(200, {"run/progress": 0.1}).fired == set()
    assert Feed().rows(200, {"run/progress": 0.3}).fired == {"score-flat"}


def test_score_falling():
    feed = Feed().rows(100, score=rising).rows(25, score=60.0)
    assert "score-falling" in feed.active
    assert "down from 2" in feed.saw("score-falling")
    assert "score-falling" not in feed.rows(60, score=215.0).active


def test_a_dip_is_no_fall():
    feed = Feed().rows(100, score=rising).rows(3, score=60.0).rows(60, score=220.0)
    assert "score-falling" not in feed.fired
    feed = Feed().rows(100, score=rising).rows(60, score=190.0)  # from 220
    assert "score-falling" not in feed.fired


def test_a_solved_run_does_not_fall():
    feed = Feed().rows(100, score=1000.0).rows(60, score=480.0)
    assert "score-falling" not in feed.fired


def test_below_the_start_is_a_fall_too():
    assert "score-falling" in Feed().rows(30, score=22.0).rows(30, score=9.0).fired


def test_reward_without_score():
    shaped = replace(DISCRETE, shaped=True)
    falls, rises = (lambda update: 200.0 - update / 2), (lambda update: 200.0 + update)
    feed = Feed(shaped).rows(250, score=falls, reward=rises)
    assert "reward-without-score" in feed.active
    assert "reward-without-score" not in Feed().rows(250, score=falls, reward=rises).fired
    for score, reward in ((falls, falls), (rises, rises), (rises, falls)):
        assert (
            "reward-without-score" not in Feed(shaped).rows(250, score=score, reward=reward).fired
        )


@pytest.mark.parametrize(
    ("id", "facts", "healthy", "ill"),
    [
        ("intrinsic-dominates", {"intrinsic": ("rnd",)},
         {"intrinsic/rnd/share": 0.6}, {"intrinsic/rnd/share": 0.98}),
        ("counts-exhausted", {"counted": ("novelty",)},
         {"reward/novelty": 3.0}, {"reward/novelty": 0.1}),
        ("core-saturated", {"core": True}, {"core/saturated": 0.1}, {"core/saturated": 0.8}),
    ],
)  # fmt: skip
def test_ways_to_explore_and_remember_in_vain(id, facts, healthy, ill):
    known = replace(DISCRETE, **facts)
    assert id in Feed(known).rows(20, healthy).rows(40, ill).active
    assert id not in Feed(known).rows(60, healthy).fired
    assert id not in Feed(known).rows(20, healthy).rows(60, ill, score=rising).fired
    assert id not in Feed().rows(20, healthy).rows(40, ill).fired, "there is none of it"


def test_that_nothing_was_found_yet_is_what_intrinsic_rewards_are_for():
    alone = replace(DISCRETE, intrinsic=("rnd",))
    assert "intrinsic-dominates" not in Feed(alone).rows(60, {"intrinsic/rnd/share": 1.0}).fired


def evaluated(score: float, at: int, solved: float = 0.0) -> dict[str, float]:
    return {"eval/score": score, "eval/env_steps": float(at), "eval/solved": solved}


def test_eval_below_train():
    feed = Feed().rows(30, score=200.0)
    for at in (1, 2):
        feed.rows(9, score=200.0).rows(1, evaluated(50.0, at), score=200.0)
    assert "eval-below-train" not in feed.active
    feed.rows(1, evaluated(50.0, 3), score=200.0)
    assert "eval-below-train" in feed.active
    assert feed.saw("eval-below-train") == "an evaluation score of 50, 200 in training"
    assert "eval-below-train" not in feed.rows(1, evaluated(190.0, 4), score=200.0).active


def test_at_the_end_fewer_evaluations_are_enough():
    feed = Feed().rows(30, score=lambda update: 200.0 + update % 7)
    feed.rows(9, score=203.0).rows(1, evaluated(-260.0, 1), score=203.0)
    assert "eval-below-train" not in feed.active, "there will be more to judge by"
    last = evaluated(-260.0, 2) | {"run/progress": 1.0}
    assert "eval-below-train" in feed.rows(1, last, score=203.0).active


def looping(score: float, at: int, stalled: float) -> dict[str, float]:
    return evaluated(score, at) | {"eval/stalled": stalled, "train/truncated": 0.0}


def test_greedy_loop():
    """Pong: three of ten games run to the cap, which makes the score look good."""
    feed = Feed().rows(30, score=-18.8)
    feed.rows(9, score=-18.8).rows(1, looping(-5.5, 1, 0.3), score=-18.8)
    assert "greedy-loop" not in feed.active, "once is chance"
    feed.rows(9, score=-18.8).rows(1, looping(-5.5, 2, 0.3), score=-18.8)
    assert "greedy-loop" in feed.active
    assert feed.saw("greedy-loop").startswith(
        "30% of the evaluation episodes cut by the time limit"
    )
    assert "greedy-loop" not in feed.rows(1, looping(-18.0, 3, 0.0), score=-18.8).active


@pytest.mark.parametrize(
    ("scored", "facts", "more"),
    [
        (-5.5, replace(DISCRETE, greedy=False), {}),
        (-5.5, DISCRETE, {"train/truncated": 0.3}),
        (-5.5, DISCRETE, {"eval/stalled": 0.05}),
        (-18.8, DISCRETE, {}),
    ],
    ids=["sampled", "training is cut as well", "few", "the score is the same"],
)
def test_cut_episodes_may_be_harmless(scored, facts, more):
    feed = Feed(facts).rows(30, score=-18.8)
    for at in range(4):
        feed.rows(5, looping(scored, at, 0.3) | more, score=-18.8)
    assert "greedy-loop" not in feed.fired


def test_an_evaluation_that_is_repeated_counts_once():
    feed = Feed().rows(30, score=200.0).rows(50, evaluated(50.0, 1), score=200.0)
    assert "eval-below-train" not in feed.fired


def test_evaluation_may_be_better_or_a_little_worse():
    for scores in ((400.0, 400.0, 400.0, 400.0), (185.0, 190.0, 185.0, 190.0)):
        feed = Feed().rows(30, score=200.0)
        for at, score in enumerate(scores):
            feed.rows(5, evaluated(score, at), score=200.0)
        assert "eval-below-train" not in feed.fired


def test_fps_drop():
    feed = Feed()
    for i in range(200):
        feed.rows(1, {"time/elapsed_s": float(i)})
    for i in range(200, 260):
        feed.rows(1, {"time/elapsed_s": float(i), "time/fps": 900.0})
    assert "fps-drop" not in feed.fired  # it must last a minute
    for i in range(260, 270):
        feed.rows(1, {"time/elapsed_s": float(i), "time/fps": 900.0})
    assert "fps-drop" in feed.active
    assert feed.saw("fps-drop") == "900 env steps/s, against 3,000 as a rule"


def test_a_little_slower_is_no_drop():
    feed = Feed()
    for i in range(300):
        feed.rows(1, {"time/elapsed_s": float(i), "time/fps": 3000.0 if i < 100 else 2000.0})
    assert "fps-drop" not in feed.fired


def test_every_rule_is_tested_here():
    text = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in IDS if f'"{name}"' not in text] == []
