"""Collecting ahead: what is learnt from is one update old, and otherwise nothing changes."""

import json
import multiprocessing
import os
import signal
import sys

import pytest
import torch

from spotter import packing, seeding
from spotter.collect.sources import InProcess, InThread, copy_weights
from spotter.config import validate
from spotter.envs.backends.slices import EnvError
from spotter.rundir.run import Run
from spotter.training import checkpoint
from spotter.training.run import train
from spotter.training.training import Training
from spotter.types import Progress, UserError

ENGINES = {"numpy": InProcess, "torch": InThread}


@pytest.fixture(
    params=[{"engine": "numpy"}, {"engine": "torch"}, {"engine": "torch", "core": "gru"}]
)
def config(request, make_config):
    return make_config(
        "CartPole-v1",
        {"name": "ppo", "steps": 16, "overlap": True},
        policy={"normalize_obs": "running", **request.param},
        budget={"env_steps": 2000},
    )


def in_turn(config):
    return config.model_copy(update={"algo": config.algo.model_copy(update={"overlap": False})})


def weights(training):
    return {name: x.numpy().copy() for name, x in training.policy.state_dict().items()}


def assert_equal(first, second):
    for name, array in first.items():
        assert array.tobytes() == second[name].tobytes(), name


def test_every_rollout_is_one_update_old(config):
    """The reference: two trainings in lockstep, one of which only collects."""
    with Training(config) as ahead, Training(in_turn(config)) as learner:
        assert isinstance(ahead.source, ENGINES[config.policy.engine])
        with Training(in_turn(config)) as collector:
            late = weights(learner)
            steps = 0
            for _ in range(6):
                update = ahead.step()
                collector.policy.load_state_dict({k: torch.from_numpy(x) for k, x in late.items()})
                progress = Progress(steps, config.budget.env_steps)
                rollout = collector.source.worker.gather(progress).rollout
                late = weights(learner)
                learner.algorithm.update(rollout, progress)
                learner.policy.observe(rollout.flatten(rollout.value, rollout.value).obs)
                steps += 64
                assert_equal(weights(learner), weights(ahead))
                assert (update.env_steps, update.new_env_steps) == (steps, 64)
                assert ahead.env_steps == steps


def test_a_resumed_run_goes_on_exactly(config):
    """The rollout that was collected ahead is part of what is saved."""
    with Training(config) as first:
        for _ in range(3):
            first.step()
        data, arrays = packing.pack(first.state())
        state = packing.unpack(json.loads(json.dumps(data)), arrays)
        held = {name: x.clone() for name, x in first.policy.state_dict().items()}
        for _ in range(3):
            first.step()
        with Training(config, first.env_steps) as second:
            assert second.restore(held, state) == []
            assert second.env_steps == 3 * 64
            updates = [second.step() for _ in range(3)]
            assert updates[-1].env_steps == first.env_steps
            assert_equal(weights(first), weights(second))


def test_new_settings_count_from_the_next_rollout_on(config):
    with Training(config) as training:
        training.step()
        data = config.as_data()
        data["reward"]["scale"] = 100.0
        training.retune(validate(data))
        rewards = [training.step() and float(training.last.reward.max()) for _ in range(3)]
    assert rewards[0] == 1.0, "collected before"
    assert rewards[-1] == 100.0


def test_a_run_with_overlap_trains_saves_and_says_so(config):
    result = train(config, new_run=lambda: Run.create(config, "x"))
    assert result.reason == "budget"
    rows = list(result.run.metrics())
    assert [row["env_steps"] for row in rows] == list(range(64, 2001 + 64, 64))
    assert all(row["time/idle_s"] >= 0 and "time/env_s" not in row for row in rows)
    trainer = checkpoint.read(checkpoint.find_in(result.run, "@latest")).trainer["training"]
    assert trainer["ahead"] is None, "nothing is collected beyond the budget"
    assert trainer["collector"]["env_steps"] == trainer["env_steps"] == rows[-1]["env_steps"]
    assert not multiprocessing.active_children(), "nobody is left behind"


def test_only_ppo_knows_how_to_use_old_data(make_config):
    with pytest.raises(UserError, match="overlap"):
        make_config("CartPole-v1", {"name": "a2c", "overlap": True})


@pytest.mark.parametrize("engine", ENGINES)
def test_faults_and_notes_arrive(make_config, engine):
    seed = seeding.integers(1, "train envs", 4)[2]
    config = make_config(
        "spotter.testing.scripted:Faulty-v0",
        {"name": "ppo", "steps": 16, "overlap": True},
        env={"kwargs": {"failure": "raises", "seed": seed, "step": 5, "lengths": [30]}},
        policy={"engine": engine},
        budget={"env_steps": 200},
        eval={"every_steps": None, "episodes": 2},
        video={"when": None},
    )
    result = train(config, new_run=lambda: Run.create(config, "x"))
    (fault,) = [event for event in result.run.events() if event["event"] == "fault"]
    assert (fault["kind"], fault["copy"]) == ("raised", 2)


@pytest.mark.parametrize("engine", ENGINES)
def test_one_failure_too_many_ends_the_run_with_its_sentence(make_config, engine):
    config = make_config(
        "spotter.testing.scripted:Faulty-v0",
        {"name": "ppo", "steps": 16, "overlap": True},
        env={"kwargs": {"failure": "raises", "step": 5, "lengths": [30]}, "restarts": 1},
        policy={"engine": engine},
    )
    with Training(config) as training:
        with pytest.raises(EnvError, match="environment"):
            for _ in range(4):
                training.step()
        assert training.take_faults()


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_a_process_that_dies_is_one_sentence(make_config):
    config = make_config("CartPole-v1", {"name": "ppo", "steps": 16, "overlap": True})
    with Training(config) as training:
        training.step()
        (child,) = multiprocessing.active_children()
        os.kill(child.pid, signal.SIGKILL)
        with pytest.raises(EnvError, match="the process that collects ahead has died"):
            for _ in range(3):
                training.step()


def test_copying_weights_leaves_memory_in_place(make_config):
    config = make_config("CartPole-v1")
    with Training(config) as first, Training(config) as second:
        first.step()
        places = [x.data_ptr() for x in second.policy.parameters()]
        copy_weights(first.policy, second.policy)
        assert [x.data_ptr() for x in second.policy.parameters()] == places
        assert_equal(weights(first), weights(second))
