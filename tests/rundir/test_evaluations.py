"""Evaluations as events tell them, and when the threshold was reached."""

import json
import math

import pytest

from spotter.rundir import evaluations
from spotter.rundir.identity import REACHED
from spotter.rundir.registry import listing


def scored(env_steps, score, seeds="eval", threshold=5.0, **more):
    return {
        "event": "evaluation", "env_steps": env_steps, "seeds": seeds, "score": score,
        "scores": [score - 1.0, score + 1.0], "threshold": threshold, **more,
    }  # fmt: skip


def back_to(env_steps):
    return {"event": "resume", "env_steps": env_steps}


def test_a_score_has_an_interval_and_episodes():
    (score,) = evaluations.read(
        [scored(100, 4.0, deterministic=True, truncated=[True, False])]
    ).scores
    assert (score.env_steps, score.seeds, score.mean, score.episodes) == (100, "eval", 4.0, 2)
    assert score.interval.half == pytest.approx(12.7062)
    assert (score.solved, score.deterministic, score.truncated) == (False, True, 1)
    assert not score.is_test


def test_a_resume_forgets_evaluations_of_later_weights():
    found = evaluations.read([scored(100, 1.0), scored(200, 9.0), back_to(150), scored(300, 2.0)])
    assert [score.env_steps for score in found.scores] == [100, 300]
    assert found.steps_to_threshold is None
    found = evaluations.read([scored(100, 6.0), back_to(100), scored(100, 7.0)])
    assert [score.mean for score in found.scores] == [7.0], "of two, the later one counts"


def test_the_first_weights_that_reached_the_threshold():
    late = [scored(400, 9.0), scored(200, 5.0, "test"), scored(300, 9.0), scored(100, 4.9)]
    found = evaluations.read(late)
    assert (found.steps_to_threshold, found.threshold) == (200, 5.0)
    assert evaluations.read([scored(0, 9.0)]).steps_to_threshold == 0
    assert evaluations.read([scored(100, 9.0, threshold=None)]).steps_to_threshold is None
    assert evaluations.read([]).threshold is None
    # what was written down counts: the threshold may have been compared with more digits
    assert evaluations.read([scored(100, 5.0, solved=False)]).steps_to_threshold is None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"seeds": None}, "an evaluation at 100 env steps cannot be read: it has no seeds"),
        ({"seeds": 3}, "an evaluation at 100 env steps cannot be read: it has no seeds"),
        ({"scores": []}, "an evaluation at 100 env steps cannot be read: it has no scores"),
        ({"scores": {"a": 1}}, "an evaluation at 100 env steps cannot be read: it has no scores"),
        (
            {"scores": [1.0, None]},
            "an evaluation at 100 env steps cannot be read: it has no scores",
        ),
        ({"scores": [10**400]}, "an evaluation at 100 env steps cannot be read: it has no scores"),
        ({"env_steps": "x"}, "an evaluation cannot be read: it has no env_steps"),
        ({"env_steps": 10**400}, "an evaluation cannot be read: it has no env_steps"),
    ],
)
def test_what_cannot_be_read_is_left_out_and_named(change, sentence):
    good = scored(200, 9.0)
    found = evaluations.read([scored(100, 9.0) | change, good, back_to(None)])
    assert [score.event for score in found.scores] == [good]
    assert found.problems == (sentence,)


def test_odd_values_beside_readable_scores():
    odd = {"score": None, "threshold": "high", "solved": 1, "truncated": "x", "fingerprint": 3}
    (score,) = evaluations.read([scored(100, 4.0) | odd]).scores
    assert (score.mean, score.threshold, score.solved, score.fingerprint) == (4.0, None, False, "")
    assert score.truncated is None
    (score,) = evaluations.read([scored(100, math.inf)]).scores
    assert score.interval.half is None


def older(run, edit, **fields):
    """As a version before these definitions left it: the training mean under the plain name."""
    edit(run, **fields)

    path = run.folder / "run.json"
    written = json.loads(path.read_text())
    for name in ("train_steps_to_threshold", "total_steps_to_threshold", "threshold"):
        del written[name]
    path.write_text(json.dumps(written))


def test_older_runs_are_read_from_their_events(make_run, edit):
    parent = make_run()
    run = make_run(parent={"run": parent.id, "env_steps": 1000})
    older(parent, edit, parent={"run": "grandparent", "env_steps": 50, "total_env_steps": 70})
    for event in (scored(200, 4.0), scored(300, 6.0), scored(400, 9.0)):
        run.event("evaluation", event)
    older(run, edit, steps_to_threshold=250)
    info = run.info()
    assert {name: info[name] for name in REACHED} == {
        "steps_to_threshold": 300,
        "train_steps_to_threshold": 250,
        "total_steps_to_threshold": 300 + 1000 + 70,
    }
    assert info["threshold"] == 5.0
    assert info in listing().infos


@pytest.mark.parametrize("parent", [{"run": "gone", "env_steps": 9}, {"run": "..", "env_steps": 9},
                                    {"run": "x"}])  # fmt: skip
def test_the_total_is_unknown_where_the_line_of_ancestors_breaks(make_run, edit, parent):
    run = make_run(parent=parent)
    run.event("evaluation", scored(300, 6.0))
    older(run, edit)
    assert (run.info()["steps_to_threshold"], run.info()["total_steps_to_threshold"]) == (300, None)


def test_a_circle_of_parents_ends(make_run, edit):
    run = make_run()
    edit(run, parent={"run": run.id, "env_steps": 5})
    run.event("evaluation", scored(300, 6.0))
    older(run, edit)
    assert run.info()["total_steps_to_threshold"] is None


def test_a_resume_keeps_what_was_reached_before_its_checkpoint(make_run, make_config):
    run = make_run(status="running", train_steps_to_threshold=150)
    for steps, score in ((100, 4.0), (200, 9.0), (300, 9.0)):
        run.event("evaluation", scored(steps, score))
        if score > 5:
            run.reach(steps)
    assert run.info()["steps_to_threshold"] == 200
    run.finish("interrupted")
    run.resume(["spotter"], 200, make_config("CartPole-v1"))
    info = run.info()
    assert (info["steps_to_threshold"], info["train_steps_to_threshold"]) == (200, 150)
    run.finish("interrupted")
    run.resume(["spotter"], 120, make_config("CartPole-v1"))
    assert not any(run.info()[name] for name in REACHED)
