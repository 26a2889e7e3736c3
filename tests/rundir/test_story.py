"""What can be told about one run."""

from spotter.rundir import story
from spotter.rundir.files import write_json
from spotter.rundir.registry import listing


def test_checkpoints_with_roles_and_scores_of_either_format(make_run):
    run = make_run()
    folder = run.folder / "checkpoints"
    for name in ("step-000000100", "step-000000200", "step-000000300", "step-x", ".step-0.tmp"):
        (folder / name).mkdir(parents=True)
    write_json(folder / "best.json", {"step": "step-000000100"})
    write_json(folder / "latest.json", {"step": "step-000000300"})
    write_json(folder / "step-000000100" / "score.json", {"seeds": "test", "score": 3.0})
    both = {"eval": {"score": 4.0}, "test": {"score": 5.0}}
    write_json(folder / "step-000000200" / "score.json", both)
    (folder / "step-000000300" / "score.json").write_text("{")
    assert [(c.env_steps, c.roles, c.scores) for c in story.checkpoints(run)] == [
        (100, ("best",), {"test": 3.0}),
        (200, (), {"eval": 4.0, "test": 5.0}),
        (300, ("latest",), {}),
    ]
    assert story.checkpoints(make_run()) == []


def test_alerts_once_each_with_their_updates(make_run):
    run = make_run()
    run.metrics_path.write_text('{"alerts": ["kl", "flat"]}\n{"alerts": ["kl"]}\n{}\n')
    run.event("alert", {"id": "kl", "saw": "0.1", "advice": "lower lr"})
    run.event("alert", {"id": "flat", "saw": "x", "advice": "y"})
    run.event("alert", {"id": "kl", "saw": "0.2", "advice": "lower lr"})
    told = story.alerts(run)
    assert [(alert.id, alert.updates, alert.event["saw"]) for alert in told] == [
        ("kl", 2, "0.2"), ("flat", 1, "x"),
    ]  # fmt: skip


def test_children_and_last_row(make_run):
    run = make_run()
    child = make_run(parent={"run": run.id})
    assert story.children(run.id, listing().infos) == [child.id]
    assert story.last_row(run) == {}
    run.metrics_path.write_text('{"n": 1}\n{"n": 2}\n')
    assert story.last_row(run) == {"n": 2}
