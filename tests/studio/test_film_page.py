"""The Film page in a real browser: a film is made in the worker and can be played."""

import json
from urllib.request import urlopen

import pytest

from spotter.studio.pages.film import films


@pytest.fixture
def at(studio, page):
    """Visit the page of a run."""

    def visit(run: str):
        page.goto(f"{studio.url}film?run={run}")
        return page

    return visit


def test_a_film_is_made_and_can_be_played(studio, trained, at):
    page = at(trained.id)
    page.get_by_text("No film of this run yet").wait_for()
    page.get_by_label("Seconds at most").fill("14")
    page.get_by_label("Policies").fill("1")
    page.get_by_label("Title").fill("Balance!")
    page.get_by_role("button", name="Make the film").click()
    page.get_by_role("status").wait_for()
    video = page.locator("video.film-video")
    video.wait_for(timeout=60_000)
    page.wait_for_function("document.querySelector('video.film-video').readyState >= 2")
    size = video.evaluate("v => [v.videoWidth, v.videoHeight, v.duration, v.error && v.error.code]")
    assert size[:2] == [1280, 720] and 8 < size[2] <= 14.2 and size[3] is None
    assert films(trained) == ["film-1280x720.mp4"]
    about = json.loads((trained.folder / "videos" / "film-1280x720.json").read_text("utf-8"))
    assert [stage["checkpoint"] for stage in about["stages"]] == [
        json.loads((trained.folder / "checkpoints" / "best.json").read_text("utf-8"))["step"]
    ]
    assert page.get_by_role("button", name="Make the film").is_enabled()
    page.reload()
    video.wait_for()  # it is still there
    assert page.errors == []
    for path in (trained.folder / "videos").glob("film-*"):
        path.unlink()


def test_what_makes_no_sense_is_one_sentence(trained, at):
    page = at(trained.id)
    page.get_by_label("Policies").fill("2")
    page.get_by_label("Seconds at most").fill("5")
    page.get_by_role("button", name="Make the film").click()
    alert = page.get_by_role("alert")
    alert.wait_for(timeout=60_000)
    assert alert.inner_text() == (
        "5 seconds are too short for 2 checkpoints; 6 would do, or fewer checkpoints"
    )
    assert page.get_by_role("button", name="Make the film").is_enabled()


def test_a_run_without_checkpoints_says_so(studio_runs, at):
    run = next(path.name for path in sorted(studio_runs.iterdir()) if path.is_dir())
    page = at(run)
    page.get_by_text(f"Run {run} has no checkpoint yet").wait_for()
    assert page.get_by_role("button", name="Make the film").count() == 0


@pytest.mark.parametrize("name", ["nothing", "../../etc", "a/b"])
def test_only_ids_of_runs_are_accepted(at, name):
    page = at(name)
    page.get_by_role("alert").wait_for()
    assert "\n" not in page.get_by_role("alert").inner_text()


def test_no_runs_at_all(own_studio, page):
    page.goto(f"{own_studio.url}film")
    page.get_by_text("There are no runs yet").wait_for()
    assert urlopen(f"{own_studio.url}film").status == 200
