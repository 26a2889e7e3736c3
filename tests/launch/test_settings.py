"""Where a run is trained says nothing about its result, and a run from elsewhere may not say it."""

import json
from pathlib import Path

import pytest

import spotter
from spotter.config import resolve
from spotter.pages.report import reproduce
from spotter.rundir import compare, group
from spotter.rundir.run import Run
from spotter.rundir.view import RunView
from spotter.training import evaluate
from spotter.types import UserError
from tests.rundir.making import maker

SLURM = {"name": "slurm", "partition": "gpu", "setup": ["module load cuda"]}


@pytest.fixture
def make(folder):
    def config(env_id, **changes):
        return resolve(f"{env_id}:ppo", [changes]).config

    return maker(config)


@pytest.fixture
def pair(make):
    """Two seeds of the same settings, one of them trained on a cluster."""
    return [make(scores=[9.0], config={"seed": 1}),
            make(scores=[9.0], config={"seed": 2, "launch": SLURM})]  # fmt: skip


def test_it_is_saved_and_no_difference_between_runs(pair):
    here, there = pair
    assert there.config().launch.partition == "gpu" and here.config().launch is None
    settings, infos = [run.settings() for run in pair], [run.info() for run in pair]
    assert compare.differing_settings(settings, infos) == {"seed": ["1", "2"]}
    assert infos[0]["fingerprint"] == infos[1]["fingerprint"]
    assert [len(one.views) for one in compare.groups([RunView(run) for run in pair])] == [2]


def test_it_is_no_part_of_what_makes_a_group(pair):
    here, there = (run.config() for run in pair)
    assert group.default_name("X", here) == group.default_name("X", there)
    group.check_alike("g", here, [pair[1].info()])


def test_the_command_that_repeats_a_run_leaves_it_out(pair):
    recipe = reproduce.recipe(pair[1].info(), pair[1].settings(), changed=False)
    assert "launch" not in recipe.command and "seed=2" in recipe.command


def test_a_run_from_elsewhere_does_not_say_where_it_is_resumed(make):
    run = make(config={"launch": SLURM})
    path = run.folder / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"seal": "another's"}))
    assert run.written()["launch"]["setup"] == ["module load cuda"]
    assert run.settings()["launch"] is None
    assert Run(run.folder).config().launch is None


def test_settings_of_a_launcher_go_with_its_name():
    words = ["launch.name=slurm", "launch.cpus=4"]
    assert resolve("CartPole-v1:ppo", words).config.launch.cpus == 4
    assert resolve("CartPole-v1:ppo", [*words, "launch=null"]).config.launch is None
    with pytest.raises(UserError, match=r"launch.*did you mean.*cpus"):
        resolve("CartPole-v1:ppo", ["launch=slurm", "launch.cpu=4"])


@pytest.mark.parametrize("how", [{}, {"seeds": [1, 2]}, {"seeds": [1, 2], "jobs": 2}])
def test_a_call_from_python_trains_in_its_process_and_refuses_another(folder, how):
    with pytest.raises(UserError, match="launch=local is for `spotter train`"):
        spotter.train("CartPole-v1:ppo", "launch=local", quiet=True, **how)
    assert not list(Path("runs").glob("2*"))


def test_an_evaluation_refuses_it(make):
    with pytest.raises(UserError, match="launch changes nothing about how a saved policy plays"):
        evaluate._other_game(make().config(), ["launch=slurm"])
