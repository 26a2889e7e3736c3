"""Run folders that were damaged in seeded ways: every reading command ends with a sentence.

Twenty damages here; `SPOTTER_SOAK=1` makes 500, and plays, resumes and forks as well.
"""

import json
import os
import random
import shutil
import time

import pytest

import spotter as package
from spotter.cli.main import run as command

SOAK = bool(os.environ.get("SPOTTER_SOAK"))
DAMAGES = 500 if SOAK else 20
MOST_S = 20.0
VALUES = [None, 7, -1, "text", [], {}, [1, "x", None], 10**30, float("nan"), "\x1b[2J\x07", 1e308]
YAML = ["null", "7", "text", "[]", "{}", ".nan", '"\\e[2J"', "[1, x]", "true", "1e400"]
DEEP, HUGE = "[" * 3000 + "]" * 3000, "9" * 400


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A run with evaluations, an alert and a resume, and a fork of it."""
    home = tmp_path_factory.mktemp("sound")
    before, os.environ["SPOTTER_RUNS"] = os.environ.get("SPOTTER_RUNS", ""), str(home)
    few = ("video.when=null", "eval.episodes=2", "eval.stop_when_solved=false")
    alert = {"id": "entropy_collapse", "metric": "policy/entropy", "level": "warning",
             "saw": "x", "advice": "y", "env_steps": 256}  # fmt: skip
    try:
        run = package.train("CartPole-v1:ppo", *few, "eval.every_steps=256",
                            quiet=True, budget={"env_steps": 512}).run  # fmt: skip
        package.resume(run.id, "budget.env_steps=768", quiet=True)
        run.event("alert", alert)
        package.train("CartPole-v1:ppo", *few, quiet=True, budget={"env_steps": 256},
                      start_from=run.id)  # fmt: skip
    finally:
        os.environ["SPOTTER_RUNS"] = before
    return home, run.id


def damage(folder, rng) -> str:
    """One file is deleted, cut, garbled, or says something else."""
    kinds = (".json", ".jsonl", ".yaml", ".csv", ".safetensors", ".log")
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.suffix in kinds)
    weights = [4 if path.parent == folder else 1 for path in files]
    path = rng.choices(files, weights)[0]
    kind = rng.choice(["delete", "cut", "flip", "empty", *["value"] * 4, "drop", "deep", "huge"])
    data = path.read_bytes()
    if kind == "delete":
        path.unlink()
    elif kind in ("cut", "empty") or path.suffix in (".csv", ".safetensors", ".log"):
        path.write_bytes(data[: rng.randrange(len(data) + 1) if kind == "cut" else 0])
    elif kind == "flip":
        garbled = bytearray(data)
        for _ in range(rng.randint(1, 20)):
            garbled[rng.randrange(len(garbled))] = rng.randrange(256)
        path.write_bytes(garbled)
    elif path.suffix == ".yaml":
        lines = data.decode().splitlines()
        place = rng.randrange(len(lines))
        value = {"deep": DEEP, "huge": HUGE}.get(kind) or rng.choice(YAML)
        lines[place : place + 1] = [] if kind == "drop" else [
            f"{lines[place].partition(':')[0]}: {value}"
        ]  # fmt: skip
        path.write_text("\n".join(lines) + "\n")
    else:
        lines = data.decode().splitlines() if path.suffix == ".jsonl" else [data.decode()]
        place = rng.randrange(len(lines))
        lines[place] = changed(json.loads(lines[place]), kind, rng)
        path.write_text("\n".join(lines) + "\n")
    return f"{kind} {path.relative_to(folder)}"


def changed(record, kind, rng) -> str:
    node = record
    while keys := list(node) if isinstance(node, dict) else list(range(len(node))):
        key = rng.choice(keys)
        if isinstance(node[key], dict | list) and node[key] and rng.random() < 0.6:
            node = node[key]
            continue
        if kind == "drop":
            del node[key]
        else:
            node[key] = {"deep": "DEEP", "huge": "HUGE"}.get(kind) or rng.choice(VALUES)
        break
    return json.dumps(record).replace('"DEEP"', DEEP).replace('"HUGE"', HUGE)


def commands(run, other, folder, rng):
    yield from (["runs"], ["runs", "--json"], ["show", run], ["compare", run, other])
    yield from (["diff", run, other], ["report", run], ["digest", run])
    yield from (["doctor", run, "--no-environment"], ["export", run, str(folder / "run.zip")])
    if SOAK:
        few = ["budget.env_steps=1024", "--quiet"]
        yield rng.choice([
            ["eval", run, "--episodes", "1"],
            ["inspect", run],
            ["play", run, "--headless"],
            ["train", "--resume", run, *few],
            ["train", "CartPole-v1:ppo", *few, "--no-save", "--from", run],
        ])  # fmt: skip


@pytest.mark.parametrize("seed", range(DAMAGES))
def test_a_damaged_run_is_read_as_far_as_it_goes(sound, seed, tmp_path, monkeypatch, capsys):
    home, run = sound
    runs = tmp_path / "runs"
    shutil.copytree(home, runs)
    monkeypatch.setenv("SPOTTER_RUNS", str(runs))
    other = next(p.name for p in runs.iterdir() if p.name != run and (p / "run.json").is_file())
    rng = random.Random(seed)
    what = damage(runs / run, rng)
    for words in commands(run, other, tmp_path, rng):
        start = time.process_time()
        try:
            code = command(words)
        except SystemExit as ended:
            code = ended.code
        except Exception as error:
            raise AssertionError(f"{what}: {' '.join(words)}: {error!r}") from error
        shown = capsys.readouterr()
        assert code in (0, 1, 2), (what, words)
        assert code == 0 or shown.out or shown.err, (what, words)
        assert "\x1b" not in shown.out + shown.err, (what, words)
        assert time.process_time() - start < MOST_S, (what, words)
