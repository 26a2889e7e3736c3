"""The head of a run page: the run's identity, its status and its actions."""

import math
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final
from urllib.parse import quote

from nicegui import ui

from spotter.rundir.identity import Info
from spotter.rundir.judged import Judged
from spotter.studio import run_view, starting, theme
from spotter.studio.context import Context
from spotter.studio.panels import plain
from spotter.studio.run_view import Now
from spotter.studio.tagging import Tags
from spotter.text.numbers import count, duration, number, plural, score, to_threshold

_ACTIONS: Final[dict[str, starting.Action]] = {
    "Stop": starting.stop,
    "Resume": starting.resume,
    "Fork": starting.fork,
}
_SMALL: Final = 'outline dense padding="4px 12px"'


class Head:
    """Built once: what is clicked or focused must not vanish with the next update."""

    def __init__(
        self,
        context: Context,
        now: Now,
        do: Callable[[starting.Action], Awaitable[None]],
        refresh: Callable[[], Awaitable[None]],
    ) -> None:
        self._context = context
        info = now.view.info
        with ui.element("div").classes("w-full studio-stack") as self._box:
            with ui.element("div").classes("studio-row"):
                theme.heading(info["address"], 1)
                self._status = ui.label()
                self._solved = ui.label("solved").classes("studio-solved")
                ui.space()
                self._build_actions(info, do)
            with ui.element("div").classes("studio-row quiet"):
                ui.label(info["id"]).classes("mono")
                self._sentence = ui.label()
                if info["parent"]:
                    parent = str(info["parent"]["run"])
                    ui.link(f"forked from {parent}", f"/run/{quote(parent, safe='')}")
            self._tags = Tags(context, info["id"], refresh)
            with ui.element("div").props('role="alert"').classes("studio-problem") as self._failed:
                self._failure = ui.label()
            self._facts = {}
            with ui.element("div").classes("studio-facts studio-card"):
                for name in _facts(now):
                    with ui.element("div"):
                        ui.label(name).classes("studio-fact-name")
                        self._facts[name] = ui.label().classes("studio-fact-value")
        self.show(now)

    @property
    def is_gone(self) -> bool:
        """Whether the page was closed."""
        return self._box.is_deleted

    def _build_actions(self, info: Info, do: Callable[[starting.Action], Awaitable[None]]) -> None:
        self._buttons = {
            text: ui.button(text, on_click=partial(do, action)).props(_SMALL)
            for text, action in _ACTIONS.items()
        }
        id = quote(info["id"], safe="")
        self._inspect = ui.link("Inspect", f"/inspect?run={id}").classes("studio-action")
        self._not_inspect = ui.label("Inspect").classes("studio-action studio-off")
        self._not_inspect.props('role="link" aria-disabled="true"')
        # a person can play a run that has no policy
        ui.link("Play", f"/play?run={id}").classes("studio-action")
        ui.link("Report", f"/report/{id}", new_tab=True).classes("studio-action")

    def show(self, now: Now) -> None:
        info, living = now.view.info, now.is_living
        stopping = living and self._context.dispatcher.is_stopping(info["id"], info["pid"])
        word = "stopping" if stopping else str(info["status"])
        doing = now.view.phase if now.view.phase != "training" and not stopping else ""
        self._status.text = f"{word}: {doing}" if doing else word
        self._status.classes(replace=f"studio-status studio-status-{plain(word)}")
        self._solved.visible = bool(now.view.solved)
        self._sentence.text = " · ".join(_sentences(info))
        self._tags.show(info["tags"])
        self._failure.text = run_view.failure(now)
        self._failed.visible = bool(self._failure.text)
        for name, value in _facts(now).items():
            self._facts[name].text = value
        self._buttons["Stop"].visible = living and not stopping
        self._buttons["Resume"].visible = not living
        reason = "" if now.has_checkpoint else run_view.no_checkpoint(word)
        for name in ("Resume", "Fork"):
            theme.allow(self._buttons[name], reason)
        self._inspect.visible = now.has_checkpoint or now.has_episodes
        self._not_inspect.visible = not self._inspect.visible
        theme.hint(self._not_inspect, reason)


def _sentences(info: Info) -> list[str]:
    by = f"started by {info['by']} on {info['host']}, {info['created'][:16].replace('T', ' ')} UTC"
    # how it failed stands by itself below
    has_ended = info["reason"] and info["status"] != "failed"
    ended = f"ended: {info['reason']}" if has_ended else ""
    return [text for text in (by, ended, info["why"], info["protocol"]) if text]


def _facts(now: Now) -> dict[str, str]:
    view = now.view
    training = view.history.last("train/score")
    reached = to_threshold(view.steps_to_threshold, view.total_steps_to_threshold)
    return {
        "score": _score(view.score) or "–",
        "best evaluation": _score(view.best).replace(" eval", "") or "–",
        "last weights": "–" if view.last_score is None else score(view.last_score),
        "threshold": "–" if view.threshold is None else number(view.threshold),
        "steps to threshold": reached or "–",
        "training mean": _steps(view.train_steps_to_threshold),
        "training score": score(training) if math.isfinite(training) else "–",
        "env steps": count(view.env_steps),
        "time": duration(view.elapsed_s),
        "fps": _rate(view.fps),
        "wall fps": _rate(view.wall_fps),
        "seed": str(view.info["seed"]),
        "alerts": str(len(view.alerts)),
        "updates": count(view.updates),
    }


def _rate(fps: float | None) -> str:
    return "–" if fps is None else f"{fps:,.0f}"


def _steps(env_steps: int | None) -> str:
    return "–" if env_steps is None else f"after {count(env_steps)}"


def _score(found: Judged | None) -> str:
    episodes = found.episodes if found else 0
    over = f"over {plural(episodes, 'episode')}" if episodes else ""
    return " ".join(filter(None, (*run_view.score_text(found), over)))
