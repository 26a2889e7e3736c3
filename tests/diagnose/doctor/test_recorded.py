"""Real runs, recorded: failures are called by their name, healthy ones are left in peace."""

import re

import pytest

from spotter.config import changed, validate
from spotter.diagnose.doctor.run import as_data, as_text, diagnose
from tests.diagnose.doctor.recordings import FOLDER, unpack

FAILED = sorted(path.name.split(".")[0] for path in FOLDER.glob("failed-*"))
HEALTHY = sorted(path.name.split(".")[0] for path in FOLDER.glob("healthy-*"))
ONLY_PLAYING_SHOWS = "failed-copies-alike"


def looked_at(name, home):
    run = unpack(FOLDER / f"{name}.json.gz", home)
    return run, diagnose(run)


def told(diagnosis):
    return [one.id for one in diagnosis.problems if one.level != "info"]


def expected(name):
    return re.sub(r"-\d$", "", name.removeprefix("failed-"))


def test_there_are_recordings():
    assert len({expected(name) for name in FAILED}) >= 20 and len(HEALTHY) >= 10


@pytest.mark.parametrize("name", [name for name in FAILED if name != ONLY_PLAYING_SHOWS])
def test_a_failure_is_called_by_its_name(name, tmp_path):
    _, diagnosis = looked_at(name, tmp_path)
    assert told(diagnosis)[0] == expected(name)
    assert len(told(diagnosis)) <= 2, "one cause, told once"
    first = diagnosis.problems[0]
    assert (
        first.evidence
        and (first.then or first.overrides)
        and re.search(r"\d", " ".join(first.evidence))
    )
    assert first.sentence in diagnosis.verdict


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_run_is_left_in_peace(name, tmp_path):
    _, diagnosis = looked_at(name, tmp_path)
    assert told(diagnosis) == [] and diagnosis.healthy
    assert re.fullmatch(
        r"Solved, test score \S+ ± \S+ over \d+ episodes; "
        r"nothing is wrong with it that the doctor can see\.",
        diagnosis.verdict,
    )


@pytest.mark.parametrize("name", [*FAILED, *HEALTHY])
def test_every_change_is_one_the_config_takes(name, tmp_path):
    run, diagnosis = looked_at(name, tmp_path)
    config = validate(run.settings())
    for problem in diagnosis.problems:
        if problem.overrides:
            assert changed(config, problem.overrides) != config, problem.id


@pytest.mark.parametrize("name", [*FAILED, *HEALTHY])
def test_it_can_be_read_by_people_and_programs(name, tmp_path):
    _, diagnosis = looked_at(name, tmp_path)
    text, data = as_text(diagnosis), as_data(diagnosis)
    assert "nan" not in re.findall(r"\w+", text), text
    assert [entry["id"] for entry in data["problems"]] == [one.id for one in diagnosis.problems]
    assert data["healthy"] is diagnosis.healthy
    for problem in diagnosis.problems:
        assert f"[{problem.id}]" in text and problem.link.endswith(f".{problem.id}")
    assert abs(sum(data["times"].values()) - 1) < 1e-6 or not data["times"]
