"""One run, one trainer: told apart over processes, machines and kills."""

import json
import os
import subprocess
import sys
from dataclasses import asdict

import pytest

from spotter.rundir import lock, process
from spotter.rundir.identity import now
from spotter.rundir.lock import Holder
from spotter.types import UserError

HOLD = """
import sys
from pathlib import Path
from spotter.rundir import lock
lock.take(Path(sys.argv[1]), {"status": "finished"})
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def trained_elsewhere(make_run):
    """A run, and a living process that holds it."""
    run = make_run()
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(run.folder)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert other.stdout.readline() == "held\n"
    yield run, other
    other.kill()
    other.wait()
    other.stdin.close()
    other.stdout.close()


def locks(run) -> list[str]:
    return sorted(path.name for path in run.folder.glob("*.lock"))


def resume(run, make_config, env_steps=0):
    return run.resume(["spotter"], env_steps, make_config("CartPole-v1"))


def plant(run, **fields) -> None:
    holder = Holder(
        **{"host": process.host(), "pid": os.getpid(), "start": "", "time": now()} | fields
    )
    (run.folder / "trainer-3.lock").write_text(json.dumps(asdict(holder)))


def test_a_run_is_held_from_creation_to_end(make_run):
    run = make_run(status="running")
    assert locks(run) == ["trainer-1.lock"]
    assert run.trainer() == f"process {os.getpid()} on {process.host()}"
    run.finish("finished")
    assert locks(run) == []
    assert run.trainer() is None


def test_a_living_process_keeps_its_run_and_a_dead_one_does_not(trained_elsewhere, make_config):
    run, other = trained_elsewhere
    with pytest.raises(UserError, match=f"{run.id} is being trained by process {other.pid}; stop"):
        resume(run, make_config)
    assert run.info()["resumes"] == []
    other.kill()  # not waited for: a process that is no more counts as dead at once
    while process.is_alive(other.pid):
        pass
    resume(run, make_config)
    assert run.info()["status"] == "running"
    assert locks(run) == ["trainer-2.lock"]


RACE = """
import os, sys, time
from pathlib import Path
from spotter.config import validate
from spotter.rundir.run import Run
from spotter.types import UserError
config = validate({"env": {"id": "CartPole-v1", "family": "gymnasium"}, "algo": {"name": "ppo"}})
run, go = Run(Path(sys.argv[1])), Path(sys.argv[2])
print("ready", flush=True)
while not go.exists():
    time.sleep(0.001)
try:
    run.resume(["race"], 50, config)
    print("won", flush=True)
except UserError as error:
    print(error, flush=True)
sys.stdin.read()
"""


def test_of_many_that_resume_a_killed_run_at_once_one_wins(make_run, edit, tmp_path):
    run = make_run(status="running")
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    plant(run, pid=dead.pid)
    edit(run, pid=dead.pid)
    command = [sys.executable, "-c", RACE, str(run.folder), str(tmp_path / "go")]
    racers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert [racer.stdout.readline() for racer in racers] == ["ready\n"] * 4
    (tmp_path / "go").touch()
    said = [racer.stdout.readline().strip() for racer in racers]
    for racer in racers:
        racer.communicate()
    assert said.count("won") == 1, said
    assert all("is being t" in line for line in said if line != "won"), said
    assert len(run.info()["resumes"]) == 1


@pytest.mark.parametrize("young", [True, False])
def test_another_machine_is_believed_for_two_minutes(make_run, make_config, edit, young):
    run = make_run(status="running")
    old = "2026-01-01T00:00:00+00:00"
    plant(run, host="elsewhere", pid=4711, time=old)
    edit(run, host="elsewhere", pid=4711, heartbeat=now() if young else old)
    if young:
        with pytest.raises(UserError, match="by process 4711 on elsewhere, heard of less than two"):
            resume(run, make_config)
    else:
        resume(run, make_config)
        assert locks(run) == ["trainer-4.lock"]


def test_a_run_of_the_old_format_has_no_lock_but_says_who_trains_it(make_run, make_config, edit):
    run = make_run()
    edit(run, format=1, status="running", pid=os.getppid(), heartbeat=now())
    with pytest.raises(UserError, match=f"is being trained by process {os.getppid()}"):
        resume(run, make_config)
    edit(run, heartbeat="2026-01-01T00:00:00+00:00")
    resume(run, make_config)


@pytest.mark.skipif(not process.start_of(os.getpid()), reason="no start times on this system")
def test_a_number_that_was_given_to_another_process_holds_nothing(make_run, make_config):
    run = make_run()
    plant(run, pid=os.getppid(), start="12345")
    resume(run, make_config)
    (run.folder / "trainer-4.lock").unlink()
    plant(run, start="12345")  # an earlier process with our own number
    assert run.trainer() is None


def test_p42_a_process_that_slept_too_long_does_not_write_over_its_successor(make_run):
    run = make_run(status="running", env_steps=100)
    before = (run.folder / "run.json").read_bytes()
    plant(run, pid=os.getppid())
    sentence = f"{run.id} was taken over by process {os.getppid()} on {process.host()}"
    with pytest.raises(UserError, match=sentence):
        run.update(env_steps=200)
    with pytest.raises(UserError, match=sentence):
        run.finish("finished")
    assert (run.folder / "run.json").read_bytes() == before
    assert "trainer-3.lock" in locks(run)


def test_a_lock_that_was_being_written_when_its_process_died(make_run, make_config):
    run = make_run()
    path = run.folder / "trainer-1.lock"
    path.touch()
    with pytest.raises(UserError, match="is being taken by another process just now"):
        resume(run, make_config)
    os.utime(path, (1, 1))
    resume(run, make_config)
    assert locks(run) == ["trainer-2.lock"]


def test_a_number_can_be_made_once(make_run):
    run = make_run()
    assert lock._make(run.folder, 5)
    before = (run.folder / "trainer-5.lock").read_bytes()
    assert not lock._make(run.folder, 5)
    assert (run.folder / "trainer-5.lock").read_bytes() == before


def test_somebody_who_is_ahead_wins(make_run):
    """A process that looked long ago makes a number that is no longer the highest."""
    run = make_run()
    plant(run, pid=os.getppid())
    assert not lock._make(run.folder, 1)
    assert locks(run) == ["trainer-3.lock"]


def test_living_and_dead():
    assert process.is_alive(os.getpid())
    child = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    child.wait()
    assert not process.is_alive(child.pid)
    child.stdout.close()
    assert not process.is_alive(0)
    assert not process.is_alive(-1)
    assert not process.is_alive(2**40)
