"""One view of a run: what it derives, and what it does with files that say strange things."""

import json
import subprocess
import sys

import pytest

from spotter.rundir import checkpoints, identity
from spotter.rundir.files import write_json
from spotter.rundir.lineage import children
from spotter.rundir.registry import listing
from spotter.rundir.run import Run
from spotter.rundir.view import RunView


def rows(run, number=10, **more):
    lines = [
        {"update": i, "env_steps": 100 * i, "vector_steps": 10 * i, "time/fps": 50.0 + i, **more}
        for i in range(1, number + 1)
    ]
    run.metrics_path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def scored(run, env_steps, scores, seeds="eval", threshold=5.0):
    mean = sum(scores) / len(scores)
    data = {"seeds": seeds, "env_steps": env_steps, "score": mean, "scores": scores}
    run.event("evaluation", data | {"threshold": threshold, "solved": mean >= threshold})


def test_how_far_it_is_and_how_fast(make_run, edit):
    run = make_run(env_steps=1000, config={"budget": {"env_steps": 4000, "minutes": 2}})
    edit(run, created="2026-01-01T10:00:00+00:00", ended="2026-01-01T10:01:00+00:00")
    rows(run)
    view = RunView(run)
    assert (view.id, view.status, view.env_steps, view.updates) == (run.id, "finished", 1000, 10)
    assert (view.budget.env_steps, view.budget.minutes) == (4000, 2.0)
    assert (view.elapsed_s, view.progress, view.fps) == (60.0, 0.5, 60.0)
    assert view.eta_s is None
    assert RunView(make_run(config={"budget": {"env_steps": None}})).progress is None


def test_a_run_that_did_not_end_is_as_far_as_its_last_row(make_run):
    run = make_run(status="running", env_steps=300)
    rows(run, **{"time/eta_s": 7.0})
    with run.metrics_path.open("a") as file:
        file.write('{"update": 11, "env_st')
    (listed,) = listing().infos
    assert run.info()["env_steps"] == listed["env_steps"] == RunView(run).env_steps == 1000
    assert run.info()["vector_steps"] == 100
    assert RunView(run).eta_s == 7.0
    run.finish("interrupted", env_steps=300)
    assert run.info()["env_steps"] == 300, "what it said at its end counts"


def test_a_view_is_of_one_moment_until_it_is_refreshed(make_run):
    run = make_run(status="running", env_steps=100)
    rows(run, 1)
    view = RunView(run)
    assert (view.env_steps, view.fps, view.evaluations, view.alerts) == (100, 51.0, (), ())
    rows(run, 3, alerts=["kl-high"])
    scored(run, 300, [1.0, 2.0])
    assert (view.env_steps, view.fps, view.evaluations, view.alerts) == (100, 51.0, (), ())
    later = view.refresh()
    assert (later.env_steps, later.fps) == (300, 53.0)
    assert (len(later.evaluations), later.alerts[0].updates) == (1, 3)


def test_what_a_run_is_judged_by(make_run):
    view = RunView(make_run(score=None, best=None))
    assert view.score is view.test is view.best is view.tested is None
    run = make_run(best=7.0)
    scored(run, 100, [3.0, 5.0])
    scored(run, 200, [6.0, 8.0])
    view = RunView(run)
    assert (view.score.seeds, view.score.mean, view.score.episodes) == ("eval", 7.0, 2)
    assert (view.best.env_steps, view.best.half) == (200, pytest.approx(12.7062))
    scored(run, 300, [5.0, 6.0], "test")
    assert RunView(run).test is None, "a test that run.json knows nothing of is not its score"
    run = make_run(score=5.5, solved=True)
    scored(run, 300, [5.0, 6.0], "test")
    view = RunView(run)
    assert (view.score.seeds, view.score.mean, view.score.env_steps) == ("test", 5.5, 300)
    assert view.tested.scores == (5.0, 6.0)
    assert (view.solved, view.threshold) == (True, 475.0)


def test_older_and_damaged_files_leave_the_score_of_run_json(make_run):
    run = make_run(score=12.0)
    run.events_path.unlink(missing_ok=True)
    view = RunView(run)
    assert (view.score.mean, view.score.half, view.score.episodes) == (12.0, None, 0)
    assert view.tested is None


def test_alerts_are_told_once_with_how_often_and_since_when(make_run):
    run = make_run()
    lines = [{"env_steps": 100, "alerts": ["kl", "flat"]}, {"env_steps": 200, "alerts": ["kl"]}]
    run.metrics_path.write_text("".join(json.dumps(line) + "\n" for line in [*lines, {}, {}]))
    about = {"level": "warning", "metric": "policy/approx_kl", "advice": "lower lr"}
    run.event("alert", {**about, "id": "kl", "saw": "0.1", "env_steps": 100})
    run.event("alert", {**about, "id": "flat", "saw": "x", "env_steps": 100})
    run.event("alert", {**about, "id": "kl", "saw": "0.2", "env_steps": 200})
    flat, kl = RunView(run).alerts
    assert (kl.id, kl.updates, kl.share, kl.first, kl.saw) == ("kl", 2, 0.5, 100, "0.2")
    assert (flat.id, flat.updates, flat.share, flat.saw) == ("flat", 1, 0.25, "x")
    assert (kl.level, kl.metric, kl.advice) == ("warning", "policy/approx_kl", "lower lr")
    assert not kl.at_end


def test_a_resume_leaves_what_an_alert_saw_before_it(make_run):
    run = make_run()
    run.event("alert", {"id": "kl", "saw": "0.1", "env_steps": 100})
    run.event("alert", {"id": "kl", "saw": "0.9", "env_steps": 900})
    run.event("resume", {"env_steps": 500})
    (kl,) = RunView(run).alerts
    assert (kl.saw, kl.first) == ("0.1", 100)
    assert [event["saw"] for event in RunView(run).raised] == ["0.1"]


def test_a_resume_forgets_alerts_raised_after_its_checkpoint(make_run):
    run = make_run()
    run.metrics_path.write_text(json.dumps({"env_steps": 100, "alerts": ["early"]}) + "\n")
    run.event("alert", {"id": "early", "env_steps": 100})
    run.event("alert", {"id": "late", "env_steps": 900})
    run.event("alerts", {"counts": [{"id": "early", "updates": 9}, {"id": "late", "updates": 2}]})
    assert [(one.id, one.updates) for one in RunView(run).alerts] == [("early", 9), ("late", 2)]
    run.event("resume", {"env_steps": 500})
    assert [(one.id, one.updates) for one in RunView(run).alerts] == [("early", 1)]


def test_settings_that_changed_on_the_way(make_run):
    run = make_run()
    run.event("resume", {"env_steps": 500, "changes": {"algo.lr": [0.1, 0.2], "x": 3}, "why": "w"})
    change = {"setting": "algo.lr", "before": 0.2, "after": 0.1, "why": "kl-high"}
    run.event("change", {**change, "env_steps": 700})
    first, second = RunView(run).changes
    assert (first.setting, first.before, first.after) == ("algo.lr", 0.1, 0.2)
    assert (first.env_steps, first.why) == (500, "w")
    assert (second.before, second.after, second.env_steps) == (0.2, 0.1, 700)


def test_checkpoints_with_roles_and_scores_of_either_format(make_run):
    run = make_run()
    folder = run.folder / "checkpoints"
    for name in ("step-000000100", "step-000000200", "step-000000300", "step-x", ".step-0.tmp"):
        (folder / name).mkdir(parents=True)
    write_json(folder / "best.json", {"step": "step-000000100"})
    write_json(folder / "latest.json", {"step": "step-000000300"})
    write_json(folder / "step-000000100" / "score.json", {"seeds": "test", "score": 3.0})
    both = {"eval": {"score": 4.0, "scores": [3.0, 5.0]}, "test": {"score": 5.0, "episodes": 9}}
    write_json(folder / "step-000000200" / "score.json", both)
    write_json(folder / "step-000000200" / "pinned.json", {"why": "kl-high"})
    (folder / "step-000000300" / "score.json").write_text("{")
    view = RunView(run)
    assert [(c.env_steps, c.roles, c.scores, c.pinned) for c in view.checkpoints] == [
        (100, ("best",), {"test": 3.0}, ""),
        (200, (), {"eval": 4.0, "test": 5.0}, "kl-high"),
        (300, ("latest",), {}, ""),
    ]
    certificates = view.checkpoints[1].certificates
    assert [certificates[kind].episodes for kind in ("eval", "test")] == [2, 9]
    (problem,) = view.problems
    assert problem.startswith("step-000000300/score.json cannot be read")
    assert checkpoints.read(make_run().folder) == ()


def test_children_and_the_last_row(make_run):
    run = make_run()
    child = make_run(parent={"run": run.id, "env_steps": 40, "total_env_steps": 140})
    assert children(run.id, listing().infos) == [child.id]
    assert (RunView(run).steps_before, RunView(child).steps_before) == (0, 140)
    assert RunView(run).last_row == {}
    run.metrics_path.write_text('{"n": 1}\n{"n": 2}\n')
    assert RunView(run).last_row == {"n": 2}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("config.yaml", "env: [1, 2"),
        ("config.yaml", "just words"),
        ("config.yaml", "budget: 3\nenv: 4\n"),
        ("events.jsonl", '{"event": "evaluation"}\n{"event": "alert"}\n{"event": "alerts"}\n'),
        ("events.jsonl", '{"event": "alerts", "counts": [3, {"id": 4}]}\n{"event": 3}\nx\n'),
        ("events.jsonl", '{"event": "resume", "changes": 3}\n{"event": "change"}\n'),
        ("metrics.jsonl", '{"env_steps": "x", "alerts": 3, "time/fps": null}\n[]\n{"a": "nan"}\n'),
        ("checkpoints/best.json", '{"step": [1]}'),
        ("checkpoints/latest.json", "[]"),
        ("checkpoints/step-000000100/score.json", '{"eval": 3, "test": {"score": "x"}}'),
        ("checkpoints/step-000000100/score.json", '{"seeds": 3, "score": 4.0}'),
        ("checkpoints/step-000000100/pinned.json", '{"why": {}}'),
    ],
)
def test_whatever_a_file_holds_the_rest_is_read(make_run, name, text):
    run = make_run(score=5.0, solved=False)
    scored(run, 100, [4.0, 6.0], "test")
    rows(run)
    path = run.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    view = RunView(run)
    seen = {
        attribute: getattr(view, attribute)
        for attribute in dir(RunView)
        if not attribute.startswith("_") and not callable(getattr(RunView, attribute))
    }
    assert {"alerts", "evaluations", "checkpoints", "changes", "progress", "fps"} <= seen.keys()
    assert view.score.mean == 5.0
    assert all(isinstance(problem, str) and problem for problem in view.problems)


def test_what_cannot_be_read_is_a_sentence(make_run):
    run = make_run(parent={"run": "gone", "env_steps": 5})
    (run.folder / "config.yaml").write_text("env: [1, 2")
    run.events_path.write_text('{"event": "evaluation", "env_steps": 5}\nnonsense\n')
    run.metrics_path.write_text("nonsense\n")
    config, *others = RunView(run).problems
    assert "config.yaml" in config
    assert others == [
        "events.jsonl has 1 line that is no JSON object; the others were read",
        "an evaluation at 5 env steps cannot be read: it has no seeds",
        "metrics.jsonl has 1 line that is no JSON object; the others were read",
        "how many env steps its ancestors were trained for is not known here",
    ]
    assert RunView(make_run()).problems == ()


def test_a_stranger_names_no_module_that_is_imported(make_run, edit, tmp_path, monkeypatch):
    (tmp_path / "evil_algo.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    run = make_run()
    edit(run, algo="evil_algo")
    assert RunView(run).spec("loss/policy").key == "loss/policy"
    assert RunView(run).spec("train/score").meaning
    edit(run, algo="ppo")
    assert RunView(run).spec("policy/clip_fraction").meaning


def test_reading_a_run_needs_no_torch(make_run):
    run = make_run(score=1.0)
    scored(run, 100, [1.0], "test")
    code = (
        "import sys; from pathlib import Path; from spotter.rundir.run import Run;"
        "from spotter.rundir.view import RunView; view = RunView(Run(Path(sys.argv[1])));"
        "assert view.score and not view.problems and not view.alerts;"
        "assert not {'torch', 'gymnasium'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code, str(run.folder)], check=True)


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(ValueError, match="is not a run"):
        RunView(Run(tmp_path))


def test_three_ways_to_count_steps_to_the_threshold(make_run):
    fields = {name: 100 * place for place, name in enumerate(identity.REACHED, 1)}
    view = RunView(make_run(**fields))
    assert (view.steps_to_threshold, view.train_steps_to_threshold) == (100, 200)
    assert view.total_steps_to_threshold == 300
