"""Recorded runs, changed for a question."""

import gzip
import json
import re

import pytest

from tests.diagnose.doctor.recordings import FOLDER, unpack


def scores_of(events):
    """What run.json says after such evaluations."""
    scored = [event for event in events if event["event"] == "evaluation"]
    tests, evals = ([one["score"] for one in scored if one["seeds"] == s] for s in ("test", "eval"))
    return {"score": tests[-1] if tests else None, "best": max(evals, default=None)}


@pytest.fixture
def made(tmp_path):
    """A recorded run with some of its settings, fields, columns, events and spaces replaced."""

    def make(
        name, config=(), info=None, columns=None, drop=(), rows=None, spaces=None, events=None
    ):
        data = json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))
        for before, after in config:
            assert re.search(before, data["config"]), data["config"]
            data["config"] = re.sub(before, after, data["config"])
        if events is not None:
            data["events"], data["info"] = events, data["info"] | scores_of(events)
        data["info"] |= info or {}
        data["spaces"] |= spaces or {}
        data["columns"] = {key: each[:rows] for key, each in data["columns"].items()}
        count = len(data["columns"]["env_steps"])
        for key, value in (columns or {}).items():
            data["columns"][key] = [value(n / count) for n in range(count)]
        for key in drop:
            data["columns"].pop(key, None)
        path = tmp_path / "packed.json.gz"
        path.write_bytes(gzip.compress(json.dumps(data).encode()))
        return unpack(path, tmp_path / "unpacked")

    return make
