"""TensorBoard's event files hold what metrics.jsonl holds."""

import pytest

from spotter.config import resolve
from spotter.rundir.run import Run
from spotter.training.run import train
from spotter.types import UserError

SHORT = ["budget.env_steps=512", "eval.episodes=1", "video.when=null", "sinks=[tensorboard]"]


@pytest.fixture
def events():
    reason = "no tensorboard: .venv/bin/pip install -c constraints.txt -e '.[tensorboard]'"
    name = "tensorboard.backend.event_processing.event_accumulator"
    return pytest.importorskip(name, reason=reason)


def test_every_number_over_env_steps(events):
    config = resolve("CartPole-v1:ppo", SHORT).config
    run = train(config, new_run=lambda: Run.create(config, "CartPole-v1:ppo", [])).run
    found = events.EventAccumulator(str(run.folder / "tensorboard"))
    found.Reload()
    rows = [row for row in run.metrics() if "loss/policy" in row]
    written = [(event.step, event.value) for event in found.Scalars("loss/policy")]
    assert [step for step, _ in written] == [row["env_steps"] for row in rows] == [256, 512]
    assert [value for _, value in written] == pytest.approx([row["loss/policy"] for row in rows])
    assert set(found.Tags()["scalars"]) >= {"train/episodes", "time/fps", "policy/entropy"}


def test_without_a_folder_there_is_no_place_for_it(events):
    with pytest.raises(UserError, match="leave out --no-save or this sink"):
        train(resolve("CartPole-v1:ppo", SHORT).config)
