"""Evaluation beside training: the weights it claims, whoever computes the score."""

import os
import signal
import time

import pytest
import torch

import spotter
from spotter.rundir.files import read_json
from spotter.rundir.run import Run
from spotter.training import checkpoint, results
from spotter.training.cadence import Plan
from spotter.training.evaluate import Evaluator
from spotter.training.resume import resume
from spotter.training.run import train
from spotter.training.scoring import Async, Inline, make_scorer
from spotter.training.selection import snapshot
from spotter.training.training import Training
from spotter.types import UserError

PLAN = Plan(4)


def never():
    return False


@pytest.fixture
def training(make_config):
    with Training(make_config("CartPole-v1", eval={"episodes": 4})) as training:
        yield training


def test_the_mode_picks_the_scorer(make_config, training):
    config = make_config("CartPole-v1")
    assert isinstance(make_scorer(config, training.policy, never), Inline)
    config = make_config("CartPole-v1", eval={"mode": "async"})
    assert isinstance(make_scorer(config, training.policy, never), Async)


def test_waiting_for_a_score_needs_a_threshold(make_config):
    config = make_config("Pendulum-v1", eval={"after_score": 0.5})
    with pytest.raises(UserError, match=r"eval\.after_score needs a threshold"):
        train(config, new_run=lambda: pytest.fail("no folder"))


def test_async_scores_are_the_inline_scores(training):
    """The same weights and seeds, scored here and in another process."""
    weights = snapshot(training.policy)
    with (
        Async(training.config, training.spaces, never) as there,
        Inline(training.config, training.policy, never) as here,
    ):
        for scorer in (there, here):
            scorer.submit(weights, 64, PLAN)
        assert (there.pending, here.pending) == (64, None)
        training.step()  # training goes on meanwhile
        ours, theirs = here.result(), there.result()
        assert theirs.candidate.evaluation.scores == ours.candidate.evaluation.scores
        assert theirs.candidate.env_steps == 64 == there.best.env_steps
        kept = theirs.candidate.weights
        assert all(torch.equal(kept[name], weights[name]) for name in weights)
        tested = there.test(snapshot(training.policy), 128, PLAN)
        assert tested.env_steps == 64, "the best is tested, not the last"
        assert tested.test.scores == here.test(snapshot(training.policy), 128, PLAN).test.scores


def test_the_worker_knows_the_best_of_the_session_before(training):
    weights = snapshot(training.policy)
    with Inline(training.config, training.policy, never) as here:
        here.submit(weights, 64, PLAN)
        best = here.result().candidate
    with Async(training.config, training.spaces, never) as there:
        there.restore(best)
        there.submit(weights, 128, PLAN)
        assert not there.result().is_best, "no better than itself"
        assert there.best.env_steps == 64


def test_asking_to_stop_abandons_an_evaluation(make_config):
    config = make_config("CartPole-v1")
    with Training(config) as training, Inline(config, training.policy, lambda: True) as scorer:
        scorer.submit(snapshot(training.policy), 1, PLAN)
        assert scorer.result() is None
        assert scorer.test(snapshot(training.policy), 1, PLAN) is None


def test_a_run_with_async_evaluation_keeps_scores_with_their_weights(make_config):
    config = make_config(
        "CartPole-v1",
        eval={"mode": "async", "every_steps": 256, "episodes": 4},
        budget={"env_steps": 4000},
        checkpoint={"keep": None},
    )
    result = train(config, new_run=lambda: Run.create(config, "x"))
    scored = [e for e in result.run.events() if e["event"] == "evaluation" and e["seeds"] == "eval"]
    assert scored, "at least the one that was under way at the end"
    with Evaluator(config) as evaluator:
        for event in scored:
            policy = spotter.load(f"{result.run.id}/step={event['env_steps']}").network
            again = evaluator.run(policy, 0)
            assert list(again.scores) == event["scores"], "the score of the weights it claims"
            step = checkpoint.find(f"{result.run.id}/step={event['env_steps']}")
            assert checkpoint.read_scores(step)["eval"]["scores"] == event["scores"]
            row = read_json(step / "metrics.json")
            assert (row["eval/score"], row["eval/env_steps"]) == (event["score"], row["env_steps"])


@pytest.mark.parametrize("pause", [0.0, 0.15])
def test_which_weights_are_evaluated_does_not_depend_on_speed(make_config, pause, monkeypatch):
    """Training may be slower than evaluation or faster: the same rows, events and result."""
    step = Training.step

    def slowly(self):
        time.sleep(pause)
        return step(self)

    monkeypatch.setattr(Training, "step", slowly)
    config = make_config(
        "CartPole-v1",
        eval={"mode": "async", "every_steps": 128, "episodes": 4},
        budget={"env_steps": 1000},
        video={"when": None},
    )
    run = train(config, new_run=lambda: Run.create(config, "x")).run
    found = [(e["seeds"], e["env_steps"]) for e in run.evaluations()]
    best = run.info()["best_env_steps"]
    assert found == [("eval", n) for n in (*range(128, 1000, 128), 1024)] + [("test", best)]
    rows = {r["env_steps"]: r["eval/env_steps"] for r in run.metrics() if "eval/env_steps" in r}
    assert [rows[n] for n in range(256, 1000, 128)] == list(range(128, 896, 128)), "one later"


def test_a_run_that_is_solved_keeps_the_weights_that_solved_it(make_config):
    config = make_config(
        "CartPole-v1",
        env={"threshold": 12.0},
        eval={"mode": "async", "every_steps": 64, "episodes": 4},
        budget={"env_steps": 2000},
    )
    result = train(config, new_run=lambda: Run.create(config, "x"))
    info = result.run.info()
    assert (result.reason, info["solved"], info["score"]) == ("solved", True, result.score)
    step = checkpoint.find(f"{result.run.id}/@best")
    assert int(step.name[5:]) == info["best_env_steps"] == result.test.env_steps
    with Evaluator(config) as evaluator:
        again = evaluator.run(spotter.load(f"{result.run.id}/@best").network, 0, "test")
        assert again.score == result.score == evaluator.run(result.policy.network, 0, "test").score


def test_the_evaluation_process_dies_with_training(training):
    scorer = Async(training.config, training.spaces, never)
    with scorer:
        scorer.submit(snapshot(training.policy), 1, PLAN)
        process = scorer._process
        assert process.is_alive()
    assert not process.is_alive()


def test_async_evaluation_goes_with_worker_processes(make_config):
    config = make_config(
        "CartPole-v1",
        env={"backend": "process", "workers": 2},
        eval={"mode": "async", "every_steps": 64, "episodes": 2},
        budget={"env_steps": 256},
    )
    assert train(config).score is not None


def test_an_evaluation_under_way_at_a_stop_is_made_on_resume(make_config):

    class Impatient:
        def row(self, row):
            os.kill(os.getpid(), signal.SIGINT)

        open = note = evaluation = event = close = lambda self, *args: None

    settings = {"mode": "async", "every_steps": 64, "episodes": 2}
    config = make_config("CartPole-v1", eval=settings, budget={"env_steps": 2000})
    stopped = train(config, [Impatient()], lambda: Run.create(config, "x"))
    assert stopped.env_steps == 64, "the evaluation has only just been asked for"
    origin = resume(stopped.run.id)
    result = train(origin.config, [], lambda: origin.take_up([], ""), origin)
    assert 64 in [e["env_steps"] for e in result.run.evaluations() if e["seeds"] == "eval"]


class Dies:
    """Ends a run at one update, as a kill would: nothing is written after it."""

    def __init__(self, at):
        self.at = at

    def row(self, row):
        if row.update == self.at:
            raise MemoryError

    open = note = evaluation = event = close = lambda self, *args: None


@pytest.mark.parametrize(
    ("mode", "every_s", "killed_at"),
    [
        ("inline", 1e-9, (4, 5, 7, 11, 16)),
        ("inline", None, (5, 11)),
        ("async", 1e-9, (4,)),
        ("async", None, (7,)),
    ],
)
def test_a_run_that_was_killed_has_the_evaluations_of_an_unbroken_one(
    make_config, mode, every_s, killed_at
):
    """Killed with an evaluation under way, its result there, and between two of them."""
    config = make_config(
        "CartPole-v1",
        eval={"mode": mode, "every_steps": 192, "episodes": 2},
        budget={"env_steps": 1000},
        checkpoint={"every_s": every_s},
        video={"when": None},
    )
    whole = train(config, new_run=lambda: Run.create(config, "x")).run
    for at in killed_at:
        with pytest.raises(MemoryError):
            train(config, [Dies(at)], lambda: Run.create(config, "x"))
        origin = resume("@last")
        again = train(origin.config, [], lambda origin=origin: origin.take_up([], ""), origin).run
        assert evaluated(again) == evaluated(whole), f"killed at update {at}"
        for entry in ("best", "best_episodes", "best_env_steps", "score", "last_score"):
            assert again.info()[entry] == whole.info()[entry], f"{entry}, killed at update {at}"


def evaluated(run):
    return [(one["seeds"], one["env_steps"], one["scores"]) for one in run.evaluations()]


@pytest.mark.parametrize("mode", ["inline", "async"])
def test_a_kill_between_a_checkpoint_and_its_result_loses_no_result(make_config, mode, monkeypatch):
    config = make_config(
        "CartPole-v1",
        eval={"mode": mode, "every_steps": 192, "episodes": 2},
        budget={"env_steps": 1000},
        video={"when": None},
    )
    whole = train(config, new_run=lambda: Run.create(config, "x")).run
    best = whole.info()["best_env_steps"]
    write = results.write

    def dies(run, keeper, scored, late):
        if scored.candidate.env_steps == best:
            raise MemoryError
        write(run, keeper, scored, late)

    with monkeypatch.context() as patched, pytest.raises(MemoryError):
        patched.setattr(results, "write", dies)
        train(config, new_run=lambda: Run.create(config, "x"))
    origin = resume("@last")
    again = train(origin.config, [], lambda: origin.take_up([], ""), origin).run
    for entry in ("best", "best_episodes", "best_env_steps", "score", "last_score"):
        assert again.info()[entry] == whole.info()[entry], entry
