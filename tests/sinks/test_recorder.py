"""From updates to rows: windows, clocks, info keys, and what survives a resume."""

import pytest

from spotter.metrics import common
from spotter.metrics.spec import Catalogue
from spotter.sinks.base import Start
from spotter.sinks.recorder import Recorder
from spotter.training.training import Training
from spotter.types import Episode, Evaluation, Update


class Clock:
    """Time that passes when told."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def recorder(make_config, clock=None, threshold=None, **sections):
    config = make_config("CartPole-v1", **sections)
    catalogue = Catalogue(common.METRICS)
    start = Start(config, catalogue, None, threshold, {}, 0, lambda: (0, 0))
    return Recorder(start, [], None, clock or Clock())


def update(index, new_steps=100, seconds=1.0, scores=(), info=()):
    episodes = tuple(
        Episode(0, score, 10, True, reward=score / 2, info=dict(info)) for score in scores
    )
    spent = {"env": 0.25 * seconds, "policy": 0.25 * seconds, "learn": 0.5 * seconds}
    return Update(index, index * new_steps, new_steps, index * 10, {}, episodes, spent)


def test_p38_speed_is_that_of_training_alone(make_config):
    clock = Clock()
    record = recorder(make_config, clock, budget={"env_steps": 1000})
    clock.now += 1.0
    row = record.write(update(1))
    assert row.metrics["time/fps"] == pytest.approx(100)
    clock.now += 31.0
    record.spend("eval", 20.0)
    record.spend("save", 4.0)
    row = record.write(update(2))
    assert row.metrics["time/fps"] == pytest.approx(100), "evaluation does not slow it down"
    assert row.metrics["time/eval_s"] == 20.0
    assert row.metrics["time/save_s"] == 4.0
    assert row.metrics["time/idle_s"] == pytest.approx(31 - 1 - 24)
    assert row.metrics["time/elapsed_s"] == pytest.approx(32)
    assert row.metrics["time/updates_per_s"] == pytest.approx(1)
    assert row.metrics["time/wall_fps"] == pytest.approx(200 / 32), "but the whole run"
    assert row.metrics["time/train_s"] == pytest.approx(2)
    assert row.metrics["time/eta_s"] == pytest.approx(8 + 20), "what remains, and the final test"
    assert row.metrics["run/progress"] == pytest.approx(0.2)
    clock.now += 1.0
    assert "time/eval_s" not in record.write(update(3)).metrics


def test_the_eta_has_the_evaluations_in_it_that_are_due(make_config):
    clock = Clock()
    settings = {"budget": {"env_steps": 1000}, "eval": {"every_steps": 200}}
    for mode, due in (("inline", 4 + 1), ("async", 1)):
        settings["eval"]["mode"] = mode
        record = recorder(make_config, clock, **settings)
        record.spend("eval", 10.0)
        record.spend("eval", 20.0)
        left = record.write(update(1)).metrics["time/eta_s"] - 9.0
        assert left == pytest.approx(due * 15.0)


def test_no_budget_no_progress(make_config):
    metrics = recorder(make_config, budget={"env_steps": None}).write(update(1)).metrics
    assert "run/progress" not in metrics
    assert "time/eta_s" not in metrics


def test_scores_are_a_window_with_its_best_and_its_last(make_config):
    record = recorder(make_config)
    assert "train/score" not in record.write(update(1)).metrics, "no mean of nothing"
    metrics = record.write(update(2, scores=[10.0] * 100)).metrics
    assert (metrics["train/score"], metrics["train/episodes"]) == (10.0, 100)
    metrics = record.write(update(3, scores=[0.0] * 50)).metrics
    assert metrics["train/score"] == 5.0, "of the last hundred"
    assert metrics["train/score_best"] == 10.0
    assert metrics["train/score_last"] == 0.0
    assert metrics["train/reward"] == 2.5


def test_info_numbers_become_metrics(make_config):
    record = recorder(make_config)
    metrics = record.write(update(1, scores=[1.0], info={"x/mean": 2.0, "x/last": 3.0})).metrics
    assert (metrics["info/x/mean"], metrics["info/x/last"]) == (2.0, 3.0)
    metrics = record.write(update(2, scores=[1.0], info={"x/mean": 4.0, "x/last": 3.0})).metrics
    assert metrics["info/x/mean"] == 3.0


def test_info_numbers_of_a_real_environment_arrive(make_config):
    with Training(make_config("FrozenLake-v1", "a2c")) as training:
        record = recorder(make_config)
        while "info/prob/mean" not in (metrics := record.write(training.step()).metrics):
            assert training.env_steps < 5000
    assert 0 < metrics["info/prob/mean"] <= 1


def test_train_steps_to_the_threshold_need_enough_episodes(make_config):
    record = recorder(make_config, threshold=5.0, eval={"episodes": 20})
    first = record.write(update(1, scores=[9.0] * 19)).metrics
    assert "merit/train_steps_to_threshold" not in first
    assert record.write(update(2, scores=[9.0])).metrics["merit/train_steps_to_threshold"] == 200
    later = record.write(update(3, scores=[-99.0] * 100)).metrics
    assert later["merit/train_steps_to_threshold"] == 200, "the first time counts"
    assert "merit/steps_to_threshold" not in later, "no evaluation has reached it"


def test_steps_to_the_threshold_are_those_of_an_evaluation(make_config):
    record = recorder(make_config, threshold=5.0)
    record.evaluation(Evaluation(100, (4.0, 5.0), (5, 7), 5.0, "eval", True))
    assert "merit/steps_to_threshold" not in record.write(update(1, scores=[9.0] * 100)).metrics
    for steps in (300, 200, 400):  # results of an evaluation process may come late
        record.evaluation(Evaluation(steps, (9.0,), (5,), 5.0, "eval", True))
    assert record.write(update(2)).metrics["merit/steps_to_threshold"] == 200


def test_a_state_of_an_older_version_knows_the_training_mean_only(make_config):
    record = recorder(make_config, threshold=5.0)
    state = record.state()
    state["steps_to_threshold"] = 300
    del state["train_steps_to_threshold"]
    record.restore(state)
    metrics = record.write(update(4, scores=[1.0])).metrics
    assert metrics["merit/train_steps_to_threshold"] == 300
    assert "merit/steps_to_threshold" not in metrics


def test_an_evaluation_goes_into_the_next_row(make_config):
    record = recorder(make_config)
    record.evaluation(Evaluation(100, (1.0, 3.0), (5, 7), 2.0, "eval", True))
    metrics = record.write(update(1)).metrics
    assert {key: metrics[key] for key in metrics if key.startswith("eval/")} == {
        "eval/score": 2.0, "eval/score_std": 1.0, "eval/length": 6.0, "eval/solved": 1.0,
        "eval/env_steps": 100.0, "eval/truncated": 0.0, "eval/stalled": 0.0,
    }  # fmt: skip
    assert "eval/score" not in record.write(update(2)).metrics


def test_a_restored_recorder_goes_on(make_config):
    clock = Clock()
    record = recorder(make_config, clock, threshold=1.0)
    for index in range(1, 6):
        clock.now += 1.0
        record.write(update(index, scores=[float(index)] * 10, info={"x/mean": 1.0}))
    later = Clock()
    later.now = 5.0
    again = recorder(make_config, later, threshold=1.0)
    again.restore(record.state())
    clock.now += 1.0
    later.now += 1.0
    next_update = update(6, scores=[7.0], info={"x/mean": 1.0})
    assert record.write(next_update).metrics == again.write(next_update).metrics


def test_a_sink_that_cannot_open_closes_the_others(make_config):
    closed = []

    class Fine:
        def open(self, start): ...
        def close(self, ending):
            closed.append(ending)

    class Broken(Fine):
        def open(self, start):
            raise OSError("no terminal")

    config = make_config("CartPole-v1")
    start = Start(config, Catalogue(common.METRICS), None, None, {}, 0, lambda: (0, 0))
    with pytest.raises(OSError, match="no terminal"):
        Recorder(start, [Fine(), Broken()])
    assert closed == [None]
