"""`spotter train --demo`: the best way of an archive becomes settings of the run."""

from pathlib import Path

import pytest

from spotter.config.demo import read
from spotter.rundir.run import select
from tests.explore.test_go import explored

ID = "tests.explore.test_go:GoRooms-v0"


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("archive")
    return folder, explored(folder, 600).archive


def test_a_run_holds_the_way_itself(spotter, archive, folder):
    path, found = archive
    settings = ["env.demo.back=0.5", "env.count=2", "algo.steps=64", "budget.env_steps=256"]
    ran = spotter("train", ID, "--demo", str(path), *settings, "--quiet", "video.when=null")
    assert ran.code == 0, ran.err
    run = select("@last")
    demo = run.config().env.demo
    assert read(demo.actions) == found.way(found.best)
    assert (demo.score, demo.seed, demo.back) == (11.0, 1, 0.5)
    row = list(run.metrics())[-1]
    assert 0 <= row["info/demo_start/last"] < 1 and 0 <= row["info/demo_success/last"] <= 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["CartPole-v1:ppo", "--demo", "ARCHIVE"], "holds an exploration of"),
        ([ID, "--demo", "nowhere"], "nowhere holds no exploration; make one with: spotter explore"),
        (["--resume", "@last", "--demo", "ARCHIVE"], "--demo does not go with --resume"),
        ([ID, "--demo", "ARCHIVE", "env.demo.back=0"], "env.demo.back"),
        ([ID, "env.demo.clone=5"], "env.demo.actions is missing"),
        ([ID, "--demo", "ARCHIVE", "env.demo.actions=0*3"], "not 11: it was found with other"),
    ],
)
def test_what_cannot_be_is_refused(spotter, archive, folder, words, sentence):
    ran = spotter("train", *[str(archive[0]) if word == "ARCHIVE" else word for word in words])
    assert ran.code == 2 and sentence in ran.err, ran.err
    assert not Path("runs").exists()
