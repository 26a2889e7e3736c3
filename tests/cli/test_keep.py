"""`spotter tag`, `rm`, `reindex`, `export` and `import`."""

import subprocess
import sys
import time

import pytest

from spotter.rundir.registry import INDEX
from spotter.rundir.run import all_runs, home
from tests.rundir.making import maker


@pytest.fixture
def make_run(make_config):
    return maker(make_config)


def error(ran) -> str:
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    return ran.err.removeprefix("spotter: ").strip()


def test_tag_and_untag(spotter, make_run):
    run = make_run()
    assert spotter("tag", "@last", "baseline").out == f"{run.id} is now tagged baseline\n"
    assert spotter("show", "baseline").code == 0
    assert spotter("tag", "baseline", "baseline", "--remove").code == 0
    assert run.info()["tags"] == []
    assert "has no tag 'baseline'" in error(spotter("tag", run.id, "baseline", "--remove"))
    assert "cannot be a tag" in error(spotter("tag", run.id, "../x"))


def test_rm_needs_a_word_when_nobody_can_be_asked(spotter, make_run):
    keep, drop = make_run(), make_run()
    assert error(spotter("rm", drop.id)) == ("not a terminal: add --yes to delete without asking")
    assert drop.folder.exists()
    assert spotter("rm", drop.id, "--yes").out == f"deleted {drop.id}\n"
    assert [run.id for run in all_runs()] == [keep.id]
    assert not list(home().glob(".deleted*"))


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 1), ("\n", 1)])
def test_rm_asks_on_a_terminal(spotter, make_run, monkeypatch, answer, code):
    import io

    run = make_run()
    monkeypatch.setattr("spotter.cli.keep.is_terminal", lambda: True)
    monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
    ran = spotter("rm", "@last")
    assert f"Delete {run.id}?" in ran.out
    assert ran.code == code
    assert run.folder.exists() == bool(code)


def test_rm_spares_what_is_in_use(spotter, make_run, tmp_path):
    running = make_run(status="running")
    assert f"{running.id} is being trained by process" in error(spotter("rm", running.id, "--yes"))
    away = tmp_path / "elsewhere" / "run"
    away.parent.mkdir()
    make_run().folder.rename(away)
    assert "only runs in there are deleted" in error(spotter("rm", str(away), "--yes"))
    other = make_run()
    assert spotter("rm", other.id, running.id, "--yes").code == 2
    assert other.folder.exists(), "all or none"
    assert away.exists()


def test_rm_of_a_parent_says_so(spotter, make_run, monkeypatch):
    parent = make_run()
    child = make_run(parent={"run": parent.id})
    monkeypatch.setattr("spotter.cli.keep.is_terminal", lambda: True)
    assert error(spotter("rm", parent.id)) == (
        f"run {child.id} began from {parent.id} and would lose its parent; "
        "add --yes to delete it all the same"
    )
    assert spotter("rm", parent.id, "--yes").code == 0
    again = make_run()
    of_again = make_run(parent={"run": again.id})
    assert spotter("rm", again.id, of_again.id, "--yes").code == 0


def test_rm_of_a_link_leaves_what_it_points_at(spotter, make_run, tmp_path):
    real = make_run()
    moved = tmp_path / "real"
    real.folder.rename(moved)
    (home() / "linked").symlink_to(moved)
    assert spotter("rm", "linked", "--yes").code == 0
    assert (moved / "run.json").exists()
    assert not (home() / "linked").exists()


def test_reindex(spotter, make_run):
    good, bad = make_run(), make_run()
    (bad.folder / "run.json").write_text("{")
    (home() / INDEX).write_text("garbage")
    ran = spotter("reindex")
    assert (ran.code, ran.out) == (0, f"1 run in {home() / INDEX}\n")
    assert f"{bad.id} is not a run" in ran.err
    assert good.id in spotter("runs").out


def test_export_and_import(spotter, make_run, folder, monkeypatch, tmp_path):
    run = make_run(score=3.0)
    assert spotter("export", "@last").out == f"run {run.id} is in {run.id}.zip\n"
    assert spotter("import", f"{run.id}.zip").out == f"run {run.id} is already in {run.folder}\n"
    monkeypatch.setenv("SPOTTER_RUNS", "there")
    assert spotter("import", f"{run.id}.zip").out == f"run {run.id} is now in there/{run.id}\n"
    assert spotter("runs").out.startswith(run.id)
    (run.folder / "odd").touch()
    left = spotter("export", str(run.folder), "x.zip")
    assert left.err == "left out, as no part of a run: odd\n"
    assert "exists already" in error(spotter("export", "@last", "x.zip"))
    assert error(spotter("import", "y.zip")) == "there is no file y.zip"


def test_these_commands_need_no_torch(make_run):
    run, other = make_run(), make_run()
    lines = f"""
        runs
        show {run.id}
        diff {run.id} {other.id}
        compare {run.id} {other.id}
        tag {run.id} x
        reindex
        rm {other.id} --yes
    """
    script = (
        "import sys; from spotter.cli.main import run\n"
        f"for line in {lines.strip().splitlines()}:\n"
        "    assert run(line.split()) == 0, line\n"
        "assert not {'torch', 'pandas'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not other.folder.exists()


def test_a_note_is_told_again(spotter, make_run):
    run = make_run()
    assert spotter("note", "@last", " lower lr:\nkl was 0.2 ").out == f"noted in {run.id}\n"
    assert "note" in (shown := spotter("show", run.id).out) and "lower lr: kl was 0.2 (" in shown
    assert "lower lr: kl was 0.2" in spotter("digest", run.id).out
    for text in ("", "  ", "x" * 4001):
        assert "a note has 1 to 4,000 characters" in error(spotter("note", run.id, text))
    assert [event["text"] for event in run.events() if event["event"] == "note"] == [
        "lower lr:\nkl was 0.2"
    ]


def test_stop_is_ctrl_c_from_elsewhere(spotter, make_run, tmp_path):
    assert "is not being trained" in error(spotter("stop", make_run().id))
    command = [sys.executable, "-m", "spotter", "train", "CartPole-v1:ppo", "video.when=null"]
    settings = ["budget.env_steps=100000000", "eval.every_steps=null", "--quiet"]
    with subprocess.Popen([*command, *settings]) as training:
        deadline = time.monotonic() + 60
        while not (there := [run for run in all_runs() if run.info()["status"] == "running"]):
            assert time.monotonic() < deadline and training.poll() is None
            time.sleep(0.1)
        run = there[0]
        while not run.metrics_path.exists() or not run.metrics_path.stat().st_size:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert spotter("stop", run.id).out.startswith(f"{run.id} saves and stops")
        training.wait(60)
    assert run.info()["status"] == "interrupted"
    assert (run.folder / "checkpoints" / "latest.json").exists()
