"""The book of what agents spend: limits hold over processes, keys over restarts."""

import os
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from spotter.launch import launch as launching
from spotter.launch.base import End
from spotter.launch.ledger import LaunchRequest, Ledger, Limits
from spotter.rundir import identity
from spotter.rundir.files import read_json, write_json
from spotter.types import UserError
from tests.studio.making import make_run

MANY = Limits(most_runs=1000, most_steps=1000, most_minutes=1000)
HAMMER = """
import sys
from pathlib import Path
from spotter.launch.ledger import Ledger, Limits, LaunchRequest
from spotter.rundir import identity
from spotter.rundir.files import read_json, write_json
from spotter.types import UserError
book, taken = Ledger(Path(sys.argv[1])), 0
for number in range(20):
    try:
        request = LaunchRequest(f"{sys.argv[2]} {number}", "me", 100, 1.0)
        book.reserve(request, Limits(1000, 1000, 1000))
        taken += 1
    except UserError:
        pass
print(taken, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.setenv("SPOTTER_RUNS", str(tmp_path))
    return tmp_path


def request(number=0, steps=100, minutes=1.0, **more):
    return LaunchRequest(f"wish {number}", "agent", steps, minutes, **more)


def test_one_run_is_told_as_one(runs):
    book = Ledger(runs)
    book.reserve(request(1), MANY)
    with pytest.raises(UserError, match=r"^1 run of agents is in progress and --most-runs is 1;"):
        book.reserve(request(2), Limits(most_runs=1))


def test_runs_so_far_are_counted_once_each(runs):
    book, run = Ledger(runs), make_run(runs)
    for number in range(2):
        book.reserve(request(number, run=run.id), MANY)
    entry, _ = book.reserve(request(2), MANY)
    assert book.spent().runs_so_far == 1
    book.became(entry.id, make_run(runs).id)
    assert book.spent().runs_so_far == 2


def dead_pid():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_two_processes_that_hammer_it_stay_within_the_limit(runs):
    command = [sys.executable, "-c", HAMMER, str(runs)]
    both = [
        subprocess.Popen([*command, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in ("one", "other")
    ]
    taken = [int(process.stdout.readline()) for process in both]
    assert sum(taken) == 10
    assert Ledger(runs).spent().steps == 1000
    for process in both:
        process.communicate()


def test_threads_too(runs):
    book = Ledger(runs)

    def one(number):
        try:
            return book.reserve(request(number), Limits(3, 10**9, 1000))[1]
        except UserError as error:
            assert "3 runs of agents are in progress and --most-runs is 3" in str(error)
            return False

    with ThreadPoolExecutor(20) as threads:
        assert sum(threads.map(one, range(20))) == 3


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        pytest.param(
            request(steps=1001), "1,001 env steps and 1,000 of 1,000 are left", id="steps"
        ),
        pytest.param(request(minutes=1000.5), "1000.5 minutes and 1000.0 of 1000", id="minutes"),
    ],
)
def test_a_wish_beyond_the_budget_is_refused(runs, wanted, sentence):
    with pytest.raises(UserError, match=sentence):
        Ledger(runs).reserve(wanted, MANY)
    assert Ledger(runs).spent().runs == 0


def test_a_key_is_one_request_also_after_a_restart(runs):
    first, is_new = Ledger(runs).reserve(request(key="k"), MANY)
    again, is_new_again = Ledger(runs).reserve(request(key="k"), MANY)
    assert is_new and not is_new_again and first.id == again.id
    with pytest.raises(UserError, match="something else"):
        Ledger(runs).reserve(request(1, key="k"), MANY)
    Ledger(runs).failed(first.id, "it could not")
    assert Ledger(runs).reserve(request(key="k"), MANY)[1]


def test_an_ended_run_costs_what_it_used(runs):
    book = Ledger(runs)
    entry, _ = book.reserve(request(steps=900, minutes=50.0), MANY)
    assert book.spent().steps == 900
    run = make_run(runs, updates=2)  # 512 env steps, by this process, which lives
    book.started(entry.id, os.getpid())
    assert book.became(entry.id, run.id) and not book.became(entry.id, run.id)
    spent = book.spent()
    assert (spent.runs, spent.steps) == (0, 512) and spent.minutes < 1
    book.renew()
    assert book.spent().steps == 0


def test_a_run_that_used_more_than_was_reserved_costs_what_it_used(runs):
    book = Ledger(runs)
    entry, _ = book.reserve(request(steps=1), MANY)
    run = make_run(runs, updates=2)  # an update is never cut short
    book.started(entry.id, os.getpid())
    book.became(entry.id, run.id)
    assert book.spent().steps == 512
    with pytest.raises(UserError, match="488 of 1,000 are left"):
        book.reserve(request(1, steps=489), MANY)


def test_what_others_did_with_the_run_later_is_not_charged(runs):
    book = Ledger(runs)
    entry, _ = book.reserve(request(), MANY)
    run = make_run(runs, updates=2)
    book.started(entry.id, dead_pid())
    book.became(entry.id, run.id)
    path = run.folder / "run.json"
    info = read_json(path)
    by_hand = {"time": identity.now(), "stopped": info["ended"], "env_steps": 512, "pid": 1}
    late = {"ended": "2099-01-01T00:00:00.000+00:00", "env_steps": 10**6, "resumes": [by_hand]}
    write_json(path, info | late)
    spent = book.spent()
    assert spent.steps == 512 and spent.minutes < 1


RESERVE = """
import os, sys
from pathlib import Path
from spotter.launch.ledger import Ledger, Limits, LaunchRequest
for number in range(int(sys.argv[2])):
    request = LaunchRequest(f"{number}", "agent", 300, 1.0)
    Ledger(Path(sys.argv[1])).reserve(request, Limits(9, 1000, 1000))
os._exit(9)
"""


def killed_server(runs, starts=1):
    """One that wrote its starts down, and no more."""
    subprocess.run([sys.executable, "-c", RESERVE, str(runs), str(starts)], check=False)


def made_long_ago(runs):
    with sqlite3.connect(runs / ".launched" / "ledger.sqlite") as book:
        book.execute("UPDATE entries SET time = '2020-01-01T00:00:00.000+00:00'")
    book.close()


def test_a_start_whose_server_was_killed_counts_until_its_run_ends(runs, monkeypatch):
    monkeypatch.setenv("SPOTTER_ACTOR", "agent")
    killed_server(runs)
    book = Ledger(runs)
    assert (book.spent().runs, book.spent().steps) == (1, 300)  # its process may be on its way
    run = make_run(runs, updates=2, status="running")
    assert book.run_of(1) == run.id and book.spent().runs == 1
    made_long_ago(runs)
    assert book.entry(1).pid == os.getpid() and book.spent().runs == 1
    run.finish("finished", env_steps=512)
    assert (book.spent().runs, book.spent().steps) == (0, 512)


def test_a_start_whose_server_was_killed_before_there_was_a_process_is_forgotten(runs):
    killed_server(runs)
    made_long_ago(runs)
    assert (Ledger(runs).spent().runs, Ledger(runs).spent().steps) == (0, 0)


def test_two_such_starts_become_two_runs(runs, monkeypatch):
    monkeypatch.setenv("SPOTTER_ACTOR", "agent")
    killed_server(runs, starts=2)
    made = [make_run(runs, updates=updates).id for updates in (1, 2)]
    book = Ledger(runs)
    assert book.spent().steps == 256 + 512
    assert [book.entry(id).run for id in (1, 2)] == made


def test_a_start_that_died_before_it_made_a_run_costs_nothing(runs):
    book = Ledger(runs)
    entry, _ = book.reserve(request(), MANY)
    book.started(entry.id, dead_pid())
    assert book.spent().runs == 0 and book.spent().steps == 0


def test_a_run_that_was_deleted_counts_in_full(runs):
    book = Ledger(runs)
    entry, _ = book.reserve(request(steps=700), MANY)
    book.started(entry.id, dead_pid())
    book.became(entry.id, "20260101-000000-aaaa")
    assert book.spent().steps == 700


def test_a_living_process_counts_in_full_whoever_asks(runs):
    entry, _ = Ledger(runs).reserve(request(steps=700), MANY)
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        Ledger(runs).started(entry.id, process.pid)
        assert Ledger(runs).spent().runs == 1
        Ledger(runs).renew()  # what lives goes on counting
        assert Ledger(runs).spent().steps == 700
    finally:
        process.kill()
        process.wait()


class Elsewhere:
    """Stands for a launcher of another machine; its jobs live until the test says otherwise."""

    ended: End | None = None

    def start(self, task):
        return "7"

    def end(self, job, log):
        return self.ended

    def stop(self, job):
        raise AssertionError("nothing stops it here")


def started_elsewhere(runs, monkeypatch):
    launcher = Elsewhere()
    monkeypatch.setattr(launching, "launcher", lambda config: launcher)
    launch = launching.start(runs, launching.chosen("slurm"), ["X"], ["true"], {})
    book = Ledger(runs)
    entry, _ = book.reserve(request(steps=300), MANY)
    book.started(entry.id, launch.pid, launch.token)
    return book, entry, launch, launcher


def test_a_job_of_another_machine_counts_until_its_launcher_says_that_it_ended(runs, monkeypatch):
    book, entry, launch, _ = started_elsewhere(runs, monkeypatch)
    made_long_ago(runs)  # it may wait for days
    assert (book.spent().runs, book.spent().steps) == (1, 300)
    monkeypatch.setenv("SPOTTER_LAUNCH", launch.token)
    run = make_run(runs, updates=2, status="running")
    assert book.run_of(entry.id) == run.id and book.spent().runs == 1
    run.finish("finished", env_steps=512)
    assert (book.spent().runs, book.spent().steps) == (0, 512)


def test_a_job_that_ended_without_a_run_costs_nothing(runs, monkeypatch):
    book, _, _, launcher = started_elsewhere(runs, monkeypatch)
    launcher.ended = End(reason="by Slurm: node_fail")
    assert (book.spent().runs, book.spent().steps) == (0, 0)


def test_a_book_of_an_older_version_is_kept(runs):
    entry, _ = Ledger(runs).reserve(request(steps=300), MANY)
    with sqlite3.connect(runs / ".launched" / "ledger.sqlite") as book:
        book.execute("ALTER TABLE entries DROP COLUMN launch")
    book.close()
    assert Ledger(runs).entry(entry.id).launch == "" and Ledger(runs).spent().steps == 300
