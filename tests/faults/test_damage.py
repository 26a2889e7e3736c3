"""Run folders that were damaged in seeded ways: every reading command ends with a sentence.

Through every reading command, Studio's pages and MCP's tools. Twenty damages here, Studio and MCP
at every fourth; `SPOTTER_SOAK=1` makes 500, and plays, films, resumes and forks as well.
"""

import json
import os
import random
import re
import shutil
import time

import numpy as np
import pytest
import safetensors.numpy

import spotter as package
from spotter.episodes.capture import capture_to_disk
from tests.faults import surfaces

pytestmark = pytest.mark.unrepeatable  # weights that were garbled play differently; eval says so
SOAK = bool(os.environ.get("SPOTTER_SOAK"))
DAMAGES = 500 if SOAK else 20
MOST_S = 20.0
VALUES = [None, 7, -1, "text", [], {}, [1, "x", None], 10**30, float("nan"), "\x1b[2J\x07", 1e308]
YAML = ["null", "7", "text", "[]", "{}", ".nan", '"\\e[2J"', "[1, x]", "true", "1e400"]
BINARY = (".safetensors", ".npz", ".zip")
DEEP, HUGE = "[" * 3000 + "]" * 3000, "9" * 400


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A run with evaluations, an alert, a resume and an episode, and a fork of it."""
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
        capture_to_disk(run.id, most_steps=8)
        fork = package.train("CartPole-v1:ppo", *few, quiet=True, budget={"env_steps": 256},
                             start_from=run.id).run  # fmt: skip
    finally:
        os.environ["SPOTTER_RUNS"] = before
    return home, (run.id, fork.id)


def damage(folder, rng) -> str:
    """One file is deleted, cut, garbled, or says something else."""
    kinds = (".json", ".jsonl", ".yaml", ".csv", *BINARY, ".log")
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.suffix in kinds)
    weights = [4 if path.parent == folder else 1 for path in files]
    path = rng.choices(files, weights)[0]
    kind = rng.choice(["delete", "cut", "flip", "empty", *["value"] * 4, "drop", "deep", "huge"])
    data = path.read_bytes()
    if kind == "delete":
        path.unlink()
    elif kind == "cut":
        path.write_bytes(data[: rng.randrange(len(data) + 1)])
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "flip" or path.suffix in (".csv", ".log", *BINARY):
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
    yield from (["diff", run, other], ["report", run], ["digest", run], ["review", run, "--show"])
    yield from (["doctor", run, "--no-environment"], ["export", run, str(folder / "run.zip")])
    if SOAK and rng:
        few = ["budget.env_steps=1024", "--quiet"]
        yield rng.choice([
            ["eval", run, "--episodes", "1"],
            ["eval", run],
            ["inspect", run],
            ["play", run, "--headless"],
            ["film", run, "--checkpoints", "1", "--seconds", "4", "--fps", "5"],
            ["train", "--resume", run, *few],
            ["train", "CartPole-v1:ppo", *few, "--no-save", "--from", run],
        ])  # fmt: skip


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    home = tmp_path_factory.mktemp("served") / "runs"
    with surfaces.studio(home) as found:
        yield found, home


def copied(sound, home, seed) -> tuple[str, str]:
    """The run and its fork under ids of their own, as readers may know those of before."""
    shutil.rmtree(home, ignore_errors=True)
    names = {id: f"2026010{i}-000000-{seed:04x}" for i, id in enumerate(sound[1], 1)}
    for old, new in names.items():
        shutil.copytree(sound[0] / old, home / new)
    for path in home.rglob("*"):
        if path.suffix in (".json", ".jsonl"):
            text = path.read_text()
            for old, new in names.items():
                text = text.replace(old, new)
            path.write_text(text)
    return tuple(names.values())


def check(what, name, read, *arguments) -> str:
    """What a surface showed: in time, nothing raised, nothing that commands a terminal."""
    start = time.process_time()
    try:
        shown = read(*arguments)
    except Exception as error:
        raise AssertionError(f"{what}: {name}: {error!r}") from error
    assert "\x1b" not in shown, (what, name)
    assert "Traceback" not in shown, (what, name)
    assert time.process_time() - start < MOST_S, (what, name)
    return shown


@pytest.mark.parametrize("seed", range(DAMAGES))
def test_a_damaged_run_is_read_as_far_as_it_goes(
    sound, studio, seed, tmp_path, monkeypatch, capsys
):
    pages, home = studio
    run, other = copied(sound, home, seed)
    monkeypatch.setenv("SPOTTER_RUNS", str(home))
    rng = random.Random(seed)
    what = damage(home / run, rng)
    if SOAK or seed % 4 == 0:
        for address in pages.addresses(run, other):
            check(what, address, pages.get, address)
    if SOAK or seed % 4 == 1:
        tools = surfaces.Mcp(home)
        for tool, arguments in tools.requests(run, other):
            check(what, f"MCP {tool}", tools.ask, tool, arguments)
    for words in commands(run, other, tmp_path, rng):
        check(what, " ".join(words), surfaces.cli, words, capsys)


# --- made cases ----------------------------------------------------------------------------------


def write(name, text):
    return lambda run: (run / name).write_bytes(text if isinstance(text, bytes) else text.encode())


def add(name, text):
    return lambda run: write(name, (run / name).read_bytes() + text.encode())(run)


def in_json(name, **changes):
    def change(run):
        path = run / name
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


def in_config(before, after):
    def change(run):
        path = run / "config.yaml"
        text = path.read_text()
        assert re.search(before, text, re.MULTILINE)
        path.write_text(re.sub(before, after, text, count=1, flags=re.MULTILINE))

    return change


def without_seeds(run):
    lines = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    for line in lines:
        line.pop("seeds", None)
    write("events.jsonl", "".join(json.dumps(line) + "\n" for line in lines))(run)


def nan_weights(run):
    for path in run.glob("checkpoints/step-*/policy.safetensors"):
        tensors = safetensors.numpy.load_file(path)
        safetensors.numpy.save_file({k: v * np.float32("nan") for k, v in tensors.items()}, path)


def in_place_of(name, make):
    def change(run):
        (run / name).unlink()
        make(run / name)

    return change


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 9)
)
ESCAPES = "\x1b]0;owned\x07\x1b[2J"
BEST = "checkpoints/best.json"
STEP = "checkpoints/step-000000768"
MADE = {
    "events without seeds": (without_seeds, "show", "it has no seeds"),
    "a number for a mapping in run.json": (in_json("run.json", parent=7), "show", ""),
    "a number for a mapping in an event": (
        add("events.jsonl", '{"event": "alerts", "counts": 7}\n{"event": "resume"}\n'), "show", ""),
    "a number for a mapping in config.yaml": (write("config.yaml", "env: 7\n"), "resume", "env"),
    "null metrics": (
        add("metrics.jsonl", '{"update": null, "env_steps": null, "train/score": null}\n'),
        "show", ""),
    "a huge integer in a row": (
        add("metrics.jsonl", f'{{"update": 9, "env_steps": {HUGE}, "train/score": {HUGE}}}\n'),
        "show", ""),
    "a huge integer in run.json": (in_json("run.json", env_steps=10**400), "show", "env_steps"),
    "a huge integer in a config": (in_config("^seed: .*", f"seed: {HUGE}"), "resume", "seed"),
    "nan weights": (nan_weights, "inspect", "hold nan"),
    "a layer of 10^9 units": (
        in_config(r"hidden: .*", "hidden: [1000000000]"), "resume", "policy.hidden"),
    "20,000 brackets": (
        write("config.yaml", "env: " + "[" * 20_000 + "]" * 20_000), "resume", "nested"),
    "a bomb of aliases": (write("config.yaml", BOMB), "resume", "config.yaml"),
    "garbage for rows": (
        write("metrics.jsonl", random.Random(1).randbytes(4_000_000)), "show", "metrics.jsonl"),
    "escape sequences": (
        lambda run: (
            in_json("run.json", reason=ESCAPES, why=ESCAPES, address=ESCAPES)(run),
            add("run.log", ESCAPES)(run),
            add("events.jsonl", json.dumps({"event": "note", "text": ESCAPES}) + "\n")(run),
        ), "show", ""),
    "a score that is no mapping": (
        write(f"{STEP}/score.json", '{"eval": 7}'), "again", "score.json cannot be loaded"),
    "best outside the run": (write(BEST, '{"step": "../../../etc"}'), "eval", "no checkpoint"),
    "a folder for rows": (in_place_of("metrics.jsonl", lambda path: path.mkdir()), "show", ""),
    "a pipe for events": (in_place_of("events.jsonl", os.mkfifo), "show", "events.jsonl"),
    "bytes that are no text": (write("config.yaml", b"env: \xff\xfe\n"), "resume", "config.yaml"),
    "weights with an endless header": (
        write(f"{STEP}/policy.safetensors", b"\xff" * 8 + b"{}"), "resume", "cannot be loaded"),
}  # fmt: skip
"""What was done to the run, and the command that says a sentence about it."""
DIRECT = {
    "resume": ["train", "--resume", "RUN", "budget.env_steps=1024", "--quiet"],
    "inspect": ["inspect", "RUN"],
    "eval": ["eval", "RUN", "--episodes", "1"],
    "again": ["eval", "RUN/@latest"],
    "show": ["show", "RUN"],
}


@pytest.mark.parametrize("name", MADE)
def test_a_made_case_is_read_as_far_as_it_goes(sound, studio, name, tmp_path, monkeypatch, capsys):
    if "pipe" in name and os.name == "nt":
        pytest.skip("no pipes with names")
    pages, home = studio
    place = list(MADE).index(name)
    run, other = copied(sound, home, 0x1000 + place)
    monkeypatch.setenv("SPOTTER_RUNS", str(home))
    change, command, sentence = MADE[name]
    change(home / run)
    words = [word.replace("RUN", run) for word in DIRECT[command]]
    assert sentence in check(name, command, surfaces.cli, words, capsys)
    for words in commands(run, other, tmp_path, None):
        check(name, " ".join(words), surfaces.cli, words, capsys)
    if SOAK or place % 4 == 0:
        for address in pages.addresses(run, other):
            check(name, address, pages.get, address)
    if SOAK or place % 4 == 1:
        tools = surfaces.Mcp(home)
        for tool, arguments in tools.requests(run, other):
            check(name, f"MCP {tool}", tools.ask, tool, arguments)
