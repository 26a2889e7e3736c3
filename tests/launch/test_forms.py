"""What the forms begin with."""

import pytest

from spotter.launch import forms
from spotter.rundir.files import read_json, write_json
from spotter.types import UserError
from tests.studio.making import make_run


def saved(run, env_steps):
    (run.folder / "checkpoints" / f"step-{env_steps:09}").mkdir(parents=True)
    return run


@pytest.mark.parametrize(
    ("made", "at", "wanted", "said"),
    [
        ({}, 25_600, ["budget.env_steps=51200"], "has spent its budget of 25,600 env steps"),
        ({"solved": True}, 9_000, ["eval.stop_when_solved=false"], "is solved"),
        (
            {"solved": True},
            25_600,
            ["budget.env_steps=51200", "eval.stop_when_solved=false"],
            "has spent its budget of 25,600 env steps and is solved",
        ),
        ({"status": "interrupted"}, 9_000, [], ""),
        ({"status": "interrupted"}, 25_600, [], ""),  # its final test is left to do
    ],
)
def test_a_run_goes_on_with_what_it_lacks(tmp_path, made, at, wanted, said):
    run = saved(make_run(tmp_path, **made), at)
    if made.get("status") == "interrupted":
        written = read_json(run.folder / "run.json")
        write_json(run.folder / "run.json", written | {"reason": "interrupted"})
    found = forms.further(run)
    assert found.overrides == wanted
    assert said in found.reason and bool(found.reason) == bool(said)


def test_minutes_can_be_spent_too(tmp_path):
    run = saved(make_run(tmp_path), 9_000)
    written = (run.folder / "config.yaml").read_text()
    for minutes, wanted in ((0.04, ["budget.minutes=1"]), (2, [])):  # it took three seconds
        text = written.replace("minutes: null", f"minutes: {minutes}")
        assert text != written
        (run.folder / "config.yaml").write_text(text)
        assert forms.further(run).overrides == wanted


def test_without_a_checkpoint_nothing_goes_on(tmp_path):
    with pytest.raises(UserError, match="no checkpoint to resume from"):
        forms.further(make_run(tmp_path))
