"""Tools that see: episodes step by step, images, charts, rewards and actions."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from spotter.episodes import format as traces
from spotter.episodes.advantages import Judged, judged, notable
from spotter.episodes.audit import TOTAL, audit
from spotter.episodes.format import Trace
from spotter.episodes.labels import action_label, likelihood
from spotter.mcp import lines, safe
from spotter.mcp.answers import Answer, Picture
from spotter.mcp.desk import Desk
from spotter.mcp.look import RUN, Overrides, RunName
from spotter.rundir.history import History
from spotter.rundir.run import Run
from spotter.types import UserError

_CAPTURE: Final = "spotter.episodes.capture:capture_to_disk"
_CAPTURE_S: Final = 120
_MOST_STEPS: Final = 5000
_HEAD, _TAIL = 12, 6
_ROW_TOKENS: Final = 30
_MOST_PICTURES: Final = 8
_MOST_TILES: Final = 16
_FEW_EPISODES: Final = 5

Checkpoint = Annotated[str, Field(description="@best, @latest or step=N from `checkpoints`.")]
EpisodeName = Annotated[
    str, Field(description="A recorded episode by its name; empty: the newest recorded one.")
]
Others = Annotated[
    bool, Field(description="Also episodes with changed settings, untrained or human players.")
]


@dataclass(frozen=True)
class See:
    """Through the eyes of the policy."""

    desk: Desk

    def episode(
        self,
        run: RunName = "@last",
        name: EpisodeName = "",
        play: Annotated[
            bool, Field(description="Play and record a new one instead; takes seconds.")
        ] = False,
        checkpoint: Checkpoint = "@best",
        seed: Annotated[int | None, Field(ge=0, description="What the game is reset with.")] = None,
        mode: Literal["greedy", "sampled"] = "greedy",
        overrides: Overrides = [],  # noqa: B006  # never changed; the schema wants a list
        first: Annotated[int, Field(ge=0, description="First step to show.")] = 0,
        last: Annotated[int | None, Field(ge=0, description="Last step to show.")] = None,
        tokens: Annotated[int, Field(ge=300, description="Budget of the answer.")] = 2000,
    ) -> Answer:
        """Decisions of an episode: step, action as received, p, value, reward, advantage."""
        chosen = self.desk.select(run)
        if play:
            how = {"seed": seed, "mode": mode, "overrides": overrides}
            folder = self._played(chosen, checkpoint, how)
        else:
            folder = self._recorded(chosen, name)
        trace = traces.load(folder)
        budget = min(tokens, self.desk.terms.answer_tokens)
        end = trace.meta.length - 1 if last is None else min(last, trace.meta.length - 1)
        if first > end:
            raise UserError(f"the episode has steps 0 to {trace.meta.length - 1}")
        found = judged(trace)
        data: dict[str, object] = {"run": chosen.id, "episode": folder.name} | _head(trace)
        data |= {"method": found.method} | _table(trace, found, range(first, end + 1), budget)
        return Answer(data, {"rows": "first"}, "use first and last")

    def _played(self, run: Run, checkpoint: str, how: dict[str, Any]) -> Path:
        if self.desk.terms.read_only:
            raise UserError("this server is read-only: it shows recorded episodes only")
        trust = self.desk.terms.trust
        safe.check_run(run, trust)
        if not trust:
            safe.check_overrides(how["overrides"])
        selector = f"{run.id}/{checkpoint_name(checkpoint)}"
        return Path(
            self.desk.work(_CAPTURE, _CAPTURE_S, selector=selector, most_steps=_MOST_STEPS, **how)
        )

    def _recorded(self, run: Run, name: str) -> Path:
        there = traces.listing(run)
        if name:
            if name not in [folder.name for folder in there]:
                known = ", ".join(folder.name for folder in there[:5]) or "none yet"
                raise UserError(f"run {run.id} has no episode '{name[:60]}'; recorded: {known}")
            return traces.find(run, name)
        if not there:
            hint = (
                "this server is read-only: it plays none"
                if self.desk.terms.read_only
                else "call `episode` with play=true"
            )
            raise UserError(f"run {run.id} has no recorded episode; {hint}")
        return there[0]

    def frames(
        self,
        run: RunName = "@last",
        name: EpisodeName = "",
        steps: Annotated[
            list[int], Field(max_length=_MOST_TILES, description="Which; empty: spread evenly.")
        ] = [],  # noqa: B006  # never changed; the schema wants a list
        count: Annotated[int, Field(ge=1, le=_MOST_TILES, description="How many, if spread.")] = 4,
        sheet: Annotated[bool, Field(description="All on one contact sheet: cheaper.")] = False,
    ) -> Answer:
        """Frames of a recorded episode, each with step, action, value and reward."""
        chosen = self.desk.select(run)
        folder = self._recorded(chosen, name)
        trace = traces.load(folder)
        if not len(trace.frames):
            why = "; ".join(trace.meta.warnings) or "it was recorded without"
            raise UserError(f"episode {folder.name} has no frames: {why}")
        wanted = _steps(trace, steps, count)
        if not sheet:
            wanted = wanted[:_MOST_PICTURES]
        captions = [_caption(trace, step) for step in wanted]
        pictures = [trace.frames[step] for step in wanted]
        data = {"run": chosen.id, "episode": folder.name, "steps": wanted, "of": trace.meta.length}
        if not sheet:
            shown = zip(pictures, captions, strict=True)
            return Answer(data, pictures=[Picture(*pair) for pair in shown])
        from spotter.mcp.sheets import sheet as on_one

        small = [_caption(trace, step, brief=True) for step in wanted]
        return Answer(
            data | {"captions": captions}, pictures=[Picture(on_one(pictures, small), "")]
        )

    def chart(
        self,
        metrics: Annotated[
            list[str], Field(min_length=1, max_length=6, description="Names from `metrics`.")
        ] = ["train/score"],  # noqa: B006  # never changed; the schema wants a list
        runs: Annotated[
            list[str], Field(min_length=1, max_length=6, description=f"Groups by name, or {RUN}")
        ] = ["@last"],  # noqa: B006
        form: Annotated[
            Literal["text", "png"], Field(description="text: ASCII, one chart per curve.")
        ] = "text",
        smooth: Annotated[float, Field(ge=0, lt=1, description="0: not at all; 0.9: much.")] = 0.0,
    ) -> Answer:
        """Curves of metrics over env steps, of runs and groups, as text or as an image."""
        from spotter.charts import png, terminal

        chosen = lines.sources(self.desk, runs)
        found = lines.chart(self.desk, chosen, metrics, smooth)
        if not found.panels:
            raise UserError("there is nothing to draw yet; try again shortly")
        data: dict[str, Any] = {"runs": [one.label for one in chosen], "x": "env steps"}
        if form == "png":
            return Answer(data, pictures=[Picture(png.drawn(found), "", "image/png")])
        texts = terminal.drawn(found, named=len(chosen) > 1)
        return Answer(data | {"charts": texts}, {"charts": "first"}, "ask for fewer curves")

    def audit(
        self,
        run: RunName = "@last",
        episodes: Annotated[int, Field(ge=1, le=20, description="The newest so many.")] = 10,
        others: Others = False,
    ) -> Answer:
        """What every reward term contributed in recorded episodes, with outliers."""
        chosen = self.desk.select(run)
        reported, folders = self._chosen(chosen, episodes, others)
        parts = []
        for part in audit([traces.load(folder) for folder in folders]):
            row: dict[str, Any] = {
                "part": part.name,
                "mean_per_step": part.mean,
                "std": part.std,
                "least": part.minimum,
                "greatest": part.maximum,
                "per_episode": part.total,
                "steps_paid": part.steps_paid,
            }
            if part.name != TOTAL:  # the sum is no part of itself
                row["share"] = part.share
            row["outliers"] = [
                {"episode": folders[o.trace].name, "step": o.step, "value": o.value}
                for o in part.outliers[:3]
            ]
            parts.append(row)
        data = {"run": chosen.id, **reported, "parts": parts}
        return Answer(data, {"parts": "first", "episodes": "first"})

    def actions(self, run: RunName = "@last", others: Others = False) -> Answer:
        """How often each action is taken, in training and episodes; mean and spread of numbers."""
        chosen = self.desk.select(run)
        history, known = self.desk.history(chosen), chosen.info()["actions"]
        training, components = [], _components(history, known)
        for key in sorted(key for key in history.keys if key.startswith("action/share/")):
            _, y = history.curve(key)
            component, _, word = key.removeprefix("action/share/").rpartition("/")
            name = f"{_named(known, component)}={word}" if component else _named(known, word)
            if len(y):
                training.append({"action": name, "first": float(y[0]), "now": float(y[-1])})
        if not training and not components and not traces.listing(chosen):
            raise UserError(f"run {chosen.id} has neither action shares nor recorded episodes yet")
        need_one = not training and not components
        reported, folders = self._chosen(chosen, _FEW_EPISODES, others, need_one)
        for row, folder in zip(reported["episodes"], folders, strict=True):
            trace = traces.load(folder)
            if trace.meta.action_kind != "box":
                counts = Counter(action_label(trace, t) for t in range(trace.meta.length))
                row["shares"] = {n: c / trace.meta.length for n, c in counts.most_common(20)}
        data = {"run": chosen.id, "training": training, **components, **reported}
        return Answer(data, {"training": "first", "episodes": "first"})

    def _chosen(
        self, run: Run, most: int, others: bool, need_one: bool = True
    ) -> tuple[dict[str, Any], list[Path]]:
        """The newest episodes, and what to say about them; only what the run's own policy played in
        its own game, unless others are wanted too."""
        if need_one and not traces.listing(run):
            self._recorded(run, "")
        rows: list[dict[str, object]] = []
        folders: list[Path] = []
        apart = 0
        for folder in traces.listing(run):
            if len(folders) == most:
                break
            meta = traces.load_meta(folder)
            if not others and not meta.is_own:
                apart += 1
            else:
                row = {"episode": folder.name, "score": meta.score, "changes": meta.changes}
                rows.append({key: each for key, each in row.items() if each != ()})
                folders.append(folder)
        reported: dict[str, object] = {"episodes": rows}
        if apart:
            reported["left_out"] = (
                f"{apart} {'episode' if apart == 1 else 'episodes'} with changed settings, "
                "untrained weights or a human player; others=true counts them in"
            )
        if need_one and not folders:
            raise UserError(f"run {run.id} has no episode but {reported['left_out']}")
        return reported, folders


def checkpoint_name(text: str) -> str:
    """A checkpoint as a selector writes it."""
    if not re.fullmatch(r"@best|@latest|step=\d{1,15}", text):
        raise UserError(f"{text[:40]!r} is no checkpoint; write @best, @latest or step=N")
    return text


def _components(history: History, names: Sequence[str]) -> dict[str, Any]:
    """Mean and spread of each component of an action; empty where it is one choice or number."""
    means = sorted((key for key in history.keys if key.startswith("action/mean/")), key=len)
    found = [
        {
            "component": _named(names, key.rpartition("/")[2]),
            "mean": history.last(key),
            "std": history.last(key.replace("mean", "std")),
        }
        for key in means
    ]
    return {"components": found} if found else {}


def _named(names: Sequence[str], index: str) -> str:
    return names[int(index)] if index.isdigit() and int(index) < len(names) else index


def _head(trace: Trace) -> dict[str, Any]:
    meta = trace.meta
    data = {
        "checkpoint": meta.checkpoint or "fresh weights",
        "mode": meta.mode,
        "seed": meta.seed,
        "score": meta.score,
        "length": meta.length,
        "end": meta.end,
        "pictures": len(trace.frames),
        "changes": meta.changes,
        "notes": meta.warnings,
    }
    return {key: each for key, each in data.items() if each not in (None, "", ())}


def _table(trace: Trace, found: Judged, asked: range, budget: int) -> dict[str, Any]:
    """All steps that were asked for, or the first, the last and what stands out between."""
    stands_out = notable(trace, found)
    most = max(_HEAD + _TAIL, (budget - 200) // _ROW_TOKENS)
    shown = list(asked)
    if len(shown) > most:
        ends = {*shown[:_HEAD], *shown[-_TAIL:]}
        odd = [step for step in shown if step in stands_out and step not in ends]
        even = shown[:: max(1, len(shown) // max(1, most - len(ends) - len(odd)))]
        shown = sorted({*ends, *odd[: most - len(ends)], *even})[: most + len(ends)]
    rows = [_row(trace, found, step, stands_out.get(step, "")) for step in shown]
    data: dict[str, object] = {
        "columns": ["step", "action", "p", "value", "reward", "advantage", "note"],
        "rows": rows,
    }
    if len(shown) < len(asked):
        data["left_out"] = f"{len(asked) - len(shown)} of {len(asked)} steps; use first and last"
    return data


def _row(trace: Trace, found: Judged, step: int, why: str) -> list[Any]:
    columns = trace.columns
    likely = likelihood(trace, step)
    return [
        step,
        action_label(trace, step),
        None if likely is None else round(likely, 3),
        round(float(columns["value"][step]), 3) if "value" in columns else None,
        float(columns["reward"][step]),
        round(float(found.advantage[step]), 3),
        why,
    ]


def _steps(trace: Trace, steps: list[int], count: int) -> list[int]:
    length = trace.meta.length
    for step in steps:
        if not 0 <= step < length:
            raise UserError(f"the episode has steps 0 to {length - 1}, not {step}")
    if steps:
        return steps
    return sorted({round(i * (length - 1) / max(1, count - 1)) for i in range(count)})


def _caption(trace: Trace, step: int, brief: bool = False) -> str:
    columns, action = trace.columns, action_label(trace, step)
    value = f"{float(columns['value'][step]):.3g}" if "value" in columns else ""
    if brief:
        return f"{step}: {action}" + (f", v {value}" if value else "")
    reward, expected = float(columns["reward"][step]), f" value {value}," if value else ""
    return f"step {step}: action {action},{expected} reward {reward:.3g}"
