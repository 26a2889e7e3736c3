"""`spotter report`."""

from pathlib import Path

from spotter.rundir.run import Run


def test_both_files_are_written_and_named(spotter, make_config):
    run = Run.create(make_config("CartPole-v1"), "CartPole-v1:ppo")
    run.finish("finished")
    ran = spotter("report", "@last")
    assert (ran.code, ran.err) == (0, "")
    html, text = (Path(name) for name in ran.out.splitlines())
    assert (html.name, text.name) == ("report.html", "report.md")
    assert html.parent == text.parent == run.folder
    assert html.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert text.read_text(encoding="utf-8").startswith("# CartPole-v1 · ppo: FINISHED")


def test_a_run_that_is_not_there(spotter):
    ran = spotter("report", "nothing")
    assert ran.code == 2
    assert ran.err.startswith("spotter: there is no run 'nothing'")
