"""A run beside its recipe: what it overrides, what goes with it, which variants solve it."""

import os
import socket

import pytest

from spotter.config.advice import fitting
from spotter.diagnose.doctor.case import Case
from spotter.diagnose.doctor.changes import checked
from spotter.diagnose.doctor.run import as_data, as_text, diagnose
from spotter.rundir import identity
from spotter.rundir.view import RunView

NO_RECIPE = {"address": "tests.nowhere:Nothing-v0"}


def told(diagnosis):
    return [one.id for one in diagnosis.problems if one.level != "info"]


def flat(score):
    return lambda at: score


def missed(made, score, config=(), rows=60, **info):
    """A healthy CartPole run that ended with another score."""
    fields = {"solved": False, "reason": "budget", "env_steps": rows * 256, **info}
    scored = {"event": "evaluation", "seeds": "test", "env_steps": 256 * rows, "score": score,
              "scores": [score], "threshold": 475.0, "solved": False}  # fmt: skip
    curves = {"train/score": lambda at: 20 + (score - 20) * min(1, 2 * at)}
    curves |= {"train/score_last": curves["train/score"], "policy/approx_kl": flat(0.01)}
    curves |= {"policy/entropy": flat(0.5)}
    return made("healthy-cartpole", config, fields, curves, rows=rows, events=[scored])


# --- overrides -----------------------------------------------------------------------------------


def test_a_cause_names_the_override_and_the_recipe_s_value(made):
    first = diagnose(made("failed-gamma-too-low")).problems[0]
    assert first.evidence[0] == "you override algo.gamma=0.3; the recipe has 0.98"
    assert first.overrides == ("algo.gamma=0.98",)


def test_the_command_goes_back_to_the_recipe(made):
    diagnosis = diagnose(made("failed-gamma-too-low"))
    assert diagnosis.command.startswith("spotter train CartPole-v1:ppo ")
    assert "algo.gamma" not in diagnosis.command


def test_a_change_the_other_way_is_computed(made):
    """A rate below the recipe's that is still too high."""
    low = [("lr: 0.3", "lr: 0.0003")]
    columns = {"hp/algo.lr": flat(0.009), "policy/approx_kl": flat(1.0)}
    first = diagnose(made("failed-lr-too-high", low, columns=columns)).problems[0]
    assert first.id == "lr-too-high" and float(first.overrides[0].split("=")[1]) < 0.0003


def test_overrides_that_no_rule_names_are_told(made):
    run = missed(made, 100.0, [("epochs: .*", "epochs: 3.0"), ("gamma: .*", "gamma: 0.95")])
    diagnosis = diagnose(run)
    assert told(diagnosis) == ["recipe-overridden"]
    first = diagnosis.problems[0]
    assert first.sentence.startswith("The run overrides algo.gamma, algo.epochs of a recipe")
    assert set(first.evidence) >= {
        "you override algo.epochs=3.0; the recipe has 20.0",
        "you override algo.gamma=0.95; the recipe has 0.98",
    }
    assert set(first.overrides) == {"algo.epochs=20.0", "algo.gamma=0.98"}
    assert "algo" not in diagnosis.command


@pytest.mark.parametrize(
    ("config", "info"),
    [
        ([], {}),
        ([("timeout_s: .*", "timeout_s: 9.0")], {}),
        ([("gamma: .*", "gamma: 0.95")], NO_RECIPE),
    ],
    ids=["none", "not about learning", "no recipe"],
)  # fmt: skip
def test_no_override_no_word_about_it(made, config, info):
    assert told(diagnose(missed(made, 100.0, config, **info))) == ["far-from-threshold"]


def test_a_solved_run_may_override_what_it_likes(made):
    run = made("healthy-cartpole", [("gamma: .*", "gamma: 0.97")])
    assert diagnose(run).healthy
    assert "overrid" not in as_text(diagnose(run))


# --- the threshold -------------------------------------------------------------------------------


@pytest.mark.parametrize("score", [474.9, 460.0, 300.0, 21.0])
def test_who_missed_the_threshold_is_not_healthy(made, score):
    diagnosis = diagnose(missed(made, score))
    assert told(diagnosis) and not diagnosis.healthy
    assert "nothing is wrong" not in diagnosis.verdict


def test_just_below_it_a_longer_budget_is_tried(made):
    diagnosis = diagnose(missed(made, 470.0))
    assert told(diagnosis) == ["far-from-threshold"]
    assert diagnosis.problems[0].sentence.startswith("It ended at 99% of the way")
    assert diagnosis.change[0].startswith("budget.env_steps=")


def test_an_alert_that_ended_it_is_no_excuse(made):
    assert not diagnose(missed(made, 100.0, reason="alert")).healthy


def test_who_was_stopped_is_told_to_go_on(made):
    run = missed(made, 100.0, status="interrupted", reason="interrupted")
    diagnosis = diagnose(run)
    assert told(diagnosis) == ["stopped-early"]
    assert f"spotter train --resume {run.id}" in diagnosis.problems[0].then


def test_who_still_trains_has_missed_nothing(made):
    here = {"heartbeat": identity.now(), "pid": os.getpid(), "host": socket.gethostname()}
    run = missed(made, 100.0, status="running", reason=None, solved=None, **here)
    assert diagnose(run).healthy


# --- two faults, and what goes with a change -----------------------------------------------------


def test_two_faults_are_both_named_and_both_changed(made):
    columns = {"return/mean": flat(900.0), "return/std": flat(300.0), "grad/norm": flat(5000.0)}
    run = made("failed-gamma-too-low", [("scale: 1.0", "scale: 1000.0")], columns=columns)
    diagnosis = diagnose(run)
    assert told(diagnosis) == ["reward-too-large", "gamma-too-low"]
    assert dict(one.split("=") for one in diagnosis.change) == {
        "reward.scale": "1.0", "algo.gamma": "0.98",
    }  # fmt: skip
    assert "algo.gamma" not in diagnosis.command and "reward.scale" not in diagnosis.command


def test_a_longer_horizon_makes_returns_larger(made):
    """Ten a step: 14 at a discount of 0.3, hundreds at one that looks to the end."""
    columns = {"return/mean": flat(14.0), "return/std": flat(2.0)}
    run = made("failed-gamma-too-low", info=NO_RECIPE, columns=columns)
    first = diagnose(run).problems[0]
    gamma, scale = first.overrides
    assert (gamma, scale) == ("algo.gamma=0.97", "reward.scale=0.02")
    assert any("with algo.gamma=0.97 returns would be about" in line for line in first.evidence)


@pytest.mark.parametrize("setting", ["normalize: false", "normalize_values: false"])
def test_not_where_they_are_normalised(made, setting):
    columns = {"return/mean": flat(14.0), "return/std": flat(2.0)}
    on = [(setting, setting.replace("false", "true"))]
    run = made("failed-gamma-too-low", on, info=NO_RECIPE, columns=columns)
    assert diagnose(run).problems[0].overrides == ("algo.gamma=0.97",)


# --- advice --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Set algo.target_kl=0.02; algo.gamma=0.98.", "Set algo.target_kl=0.02."),
        ("Keep algo.max_grad_norm on; scale rewards.", "Scale rewards."),
        ("Set algo.max_grad_norm or reward.normalize.", "Set reward.normalize."),
        ("Set reward.normalize or algo.max_grad_norm.", "Set reward.normalize."),
        ("Lower algo.entropy and algo.lr.", ""),
        ("algo.gamma=2.", ""),
        ("policy.norm=batch, or policy.norm=layer.", "policy.norm=batch, or policy.norm=layer."),
    ],
)  # fmt: skip
def test_what_is_so_already_is_not_advised(made, text, expected):
    assert fitting(Case(RunView(made("healthy-cartpole"))).config, text) == expected


def test_a_change_holds_nothing_that_is_so_already(made):
    case = Case(RunView(made("healthy-cartpole")))
    assert checked(case, ["algo.gamma=0.98", "algo.epochs=5"]) == ("algo.epochs=5",)
    assert checked(case, ["algo.gamma=0.98"]) == ()


# --- variants ------------------------------------------------------------------------------------


def test_variants_that_solve_it_are_mentioned(made):
    diagnosis = diagnose(made("failed-reward-never-found"))
    said = "MountainCar-v0:ppo_count is expected to score -110 within 1,000,000 env steps"
    assert diagnosis.variants == (said,)
    assert f"or: {said}" in as_text(diagnosis)
    assert as_data(diagnosis)["variants"] == (said,)


def test_not_where_it_is_solved_nor_where_they_would_not_do(made):
    assert diagnose(made("healthy-mountain-car")).variants == ()
    hard = made("failed-reward-never-found", [("threshold: .*", "threshold: -50.0")], events=[])
    assert diagnose(hard).variants == ()


# --- the rate that was used ----------------------------------------------------------------------


def test_the_rate_is_what_the_optimizer_had(made):
    """A rate steered down to nothing by lr_target_kl, whatever the schedule says."""
    run = made("failed-lr-too-low", [("lr: 1e-06", "lr: 0.001")])
    first = diagnose(run).problems[0]
    assert first.id == "lr-too-low" and "algo.lr=1e-06" in first.evidence
