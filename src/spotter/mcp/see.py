"""Tools that see: episodes step by step, pictures, charts, what was paid and what was done."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field

from spotter.mcp import safe
from spotter.mcp.answers import Answer, Picture
from spotter.mcp.desk import Desk
from spotter.mcp.look import RUN, Overrides, RunName
from spotter.mcp.watch import curve_of
from spotter.rundir.run import Run
from spotter.types import UserError

if TYPE_CHECKING:
    from spotter.traces.advantages import Judged
    from spotter.traces.format import Trace

_CAPTURE: Final = "spotter.traces.capture:capture_to_disk"
_CAPTURE_S: Final = 120
_MOST_STEPS: Final = 5000
_HEAD, _TAIL = 12, 6
_ROW_TOKENS: Final = 30
_MOST_PICTURES: Final = 8
_MOST_TILES: Final = 16

Checkpoint = Annotated[str, Field(description="@best, @latest or step=N from `checkpoints`.")]
EpisodeName = Annotated[
    str, Field(description="A recorded episode by its name; empty: the newest recorded one.")
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
        """Decisions of an episode: step, action, its probability, value, reward, advantage."""
        from spotter.traces.advantages import judged

        chosen = self.desk.select(run)
        if play:
            how = {"seed": seed, "mode": mode, "overrides": overrides}
            folder = self._played(chosen, checkpoint, how)
        else:
            folder = self._recorded(chosen, name)
        trace = _loaded(folder)
        budget = min(tokens, self.desk.terms.answer_tokens)
        end = trace.meta.length - 1 if last is None else min(last, trace.meta.length - 1)
        if first > end:
            raise UserError(f"the episode has steps 0 to {trace.meta.length - 1}")
        data: dict[str, Any] = {"run": chosen.id, "episode": folder.name} | _head(trace)
        return Answer(data | _table(trace, judged(trace), range(first, end + 1), budget),
                      {"rows": "first"}, "use first and last")  # fmt: skip

    def _played(self, run: Run, checkpoint: str, how: dict[str, Any]) -> Path:
        if self.desk.terms.read_only:
            raise UserError("this server is read-only: it shows recorded episodes only")
        trust = self.desk.terms.trust
        safe.check_run(run.settings(), trust)
        if not trust:
            safe.check_overrides(how["overrides"])
        selector = f"{run.id}/{checkpoint_name(checkpoint)}"
        return Path(
            self.desk.work(_CAPTURE, _CAPTURE_S, selector=selector, most_steps=_MOST_STEPS, **how)
        )

    def _recorded(self, run: Run, name: str) -> Path:
        from spotter.traces.format import find, listing

        there = listing(run)
        if name:
            if name not in [folder.name for folder in there]:
                known = ", ".join(folder.name for folder in there[:5]) or "none yet"
                raise UserError(f"run {run.id} has no episode '{name[:60]}'; recorded: {known}")
            return find(run, name)
        if not there:
            raise UserError(f"run {run.id} has no recorded episode; call `episode` with play=true")
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
        """Pictures of a recorded episode, each with step, action, value and reward."""
        chosen = self.desk.select(run)
        folder = self._recorded(chosen, name)
        trace = _loaded(folder)
        if not len(trace.frames):
            why = "; ".join(trace.meta.warnings) or "it was recorded without"
            raise UserError(f"episode {folder.name} has no pictures: {why}")
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
        runs: Annotated[list[str], Field(min_length=1, max_length=6, description=RUN)] = ["@last"],  # noqa: B006
        form: Annotated[
            Literal["text", "png"], Field(description="text: ASCII, one chart per curve.")
        ] = "text",
        smooth: Annotated[float, Field(ge=0, lt=1, description="0: not at all; 0.9: much.")] = 0.0,
    ) -> Answer:
        """Curves of metrics over env steps, of one or several runs, as text or as a picture."""
        from spotter.rundir import history

        chosen = list({run.id: run for run in map(self.desk.select, runs)}.values())
        curves = {}
        for run in chosen:
            for key in metrics:
                x, y = curve_of(self.desk.history(run), key)
                if len(x):
                    name = key if len(chosen) == 1 else f"{key} {run.id}"
                    curves[name] = history.downsample(x, history.smooth(y, smooth))
        if not curves:
            raise UserError("there is nothing to draw yet; ask again in a moment")
        data: dict[str, Any] = {"runs": [run.id for run in chosen], "x": "env steps"}
        if form == "png":
            from spotter.mcp.png import line_chart

            title = f"{', '.join(run.info()['address'] for run in chosen[:2])}, over env steps"
            return Answer(data, pictures=[Picture(line_chart(curves, title), "", "image/png")])
        from spotter.digest.text import chart

        charts = [chart(x, y, title=name) for name, (x, y) in curves.items()]
        return Answer(data | {"charts": charts}, {"charts": "first"}, "ask for fewer curves")

    def audit(
        self,
        run: RunName = "@last",
        episodes: Annotated[int, Field(ge=1, le=20, description="The newest so many.")] = 10,
    ) -> Answer:
        """What every part of the reward really paid in recorded episodes, and where it was odd."""
        from spotter.traces.audit import audit
        from spotter.traces.format import listing

        chosen = self.desk.select(run)
        folders = listing(chosen)[:episodes]
        if not folders:
            self._recorded(chosen, "")
        traces = [_loaded(folder) for folder in folders]
        parts = [
            {
                "part": part.name,
                "mean_per_step": part.mean,
                "std": part.std,
                "least": part.minimum,
                "greatest": part.maximum,
                "per_episode": part.total,
                "share_of_steps_paid": part.share,
                "share_of_all_pay": part.weight,
                "outliers": [
                    {"episode": folders[o.trace].name, "step": o.step, "value": o.value}
                    for o in part.outliers[:3]
                ],
            }
            for part in audit(traces)
        ]
        data = {"run": chosen.id, "episodes": [folder.name for folder in folders], "parts": parts}
        return Answer(data, {"parts": "first", "episodes": "first"})

    def actions(self, run: RunName = "@last") -> Answer:
        """How often each action is taken: in training now and at first, and in episodes."""
        from spotter.traces.format import action_label, listing

        chosen = self.desk.select(run)
        history, known = self.desk.history(chosen), chosen.info()["actions"]
        training = []
        for key in sorted(key for key in history.keys if key.startswith("action/share/")):
            _, y = history.curve(key)
            word = key.rpartition("/")[2]
            name = known[int(word)] if word.isdigit() and int(word) < len(known) else word
            if len(y):
                training.append({"action": name, "first": float(y[0]), "now": float(y[-1])})
        episodes = []
        for folder in listing(chosen)[:5]:
            trace = _loaded(folder)
            if trace.meta.action_kind != "box":
                counts = Counter(action_label(trace, t) for t in range(trace.meta.length))
                shares = {name: n / trace.meta.length for name, n in counts.most_common(20)}
                episodes.append({"episode": folder.name, "shares": shares})
        if not training and not episodes:
            raise UserError(f"run {chosen.id} has neither action shares nor recorded episodes yet")
        data = {"run": chosen.id, "training": training, "episodes": episodes}
        return Answer(data, {"training": "first", "episodes": "first"})


def checkpoint_name(text: str) -> str:
    """A checkpoint as a selector writes it."""
    import re

    if not re.fullmatch(r"@best|@latest|step=\d{1,15}", text):
        raise UserError(f"{text[:40]!r} is no checkpoint; write @best, @latest or step=N")
    return text


def _loaded(folder: Path) -> "Trace":
    from spotter.traces.format import load

    return load(folder)


def _head(trace: "Trace") -> dict[str, Any]:
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


def _table(trace: "Trace", found: "Judged", asked: range, budget: int) -> dict[str, Any]:
    """All steps that were asked for, or the first, the last and what stands out between."""
    from spotter.traces.advantages import notable

    stands_out = notable(trace, found)
    most = max(_HEAD + _TAIL, (budget - 200) // _ROW_TOKENS)
    shown = list(asked)
    if len(shown) > most:
        ends = {*shown[:_HEAD], *shown[-_TAIL:]}
        odd = [step for step in shown if step in stands_out and step not in ends]
        even = shown[:: max(1, len(shown) // max(1, most - len(ends) - len(odd)))]
        shown = sorted({*ends, *odd[: most - len(ends)], *even})[: most + len(ends)]
    rows = [_row(trace, found, step, stands_out.get(step, "")) for step in shown]
    data: dict[str, Any] = {
        "columns": ["step", "action", "p", "value", "reward", "advantage", "note"],
        "rows": rows,
    }
    if len(shown) < len(asked):
        data["left_out"] = f"{len(asked) - len(shown)} of {len(asked)} steps; use first and last"
    return data


def _row(trace: "Trace", found: "Judged", step: int, why: str) -> list[Any]:
    import math

    from spotter.traces.format import action_label

    columns = trace.columns
    likely = trace.meta.action_kind != "box" and "log_prob" in columns
    return [
        step,
        action_label(trace, step),
        round(math.exp(float(columns["log_prob"][step])), 3) if likely else None,
        round(float(columns["value"][step]), 3) if "value" in columns else None,
        float(columns["reward"][step]),
        round(float(found.gae[step]), 3),
        why,
    ]


def _steps(trace: "Trace", steps: list[int], count: int) -> list[int]:
    length = trace.meta.length
    for step in steps:
        if not 0 <= step < length:
            raise UserError(f"the episode has steps 0 to {length - 1}, not {step}")
    if steps:
        return steps
    return sorted({round(i * (length - 1) / max(1, count - 1)) for i in range(count)})


def _caption(trace: "Trace", step: int, brief: bool = False) -> str:
    from spotter.traces.format import action_label

    columns, action = trace.columns, action_label(trace, step)
    value = f"{float(columns['value'][step]):.3g}" if "value" in columns else "-"
    if brief:
        return f"{step}: {action}, v {value}"
    reward = float(columns["reward"][step])
    return f"step {step}: action {action}, value {value}, reward {reward:.3g}"
