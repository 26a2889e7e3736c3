"""What the doctor advises: nothing the run cannot use, nothing that contradicts itself."""

import math
import re
from dataclasses import replace
from functools import partial

import pytest

from spotter import plugins
from spotter.config import changed
from spotter.config.advice import fitting, knows
from spotter.config.dump import to_yaml
from spotter.diagnose.alerts import Watcher
from spotter.diagnose.doctor import run as doctor
from spotter.diagnose.doctor.case import Case
from spotter.diagnose.doctor.changes import directions, more_entropy
from spotter.diagnose.doctor.run import as_text, diagnose
from spotter.diagnose.rules import ALERTS, BY_ID, RULES
from spotter.pages.digest.page import digest
from spotter.rundir.view import RunView
from tests.diagnose.doctor.recordings import FOLDER, unpack
from tests.diagnose.rows import CATALOGUE, DISCRETE

NAMES = sorted(path.name.split(".")[0] for path in FOLDER.glob("*.gz"))
SETTING = re.compile(r"\b(?:algo|budget|checkpoint|env|eval|policy|reward)(?:\.[a-z_]+)+")


def told(diagnosis, *levels):
    return [
        one.id for one in diagnosis.problems if one.level in (levels or ("warning", "critical"))
    ]


def flat(value):
    return lambda at: value + (at * 1000) % 7 * 0.01 * abs(value)


NO_RECIPE = {"address": "tests.nowhere:Nothing-v0"}
"""No recipe to compare with: changes are computed from the run's own values."""


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_that_is_named_is_one_the_run_has(name, tmp_path):
    run = unpack(FOLDER / f"{name}.json.gz", tmp_path)
    case = Case(RunView(run))
    for problem in diagnose(run).problems:
        named = SETTING.findall(" ".join((*problem.overrides, problem.then)))
        assert [each for each in named if not case.knows(each)] == [], problem


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("algo.target_kl=0.02, fewer algo.epochs; a schedule that lets algo.lr fade.",
         "A schedule that lets algo.lr fade."),
        ("Raise algo.entropy, lower algo.lr, or set algo.target_kl.",
         "Raise algo.entropy, lower algo.lr."),
        ("The best is kept. Also try algo.target_kl=0.02.", "The best is kept."),
        ("Fade: algo.entropy={shape: linear, start: 1, end: 0}; algo.clip=0.2.",
         "Fade: algo.entropy={shape: linear, start: 1, end: 0}."),
        ("algo.epochs", ""),
    ],
    ids=["clauses", "or", "sentence", "braces", "nothing"],
)  # fmt: skip
def test_advice_for_an_algorithm_that_does_not_clip(made, text, expected):
    assert fitting(Case(RunView(made("healthy-cartpole-a2c"))).config, text) == expected


def test_a_condition_goes_with_what_it_is_about(made):
    text = "Set eval.deterministic=false; if that helps, lower algo.entropy towards the end."
    config = Case(RunView(made("healthy-cartpole"))).config  # whose bonus is 0
    assert fitting(config, text) == "Set eval.deterministic=false."


def named(text):
    return {path.removesuffix(".") for path in SETTING.findall(text)}


@pytest.mark.parametrize("algo", plugins.names("algos"))
def test_no_advice_names_a_setting_that_the_algorithm_lacks(make_config, algo):
    config = make_config("CartPole-v1", algo)
    data, every = config.as_data(), [rule.then for rule in BY_ID.values()]
    for text in (*every, *(rule.advice for rule in ALERTS.values())):
        assert all(knows(data, path) for path in named(fitting(config, text))), text
    watcher = Watcher(DISCRETE, CATALOGUE, (), partial(fitting, config))
    for watch in watcher._watches:
        assert watch.rule.advice
        assert all(knows(data, path) for path in named(watch.rule.advice)), watch.rule.advice


@pytest.mark.parametrize("algo", plugins.names("algos"))
@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("failed")])
def test_nor_does_any_finding_in_a_run_of_that_algorithm(name, algo, tmp_path, make_config):
    """The same numbers, as if another algorithm had made them."""
    run = unpack(FOLDER / f"{name}.json.gz", tmp_path)
    settings = run.settings()
    known = make_config("CartPole-v1", algo).as_data()["algo"]
    kept = {
        key: each
        for key, each in settings["algo"].items()
        if key in known and type(each) is type(known[key])
    }
    (run.folder / "config.yaml").write_text(to_yaml(settings | {"algo": kept | {"name": algo}}))
    view = RunView(run)
    case, diagnosis = Case(view), diagnose(view)
    assert case.config is not None, case.not_checked
    assert not [line for line in diagnosis.not_checked if line.startswith("rule ")]
    for problem in diagnosis.problems:
        for path in named(" ".join((*problem.overrides, problem.then))):
            assert case.knows(path), (problem.id, path)
    if diagnosis.change:
        changed(case.config, diagnosis.change)


def test_and_as_it_is_for_one_that_does(made):
    text = "algo.target_kl=0.02, fewer algo.epochs; a schedule that lets algo.lr fade."
    assert fitting(Case(RunView(made("healthy-cartpole"))).config, text) == text


def test_too_high_a_rate_without_clipping(made):
    run = made(
        "failed-reward-too-small",
        [("lr: .*", "lr: 0.3"), ("scale: 1e-06", "scale: 1.0")],
        columns={
            "hp/algo.lr": lambda _: 0.3,
            "policy/approx_kl": lambda _: 1.0,
            "rollout/reward_std": lambda _: 1.0,
        },
    )
    first = diagnose(run).problems[0]
    assert (first.id, first.then) == ("lr-too-high", "A schedule that lets algo.lr fade.")


@pytest.mark.parametrize(
    ("optimizer", "lr"), [("adam", "algo.lr=0.001"), ("sgd", "algo.lr=0.1")], ids=["adam", "sgd"]
)
def test_a_rate_of_nothing(made, optimizer, lr):
    settings = [("lr: 1e-06", "lr: 0.0"), ("optimizer: adam", f"optimizer: {optimizer}")]
    nothing = {"hp/algo.lr": lambda at: 0.0}
    first = diagnose(made("failed-lr-too-low", settings, NO_RECIPE, nothing)).problems[0]
    assert (first.id, first.overrides) == ("lr-too-low", (lr,))


def test_numbers_that_broke_at_a_rate_of_nothing(made):
    nothing = {"hp/algo.lr": lambda at: 0.0}
    diagnosis = diagnose(made("failed-not-finite", [("lr: .*", "lr: 0.0")], columns=nothing))
    assert told(diagnosis) == ["not-finite"] and diagnosis.problems[0].overrides == ()
    assert diagnosis.not_checked == ("the environment itself",)


def test_plain_gradient_descent_is_judged_by_how_far_it_moves(made):
    settings = [("lr: 1e-06", "lr: 0.001"), ("optimizer: adam", "optimizer: sgd")]
    rate = {"hp/algo.lr": lambda at: 0.001}
    first = diagnose(made("failed-lr-too-low", settings, columns=rate)).problems[0]
    assert (first.id, first.overrides) == ("lr-too-low", ("algo.lr=0.1",))


@pytest.mark.parametrize("error", [ZeroDivisionError("by zero"), KeyError("algo"), TypeError("x")])
def test_a_rule_that_fails_does_not_cost_the_page(made, monkeypatch, error):
    def fails(case):
        raise error

    broken = [replace(rule, offline=fails) if rule.id == "plateau" else rule for rule in RULES]
    monkeypatch.setattr(doctor, "RULES", broken)
    run = made("failed-lr-too-high")
    diagnosis = diagnose(run)
    assert told(diagnosis) == ["lr-too-high"]
    assert f"rule plateau failed: {type(error).__name__}: {error}" in diagnosis.not_checked
    assert "rule plateau failed" in digest(run, tokens=8000)


def test_nor_does_a_remedy(made, monkeypatch):
    broken = replace(BY_ID["kl-low"], remedy=lambda case: {}["kl-low"])
    monkeypatch.setitem(BY_ID, "kl-low", broken)
    diagnosis = diagnose(alerted(far(made, 60), "kl-low"))
    assert told(diagnosis) == ["kl-low"]
    assert "the remedy for kl-low failed: KeyError: 'kl-low'" in diagnosis.not_checked


def test_the_threshold_is_known_from_a_test_alone(made):
    case = Case(RunView(made("failed-batch-too-small")))
    assert [one.seeds for one in case.view.evaluations] == ["test"] and case.threshold == 475


def test_a_short_discount_in_short_episodes(made):
    """FrozenLake's last some nine steps; 15 rows."""
    run = made(
        "failed-clip-too-wide-2",
        [("gamma: 0.995", "gamma: 0.5"), ("clip: 100.0", "clip: 0.2")],
        info=NO_RECIPE,
        columns={"train/length": lambda at: 8 + at, "policy/approx_kl": lambda at: 0.01},
        rows=15,
    )
    first = diagnose(run).problems[0]
    assert (first.id, first.overrides) == ("gamma-too-low", ("algo.gamma=0.95",))


PLAIN = {
    "train/score": flat(20.0),
    "train/score_last": flat(20.0),
    "policy/entropy": lambda at: 0.5,
    "policy/approx_kl": lambda at: 0.01,
}


def far(made, rows, **info):
    """Nothing is wrong with its numbers but the score."""
    fields = {"solved": False, "reason": "budget", "env_steps": rows * 256, **info}
    scored = {"event": "evaluation", "seeds": "test", "env_steps": 256 * rows, "score": 22.0,
              "scores": [22.0], "threshold": 475.0, "solved": False}  # fmt: skip
    return made("healthy-cartpole", info=fields, columns=PLAIN, rows=rows, events=[scored])


@pytest.mark.parametrize("rows", [4, 12, 60])
def test_far_below_the_threshold_is_never_healthy(made, rows):
    diagnosis = diagnose(far(made, rows))
    assert told(diagnosis) == ["far-from-threshold"] and not diagnosis.healthy
    assert "It ended at 0% of the way to the threshold; no rule names" in diagnosis.verdict
    assert "score 22, threshold 475" in diagnosis.problems[0].evidence[0]


def test_how_far_it_came_is_told_by_one_score_and_by_its_name(made):
    """By the training score it came 1 % of the way."""
    tested = {"event": "evaluation", "seeds": "test", "env_steps": 3072, "score": 49.0,
              "scores": [49.0], "threshold": 475.0, "solved": False}  # fmt: skip
    info = {"solved": False, "reason": "budget", "env_steps": 3072}
    columns = PLAIN | {"train/score": lambda at: 20.0 + 5.0 * at}
    run = made("healthy-cartpole", info=info, columns=columns, rows=12, events=[tested])
    (problem,) = diagnose(run).problems
    assert "at 6% of the way" in problem.sentence
    assert problem.evidence[0] == "test score 49, threshold 475; it began at 20"


def test_a_plateau_of_few_rows(made):
    assert told(diagnose(far(made, 12, env_steps=25_000))) == ["plateau"]


@pytest.mark.parametrize(
    "info", [{"status": "interrupted", "reason": "interrupted"}, {"status": "running"}]
)
def test_who_was_stopped_or_still_trains_has_not_failed(made, info):
    fields = {"reason": None, **info}
    assert "far-from-threshold" not in told(diagnose(far(made, 4, **fields)))


def test_a_test_that_fails_outweighs_an_evaluation_that_did_not(made):
    """A fork of a run that was solved, and lost it all."""
    scores = lambda at: 480 - 470 * min(1, 4 * at)  # noqa: E731
    run = made(
        "failed-lr-too-high",
        columns={"train/score": scores, "train/score_last": scores},
        info={"parent": {"run": "20260101-000000-abcd", "checkpoint": "step-000025088"}},
        events=[
            {"event": "evaluation", "seeds": "eval", "env_steps": 512, "score": 490.0,
             "scores": [490.0], "threshold": 475.0, "solved": True},
        ],
    )  # fmt: skip
    diagnosis = diagnose(run)
    assert told(diagnosis) == ["lr-too-high"] and diagnosis.verdict.startswith("Not solved")


# --- exploring -----------------------------------------------------------------------------------

NOVELTY = ("reward.signals=[{name: novelty, source: state_count, weight: 1.0}]",)


def seen(low, high, kind="vector"):
    leaf = {"kind": kind, "shape": [len(low)], "dtype": "float32", "nvec": [], "low": low}
    return {"observation": {"obs": leaf | {"high": high}}}


DICT = {"observation": {"a": {"kind": "discrete"}, "b": {"kind": "discrete"}}}


@pytest.mark.parametrize(
    ("spaces", "expected"),
    [
        ({}, NOVELTY),
        (seen([-1.0, -2.0], [1.0, 2.0]), NOVELTY),
        (seen([-1.0, "-inf"], [1.0, "inf"]), ("algo.entropy=0.01",)),
        (seen([-3.4e38], [3.4e38]), ("algo.entropy=0.01",)),
        (seen([-1.0] * 20, [1.0] * 20), ("algo.entropy=0.01",)),
        (seen([], [], "image"), ("algo.entropy=0.01",)),
        (DICT, ("algo.entropy=0.01",)),
        ({"observation": {}}, ("algo.entropy=0.01",)),
    ],
    ids=["discrete", "bounded", "unbounded", "float-max", "many", "image", "dict", "unknown"],
)
def test_novelty_only_where_states_can_be_counted(made, spaces, expected):
    run = made("failed-reward-never-found-2", info=NO_RECIPE, spaces=spaces)
    first = diagnose(run).problems[0]
    assert (first.id, first.overrides) == ("reward-never-found", expected)


@pytest.mark.parametrize(
    ("weight", "expected"),
    [("0.0", "algo.entropy=0.01"), ("0.02", "algo.entropy=0.06"), ("0.09", "algo.entropy=0.1"),
     ("0.1", ""), ("0.5", "")],
)  # fmt: skip
def test_more_entropy_is_never_less(made, weight, expected):
    run = made("failed-lr-too-low", [("entropy: 0.0", f"entropy: {weight}")])
    assert more_entropy(Case(RunView(run))) == expected


def test_a_bonus_that_pays_too_much_explains_what_is_not_found(made):
    run = made(
        "failed-reward-never-found-2",
        [("entropy: .*", "entropy: 5.0")],
        columns={
            "policy/entropy": lambda at: math.log(4),
            "loss/entropy": lambda at: -6.0,
            "loss/policy": lambda at: 0.01,
        },
    )
    assert told(diagnose(run)) == ["entropy-too-high"]


def test_the_most_of_an_entropy_is_told_only_where_there_is_one(made):
    run = made(
        "failed-gamma-too-high",
        [("gamma: 1.0", "gamma: 0.9"), ("entropy: .*", "entropy: 1.0")],
        columns={
            "policy/std": lambda at: 1 + 3 * at,
            "loss/entropy": lambda at: -3.0,
            "loss/policy": lambda at: -0.01,
        },
    )
    diagnosis = diagnose(run)
    assert told(diagnosis)[0] == "entropy-too-high"
    assert "nan" not in re.findall(r"\w+", as_text(diagnosis))
    assert diagnosis.problems[0].evidence[1].endswith("nats at the end")


# --- alerts, contradictions, commands ------------------------------------------------------------


def alerted(run, *names, rows=slice(None)):
    """These alerts recorded, and held on these rows."""
    lines = run.metrics_path.read_text().splitlines()
    held = ", ".join(f'"{name}"' for name in names)
    lines[rows] = [f'{line[:-1]}, "alerts": [{held}]}}' for line in lines[rows]]
    run.metrics_path.write_text("\n".join(lines) + "\n")
    with run.events_path.open("a") as file:
        for name in names:
            advice = "raise algo.lr" if name == "kl-low" else "lower algo.lr"
            file.write(f'{{"event": "alert", "id": "{name}", "level": "warning", "saw": "it", '
                       f'"advice": "{advice}", "env_steps": 512}}\n')  # fmt: skip
    return run


@pytest.mark.parametrize("name", ["kl-low", "kl-high"])
def test_a_lasting_alert_about_the_step_explains_a_score_that_stays(made, name):
    run = alerted(far(made, 60, env_steps=25_000), name, "score-falling")
    diagnosis = diagnose(run)
    assert told(diagnosis) == [name]
    assert "alerts it explains: score-falling" in diagnosis.problems[0].evidence
    assert diagnosis.command.split("algo.lr=")[1].startswith("{shape: linear, start: 0.00")


def test_a_passing_one_does_not(made):
    run = alerted(far(made, 60, env_steps=25_000), "kl-low", rows=slice(2, 4))
    assert told(diagnose(run)) == ["plateau"]


def test_opposite_changes_are_not_on_one_page(made):
    run = alerted(far(made, 60, env_steps=25_000), "kl-low", "kl-high")
    case, diagnosis = Case(RunView(run)), diagnose(run)
    assert told(diagnosis) == ["kl-high"], "by id, since both held everywhere"
    assert directions(case, diagnosis.problems[0].overrides) == {"algo.lr": False}
    assert directions(case, ["algo.gamma=0.5", "algo.steps=32"]) == {"algo.gamma": False}
    assert directions(case, ["algo.lr={shape: linear, start: 0.001, end: 0.0005}"]) == {
        "algo.lr": True
    }


@pytest.mark.parametrize(
    ("parent", "expected"),
    [
        (None, []),
        ({"run": "ab", "checkpoint": "step-000025088"}, ["--from", "ab/step=25088"]),
        ({"run": "ab", "checkpoint": "step-000000000", "fresh_optimizer": True},
         ["--from", "ab/step=0", "--fresh-optimizer"]),
        ({"run": "ab"}, ["--from", "ab"]),
    ],
    ids=["none", "fork", "fresh", "old"],
)  # fmt: skip
def test_a_fork_begins_where_it_began(made, parent, expected):
    words = diagnose(made("failed-lr-too-high", info={"parent": parent})).command.split()
    assert words[words.index("video.when=null") + 1 :] == expected


@pytest.mark.parametrize("name", ["failed-silent", "failed-crashed"])
@pytest.mark.parametrize("solved", [True, False])
def test_what_was_solved_is_not_worthless(made, name, solved):
    first = diagnose(made(name, info={"solved": solved})).problems[0]
    assert first.level == ("warning" if solved else "critical")


def test_env_steps_are_those_of_the_last_row(made):
    assert Case(RunView(made("failed-silent", info={"env_steps": 5}))).env_steps == 11_520
