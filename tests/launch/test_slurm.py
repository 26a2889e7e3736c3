"""Jobs of Slurm, against `sbatch`, `squeue` and `scancel` that run jobs on this machine."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spotter.cli import launching as cli
from spotter.cli.main import run as run_command
from spotter.launch import launch as launching
from spotter.launch.base import End, Task
from spotter.launch.dispatch import Dispatcher
from spotter.launch.launchers import slurm
from spotter.rundir import checkpoints, process
from spotter.rundir.registry import listing
from spotter.rundir.run import Run
from spotter.types import UserError
from tests.launch.test_dispatch import LONG, SHORT, begun, wait_for

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Slurm is not for Windows")


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """The folder in which the stand-ins keep their jobs."""
    jobs = tmp_path / "cluster"
    jobs.mkdir()
    monkeypatch.setenv("SPOTTER_TEST_CLUSTER", str(jobs))
    monkeypatch.setenv("PATH", f"{Path(__file__).parent / 'cluster'}:{os.environ['PATH']}")
    monkeypatch.setattr(slurm, "_ASK_EVERY_S", 0.1)
    monkeypatch.setattr(cli, "_QUEUE_S", 1.0)
    launching._made.cache_clear()
    yield jobs
    (jobs / "full").unlink(missing_ok=True)
    for pid in jobs.glob("*/pid"):
        subprocess.run(["pkill", "-KILL", "-P", pid.read_text().strip()], check=False)
    launching._made.cache_clear()


@pytest.fixture
def dispatcher(cluster, tmp_path, monkeypatch):
    monkeypatch.setenv("SPOTTER_RUNS", str(tmp_path / "runs"))
    return Dispatcher(tmp_path / "runs")


def task(tmp_path, *command: str, **variables: str) -> Task:
    return Task("spotter-x", command, tmp_path, variables, tmp_path / "50 %j.log")


def started(tmp_path, *command, config=None, **variables):
    launcher, wanted = (
        slurm.make(config or slurm.Config(name="slurm")),
        task(tmp_path, *command, **variables),
    )
    job = launcher.start(wanted)
    return launcher, job, wanted.log


# --- any command ---------------------------------------------------------------------------------


def test_a_job_runs_the_command_where_it_should(cluster, tmp_path):
    config = slurm.Config(name="slurm", setup=("GREETING='good day'", "export GREETING"))
    say = "import os; print(os.environ['GREETING'], os.environ['NAME'], os.getcwd())"
    launcher, job, log = started(tmp_path, sys.executable, "-c", say, config=config, NAME="it's me")
    assert wait_for(lambda: launcher.end(job, log)) == End(0)
    assert log.read_text() == f"good day it's me {tmp_path}\n"


def test_what_is_asked_of_slurm(cluster, tmp_path):
    config = slurm.Config(
        name="slurm", partition="gpu", minutes=90, cpus=4, memory_gb=8, options=("--gres=gpu:1",)
    )
    _, job, _ = started(tmp_path, "true", config=config)
    script = (cluster / job / "script").read_text()
    asked = {line for line in script.splitlines() if line.startswith("#SBATCH")}
    assert asked == {
        f"#SBATCH {option}"
        for option in (
            "--job-name=spotter-x", f'--chdir="{tmp_path}"', f'--output="{tmp_path}/50 %%j.log"',
            "--ntasks=1", "--no-requeue", "--signal=B:TERM@60", "--partition=gpu", "--time=90",
            "--cpus-per-task=4", "--mem=8G", "--gres=gpu:1",
        )
    }  # fmt: skip


def test_the_exit_code_is_known_after_slurm_has_forgotten_the_job(cluster, tmp_path):
    launcher, job, log = started(tmp_path, sys.executable, "-c", "raise SystemExit(7)")
    assert wait_for(lambda: launcher.end(job, log)) == End(7)
    subprocess.run(["rm", "-r", str(cluster / job)], check=True)
    assert slurm.make(slurm.Config(name="slurm")).end(job, log) == End(7)


WAITS = """
import signal, sys, time
for name in ("SIGINT", "SIGTERM"):
    signal.signal(getattr(signal, name), lambda number, _: (print("asked by", number), sys.exit(9)))
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize(("name", "number"), [("INT", 2), ("TERM", 15)])
def test_a_signal_to_the_shell_reaches_the_command(cluster, tmp_path, name, number):
    """TERM is what Slurm sends a minute before the time is over."""
    launcher, job, log = started(tmp_path, sys.executable, "-c", WAITS)
    wait_for(lambda: log.exists() and "ready" in log.read_text())
    if name == "INT":
        launcher.stop(job)
    else:
        subprocess.run(["kill", "-TERM", (cluster / job / "pid").read_text().strip()], check=True)
    assert wait_for(lambda: launcher.end(job, log), 10) == End(9)
    assert f"asked by {number}" in log.read_text()


def test_a_job_that_waits_is_cancelled_by_a_stop(cluster, tmp_path):
    (cluster / "full").touch()
    launcher, job, log = started(tmp_path, sys.executable, "-c", "print('began')")
    assert launcher.end(job, log) is None
    launcher.stop(job)
    assert wait_for(lambda: launcher.end(job, log)) == End(reason="by Slurm: cancelled")
    (cluster / "full").unlink()
    time.sleep(0.3)
    assert not log.exists()


def test_what_slurm_ends_says_so(cluster, tmp_path):
    launcher, job, log = started(tmp_path, sys.executable, "-c", WAITS)
    wait_for(lambda: log.exists() and "ready" in log.read_text())
    (cluster / job / "state").write_text("OUT_OF_MEMORY\n")
    assert wait_for(lambda: launcher.end(job, log)) == End(reason="by Slurm: out_of_memory")


def test_a_scheduler_that_does_not_answer_ends_no_job(cluster, tmp_path):
    launcher, job, log = started(tmp_path, sys.executable, "-c", WAITS)
    wait_for(lambda: log.exists() and "ready" in log.read_text())
    (cluster / "silent").touch()
    for _ in range(3):
        assert launcher.end(job, log) is None
        time.sleep(0.15)
    with pytest.raises(UserError, match=r"squeue does not answer: .* Unable to contact"):
        launcher.stop(job)


def test_the_scheduler_is_not_asked_again_at_once(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(slurm, "_ASK_EVERY_S", 60)
    launcher, job, log = started(tmp_path, sys.executable, "-c", WAITS)
    for _ in range(20):
        launcher.end(job, log)
    assert (cluster / "asked").read_text() == f"{job}\n"


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"options": ("rm -rf ~",)}, "no option of sbatch"),
        ({"options": ("--x\nrm -rf ~",)}, "no option of sbatch"),
        ({"partition": "gpu\nrm"}, "should be a word"),
        ({"minutes": 0}, "greater than or equal to 1"),
    ],
)
def test_settings_that_cannot_be(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        slurm.Config(name="slurm", **settings)


# --- trainings -----------------------------------------------------------------------------------


def test_a_run_is_started_stopped_and_resumed(dispatcher, cluster):
    launch = dispatcher.start("CartPole-v1:ppo", ["launch.name=slurm", "launch.cpus=1", *LONG])
    assert (str(launch), launch.pid) == ("slurm job 41", None)
    run = begun(dispatcher, launch)
    assert run.info()["launch"] == launch.token and run.config().launch.cpus == 1
    wait_for(lambda: any(True for _ in run.metrics()))

    Dispatcher(dispatcher.runs).stop(run)  # as another process would
    with pytest.raises(UserError, match="stopping already"):
        dispatcher.stop(run)
    assert wait_for(launch.end) == End(130)
    info = run.info()
    assert info["status"] == "interrupted" and checkpoints.read(run.folder)[-1].env_steps > 0

    resumed = dispatcher.resume(run, [f"budget.env_steps={info['env_steps'] + 256}"])
    assert str(resumed) == "slurm job 42", "where it was trained before"
    assert wait_for(resumed.end) == End(0) and resumed.failure() is None
    assert (resumed.run_id(), launch.run_id()) == (run.id, None)


def test_a_run_of_another_machine_is_stopped_by_its_launcher(dispatcher, cluster, monkeypatch):
    launch = dispatcher.start("CartPole-v1:ppo", ["launch=slurm", *LONG])
    run = begun(dispatcher, launch)
    wait_for(lambda: any(True for _ in run.metrics()))
    monkeypatch.setattr(process, "host", lambda: "login")
    dispatcher.stop(run)
    assert wait_for(launch.end) == End(130)


def test_a_job_that_fails_at_once_says_why(dispatcher, cluster):
    words = ["CartPole-v1:ppo", "env.kwargs={nonsense: 1}", *SHORT]
    launch = dispatcher.spawn(words, launcher=launching.chosen("slurm"))
    assert wait_for(launch.end) == End(2)
    assert "nonsense" in launch.failure() and "\n" not in launch.failure()
    assert launch.run_id() is None


# --- the command line ----------------------------------------------------------------------------


@pytest.fixture
def train(capsys):
    """`spotter train CartPole-v1:ppo …` in this process -> exit code, stdout, stderr."""

    def call(*words: str) -> tuple[int, str, str]:
        try:
            code = run_command(["train", "CartPole-v1:ppo", *SHORT, *words])
        except SystemExit as ended:
            code = ended.code
        return code, *capsys.readouterr()

    return call


def said(ran) -> str:
    """The one sentence of a mistake."""
    code, out, err = ran
    assert (code, out) == (2, "")
    assert err.startswith("spotter: ") and err.count("\n") == 1
    return err.removeprefix("spotter: ").strip()


def test_train_starts_a_job_and_returns(dispatcher, cluster, train):
    code, out, err = train("--launch", "slurm", "--why", "to see", "launch.minutes=9")
    assert (code, err) == (0, "")
    launch = next(launching.every(dispatcher.runs))
    assert "slurm job 41" in out
    assert wait_for(launch.end) == End(0)
    run = Run(dispatcher.runs / launch.run_id())
    info = run.info()
    assert (info["status"], info["why"]) == ("finished", "to see")
    assert run.config().launch == slurm.Config(name="slurm", minutes=9)


def test_a_job_that_waits_says_where_to_look(dispatcher, cluster, train):
    (cluster / "full").touch()
    code, out, _ = train("launch=slurm")
    launch = next(launching.every(dispatcher.runs))
    assert code == 0 and out == (
        "slurm job 41 waits or starts; its run will be in `spotter runs`, "
        f"what it prints in {launch.log}\n"
    )


def test_what_slurm_refuses_is_one_sentence(dispatcher, cluster, train):
    sentence = "Batch job submission failed: Invalid partition name specified"
    assert said(train("--launch", "slurm", "launch.partition=closed")) == (
        f"sbatch refused the job: sbatch: error: {sentence}"
    )
    assert not list(dispatcher.runs.glob("[!.]*")) and not list(launching.every(dispatcher.runs))


def test_without_slurm_the_sentence_names_what_is_missing(dispatcher, monkeypatch, train):
    monkeypatch.setenv("PATH", "/nowhere")
    assert said(train("--launch", "slurm")) == (
        "launch=slurm needs sbatch, which is not installed here or not on PATH"
    )


def test_a_mistake_is_found_before_there_is_a_job(dispatcher, cluster, train):
    assert "did you mean algo.lr" in said(train("--launch", "slurm", "algo.lrr=1"))
    assert "did you mean 'slurm'" in said(train("--launch", "slrum"))
    assert "the launcher is given twice" in said(train("--launch", "slurm", "launch=local"))
    for option in ("--verify", "--no-save"):
        assert said(train("--launch", "slurm", option)).startswith(f"{option} does not go with")
    assert not list(cluster.iterdir())


def test_a_group_has_a_job_per_seed_and_starts_none_twice(dispatcher, cluster, train):
    (cluster / "full").touch()
    group = ("--seeds", "1-2", "--group", "both", "--launch", "slurm")
    assert said(train(*group, "--jobs", "2")).startswith("--jobs does not go with launch=slurm")
    code, out, err = train(*group)
    assert (code, err) == (0, "")
    assert [line.partition(" waits")[0] for line in out.splitlines()[:2]] == [
        "seed 1: slurm job 41", "seed 2: slurm job 42"
    ]  # fmt: skip
    assert "SPOTTER_JOBS" not in (cluster / "41" / "script").read_text()
    assert said(train(*group)) == "seed 1 of group both is started already, as slurm job 41"

    (cluster / "full").unlink()
    for launch in launching.every(dispatcher.runs):
        assert wait_for(launch.end) == End(0)
    assert {(info["seed"], info["group"], info["status"]) for info in listing().infos} == {
        (1, "both", "finished"), (2, "both", "finished")
    }  # fmt: skip
    code, out, _ = train(*group)
    assert code == 0 and out.count("trained before (run ") == 2
    assert len(list(cluster.glob("[0-9]*"))) == 2


def test_what_was_launched_is_kept_as_plain_data(dispatcher, cluster, train):
    train("--launch", "slurm", "launch.cpus=2")
    path = next(dispatcher.runs.glob(".launched/*.json"))
    written = json.loads(path.read_text())
    assert written["job"] == "41" and written["launcher"]["cpus"] == 2
    path.write_text(path.read_text()[:30])  # damaged: found by nobody, and harms nothing
    assert launching.find(dispatcher.runs, path.stem) is None
