"""Forks: a new run that starts with the weights of another, and says so."""

import pytest
import torch

from spotter import load
from spotter.rundir.run import Run
from spotter.training.checkpoint import find
from spotter.training.resume import fork, resume
from spotter.training.run import train
from spotter.types import UserError


class Log:
    def __init__(self):
        self.notes, self.evaluations = [], []

    def open(self, start): ...
    def note(self, text):
        self.notes.append(text)

    def row(self, row): ...
    def evaluation(self, evaluation):
        self.evaluations.append(evaluation)

    def event(self, kind, data): ...
    def close(self, ending): ...


def trained(make_config, origin=None, env_id="CartPole-v1", **sections):
    sections = {"budget": {"env_steps": 300}, "video": {"when": None}, **sections}
    config = make_config(env_id, **sections)
    log = Log()
    parent = origin.parent() if origin else None
    run = lambda: Run.create(config, f"{env_id}:ppo", parent=parent)  # noqa: E731
    return train(config, [log], run, origin), log


def test_a_fork_starts_where_the_other_run_was(make_config):
    first, _ = trained(make_config)
    origin = fork(f"{first.run.id}/@latest")
    second, log = trained(make_config, origin, budget={"env_steps": 64})
    start = log.evaluations[0]
    assert start.env_steps == 0
    assert any("tensors copied" in note for note in log.notes)
    assert any(f"starts at a score of {start.score:g}" in note for note in log.notes)
    assert "the optimizer state is restored" in log.notes
    assert second.run.info()["parent"] == {
        "run": first.run.id, "checkpoint": "step-000000320", "env_steps": 320,
        "total_env_steps": 320, "kind": "fork",
        "fresh_optimizer": False,
    }  # fmt: skip
    assert second.env_steps == 64, "a new run counts from 0"


def test_the_score_at_the_start_is_that_of_the_old_weights(make_config):
    from spotter.training.evaluate import Evaluator

    first, _ = trained(make_config)
    _, log = trained(make_config, fork(first.run.id))
    with Evaluator(first.config) as evaluator:
        import spotter

        again = evaluator.run(spotter.load(first.run.id).network, 0)
    assert log.evaluations[0].scores == again.scores


def test_the_optimizer_starts_fresh_when_asked_or_when_it_must(make_config):
    first, _ = trained(make_config)
    _, log = trained(make_config, fork(first.run.id, fresh_optimizer=True))
    assert "the optimizer starts fresh, as asked" in log.notes
    _, log = trained(make_config, fork(first.run.id), env_id="Acrobot-v1")
    assert "the optimizer starts fresh: its memory belongs to another network" in log.notes
    _, log = trained(make_config, fork(first.run.id), algo={"name": "ppo", "optimizer": "sgd"})
    assert "the optimizer starts fresh: the old run used another rule" in log.notes


def test_optimizer_memory_makes_a_difference(make_config):
    first, _ = trained(make_config)
    kept, _ = trained(make_config, fork(first.run.id), budget={"env_steps": 64})
    fresh, _ = trained(make_config, fork(first.run.id, True), budget={"env_steps": 64})
    ours, theirs = (load(f"{one.run.id}/@latest").network.state_dict() for one in (kept, fresh))
    assert not all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_forks_first_weights_are_a_checkpoint_and_a_candidate(make_config):
    first, _ = trained(make_config)
    settings = {"episodes": 4, "every_steps": 64}
    harmful = {"name": "ppo", "lr": 10.0, "steps": 16}
    second, log = trained(make_config, fork(first.run.id), algo=harmful, eval=settings)
    start, *later = (one for one in log.evaluations if one.seeds == "eval")
    assert max(one.score for one in later) < start.score, "or the test shows nothing"
    assert find(f"{second.run.id}/@best").name == "step-000000000"
    info = second.run.info()
    assert (info["best"], info["best_env_steps"]) == (start.score, 0)
    assert info["last_score"] == later[-1].score
    ours, theirs = (
        load(name).network.state_dict() for name in (f"{second.run.id}/@best", first.run.id)
    )
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_fork_can_be_resumed_from_its_first_weights(make_config):
    first, _ = trained(make_config)

    class Stop:
        open = note = event = close = lambda self, *args: None

        def evaluation(self, evaluation):
            pass

        def row(self, row):
            raise KeyboardInterrupt

    origin = fork(first.run.id)
    config = make_config("CartPole-v1", budget={"env_steps": 300}, video={"when": None})
    with pytest.raises(KeyboardInterrupt):
        train(config, [Stop()], lambda: Run.create(config, "x", parent=origin.parent()), origin)
    again = resume("@last")
    assert again.saved.env_steps == 0
    result = train(again.config, [], lambda: again.take_up([], ""), again)
    whole, _ = trained(make_config, fork(first.run.id))
    ours, theirs = (load(f"{one.run.id}/@latest").network.state_dict() for one in (result, whole))
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_selector_that_fits_nothing_is_one_sentence():
    with pytest.raises(UserError, match="there is no run"):
        fork("@last")
