"""The report: the numbers of the files, nothing from elsewhere, no surprises in strange runs."""

import base64
import json
import math
import re
import shlex
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

from spotter.charts.axes import labels, round_step, ticks
from spotter.charts.points import MOST_NUMBERS, condensed
from spotter.charts.svg import Plot, thinned
from spotter.config import resolve, validate
from spotter.intervals import interval
from spotter.pages.report import page, write_report
from spotter.pages.report.curves import columns, shares
from spotter.pages.report.facts import gather
from spotter.rundir.files import LineWriter
from spotter.rundir.history import Curve, History
from spotter.rundir.lines import read_lines
from spotter.rundir.run import Run
from spotter.text.numbers import amount

HOSTILE = """<script>alert("1")</script>'"|`&amp;[x](javascript:1)"""
NO_CONTENT = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """Tags, attributes, text and tables of a page; complains about tags left open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.tables: list[list[list[str]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        assert not self._open, f"never closed: {self._open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in NO_CONTENT:
            self._open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if "style" in self._open:
            return
        self.text += data
        if "td" in self._open or "th" in self._open:
            self.tables[-1][-1][-1] += data

    def table(self, *header: str) -> list[list[str]]:
        """The rows of the table with this header."""
        return next(rows[1:] for rows in self.tables if rows[0] == list(header))


def rows(number: int = 30, **columns) -> list[dict]:
    """So many updates; columns are functions of the row number."""
    return [
        {
            "update": i + 1,
            "env_steps": (i + 1) * 100,
            "vector_steps": (i + 1) * 10,
            "train/episodes": i,
            "train/score": 20.0 + i / 3,
            "loss/policy": math.sin(i) / 7,
            "loss/value": 1 / (i + 1),
            "policy/entropy": 0.69 - i / 100,
            "hp/algo.lr": 1e-3 * (1 - i / number),
            "time/fps": 3000.123456789 + i,
            "time/env_s": 0.1,
            "time/learn_s": 0.3,
            **{key.replace("__", "/"): make(i) for key, make in columns.items()},
        }
        for i in range(number)
    ]


def write_rows(run: Run, rows_: list[dict]) -> None:
    with LineWriter(run.metrics_path) as writer:
        for row in rows_:
            writer.write(row)


@pytest.fixture
def curves_of(tmp_path):
    """The curves a report draws of such rows."""

    def read(rows_: list[dict]) -> dict:
        path = tmp_path / "metrics.jsonl"
        path.unlink(missing_ok=True)
        with LineWriter(path) as writer:
            for row in rows_:
                writer.write(row)
        return columns(History(path).refresh())

    return read


@pytest.fixture
def usual(make_run):
    """A run with everything a training leaves behind."""
    run = make_run(score=150.0, best=400 / 3, solved=False, reason="budget", env_steps=3000)
    write_rows(run, rows())
    for steps, scores in ((1000, [10.0, 30.0]), (2000, [100.0, 140.0, 160.0])):
        run.event("evaluation", certificate(steps, scores))
    run.event("evaluation", certificate(3000, [149.0, 150.0, 151.0], "test"))
    return run


def certificate(env_steps: int, scores: list[float], seeds: str = "eval") -> dict:
    return {
        "score": sum(scores) / len(scores),
        "seeds": seeds,
        "episodes": len(scores),
        "deterministic": True,
        "threshold": 475.0,
        "solved": False,
        "env_steps": env_steps,
        "scores": scores,
        "lengths": [1] * len(scores),
    }


def report(run: Run) -> tuple[Page, str]:
    html, text = write_report(run)
    return Page(html.read_text(encoding="utf-8")), text.read_text(encoding="utf-8")


# --- the numbers ---------------------------------------------------------------------------------


def test_every_digit_of_the_last_row_is_in_both_reports(usual):
    seen, text = report(usual)
    written = json.loads(usual.metrics_path.read_text().splitlines()[-1])
    table = seen.table("metric", "shown", "every digit", "meaning")
    assert {name: json.loads(exact) for name, _, exact, _ in table} == written
    for name, value in written.items():
        assert f"| {name} | {value!r} |".replace("_", "\\_") in text


def test_shown_numbers_have_the_catalogues_precision(usual):
    seen, text = report(usual)
    facts = gather(usual)
    last = list(read_lines(usual.metrics_path))[-1]
    for key in ("train/score", "loss/policy", "policy/entropy", "hp/algo.lr", "time/fps"):
        shown = amount(last[key], facts.view.spec(key).precision)
        table = seen.table("metric", "shown", "every digit", "meaning")
        assert [key, shown] in [cells[:2] for cells in table]
        assert f"| {key} | {shown} |".replace("_", "\\_") in text


def test_scores_are_the_events_with_the_interval_of_compare(usual):
    seen, text = report(usual)
    header = "env steps seeds score ±_95_% min median max episodes solved"
    table = seen.table(
        *(word.replace("_", " ") for word in header.replace("env s", "env_s").split())
    )
    half = interval([149.0, 150.0, 151.0]).half
    assert table[0] == [
        "3,000",
        "test",
        "150.0",
        f"{half:.1f}",
        "149.0",
        "150.0",
        "151.0",
        "3",
        "no",
    ]
    assert table[1][:3] == ["2,000", "eval", "133.3"]
    assert "it says nothing about other seeds" in seen.text
    assert "nothing about other seeds" in text
    assert f"| {' | '.join(table[0])} |" in text


def test_a_resume_that_went_back_is_scored_once(usual):
    usual.event("resume", {"env_steps": 1500})
    usual.event("evaluation", certificate(2000, [7.0]))
    scores = gather(usual).view.evaluations
    assert [(s.seeds, s.env_steps, s.mean) for s in scores] == [
        ("eval", 1000, 20.0),
        ("eval", 2000, 7.0),
    ]
    assert scores[-1].interval.half is None
    report(usual)


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"status": "finished", "solved": True}, "SOLVED"),
        ({"status": "finished", "solved": False}, "NOT SOLVED"),
        ({"status": "interrupted", "solved": None}, "INTERRUPTED"),
        ({"status": "failed", "reason": "ValueError: no"}, "FAILED"),
    ],
)
def test_the_verdict(usual, edit, fields, word):
    edit(usual, **fields)
    seen, text = report(usual)
    assert word in seen.text
    assert text.startswith(f"# CartPole-v1 · ppo: {word}\n")


def test_a_run_that_has_only_begun(make_run):
    run = make_run(status="running", env_steps=0)
    seen, text = report(run)
    assert "RUNNING" in seen.text
    assert "never scored" in text
    assert "not yet" in seen.text


# --- a page of its own ---------------------------------------------------------------------------


def test_the_page_needs_nothing_from_elsewhere(usual):
    seen, _ = report(usual)
    assert not {"script", "link", "iframe", "object", "embed"} & set(seen.tags)
    addresses = [value for _, name, value in seen.attributes if name in ("src", "href", "action")]
    assert all(value.startswith("data:") for value in addresses)
    html = (usual.folder / "report.html").read_text(encoding="utf-8")
    assert set(re.findall(r"https?://[^\"' ]+", html)) == {"http://www.w3.org/2000/svg"}
    assert "prefers-color-scheme: dark" in html
    assert "width=device-width" in html


def test_plots_are_well_formed_and_hold_no_nan(usual):
    html = (write_report(usual)[0]).read_text(encoding="utf-8")
    drawings = re.findall(r"<svg.*?</svg>", html, flags=re.DOTALL)
    assert len(drawings) >= 8
    for drawing in drawings:
        root = ET.fromstring(drawing)
        numbers = [v for e in root.iter() for k, v in e.attrib.items() if k in ("d", "points", "x")]
        assert not [text for text in numbers if "nan" in text or "inf" in text]


def test_hostile_text_stays_text(make_run, edit):
    run = make_run("CartPole-v1", config={"env": {"kwargs": {HOSTILE: HOSTILE}}})
    write_rows(run, [{**row, HOSTILE: 1.0 + row["update"], "alerts": [HOSTILE]} for row in rows()])
    run.event("note", {"text": HOSTILE})
    run.event("alert", {"id": HOSTILE, "level": HOSTILE, "saw": HOSTILE, "advice": HOSTILE})
    run.event("change", {"setting": HOSTILE, "before": 1, "after": HOSTILE, "why": HOSTILE})
    run.event("fault", {"text": HOSTILE, "folder": HOSTILE})
    run.event("video", {"file": HOSTILE})
    run.event("evaluation", certificate(100, [1.0, 2.0], HOSTILE))
    fields = ("address", "env", "algo", "by", "host", "why", "reason", "status")
    edit(run, **dict.fromkeys(fields, HOSTILE), command=[HOSTILE], versions={HOSTILE: HOSTILE})
    edit(run, parent={"run": HOSTILE}, resume_grade={"grade": HOSTILE, "why": HOSTILE})
    seen, text = report(run)
    assert "script" not in seen.tags
    assert not [name for _, name, _ in seen.attributes if name.startswith("on")]
    assert seen.text.count(HOSTILE) >= 12
    outside_code = re.sub(r"^(```+)\w*\n.*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    outside_code = re.sub(r"`[^`\n]*`", "", outside_code.replace("\\`", ""))
    assert "<script>" not in outside_code.replace("\\<script\\>", "")
    for block in outside_code.split("\n\n"):
        if block.startswith("|"):
            bars = {len(re.findall(r"(?<!\\)\|", row)) for row in block.splitlines()}
            assert len(bars) == 1, block


# --- curves --------------------------------------------------------------------------------------


def test_a_spike_of_one_update_is_still_seen_and_lines_stay_short(curves_of):
    columns = {"loss__value": lambda i: 900.0 if i == 4321 else -5.0 if i == 99 else 1.0}
    long = curves_of(rows(9000, **columns))["loss/value"]
    drawn = condensed("", long)
    assert drawn.span == (-5.0, 900.0)
    assert len(drawn.y) + len(drawn.low) + len(drawn.high) <= MOST_NUMBERS
    assert drawn.y.max() < 900
    at = drawn.x[drawn.high.argmax()]
    assert abs(at - 432_200) < 5_000  # where it happened
    short = condensed("", curves_of(rows(30))["loss/value"])
    assert short.low is None
    assert list(short.y) == [1 / (i + 1) for i in range(30)]


def test_numbers_that_are_not_finite_are_marked_and_do_no_harm(usual, curves_of):
    bad = {3: math.nan, 4: math.inf, 5: -math.inf}
    for number in (30, 2000):
        curves = curves_of(rows(number, loss__policy=lambda i: bad.get(i, i / 7)))
        drawn = condensed("", curves["loss/policy"])
        assert drawn.broken == (400.0, 500.0, 600.0)
        assert all(map(math.isfinite, drawn.span))
    all_bad = condensed("", curves_of(rows(2000, loss__policy=lambda i: math.nan))["loss/policy"])
    assert len(all_bad.broken) == 2000
    usual.metrics_path.unlink()
    write_rows(
        usual, rows(30, loss__policy=lambda i: bad.get(i, i / 7), loss__value=lambda i: math.nan)
    )
    seen, _ = report(usual)
    assert "not finite at 400 env steps" in seen.text
    assert ["loss/value", "nan", "nan"] in [
        row[:3] for row in seen.table("metric", "shown", "every digit", "meaning")
    ]


def test_every_plot_over_env_steps_marks_what_happened(usual):
    seen, _ = report(usual)
    assert not any("flag" in value for _, name, value in seen.attributes if name == "class")
    changes = {"algo.lr": [1e-3, 1e-4], "algo.clip": [0.2, 0.1]}
    usual.event("resume", {"env_steps": 1500, "changes": changes})
    usual.event("resume", {"env_steps": 1800, "changes": {}})
    usual.event("change", {"setting": "algo.lr", "before": 1e-4, "after": 5e-5, "env_steps": 2000})
    usual.event("fault", {"text": "copy 3 failed", "env_steps": 2500})
    seen, _ = report(usual)
    labels_ = [value for tag, name, value in seen.attributes if name == "aria-label"]
    plots = len([label for label in labels_ if label != "score of every test episode"])
    flags = [v for tag, name, v in seen.attributes if (tag, name) == ("path", "class")]
    for kind, times in (("change", 2), ("resume", 1), ("fault", 1)):
        assert flags.count(f"flag {kind}") == flags.count(f"mark {kind}") == times * plots
    for name in ("settings changed", "resumed", "an environment failed"):
        assert f"{name} (in every plot over env steps)" in seen.text
    assert "algo.lr: 0.001 -> 0.0001; algo.clip: 0.2 -> 0.1" in seen.text


def test_shares_of_time_add_up_even_where_a_stage_is_missing():
    column = {
        name: Curve(np.array(steps), np.array(values))
        for name, steps, values in (
            ("env", [1.0, 2.0, 3.0], [1.0, 1.0, 1.0]),
            ("eval", [2.0], [3.0]),
        )
    }
    x, parts = shares(column)
    assert list(x) == [1.0, 2.0, 3.0]
    assert list(parts["env"]) == [1.0, 0.25, 1.0]
    assert list(parts["eval"]) == [0.0, 0.75, 0.0]
    steps = [float(i) for i in range(1200)]
    sometimes = Curve(np.array(steps[::10]), np.full(120, 30.0))
    x, parts = shares({"env": Curve(np.array(steps), np.ones(1200)), "eval": sometimes})
    assert len(x) == 12
    assert parts["eval"] == pytest.approx([0.75] * 12, abs=0.01)


def test_a_hundred_thousand_rows_are_a_matter_of_seconds(usual):
    usual.metrics_path.unlink()
    body = json.dumps({k: v for k, v in rows(2)[1].items() if "/" in k})[1:]
    with usual.metrics_path.open("w", encoding="utf-8") as file:
        for i in range(100_000):
            file.write(
                f'{{"update": {i + 1}, "env_steps": {(i + 1) * 100}, "noise": {i % 97}, {body}\n'
            )
    began = time.process_time()
    html, _ = write_report(usual)
    print(f"100,000 rows: {time.process_time() - began:.1f} s")
    assert time.process_time() - began < 15
    assert html.stat().st_size < 2**20


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (0, 1),
        (0.01, 0.96),
        (-1e-9, 1e-9),
        (3, 3),
        (-200, 276.7),
        (0, 1e300),
        (-1e308, 1e308),
        (5e-324, 1),
    ],
)
def test_axes_have_round_numbers_and_hold_the_data(low, high):
    plot = Plot.around((340, 170), (0.0, 100.0), (low, high))
    assert plot.y_range[0] <= low <= high <= plot.y_range[1]
    assert 2 <= len(plot.y_ticks) <= 9
    assert len(set(labels(plot.y_ticks))) == len(plot.y_ticks)
    assert all(math.isfinite(plot.py(y)) for y in (low, high, *plot.y_ticks))


def test_ticks_and_labels():
    assert ticks(0, 10, round_step(0, 10, 5)) == [0, 2, 4, 6, 8, 10]
    assert labels([0.0, 2500.0, 5000.0]) == ["0", "2500", "5000"]
    assert labels([0.0, 25_000.0, 50_000.0]) == ["0", "25k", "50k"]
    assert labels([0.0, 2.5e6, 1e7]) == ["0", "2.5M", "10.0M"]
    assert labels([-0.5, 0.0, 0.5]) == ["-0.5", "0", "0.5"]
    assert labels([0.0, 1e-5]) == ["0", "1e-05"]
    assert list(thinned(range(100), 4)) == [0, 33, 66, 99]


# --- alerts, events, lineage ---------------------------------------------------------------------


def test_alerts_are_counted_by_the_run_itself(usual):
    entry = {"id": "kl-high", "level": "warning", "metric": "policy/approx_kl", "saw": "0.2"}
    usual.event("alert", {**entry, "advice": "lower algo.lr", "env_steps": 100})
    worse = {"id": "not-finite", "level": "critical", "metric": "loss/policy", "saw": "nan"}
    counts = [
        {**entry, "advice": "lower algo.lr", "updates": 12, "share": 0.4},
        {**worse, "advice": "go back", "updates": 1, "share": 0.001},
    ]
    usual.event("alerts", {"counts": counts})
    facts = gather(usual)
    assert [(a.id, a.updates, a.share) for a in facts.view.alerts] == [
        ("kl-high", 12, 0.4),
        ("not-finite", 1, 0.001),
    ]
    seen, text = report(usual)
    assert "not-finite, kl-high" in seen.text, "the most serious ones are named at the top"
    for words in (
        "12 updates, 40 % of all",
        "Try: lower algo.lr.",
        "spotter help alerts.kl-high",
    ):
        assert words in seen.text
        assert words in text


def test_alerts_of_a_run_cut_short_are_counted_from_its_rows(usual):
    usual.event("alert", {"id": "kl-high", "level": "warning", "saw": "0.2", "env_steps": 100})
    with LineWriter(usual.metrics_path) as writer:
        for i in range(10):
            writer.write({"update": 31 + i, "env_steps": 3100, "alerts": ["kl-high"]})
    (alert,) = gather(usual).view.alerts
    assert (alert.updates, alert.share, alert.saw) == (10, 0.25, "0.2")


def test_the_timeline_tells_what_happened(usual):
    usual.event("note", {"text": "copies are all alike"})
    changes = {"algo.lr": [0.001, 0.0005]}
    usual.event("resume", {"env_steps": 2000, "changes": changes, "why": "slower"})
    usual.event("change", {"setting": "algo.lr", "before": 1, "after": 0.5, "env_steps": 2100})
    usual.event("fault", {"text": "copy 3 raised", "folder": "faults/1", "env_steps": 2200})
    usual.event("end", {"reason": "budget"})
    seen, text = report(usual)
    told = seen.table("time", "env steps", "event", "what")
    assert [row[2] for row in told] == ["note", "resume", "change", "fault", "end"]
    assert [row[1] for row in told] == ["", "2,000", "2,100", "2,200", ""]
    assert told[0][3] == "copies are all alike"
    assert told[1][3] == "resumes from 2,000 env steps; slower; algo.lr: 0.001 -> 0.0005"
    assert "algo.lr: 1 -> 0.5" in told[2][3]
    assert "copies are all alike" in text


def test_the_config_is_compared_with_the_parents(make_run):
    parent = make_run(config={"algo": {"name": "ppo", "gamma": 0.9}})
    origin = {"run": parent.id, "checkpoint": "step-000012800", "env_steps": 12800, "kind": "fork"}
    run = make_run(config={"algo": {"name": "ppo", "gamma": 0.5}}, parent=origin)
    seen, text = report(run)
    assert seen.table("setting", "parent", "this run") == [["algo.gamma", "0.9", "0.5"]]
    assert "| algo.gamma | 0.9 | 0.5 |" in text
    assert gather(run).recipe.command.endswith(f"--from {parent.id}/step=12800")


@pytest.mark.parametrize("name", ["gone", "../../etc", ""])
def test_a_parent_that_is_not_at_hand(make_run, name):
    run = make_run(parent={"run": name, "checkpoint": "step-1", "env_steps": 1, "kind": "fork"})
    assert gather(run).changes is None
    seen, _ = report(run)
    assert "The config of its parent is not at hand." in seen.text


def test_the_command_is_told_without_where_the_program_lies(usual, edit):
    edit(usual, command=["/home/me/.venv/bin/spotter", "train", "CartPole-v1:ppo"])
    seen, text = report(usual)
    assert "spotter train CartPole-v1:ppo" in seen.text
    assert "/home/me" not in seen.text + text


# --- reproduce -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "overrides"),
    [
        ("CartPole-v1:ppo", []),
        ("CartPole-v1:a2c", ["seed=7", "algo.lr={shape: cosine, start: 1e-3, end: 1e-5}"]),
        ("LunarLander-v3:ppo_random", ["policy.hidden=[32, 32]", "reward.clip=5"]),
        ("MountainCar-v0:ppo_count", ["eval.every_steps=null", "env.time_limit=100"]),
        ("Bandit-v0:ppo", ["env.kwargs.std=0.5"]),
        ("Blackjack-v1", ["algo.gamma=1"]),
        ("CartPole-v1:ppo", ["env.wrappers=[{name: frame_skip, skip: 2}]"]),
    ],
)
def test_the_command_gives_the_very_same_config(address, overrides):
    resolved = resolve(address, overrides)
    run = Run.create(resolved.config, resolved.address, ["spotter", "train", address])
    recipe = gather(run).recipe
    program, verb, again, *words = shlex.split(recipe.command)
    assert (program, verb, recipe.is_python) == ("spotter", "train", False)
    assert resolve(again, words).config == resolved.config
    assert f"seed={resolved.config.seed}" in words


def test_what_no_address_leads_to_is_read_from_the_config(make_run, monkeypatch):
    run = make_run("Gone-v0")
    recipe = gather(run).recipe
    assert recipe.is_python
    seen, _ = report(run)
    assert "Run this in the run's folder:" in seen.text
    trained = []
    monkeypatch.setitem(sys.modules, "spotter.training.run", SimpleNamespace(train=trained.append))
    monkeypatch.chdir(run.folder)
    exec(recipe.command)
    assert trained == [validate(run.settings())]


def test_notes_about_what_the_command_cannot_say(usual, edit):
    session = {"time": "2026-01-01T00:00:00+00:00", "stopped": "2026-01-01T00:00:00+00:00"}
    edit(usual, resumes=[session, session])
    usual.event("change", {"setting": "algo.lr", "before": 1, "after": 2})
    _, text = report(usual)
    assert "interrupted and resumed 2 times" in text
    assert "settings were changed while it ran" in text


# --- film ----------------------------------------------------------------------------------------


def film(run: Run, name: str, content: bytes) -> None:
    videos = run.folder / "videos"
    videos.mkdir(exist_ok=True)
    (videos / name).write_bytes(content)


def sources(seen: Page) -> list[str]:
    return [value for tag, name, value in seen.attributes if (tag, name) == ("video", "src")]


def test_the_best_film_is_inside_the_page(usual):
    film(usual, "step-000002000.mp4", b"the best one")
    film(usual, "step-000003000.mp4", b"a later one")
    usual.event("video", {"file": "step-000003000.mp4", "score": 3.0, "best": False})
    (usual.folder / "videos" / "best.json").write_text('{"file": "step-000002000.mp4"}')
    about = '{"score": 160.5, "env_steps": 2000, "seed": 17}'
    (usual.folder / "videos" / "step-000002000.json").write_text(about)
    seen, text = report(usual)
    (source,) = sources(seen)
    kind, _, data = source.partition(",")
    assert kind == "data:video/mp4;base64"
    assert base64.b64decode(data) == b"the best one"
    assert "score 160.5 · policy after 2,000 env steps · seed 17" in seen.text
    assert "(videos/step-000002000.mp4)" in text


def test_a_large_film_stays_beside_the_page(usual, monkeypatch):
    monkeypatch.setattr(page, "INSIDE_BYTES", 10)
    film(usual, "step-000002000.mp4", b"more than ten bytes")
    usual.event("video", {"file": "step-000002000.mp4", "score": 3.0, "best": True})
    seen, _ = report(usual)
    assert not sources(seen)
    assert ("a", "href", "videos/step-000002000.mp4") in seen.attributes


@pytest.mark.parametrize("name", ["../../secret.mp4", "/etc/passwd", "link.mp4", "gone.mp4", ""])
def test_a_film_elsewhere_is_not_fetched(usual, name, tmp_path):
    secret = usual.folder.parent / "secret.mp4"
    secret.write_bytes(b"secret")
    film(usual, "note.txt", b"no film")
    (usual.folder / "videos" / "link.mp4").symlink_to(secret)
    (usual.folder / "videos" / "best.json").write_text(json.dumps({"file": name}))
    seen, _ = report(usual)
    assert not sources(seen)


# --- files ---------------------------------------------------------------------------------------


def test_a_damaged_config_is_left_out(usual):
    (usual.folder / "config.yaml").write_text("a: [")
    seen, _ = report(usual)
    assert "Scores" in seen.text


def test_a_report_is_replaced_and_leaves_no_drafts(usual):
    first = write_report(usual)
    assert first == write_report(usual)
    assert [path.name for path in first] == ["report.html", "report.md"]
    assert not [path for path in usual.folder.iterdir() if path.name.endswith(".tmp")]


def test_reports_need_no_torch():
    script = "import sys, spotter.pages.report; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
