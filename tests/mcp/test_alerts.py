"""Alerts a page at a time: each is shown once, however many runs raise them at the same moment."""

import asyncio
import json
import os
import shutil
from datetime import UTC, datetime, timedelta

import pytest

from spotter.mcp.desk import Terms
from spotter.rundir.files import read_json, write_json
from spotter.rundir.view import RunView
from tests.mcp.making import ask, at_desk, refused
from tests.studio.making import ALERT, make_run

NOW = datetime.now(UTC)


def at(seconds_ago):
    return (NOW - timedelta(seconds=seconds_ago)).isoformat(timespec="milliseconds")


def raise_alerts(run, times, **more):
    with (run.folder / "events.jsonl").open("a") as file:
        for number, time in enumerate(times):
            alert = {**ALERT, "id": f"alert{number}", "saw": "something " * 20, **more}
            file.write(json.dumps({"time": time, "event": "alert", **alert}) + "\n")


def pages(folder, tokens=1000, between=lambda number: None):
    """Every page until one is empty."""
    found, cursor = [], ""

    async def scenario():
        nonlocal cursor
        async with at_desk(folder, Terms(answer_tokens=tokens)) as client:
            while True:
                page = await ask(client, "alerts", since=cursor)
                if not page["alerts"]:
                    assert page["cursor"] == cursor and "cut" not in page
                    return
                found.append(page)
                cursor = page["cursor"]
                between(len(found))

    asyncio.run(scenario())
    return found


def shown(found):
    return [(alert["run"], alert["id"]) for page in found for alert in page["alerts"]]


def test_more_runs_than_fit_on_a_page(runs):
    first = make_run(runs, updates=1)
    for number in range(60):
        folder = shutil.copytree(first.folder, runs / f"20250101-000000-{number:04}")
        raise_alerts(type(first)(folder), [at(1000 - number)])
    found = pages(runs)
    names = [run for run, _ in shown(found)]
    assert names == sorted(names) and len(names) == len(set(names)) == 60
    assert "of 60 shown" in found[0]["cut"] and "since=cursor" in found[0]["cut"]


def test_many_of_one_run_at_the_same_moment_come_in_turn(runs):
    run = make_run(runs, updates=1)
    raise_alerts(run, [at(100)] * 30)
    found = pages(runs)
    assert len(found) > 2
    assert shown(found) == [(run.id, f"alert{number}") for number in range(30)]


def test_one_more_at_the_moment_of_the_cursor_is_not_skipped(runs):
    one, other = sorted((make_run(runs, updates=1) for _ in range(2)), key=lambda run: run.id)
    raise_alerts(other, [at(100)])

    def between(number):
        if number == 1:
            raise_alerts(one, [at(100)])  # it sorts before the one that was shown

    assert shown(pages(runs, between=between)) == [(other.id, "alert0"), (one.id, "alert0")]


def test_a_run_whose_heartbeat_is_old_is_heard(runs):
    first, old = make_run(runs, updates=1), make_run(runs, updates=1)
    raise_alerts(first, [at(100)])
    path = old.folder / "run.json"
    long_ago = "2020-01-01T00:00:00.000+00:00"
    write_json(path, read_json(path) | {"created": long_ago, "heartbeat": long_ago})

    def between(number):
        if number == 1:
            raise_alerts(old, [at(50)])

    assert shown(pages(runs, between=between)) == [(first.id, "alert0"), (old.id, "alert0")]


def test_nobody_is_asked_twice_who_has_no_news(runs):
    quiet = make_run(runs, updates=1)
    raise_alerts(quiet, [at(100)])
    long_ago = NOW.timestamp() - 3600
    os.utime(quiet.folder / "events.jsonl", (long_ago, long_ago))

    async def scenario():
        async with at_desk(runs) as client:
            assert len((await ask(client, "alerts"))["alerts"]) == 1
            assert (await ask(client, "alerts", since=at(200)))["alerts"] == []

    asyncio.run(scenario())


def test_what_was_raised_after_the_checkpoint_of_a_resume_is_left_out(runs):
    run = make_run(runs, updates=1)
    raise_alerts(run, [at(300)] * 2, env_steps=900)
    run.event("resume", {"env_steps": 500})
    assert shown(pages(runs)) == [] and RunView(run).alerts == ()
    raise_alerts(run, [at(100)])
    assert shown(pages(runs)) == [(run.id, "alert0")]
    assert [alert.id for alert in RunView(run).alerts] == ["alert0"]


@pytest.mark.parametrize(
    "time", ["2999-01-01T00:00:00.000+00:00", "zzzz", ""], ids=["future", "word", "none"]
)
def test_a_time_that_is_none_hides_nothing_that_follows(runs, time):
    run = make_run(runs, updates=1)
    raise_alerts(run, [time, at(100), time])
    assert shown(pages(runs)) == [(run.id, "alert1")]


@pytest.mark.parametrize(
    "since",
    ["yesterday", "#a", f"{at(0)}#a:b", f"{at(0)}#a:1:2"],
    ids=["word", "run", "count", "more"],
)
def test_what_is_no_cursor_is_said_so(runs, since):
    async def scenario():
        async with at_desk(runs) as client:
            assert "no cursor" in await refused(client, "alerts", since=since)

    asyncio.run(scenario())
