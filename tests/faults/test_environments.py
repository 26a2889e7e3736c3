"""Training with environments that raise, return nan, hang or take their process with them."""

import pytest
import torch

from spotter import seeding
from spotter.envs.backends.slices import EnvError
from spotter.rundir.run import Run
from spotter.training import blackbox
from spotter.training.run import train
from spotter.training.training import Training

FAULTY = "spotter.testing.scripted:Faulty-v0"
COPIES, STEPS, BAD_COPY, BAD_STEP = 4, 16, 2, 5
KINDS = {
    ("sync", "raises"): "raised",
    ("sync", "nan reward"): "not finite",
    ("sync", "nan observation"): "not finite",
    ("process", "raises"): "raised",
    ("process", "crashes"): "died",
    ("process", "hangs"): "hung",
}


def config_for(make_config, backend, failure, algo="ppo", **env):
    """One of four copies fails in the fifth step of its first episode."""
    seed = seeding.integers(1, "train envs", COPIES)[BAD_COPY]
    kwargs = {"failure": failure, "seed": seed, "step": BAD_STEP, "lengths": [30]}
    workers = {"workers": 2, "timeout_s": 2.0} if backend == "process" else {}
    return make_config(
        FAULTY,
        {"name": "ppo", "steps": STEPS} if algo == "ppo" else algo,
        env={"kwargs": kwargs, "backend": backend, "count": COPIES, **workers, **env},
        budget={"env_steps": 200},
        eval={"every_steps": None, "episodes": 2},
        video={"when": None},
    )


@pytest.mark.parametrize(("backend", "failure"), KINDS)
def test_training_survives_and_tells(make_config, backend, failure):
    config = config_for(make_config, backend, failure)
    result = train(config, new_run=lambda: Run.create(config, "x"))
    assert result.reason == "budget"
    (fault,) = [event for event in result.run.events() if event["event"] == "fault"]
    assert fault["kind"] == KINDS[backend, failure]
    assert f"{BAD_COPY}" in fault["text"]
    rows = list(result.run.metrics())
    lost = 1 if backend == "sync" or failure == "raises" else 2  # a worker takes its copies along
    assert rows[0]["rollout/lost"] == lost / (COPIES * STEPS)
    assert rows[1]["rollout/lost"] == 0
    assert all(torch.isfinite(value).all() for value in result.policy.network.state_dict().values())
    (folder,) = (result.run.folder / "blackbox").iterdir()
    verdict = blackbox.replay(folder, 5.0)
    assert verdict.reproduced, verdict.sentence


def test_the_lost_step_is_kept_out_of_learning(make_config):
    """And what came before it is bootstrapped from the last observation there was."""
    config = config_for(make_config, "sync", "raises")
    with Training(config) as training:
        rollout = training.source.worker.collector.collect(STEPS, training.progress)
        t = BAD_STEP - 1
        assert not rollout.valid[t, BAD_COPY]
        assert rollout.valid.sum() == COPIES * STEPS - 1
        assert rollout.episode_end[t - 1, BAD_COPY], "no advantage leaks across the hole"
        assert not rollout.terminated[t - 1, BAD_COPY]
        assert rollout.next_value[t - 1, BAD_COPY] == rollout.value[t, BAD_COPY]
        batch = rollout.flatten(rollout.reward, rollout.reward)
        assert len(batch) == COPIES * STEPS - 1


def test_whole_episodes_lose_the_whole_unfinished_one(make_config):
    algo = {"name": "reinforce", "episodes": 1}
    config = config_for(make_config, "sync", "raises", algo=algo)
    with Training(config) as training:
        rollout = training.source.worker.gather(training.progress).rollout
        column = rollout.valid[:, BAD_COPY]
        assert not column[:BAD_STEP].any(), "the unfinished episode has no return"
        assert column[BAD_STEP:].sum() == 30, "and another one was played in its place"
        assert rollout.lost == [(0, BAD_STEP, BAD_COPY)]


@pytest.mark.parametrize("backend", ["sync", "process"])
def test_no_restarts_means_the_first_failure_ends_it_with_all_there_is_to_know(
    make_config, backend
):
    config = config_for(make_config, backend, "raises", restarts=0)
    with pytest.raises(EnvError) as caught:
        train(config, new_run=lambda: Run.create(config, "x"))
    seed = seeding.integers(1, "train envs", COPIES)[BAD_COPY]
    text = str(caught.value)
    assert f"environment {BAD_COPY} (seed {seed}, {BAD_STEP - 1} steps into its episode" in text
    assert "last actions [" in text
    assert "RuntimeError: the wheels came off" in text
    assert "in _spoilt" in text, "the real traceback"


def test_a_run_that_gives_up_leaves_its_black_box(make_config):
    from spotter.rundir.run import select

    config = config_for(make_config, "sync", "raises", restarts=0)
    with pytest.raises(EnvError):
        train(config, new_run=lambda: Run.create(config, "x"))
    run = select("@last")
    assert run.info()["status"] == "failed"
    (folder,) = (run.folder / "blackbox").iterdir()
    assert blackbox.replay(folder, 5.0).reproduced
