"""One real run, shown by command line, report, digest, doctor, Studio and MCP: the same numbers.

Each surface is read as a person reads it, from its text. A number that two of them show is equal
up to the decimals of the coarser one.
"""

import asyncio
import json
import math
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import pytest

import spotter
from spotter.cli.main import run as command
from spotter.rundir import process
from spotter.rundir.identity import now
from spotter.rundir.run import Run
from spotter.rundir.view import RunView
from tests.mcp.making import ask, at_desk

SHORT = (
    *("algo.lr=0.02", "algo.clip=0.9", "env.threshold=20", "budget.env_steps=4096"),
    *("eval.every_steps=1024", "eval.episodes=5", "eval.stop_when_solved=false"),
    "video.when=null",
)
N = r"(-?[\d,]+(?:\.\d+)?)"
OVER = rf"{N}(?: ± {N})?(?: \(95 %\))? over {N} (?:held-out )?episodes"
SPEED = rf"{N} fps, {N} with evaluation and saving"
SURFACES = {"cli", "report", "digest", "doctor", "studio", "mcp"}
SHARED = {
    **dict.fromkeys(("score", "half", "episodes"), SURFACES),
    **dict.fromkeys(("alerts", "alert updates", "alert share"), SURFACES),
    "alert first": SURFACES - {"report"},
    **dict.fromkeys(
        ("best", "best half", "best episodes", "last score", "env steps", "updates", "time",
         "steps_to_threshold", "train_steps_to_threshold", "total_steps_to_threshold", "threshold",
         "fps", "wall fps"), SURFACES - {"doctor"},
    ),
    "train seconds": SURFACES - {"doctor", "studio"},
    "hp": {"cli", "report", "mcp"},
    "lr": SURFACES - {"cli", "doctor"},
    "change": SURFACES - {"doctor", "mcp"},
}  # fmt: skip
"""By which surfaces each fact has to be shown."""
SOMETIMES = {"last score", "change"}
"""Where the last weights are not kept; where a resume changed a setting."""


@dataclass(frozen=True)
class Shown:
    """A number as it is shown: `half` of its last decimal is not known."""

    value: float
    half: float

    def agrees(self, other: "Shown") -> bool:
        return abs(self.value - other.value) <= (self.half + other.half) * (1 + 1e-9)


def number(text, times=1.0):
    plain = text.replace(",", "")
    decimals = len(plain.partition(".")[2])
    half = 0.5 * 10.0**-decimals if decimals else 0.0
    return Shown(float(plain) * times, half * times)


def rounded(text):
    """A whole number that may be rounded, as speeds are."""
    return Shown(number(text).value, 0.5)


def five_digits(value, times=1.0):
    """As MCP answers."""
    if not value:
        return Shown(0.0, 0.0)
    exact = isinstance(value, int)
    size = 10.0 ** (math.floor(math.log10(abs(value))) - 4)
    return Shown(value * times, 0.0 if exact else 0.5 * size * times)


def found(pattern, text):
    match = re.search(pattern, text)
    assert match, f"{pattern}\n{text}"
    return match.groups()


def judged(names, groups):
    return dict(zip(names, (number(each) for each in groups if each), strict=True))


SCORE = ("score", "half", "episodes")
BEST = ("best", "best half", "best episodes")


# --- the surfaces ---------------------------------------------------------------------------------


def cli(id, capsys):
    capsys.readouterr()
    assert command(["show", id]) == 0
    shown = capsys.readouterr().out
    rows = {line[:24].strip(): line[24:].strip() for line in reversed(shown.splitlines())}
    lines = dict(re.findall(r"^(\w+/\S+|update) +(\S+)$", shown, re.MULTILINE)) | rows
    own = judged(SCORE, found(OVER, lines["score"])) | judged(BEST, found(OVER, lines["best"]))
    for name in ("steps_to_threshold", "train_steps_to_threshold", "total_steps_to_threshold"):
        own[name] = number(lines[name])
    own["env steps"], own["updates"] = number(lines["env_steps"]), number(lines["update"])
    own["threshold"] = number(lines["threshold"])
    if "last weights" in lines:
        own["last score"] = number(lines["last weights"])
    own |= times(lines["time"], lines["collecting and learning"], lines["speed"])
    own["hp"] = {key: float(value) for key, value in lines.items() if key.startswith("hp/")}
    alerts = re.findall(rf"^alert +(\S+) \({N} updates?, first at {N} env", shown, re.MULTILINE)
    own |= alerted([(id, updates, None, first) for id, updates, first in alerts])
    if change := re.search(rf"resumed +at {N} env .*algo.lr: ([\d.]+) → ([\d.]+)", shown):
        own["change"] = changed(*change.groups())
    return own | listed(id, capsys, own)


def listed(id, capsys, own):
    """`spotter runs`, which has to agree with `spotter show` already."""
    assert command(["runs", id]) == 0
    _, _, _, steps, score, _ = capsys.readouterr().out.rstrip("\n").split("\t")
    assert number(steps) == own["env steps"]
    assert score == f"{own['score'].value:.2f}".rstrip("0").rstrip(".") + score[score.index(" ") :]
    assert command(["runs", id, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert Shown(row["score"], 0).agrees(own["score"])
    assert Shown(row["score_interval"], 0).agrees(own["half"])
    assert Shown(row["seconds"], 0).agrees(own["time"])
    assert row["steps_to_threshold"] == own["steps_to_threshold"].value
    assert row["total_steps_to_threshold"] == own["total_steps_to_threshold"].value
    share = row_share(id)
    return {"alert share": share} if share else {}


def row_share(id):
    """`show` has the updates of each alert, of which the share follows."""
    view = RunView(Run(runs_folder() / id))
    return {alert.id: Shown(alert.updates / view.updates, 0.0) for alert in view.alerts}


def runs_folder():
    from spotter.rundir.identity import home

    return home()


def report(id, capsys):
    assert command(["report", id]) == 0
    text = (runs_folder() / id / "report.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]*) \|$", text, re.MULTILINE)
    tile = {name: f"{value} {detail}" for name, value, detail in rows}
    own = judged(SCORE, found(OVER, tile["test score"]))
    own |= judged(BEST, found(OVER, tile["best evaluation"]))
    own["env steps"], own["updates"] = map(number, found(rf"{N} {N} updates", tile["env steps"]))
    own["threshold"] = number(found(N, tile["threshold"])[0])
    own |= reached(rf"evaluation at {N}(?: \({N} with its", rf"mean at {N}", tile["threshold"])
    if last := re.search(rf"last weights score {N}", text):
        own["last score"] = number(last[1])
    train, rates = found(r"(\S+ s) collecting and learning, (.*)", tile["time"])
    own |= times(found(r"(\S+ s)", tile["time"])[0], train, rates)
    own["hp"] = {
        key.replace("\\", ""): float(value)
        for key, value in re.findall(r"^\| (hp/\S+) \| ([\d.e+-]+) \|$", text, re.MULTILINE)
    }
    alerts = re.findall(rf"- \*\*(\S+)\*\* \(\w+, {N} updates?, <?{N} % of all", text)
    own |= alerted([(id, updates, share, None) for id, updates, share in alerts])
    own["lr"] = found(r"\n  lr: ([\d.]+)\n", text)[0]
    if change := re.search(rf"\| {N} \| resume \|.*algo\.lr: ([\d.]+) -\\> ([\d.]+)", text):
        own["change"] = changed(*change.groups())
    return own


def digest(id, capsys):
    assert command(["digest", id, "--tokens", "8000"]) == 0
    text = capsys.readouterr().out
    progress, scores = found(r"- Progress: (.*)", text)[0], found(r"- Score: (.*)", text)[0]
    own = judged(SCORE, found(rf"test {OVER}", scores))
    own |= judged(BEST, found(rf"best evaluation {OVER}", scores))
    own["env steps"] = number(found(rf"^{N} env steps", progress)[0])
    own["updates"] = number(found(rf"{N} updates", progress)[0])
    own["threshold"] = number(found(rf"solved at {N}", scores)[0])
    own |= reached(rf"reached it at {N}(?: \({N} with its", rf"mean at {N}", scores)
    if last := re.search(rf"last weights score {N}", scores):
        own["last score"] = number(last[1])
    span, train, rates = found(r"(\S+ s) \((\S+ s) collecting and learning\), (.*)", progress)
    own |= times(span, train, rates)
    section = text.partition("## Alerts")[2].partition("##")[0]
    own |= alerted(
        re.findall(rf"- (\S+) \(\w+, {N} updates?, <?{N} % of all, first at {N} env", section)
    )
    own["lr"] = found(r"algo\.lr: .*?([\d.]+)(?: for [\d,]+)? \(", text)[0]  # the last of two
    if change := re.search(rf"Resumed at {N} env .*algo\.lr ([\d.]+) -> ([\d.]+)", text):
        own["change"] = changed(*change.groups())
    return own


def doctor(id, capsys):
    assert command(["doctor", id, "--json", "--no-environment"]) in (0, 1)
    data = json.loads(capsys.readouterr().out)
    own = judged(SCORE, found(rf"test score {OVER}", data["verdict"]))
    pattern = rf"{N} updates?, <?{N} % of all, first at {N} env"
    seen = {one["id"]: found(pattern, " ".join(one["evidence"])) for one in data["problems"]
            if one["sentence"].startswith("The run recorded the alert")}  # fmt: skip
    return own | alerted([(id, *groups) for id, groups in seen.items()])


STUDIO = """
import json, sys
from pathlib import Path
from tests.faults.surfaces import studio
with studio(Path(sys.argv[1])) as found:
    json.dump({address: found.get(address) for address in sys.argv[2:]}, sys.stdout)
"""
"""In a process of its own: NiceGUI starts once in each."""


def studio_pages(folder, ids):
    addresses = ["/", *(f"/{page}/{id}" for id in ids for page in ("run", "tabs"))]
    ran = subprocess.run([sys.executable, "-c", STUDIO, str(folder), *addresses],
                         check=True, capture_output=True, text=True, encoding="utf-8")  # fmt: skip
    return json.loads(ran.stdout)


def studio(pages, id, capsys):
    page, tabs, board = pages[f"/run/{id}"], pages[f"/tabs/{id}"], pages["/"]
    fact = facts(page)
    own = judged(SCORE, found(OVER, fact["score"])) | judged(
        BEST, found(OVER, fact["best evaluation"])
    )
    own["env steps"], own["updates"] = number(fact["env steps"]), number(fact["updates"])
    own["threshold"] = number(fact["threshold"])
    own |= reached(rf"^{N}(?: \({N} with its", rf"mean {N}",
                   f"{fact['steps to threshold']} mean {fact['training mean'][6:]}")  # fmt: skip
    if fact["last weights"] != "–":
        own["last score"] = number(fact["last weights"])
    own |= {"fps": rounded(fact["fps"]), "wall fps": rounded(fact["wall fps"])}
    own["time"] = number(fact["time"].removesuffix(" s"))
    alerts = re.findall(
        rf'"text":"([\w-]+) · \w+".*?; {N} updates?, <?{N} % of all, first at {N} env', tabs
    )
    own |= alerted(alerts)
    assert number(fact["alerts"]).value == len(alerts)
    assert ", ".join(sorted(one[0] for one in alerts)) in board
    names = re.findall(r'"text":"([^"]*)"', tabs)
    own["lr"] = names[len(names) - names[::-1].index("algo.lr")]  # above it: its parent's
    if change := re.search(r"algo\.lr = ([\d.]+)", page):
        own["change"] = changed(None, None, change[1])
    return own


def facts(page):
    """The names and values of the head of a run page."""
    text = r'"text":"([^"]*)","class":\["studio-fact-{}"\]'
    return dict(re.findall(f"{text.format('name')}.*?{text.format('value')}", page))


def mcp(id, capsys):
    async def ask_all():
        async with at_desk(runs_folder()) as client:
            return [
                await ask(client, "status", run=id),
                await ask(client, "compare", runs=[run.name for run in runs_folder().glob("2*")]),
                await ask(client, "metrics", run=id, match="hp/"),
                await ask(client, "config", run=id, match="algo.lr"),
                await ask(client, "alerts", run=id),
                await ask(client, "runs", query=id),
            ]

    status, compared, metrics, config, feed, listing = asyncio.run(ask_all())
    score = status["score"]
    own = {name: five_digits(score[name]) for name in score if name.endswith("_to_threshold")}
    own |= {
        "score": five_digits(score["score"]), "half": five_digits(score["score_plus_minus_95"]),
        "episodes": five_digits(score["score_episodes"]), "best": five_digits(score["best_eval"]),
        "best half": five_digits(score["best_eval_plus_minus_95"]),
        "best episodes": five_digits(score["best_eval_episodes"]),
        "threshold": five_digits(score["threshold"]), "env steps": five_digits(status["env_steps"]),
        "updates": five_digits(status["updates"]), "time": five_digits(status["minutes"], 60),
        "train seconds": five_digits(status["train_minutes"], 60),
        "fps": five_digits(status["fps"]), "wall fps": five_digits(status["wall_fps"]),
    }  # fmt: skip
    if score["last_weights_eval"] is not None:
        own["last score"] = five_digits(score["last_weights_eval"])
    own["hp"] = {one["name"]: one["last"] for one in metrics["metrics"]}
    own["lr"] = next(one["value"] for one in config["settings"] if one["name"] == "algo.lr")
    own |= alerted(
        [(one["id"], str(one["updates"]), None, str(one["first_env_steps"]))
         for one in status["alerts"]]
    )  # fmt: skip
    own["alert share"] = {one["id"]: five_digits(one["share"]) for one in status["alerts"]}
    assert {one["id"] for one in feed["alerts"]} == {one["id"] for one in status["alerts"]}
    (row,) = [one for one in compared["runs"] if one["id"] == id]
    for key in ("env_steps", "minutes", "fps", "wall_fps"):
        assert row[key] == status[key], key
    for key in (*SCORE[:1], "threshold", "steps_to_threshold", "total_steps_to_threshold"):
        assert row[key] == score[key] == listing["runs"][0][key], key
    return own


def times(span, train, rates):
    fps, wall = found(SPEED, rates)
    return {
        "time": number(span.removesuffix(" s")), "train seconds": number(train.removesuffix(" s")),
        "fps": rounded(fps), "wall fps": rounded(wall),
    }  # fmt: skip


def reached(evaluation, training, text):
    steps, total = found(evaluation + r".*?\))?", text)
    return {
        "steps_to_threshold": number(steps),
        "total_steps_to_threshold": number(total or steps),
        "train_steps_to_threshold": number(found(training, text)[0]),
    }


def alerted(rows):
    """(id, updates, share in %, first) of each, where they are shown."""
    own = {"alerts": [id for id, *_ in rows]}
    own["alert updates"] = {id: number(updates) for id, updates, _, _ in rows}
    shares = {id: Shown(number(share).value / 100, 0.01) for id, _, share, _ in rows if share}
    firsts = {id: number(first) for id, _, _, first in rows if first}
    return own | ({"alert share": shares} if shares else {}) | (
        {"alert first": firsts} if firsts else {}
    )  # fmt: skip


def changed(at, before, after):
    return {"at": at and number(at), "before": before and float(before), "after": float(after)}


# --- the comparison -------------------------------------------------------------------------------


def agree(one, other):
    if isinstance(one, Shown):
        return one.agrees(other)
    if isinstance(one, dict):
        both = {key for key in one.keys() & other.keys() if one[key] and other[key]}
        return one.keys() == other.keys() and all(agree(one[key], other[key]) for key in both)
    if isinstance(one, float):
        return math.isclose(one, other, rel_tol=1e-4)
    return one == other


@dataclass(frozen=True)
class Made:
    resumed: Run
    fork: Run
    living: Run
    pages: dict[str, str]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run that was resumed with another learning rate, a fork of it, and one that is trained."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("one") / "runs"
        patch.setenv("SPOTTER_RUNS", str(folder))
        first = spotter.train("CartPole-v1:ppo", *SHORT, quiet=True).run
        spotter.resume(first.id, "algo.lr=0.03", "budget.env_steps=6144", quiet=True)
        fork = spotter.train("CartPole-v1:ppo", *SHORT, start_from=first.id, quiet=True).run
        living = as_if_evaluated(first)
        pages = studio_pages(folder, [run.id for run in (first, fork, living)])
    return Made(first, fork, living, pages)


def as_if_evaluated(run):
    """A copy whose process lives, and says that it evaluates."""
    living = Run(shutil.copytree(run.folder, run.folder.with_name("20260101-000000-0000")))
    path = living.folder / "run.json"
    info = json.loads(path.read_text(encoding="utf-8")) | {
        "id": living.id, "status": "running", "phase": "evaluating", "pid": os.getpid(),
        "host": process.host(), "heartbeat": now(), "ended": None, "reason": None,
    }  # fmt: skip
    path.write_text(json.dumps(info), encoding="utf-8")
    return living


@pytest.fixture(autouse=True)
def where_they_are(made, own_folder, monkeypatch):
    monkeypatch.setenv("SPOTTER_RUNS", str(made.resumed.folder.parent))


@pytest.mark.parametrize("which", ["resumed", "fork"])
def test_every_number_is_the_same_wherever_it_is_shown(made, which, capsys):
    run = getattr(made, which)
    surfaces = {"cli": cli, "report": report, "digest": digest, "doctor": doctor,
                "studio": partial(studio, made.pages), "mcp": mcp}  # fmt: skip
    shown = {name: read(run.id, capsys) for name, read in surfaces.items()}
    for fact, wanted in SHARED.items():
        by = {name for name in shown if fact in shown[name]}
        assert by == wanted or (fact in SOMETIMES and not by), fact
        for one, other in combinations(sorted(by), 2):
            what = f"{fact}: {one} {shown[one][fact]}, {other} {shown[other][fact]}"
            assert agree(shown[one][fact], shown[other][fact]), what
    assert {fact for own in shown.values() for fact in own} <= SHARED.keys()
    assert ("change" in shown["cli"]) is (which == "resumed")
    assert shown["cli"]["alerts"], "there is something to compare"
    assert [score.seeds for score in RunView(run).evaluations].count("eval") > 3


def test_what_a_living_run_does_is_the_same_everywhere(made, capsys):
    run = made.living
    assert RunView(run).phase == "evaluating"
    assert command(["show", run.id]) == 0
    assert re.search(r"^phase +evaluating$", capsys.readouterr().out, re.MULTILINE)
    assert "running: evaluating" in made.pages[f"/run/{run.id}"]

    async def status():
        async with at_desk(runs_folder()) as client:
            return await ask(client, "status", run=run.id)

    answer = asyncio.run(status())
    assert (answer["status"], answer["phase"]) == ("running", "evaluating")
