"""The doctor on runs whose numbers and settings are known: ranking, changes, commands, speed."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from spotter.config import changed, validate
from spotter.diagnose.doctor.case import Case
from spotter.diagnose.doctor.changes import command, number, power, scaled
from spotter.diagnose.doctor.run import as_text, diagnose
from spotter.diagnose.rules import BY_ID, LAST, LASTING, PLAYED, RULES, WATCHED
from spotter.pages.digest.page import digest
from spotter.rundir.view import RunView
from tests.diagnose.doctor.recordings import FOLDER

ROOT = Path(__file__).parents[3]
FAILED = sorted(path.name.split(".")[0] for path in FOLDER.glob("failed-*"))


def ids(run, *levels):
    return [one.id for one in diagnose(run).problems if one.level in levels or not levels]


def test_every_rule_is_described_and_explains_what_there_is():
    assert len(BY_ID) == sum(map(len, (PLAYED, RULES, LAST, WATCHED))), "each id once"
    assert {name for rule in RULES for name in rule.explains} <= BY_ID.keys()
    assert {*LASTING, *(name for each in LASTING.values() for name in each)} <= BY_ID.keys()
    page = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8")
    headings = re.findall(r"^### (\S+)$", page, re.MULTILINE)
    assert [name for name in BY_ID if headings.count(name) != 1] == []


def test_causes_come_before_symptoms(made):
    """Explained alerts are evidence, not problems of their own."""
    diagnosis = diagnose(made("failed-lr-too-high"))
    found = [(one.id, one.level) for one in diagnosis.problems if one.about != "speed"]
    assert found == [("lr-too-high", "warning"), ("recipe-overridden", "info")]
    explained = next(line for line in diagnosis.problems[0].evidence if "alerts it" in line)
    assert "entropy-collapse" in explained and "kl-high" in explained


@pytest.mark.parametrize(
    ("lr", "expected"), [("0.3", "algo.lr=0.001"), ("0.008", "algo.lr=0.0008")]
)
def test_the_change_is_computed_from_the_present_value(made, lr, expected):
    value = float(lr)
    run = made(
        "failed-lr-too-high",
        [("lr: 0.3", f"lr: {lr}")],
        info={"address": "tests.nowhere:Nothing-v0"},
        columns={"hp/algo.lr": lambda _: value},
    )
    assert diagnose(run).problems[0].overrides == (expected,)


def test_a_schedule_keeps_its_shape(made):
    run = made("healthy-cartpole")
    text = scaled(Case(RunView(run)), "algo.lr", 0.1)
    assert text == "algo.lr={shape: linear, start: 0.0001, end: 0.0}"
    changed(validate(run.settings()), [text])


def test_the_command_trains_the_same_with_the_change(made):
    diagnosis = diagnose(made("failed-lr-too-high"))
    words = diagnosis.command.split()
    assert words[:3] == ["spotter", "train", "CartPole-v1:ppo"]
    assert "algo.clip=0.2" in words, "what it overrides besides"
    assert not [word for word in words if word.startswith("algo.lr=")], "as the recipe has it"


@pytest.mark.parametrize("name", FAILED)
def test_without_readable_settings_it_says_so(made, name):
    run = made(name, [("name: (ppo|a2c|reinforce)\\n", r"name: dreamer\n")])
    diagnosis = diagnose(run)
    assert "settings, which this version cannot read" in diagnosis.not_checked[0]
    assert not [line for line in diagnosis.not_checked if "failed" in line]
    assert all(one.overrides == () for one in diagnosis.problems)
    assert "nan" not in re.findall(r"\w+", as_text(diagnosis))
    assert command(Case(RunView(run)), ()) is None
    assert "settings that name code of another package" in digest(run, tokens=8000)


def test_a_young_run_is_not_judged(made, tmp_path):
    run = made("failed-lr-too-high", info={"status": "running"})
    lines = run.metrics_path.read_text().splitlines()[:3]
    run.metrics_path.write_text("\n".join(lines) + "\n")
    run.events_path.write_text("")
    diagnosis = diagnose(run)
    assert [one.id for one in diagnosis.problems if one.about == "learning"] == []


def test_a_run_without_any_row(made):
    run = made("healthy-cartpole", info={"status": "interrupted", "solved": None, "reason": None})
    run.metrics_path.unlink()
    run.events_path.unlink()
    assert "too early to say more: 0 updates so far" in diagnose(run).verdict


@pytest.mark.parametrize(
    ("part", "expected", "change"),
    [
        ("eval", "slow-evaluation", "eval.every_steps="),
        ("env", "slow-environment", ""),
        ("policy", "slow-policy", "env.count=16"),
        ("save", "slow-saving", "checkpoint.every_s=300.0"),
        ("idle", "slow-waiting", ""),
    ],
)
def test_where_the_time_goes(made, part, expected, change):
    columns = {"time/elapsed_s": lambda at: 60 * at + 1, f"time/{part}_s": lambda at: 10.0}
    diagnosis = diagnose(made("healthy-cartpole", columns=columns))
    assert next(iter(diagnosis.times)) == part and diagnosis.times[part] > 0.9
    (problem,) = diagnosis.problems
    assert (problem.id, problem.level, problem.about) == (expected, "info", "speed")
    assert " ".join(problem.overrides).startswith(change)
    assert diagnosis.command is None, "speed is no cure"


def test_learning_takes_long(made):
    columns = {"time/elapsed_s": lambda at: 60 * at + 1, "time/learn_s": lambda at: 10.0}
    problems = diagnose(made("healthy-mountain-car", columns=columns)).problems
    assert [one.overrides for one in problems if one.about == "speed"] == [("algo.minibatch=512",)]


def test_forgotten(made):
    """The score of a run that went well, played backwards in its second half."""
    there_and_back = lambda at: -480 + 700 * min(at, 1 - at)  # noqa: E731
    run = made("failed-gamma-too-low-2", [("gamma: 0.0", "gamma: 0.99")],
               columns={"train/score": there_and_back, "train/score_last": there_and_back,
                        "policy/entropy": lambda at: 1.0})  # fmt: skip
    assert "forgotten" in ids(run, "warning")


@pytest.mark.parametrize(
    ("parent", "scores", "told"),
    [
        ({"run": "older", "checkpoint": "latest"}, ([500.0] * 10, [200.0, 240.0] * 5), True),
        ({"run": "older", "checkpoint": "latest"}, ([300.0, 100.0] * 5, [190.0] * 10), False),
        (None, ([500.0] * 10, [200.0, 240.0] * 5), False),
    ],
    ids=["a fork fell", "within chance", "no fork"],
)
def test_a_fork_that_lost_what_it_began_with(made, parent, scores, told):
    events = [
        {"event": "evaluation", "seeds": seeds, "env_steps": at, "score": sum(each) / 10,
         "scores": each, "lengths": [9] * 10, "episodes": 10, "solved": False, "threshold": 475.0}
        for seeds, at, each in (("eval", 0, scores[0]), ("test", 8000, scores[1]))
    ]  # fmt: skip
    run = made("failed-budget-too-small", info={"parent": parent}, events=events)
    first = diagnose(run).problems[0]
    assert (first.id == "start-lost") is told
    if told:
        assert first.overrides[0].startswith("algo.lr=")
        assert "--from older" in diagnose(run).command
        assert "Not solved, test score 220 ± 15.08 over 10 episodes." in diagnose(run).verdict
    elif parent is None:
        assert first.id == "budget-too-small"


def test_plateau(made):
    level = lambda at: -450 + 200 * min(1, 4 * at) + (at * 1000) % 7  # noqa: E731
    settings = [("gamma: 0.0", "gamma: 0.99"), ("deterministic: true", "deterministic: false")]
    run = made("failed-gamma-too-low-2", settings,
               columns={"train/score": level, "train/score_last": level,
                        "policy/entropy": lambda at: 1.0})  # fmt: skip
    assert ids(run, "warning")[0] == "plateau"


def resumed(run, at, **changes):
    """As if it had been resumed there, with these settings changed from what they are."""
    when = {"time": run.info()["created"], "stopped": run.info()["created"], "env_steps": at}
    pairs = {name.replace("__", "."): pair for name, pair in changes.items()}
    info = json.loads((run.folder / "run.json").read_text())
    (run.folder / "run.json").write_text(
        json.dumps(info | {"resumes": [{**when, "changes": pairs}]})
    )
    return run


def test_a_setting_is_judged_by_the_value_most_env_steps_were_trained_with(made):
    turned = ("gamma: 0.0", "gamma: 0.98")
    late = made("failed-gamma-too-low-2", [turned])
    steps = late.info()["env_steps"]
    resumed(late, steps - 2816, algo__gamma=[0.0, 0.98])
    found = diagnose(late)
    ways = f"0.0 for {steps - 2816:,} env steps then 0.98 for 2,816"
    assert found.problems[0].id == "gamma-too-low"
    assert f"algo.gamma changed on the way: {ways}" in found.problems[0].evidence
    assert found.not_checked[0] == (
        f"settings changed on the way, judged by those of most env steps: algo.gamma {ways}"
    )
    assert found.change == ("algo.gamma=0.99",) and "algo.gamma=0.0" not in found.command
    early = diagnose(resumed(late, 2816, algo__gamma=[0.0, 0.98]))
    assert "gamma-too-low" not in [problem.id for problem in early.problems]


def test_values_that_make_no_config_leave_it_with_the_last_ones(made):
    run = resumed(made("failed-gamma-too-low-2"), 10**9, algo__gamma=["often", 0.0])
    found = diagnose(run)
    assert found.problems[0].id == "gamma-too-low"
    assert found.not_checked[0].startswith("settings changed on the way, judged by the last ones:")


def test_weights_that_blew_up(made):
    run = made("failed-lr-too-high", columns={"value/mean": lambda at: 1e15})
    assert ids(run, "critical") == ["weights-blew-up"]
    assert ids(run, "warning") == []


def test_episodes_that_never_end(made):
    scores = ("train/score", "train/score_last", "train/score_best", "train/length")
    run = made("failed-lr-too-high", info={"env_steps": 60_000}, drop=scores)
    assert ids(run, "critical") == ["episodes-never-end"]


@pytest.mark.parametrize(("stage", "words"), [("eval", "evaluation"), ("test", "test")])
def test_greedy_play_in_circles_is_seen_in_a_run_with_a_test_alone(made, stage, words):
    """An endless game may leave room for no evaluation before the budget is spent."""
    found = {f"{stage}/stalled": lambda _: 1.0, "train/truncated": lambda _: 0.0}
    run = made(
        "failed-lr-too-high",
        columns=found,
        drop=[{"eval": "test", "test": "eval"}[stage] + "/stalled"],
    )
    (loop,) = [one for one in diagnose(run).problems if one.id == "greedy-loop"]
    assert loop.sentence.startswith(f"100% of the {words} episodes go in circles")
    assert loop.overrides == ("eval.deterministic=false",)


def test_a_setting_of_two_digits():
    assert [number(0.00034567), power(0.00034567), power(7.0)] == [0.00035, 0.0005, 5.0]


def test_no_torch_and_no_environment_to_read_a_run(made):
    run = made("failed-lr-too-low")
    script = (
        "import sys; from pathlib import Path; from spotter.rundir.run import Run\n"
        "from spotter.diagnose.doctor.run import diagnose\n"
        f"diagnose(Run(Path({str(run.folder)!r})))\n"
        "print(sorted({'torch', 'gymnasium'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_a_fork_that_keeps_its_start_is_judged_by_its_last_weights(made):
    """The test is of the weights it began with, which are the best it has."""
    each = (("eval", 0, 500.0), ("eval", 4000, 300.0), ("eval", 8000, 220.0), ("test", 0, 490.0))
    events = [
        {"event": "evaluation", "seeds": seeds, "env_steps": at, "score": score,
         "scores": [score] * 10, "episodes": 10, "solved": False, "threshold": 600.0}
        for seeds, at, score in each
    ]  # fmt: skip
    parent = {"run": "older", "checkpoint": "latest"}
    info = {"parent": parent, "last_score": 220.0, "solved": False, "threshold": 600.0}
    run = made("failed-budget-too-small", info=info, events=events)
    problem = next(one for one in diagnose(run).problems if one.id == "start-lost")
    assert problem.evidence[0] == "score 500 before the first update, 220 at 8,000 env steps"
    assert "test score 490" in diagnose(run).verdict
