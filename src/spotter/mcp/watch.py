"""Tools that watch one run: how it is doing, its numbers, warnings, log and checkpoints."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Final

from pydantic import Field

from spotter.charts.points import downsample
from spotter.diagnose.doctor.run import as_data, diagnose
from spotter.launch.logs import tail
from spotter.mcp import safe
from spotter.mcp.alerts import Cursor, has_news, page
from spotter.mcp.answers import Answer, as_text, clip, plain
from spotter.mcp.desk import Desk
from spotter.mcp.look import RUN, RunName, check_match, reached, scores, state
from spotter.pages.digest.page import digest
from spotter.pages.digest.tokens import tokens as count_tokens
from spotter.plugins import did_you_mean
from spotter.rundir import checkpoints, identity, lock, process
from spotter.rundir.alerts import Alert
from spotter.rundir.evaluations import Score
from spotter.rundir.history import AXES, Curve, Doubles, History
from spotter.rundir.run import Run
from spotter.rundir.trend import trend
from spotter.rundir.view import RunView
from spotter.types import UserError

_SCORES: Final = ("train/score", "eval/score")
_LOG_BYTES: Final = 1 << 18
_FEWEST_TOKENS: Final = 400
_DIAGNOSE: Final = "spotter.mcp.jobs:diagnose"
_DIAGNOSE_S: Final = 180  # the environment itself is given up after 120


@dataclass(frozen=True)
class Watch:
    """Watches training by another process."""

    desk: Desk

    def status(self, run: RunName = "@last") -> Answer:
        """How a run is doing: progress, time left, whether its process lives, score, alerts."""
        view = self.desk.view(self.desk.select(run))
        info = view.info
        data: dict[str, object] = {"id": view.id, "recipe": info["address"], "seed": info["seed"]}
        data |= _health(self.desk, view)
        data |= _progress(view)
        data["score"] = {
            **scores(view.test, view.best),
            "last_weights_eval": view.last_score,
            "threshold": view.threshold,
            "solved": view.solved,
            **reached(view),
            **{key: view.history.last(key) for key in _SCORES if key in view.history},
        }
        data["alerts"] = [_alert(alert) for alert in view.alerts]
        data |= {"tags": info["tags"], "by": info["by"], "why": clip(str(info["why"]))}
        if view.problems:
            data["unreadable"] = [clip(problem) for problem in view.problems]
        return Answer(data, {"alerts": "first"})

    def metrics(
        self,
        run: RunName = "@last",
        match: Annotated[str, Field(description="Only names that hold this.")] = "",
    ) -> Answer:
        """Which metrics a run has, what they mean, their unit and which way is better."""
        view = self.desk.view(self.desk.select(run))
        history, rows = view.history, []
        known = _keys(history)
        for key in known:
            if match.lower() in key.lower():
                spec = view.catalogue.find(key)
                row: dict[str, Any] = {"name": key, "last": history.last(key)}
                if spec:
                    row |= {"about": spec.meaning, "unit": spec.unit, "better": spec.better}
                rows.append({name: each for name, each in row.items() if each not in (None, "")})
        if known and not rows:
            check_match(match, "metric", known)
        return Answer({"run": view.id, "metrics": rows}, {"metrics": "first"}, "use match")

    def history(
        self,
        metrics: Annotated[
            list[str], Field(min_length=1, max_length=20, description="Names from `metrics`.")
        ] = ["train/score"],  # noqa: B006  # never changed; the schema wants a list
        run: RunName = "@last",
        since: Annotated[float | None, Field(description="First env step.")] = None,
        until: Annotated[float | None, Field(description="Last env step.")] = None,
        tokens: Annotated[
            int, Field(ge=_FEWEST_TOKENS, description="Budget of the answer, in tokens.")
        ] = 1500,
    ) -> Answer:
        """Curves within a token budget: trend, extremes, plateau, and points that keep spikes."""
        if since is not None and until is not None and since > until:
            raise UserError(f"since={since:g} comes after until={until:g}; swap them")
        chosen = self.desk.select(run)
        history = self.desk.history(chosen)
        budget = min(tokens, self.desk.terms.answer_tokens)
        whole = {key: curve_of(history, key) for key in metrics}
        curves = {key: _between(*curve, since, until) for key, curve in whole.items()}
        if not any(len(x) for x, _ in curves.values()):
            _refuse_empty(whole, since, until)
        points = max(4, budget // (8 * len(metrics)))
        while True:
            data = _drawn(chosen.id, curves, points)
            if points <= 4 or _worth(data) <= budget:
                return Answer(data, {"curves": "first"}, "ask for fewer metrics")
            points = points * 2 // 3

    def alerts(
        self,
        since: Annotated[
            str,
            Field(
                max_length=8000,
                description="The `cursor` of the last answer; empty: from the first on.",
            ),
        ] = "",
        run: Annotated[str, Field(description=f"Empty: of every run. {RUN}")] = "",
    ) -> Answer:
        """Warnings raised since the last look, with what was seen and what to try."""
        cursor = Cursor.read(since)
        every = [self.desk.select(run)] if run else self._with_news(cursor)
        return Answer(page(every, cursor, self.desk.terms.answer_tokens))

    def _with_news(self, cursor: Cursor) -> list[Run]:
        every = [Run(self.desk.runs / info["id"]) for info in self.desk.infos()]
        return [run for run in every if has_news(run, cursor)]

    def log(
        self,
        run: RunName = "@last",
        lines: Annotated[int, Field(ge=1, le=500, description="The last so many.")] = 40,
        match: Annotated[str, Field(description="Only lines that hold this text.")] = "",
    ) -> Answer:
        """The end of what a run printed."""
        path = self.desk.file_of(self.desk.select(run).id, "run.log")
        every = tail(path, _LOG_BYTES).splitlines()
        found = [clip(line, 400) for line in every if match.lower() in line.lower()]
        data = {"lines": found[-lines:], "matching": len(found)}
        return Answer(data, {"lines": "last"}, "use match")

    def checkpoints(self, run: RunName = "@last") -> Answer:
        """Checkpoints of a run, newest first, with the certificates of their scores."""
        chosen = self.desk.select(run)
        rows = []
        for one in reversed(checkpoints.read(chosen.folder)):
            row: dict[str, Any] = {"name": f"step={one.env_steps}", "env_steps": one.env_steps}
            row["roles"] = list(one.roles)
            row["pinned"] = one.pinned
            row["certificates"] = [_certificate(score) for score in one.certificates.values()]
            rows.append({key: each for key, each in row.items() if each not in ("", [])})
        data = {"run": chosen.id, "checkpoints": rows}
        return Answer(data, {"checkpoints": "first"})

    def diagnose(
        self,
        run: RunName = "@last",
        environment: Annotated[
            bool, Field(description="Also try the environment itself; takes a minute.")
        ] = False,
    ) -> Answer:
        """What is wrong with a run, most serious first, with evidence and the one change to try."""
        if environment and self.desk.terms.read_only:
            raise UserError("this server is read-only: it makes no environments")
        chosen, trust = self.desk.select(run), self.desk.terms.trust
        if environment:
            safe.check_run(chosen, trust)
            found = self.desk.work(_DIAGNOSE, _DIAGNOSE_S, run=chosen.id, trusted=trust)
        else:
            found = as_data(diagnose(self.desk.view(chosen), trusted=trust))
        return Answer(found, {"problems": "first", "not_checked": "first"})

    def digest(
        self,
        run: RunName = "@last",
        tokens: Annotated[int, Field(ge=500, description="Budget of the page.")] = 4000,
    ) -> Answer:
        """One page about a run: config, curves, alerts, findings, its relatives, open questions."""
        budget = min(tokens, self.desk.terms.answer_tokens * 3 // 4)
        return Answer({"page": digest(self.desk.select(run), tokens=budget)})


# --- status --------------------------------------------------------------------------------------


def _health(desk: Desk, view: RunView) -> dict[str, object]:
    info, folder = view.info, view.run.folder
    holder = lock.living_holder(folder, info)
    silent_s = max(0.0, identity.age_s(info["heartbeat"]))
    data: dict[str, object] = {"status": state(info), "reason": info["reason"]}
    if data["status"] == "running":
        data["phase"] = view.phase
    if data["status"] == "dead":
        here = info["host"] == process.host()
        gone = here and not process.is_alive(info["pid"])
        which = f"process {info['pid']} on {info['host']}"
        end = "is gone without saying why" if gone else "is silent"
        data["why_dead"] = (
            f"{which} {end}; last sign {silent_s:.0f} s ago; `resume` continues from its latest "
            "checkpoint"
        )
    elif holder:
        data |= {"pid": holder.pid, "heartbeat_s_ago": silent_s}
        if desk.dispatcher.is_stopping(view.id, holder.pid):
            data["stopping"] = True
    return data


def _progress(view: RunView) -> dict[str, object]:
    data: dict[str, object] = {
        "env_steps": view.env_steps,
        "updates": view.updates,
        "budget": {"env_steps": view.budget.env_steps, "minutes": view.budget.minutes},
        "minutes": view.elapsed_s / 60,
        "train_minutes": None if view.train_s is None else view.train_s / 60,
        "fps": view.fps,
        "wall_fps": view.wall_fps,
    }
    if view.status == "running":
        data["progress"] = view.progress
        data["eta_minutes"] = None if view.eta_s is None else view.eta_s / 60
    return data


def _alert(alert: Alert) -> dict[str, object]:
    return {
        "id": clip(alert.id, 80),
        "level": clip(alert.level, 20),
        "updates": alert.updates,
        "share": alert.share,
        "first_env_steps": alert.first,
    }


# --- curves --------------------------------------------------------------------------------------


def _keys(history: History) -> list[str]:
    return sorted(key for key in history.keys if key not in AXES)


def curve_of(history: History, key: str) -> Curve:
    if key not in history:
        known = _keys(history)
        if not known:
            raise UserError("the run has written no metrics yet; try again shortly")
        raise UserError(
            f"the run has no metric '{key[:60]}'{did_you_mean(key, known) or '; ask `metrics`'}"
        )
    return history.curve(key)


def _between(x: Doubles, y: Doubles, since: float | None, until: float | None) -> Curve:
    start = 0 if since is None else int(x.searchsorted(since))
    end = len(x) if until is None else int(x.searchsorted(until, side="right"))
    return Curve(x[start:end], y[start:end])


def _refuse_empty(curves: Mapping[str, Curve], since: float | None, until: float | None) -> None:
    """Nothing between the two, though there is something elsewhere."""
    ends = [float(x[end]) for x, _ in curves.values() if len(x) for end in (0, -1)]
    if ends:
        start = "the beginning" if since is None else f"{since:g}"
        end = "the end" if until is None else f"{until:g}"
        raise UserError(
            f"there is no point from {start} to {end}; there are some from env step "
            f"{min(ends):.0f} to {max(ends):.0f}"
        )


def _drawn(id: str, curves: Mapping[str, Curve], points: int) -> dict[str, object]:
    """Points as pairs of env step and value: the least and greatest of each stretch."""
    drawn = []
    for key, (x, y) in curves.items():
        seen = trend(x, y)
        shown = downsample(x, y, points)
        pairs = [[int(a), b] for a, b in zip(*(side.tolist() for side in shown), strict=True)]
        row: dict[str, object] = {"name": key, "trend": asdict(seen) if seen else None}
        left_out = len(x) - len(pairs)
        if left_out:
            row["left_out"] = f"{left_out} of {len(x)} points; every stretch keeps its extremes"
        drawn.append({**row, "points": pairs})
    return {"run": id, "unit": "[env_steps, value]; slope per 1000 env steps", "curves": drawn}


def _worth(data: dict[str, Any]) -> int:
    return count_tokens(as_text(plain(data)))


# --- checkpoints ---------------------------------------------------------------------------------


def _certificate(score: Score) -> dict[str, object]:
    return {
        "held_out_seeds": score.seeds,
        "score": score.mean,
        "plus_minus_95": score.interval.half,
        "episodes": score.episodes,
        "mode": "greedy" if score.deterministic else "sampled",
        "solved": score.solved,
        "fingerprint": score.fingerprint[:12],
    }
