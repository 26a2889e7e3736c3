"""Scores of games: take finished runs over, keep what is small, draw their curves and a table.

python benchmarks/games.py --add RUNS_FOLDER…     take runs over (again: replaces what was there)
python benchmarks/games.py                        table and curves in docs/results.md
"""

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from spotter.config import resolve, validate
from spotter.config.diff import difference

_ROOT = Path(__file__).resolve().parents[1]
_KEPT = _ROOT / "benchmarks" / "results" / "games.jsonl"
_PAGE = _ROOT / "docs" / "results.md"
_PICTURE = _ROOT / "docs" / "images" / "games.svg"
_GAMES = 30
_COLOURS = ("#2563eb", "#d97706", "#059669", "#dc2626", "#7c3aed", "#0891b2", "#db2777", "#65a30d")


@dataclass(frozen=True)
class Played:
    """One training, and the scores it was given on held-out seeds."""

    recipe: str
    seed: int
    where: str
    env_steps: int
    seconds: float
    curve: list[list[float]]
    """Env steps and score of every evaluation."""
    score: float | None
    """Of the policy that was kept, on episodes nothing was chosen by."""
    changed: Sequence[str] = ()
    games: int = _GAMES
    """How many episodes `score` is the mean of."""


def read(folder: Path, where: str) -> Played:
    """A run's folder; `eval.log` two folders up may hold a score over more episodes."""
    info = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
    curve = [
        [row["eval/env_steps"], round(row["eval/score"], 2)] for row in rows if "eval/score" in row
    ]
    config = YAML(typ="safe").load(folder / "config.yaml")
    score, games = _test_score(folder.parent.parent / "eval.log")
    if score is None and info["score"] is not None:
        score, games = info["score"], config["eval"]["episodes"]
    return Played(
        recipe=info["address"],
        seed=info["seed"],
        where=where,
        env_steps=rows[-1]["env_steps"],
        seconds=round(sum(_seconds(row) for row in rows), 1),
        curve=curve,
        score=score,
        changed=_changed(info, config),
        games=games,
    )


def _seconds(row: dict[str, Any]) -> float:
    names = ("env_s", "policy_s", "transfer_s", "learn_s", "eval_s", "idle_s")
    return float(sum(row.get(f"time/{name}", 0.0) for name in names))


def _changed(info: dict[str, Any], config: dict[str, Any]) -> tuple[str, ...]:
    """Settings in which a run differs from its recipe as it stands, as one would type them."""
    recipe = resolve(info["address"], [f"seed={info['seed']}"]).config.as_data()
    changes = difference(recipe, validate(config).as_data())  # with settings newer than the run
    return tuple(
        f"{key}={'null' if now is None else now}"
        for key, (_, now) in changes.items()
        if not key.startswith("video.")
    )


def _test_score(log: Path) -> tuple[float | None, int]:
    """From what `spotter eval RUN --episodes N` printed: a score, and of how many games."""
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    for line in lines:
        if line.startswith("score "):
            _, score, _, games, *_ = line.split()
            return round(float(score), 2), int(games)
    return None, _GAMES


def kept() -> list[Played]:
    if not _KEPT.exists():
        return []
    lines = _KEPT.read_text(encoding="utf-8").splitlines()
    return [Played(**json.loads(line)) for line in lines]


def add(folders: Sequence[Path], where: str) -> None:
    """Runs by recipe and seed; a newer one takes the place of an older one."""
    found = {(played.recipe, played.seed): played for played in kept()}
    for folder in folders:
        for run in sorted(folder.glob("**/run.json")):
            played = read(run.parent, where)
            found[played.recipe, played.seed] = played
    text = "".join(json.dumps(asdict(found[key])) + "\n" for key in sorted(found))
    _KEPT.write_text(text, encoding="utf-8")


def table(runs: Sequence[Played]) -> str:
    lines = ["| `spotter train …` | score | env steps | time | on |", "|---|---|---|---|---|"]
    for run in runs:
        score = _on_the_way(run) if run.score is None else f"{run.score:g}"
        score += f" over {run.games} games" if run.score is not None and run.games != _GAMES else ""
        minutes, seconds = divmod(round(run.seconds), 60)
        command = " ".join([run.recipe, f"seed={run.seed}", *run.changed])
        time = f"{minutes} min {seconds:02d} s"
        lines.append(f"| `{command}` | {score} | {run.env_steps:,} | {time} | {run.where} |")
    return "\n".join(lines)


def _on_the_way(run: Played) -> str:
    """A run that was stopped before it was scored."""
    return f"{run.curve[-1][1]:g} at its last evaluation" if run.curve else "–"


def svg(runs: Sequence[Played]) -> str:
    """A small plot for every recipe that was evaluated on its way, a line for every seed."""
    recipes = sorted({run.recipe for run in runs if run.curve})
    width, height, across = 270, 170, 3
    rows = math.ceil(len(recipes) / across)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width * across} {height * rows}" '
        'font-family="sans-serif" font-size="11" fill="#64748b">'
    ]
    for i, recipe in enumerate(recipes):
        x, y = i % across * width, i // across * height
        parts += _plot(x, y, recipe, [run for run in runs if run.recipe == recipe])
    return "\n".join([*parts, "</svg>", ""])


def _plot(x: int, y: int, recipe: str, runs: Sequence[Played]) -> list[str]:
    left, right, top, bottom = x + 42, x + 255, y + 28, y + 142
    points = [point for run in runs for point in run.curve]
    most = max(point[0] for point in points)
    low, high = min(point[1] for point in points), max(point[1] for point in points)
    span = (high - low) or 1.0
    parts = [
        f'<text x="{left}" y="{y + 16}" fill="#334155">{recipe}</text>',
        f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="#cbd5e1"/>',
        f'<text x="{left - 5}" y="{top + 4}" text-anchor="end">{high:g}</text>',
        f'<text x="{left - 5}" y="{bottom}" text-anchor="end">{low:g}</text>',
        f'<text x="{right}" y="{bottom + 14}" text-anchor="end">{most:,.0f} env steps</text>',
    ]
    for run, colour in zip(runs, cycle(_COLOURS), strict=False):
        places = " ".join(
            f"{left + (right - left) * steps / most:.1f},"
            f"{bottom - (bottom - top) * (score - low) / span:.1f}"
            for steps, score in run.curve
        )
        parts.append(f'<polyline points="{places}" fill="none" stroke="{colour}"/>')
        for cx, cy in (place.split(",") for place in places.split()):
            parts.append(f'<circle cx="{cx}" cy="{cy}" r="1.8" fill="{colour}"/>')
    return parts


def write(runs: Sequence[Played]) -> None:
    _PICTURE.write_text(svg(runs), encoding="utf-8")
    page = _PAGE.read_text(encoding="utf-8")
    start, end = "<!-- games:start -->\n", "<!-- games:end -->"
    before, rest = page.split(start)
    after = rest.split(end)[1]
    _PAGE.write_text(f"{before}{start}{table(runs)}\n{end}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--add", nargs="+", type=Path, default=[], metavar="FOLDER")
    parser.add_argument("--where", default="2 cores", help="the machine they ran on")
    given = parser.parse_args()
    if given.add:
        add(given.add, given.where)
    runs = kept()
    write(runs)
    print(table(runs))


if __name__ == "__main__":
    main()
