"""Evaluation beside training: the weights it claims, whoever computes the score."""

import os
import signal
import time

import pytest
import torch

from spotter.evaluate import Evaluator
from spotter.rundir.run import Run
from spotter.scoring import Async, Inline, make_scorer, snapshot
from spotter.training import Training, train
from spotter.types import UserError


def never():
    return False


@pytest.fixture
def training(make_config):
    with Training(make_config("CartPole-v1", eval={"episodes": 4})) as training:
        yield training


def test_the_mode_picks_the_scorer(make_config):
    spaces = None
    assert isinstance(make_scorer(make_config("CartPole-v1"), spaces, never), Inline)
    config = make_config("CartPole-v1", eval={"mode": "async"})
    assert isinstance(make_scorer(config, spaces, never), Async)


def test_waiting_for_a_score_needs_a_threshold(make_config):
    config = make_config("Pendulum-v1", eval={"after_score": 0.5})
    with pytest.raises(UserError, match=r"eval\.after_score needs a threshold"):
        train(config, new_run=lambda: pytest.fail("no folder"))


def test_async_scores_are_the_inline_scores(training):
    """The same weights and seeds, scored here and in another process."""
    with Async(training.config, training.vector.spaces, never) as scorer:
        assert scorer.submit(training.policy, 64)
        weights = snapshot(training.policy)
        with Evaluator(training.config) as evaluator:
            expected = evaluator.run(training.policy, 64)
        training.step()  # training goes on meanwhile
        assert not torch.equal(
            weights["value_head.weight"], training.policy.state_dict()["value_head.weight"]
        )
        scored = scorer.wait()
        assert scored.evaluation.scores == expected.scores
        assert scored.evaluation.env_steps == 64
        assert all(torch.equal(scored.weights[name], weights[name]) for name in weights)
        again = scorer.now(training.policy, 128, "test")
        assert again.seeds == "test"
        assert again.env_steps == 128


def test_one_evaluation_at_a_time(training):
    with Async(training.config, training.vector.spaces, never) as scorer:
        assert scorer.submit(training.policy, 1)
        assert not scorer.submit(training.policy, 2)
        while (scored := scorer.ready()) is None:
            time.sleep(0.05)
        assert scored.evaluation.env_steps == 1
        assert scorer.wait() is None
        assert scorer.submit(training.policy, 3)


def test_asking_to_stop_abandons_an_evaluation(make_config):
    config = make_config("CartPole-v1")
    with Training(config) as training, Inline(config, lambda: True) as scorer:
        assert not scorer.submit(training.policy, 1)
        assert scorer.ready() is None
        assert scorer.now(training.policy, 1, "test") is None


def test_a_run_with_async_evaluation_keeps_scores_with_their_weights(make_config):
    import spotter
    from spotter import checkpoint

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
            policy = spotter.load(f"{result.run.id}/step={event['env_steps']}")
            again = evaluator.run(policy.network, 0)
            assert list(again.scores) == event["scores"], "the score of the weights it claims"
            step = checkpoint.find(f"{result.run.id}/step={event['env_steps']}")
            assert checkpoint.read_score(step)["scores"] == event["scores"]


def test_the_evaluation_process_dies_with_training(training):
    scorer = Async(training.config, training.vector.spaces, never)
    with scorer:
        scorer.submit(training.policy, 1)
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
    from spotter.origins import resume

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
