"""Tools that act: start, stop, resume, fork, evaluate, note, tag.

Every run is a process of its own that outlasts the server. It is written into the ledger before it
starts, its budget goes into its config so that it ends by itself, and its events say who wanted it
and why.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Annotated, Any, Final

from mcp.server.mcpserver import Context
from pydantic import Field

from spotter.launch import forms
from spotter.launch.launch import Launch
from spotter.launch.ledger import Entry, LaunchRequest
from spotter.mcp import safe
from spotter.mcp.answers import Answer, clip
from spotter.mcp.budgets import Budget, begun, gone_on
from spotter.mcp.desk import Desk
from spotter.mcp.look import Address, Overrides, RunName
from spotter.mcp.see import Checkpoint, checkpoint_name
from spotter.rundir import identity
from spotter.rundir.run import Run
from spotter.types import UserError

Ctx = Context[Any, Any]

_PATIENCE_S: Final = 25.0
_LONG_PATIENCE_S: Final = 600.0
_LOOK_EVERY_S: Final = 0.2
_EVALUATE: Final = "spotter.mcp.jobs:evaluate"
_EVALUATE_S: Final = 300
_LONGEST_NOTE: Final = 4000

Steps = Annotated[
    int | None, Field(ge=1, description="Budget in env steps; null: what the config says.")
]
Minutes = Annotated[
    float | None,
    Field(gt=0, description="Budget in minutes; null: the config's, else 30 or what is left."),
]
Reason = Annotated[
    str, Field(min_length=3, max_length=500, description="Why, in a sentence; kept with the run.")
]
Key = Annotated[
    str,
    Field(max_length=100, description="Any text of yours: the same key again starts nothing new."),
]


@dataclass(frozen=True)
class Act:
    """The hands."""

    desk: Desk

    def start(
        self,
        ctx: Ctx,
        address: Address,
        reason: Reason,
        overrides: Overrides = [],  # noqa: B006  # never changed; the schema wants a list
        steps: Steps = None,
        minutes: Minutes = None,
        request_key: Key = "",
    ) -> Answer:
        """Start training in a process of its own; returns the run's id once it has one."""
        budget = begun(self.desk, address, overrides, steps, minutes)
        actor = _actor(ctx)
        asked = {"what": "start", "address": address.strip(), "overrides": overrides}
        request = LaunchRequest(_text(asked, steps, minutes), actor, *budget.pair, key=request_key)
        words = [*overrides, *budget.overrides]
        return self._launched(
            request, budget, reason, asked,
            lambda: self.desk.dispatcher.start(address, words, reason, actor),
        )  # fmt: skip

    def fork(
        self,
        ctx: Ctx,
        run: RunName,
        reason: Reason,
        checkpoint: Checkpoint = "@best",
        address: Annotated[
            str, Field(description="What to train; empty: the same as the run, settings included.")
        ] = "",
        overrides: Overrides = [],  # noqa: B006  # never changed; the schema wants a list
        steps: Steps = None,
        minutes: Minutes = None,
        request_key: Key = "",
    ) -> Answer:
        """Start a new run that begins with the weights of another run's checkpoint."""
        parent = self.desk.select(run)
        checkpoint = checkpoint_name(checkpoint)
        safe.check_readable(parent, self.desk.terms.trust)  # whatever is trained then
        base, changes = (address, list(overrides)) if address else self._again(parent, overrides)
        budget = begun(self.desk, base, changes, steps, minutes)
        actor = _actor(ctx)
        source = f"{parent.id}/{checkpoint}"
        asked = {"what": "fork", "of": source, "address": base, "overrides": changes}
        request = LaunchRequest(_text(asked, steps, minutes), actor, *budget.pair, key=request_key)
        words = [*changes, *budget.overrides]
        return self._launched(
            request, budget, reason, asked,
            lambda: self.desk.dispatcher.fork(parent, checkpoint, base, words, reason, actor),
        )  # fmt: skip

    def resume(
        self,
        ctx: Ctx,
        run: RunName,
        reason: Reason,
        overrides: Overrides = [],  # noqa: B006  # never changed; the schema wants a list
        steps: Annotated[
            int | None, Field(ge=1, description="So many more env steps; null: up to its budget.")
        ] = None,
        minutes: Annotated[
            float | None,
            Field(gt=0, description="So many more; null: up to its budget, else 30 or less."),
        ] = None,
        request_key: Key = "",
    ) -> Answer:
        """Resume a run from its latest checkpoint, also with other settings."""
        chosen = self.desk.select(run)
        asked = {"what": "resume", "run": chosen.id, "overrides": overrides}
        actor, text = _actor(ctx), _text(asked, steps, minutes)
        known = self.desk.ledger.known(request_key, text)
        if known is not None:  # what may be spent now is another question than then
            return self._known(known)
        config = safe.resumed(chosen, overrides, self.desk.terms.trust)
        budget, begun_at = gone_on(self.desk, chosen, config, steps, minutes)
        request = LaunchRequest(text, actor, *budget.pair, request_key, chosen.id, begun_at)
        words = [*overrides, *budget.overrides]
        return self._launched(
            request, budget, reason, asked,
            lambda: self.desk.dispatcher.resume(chosen, words, reason, actor),
        )  # fmt: skip

    def stop(self, ctx: Ctx, run: RunName, reason: Reason) -> Answer:
        """Ask a run to save and stop after this update, as Ctrl-C does."""
        chosen = self.desk.select(run)
        self.desk.dispatcher.stop(chosen)
        _note_down(chosen, "stop", _actor(ctx), reason)
        return Answer({"run": chosen.id, "stopping": True, "next": "`status` says when it ended"})

    def evaluate(
        self,
        ctx: Ctx,
        run: RunName,
        checkpoint: Checkpoint = "@best",
        episodes: Annotated[
            int | None,
            Field(
                ge=1,
                le=safe.MOST_EPISODES,
                description="So many on test seeds; null: check what is written.",
            ),
        ] = None,
        reason: Annotated[str, Field(max_length=500)] = "",
    ) -> Answer:
        """Play a saved policy again and score it; says whether a written score holds."""
        chosen = self.desk.select(run)
        safe.check_run(chosen, self.desk.terms.trust)
        selector = f"{chosen.id}/{checkpoint_name(checkpoint)}"
        found = self.desk.work(_EVALUATE, _EVALUATE_S, selector=selector, episodes=episodes)
        _note_down(chosen, "evaluate", _actor(ctx), reason, checkpoint=checkpoint, scores=found)
        return Answer({"run": chosen.id, "checkpoint": checkpoint, "evaluations": found})

    def note(
        self,
        ctx: Ctx,
        run: RunName,
        text: Annotated[str, Field(min_length=1, max_length=_LONGEST_NOTE)],
    ) -> Answer:
        """Write a note into a run: what you saw, concluded, or want to try next."""
        chosen = self.desk.select(run)
        chosen.event("note", {"text": text, "by": _actor(ctx)})
        return Answer({"run": chosen.id, "noted": clip(text, 80)})

    def tag(
        self,
        ctx: Ctx,
        run: RunName,
        name: Annotated[str, Field(description="A letter, then letters, digits, dots, dashes.")],
        remove: bool = False,
        reason: Annotated[str, Field(max_length=500)] = "",
    ) -> Answer:
        """Give a run a word to find it by, or take it off."""
        chosen = self.desk.select(run)
        if remove:
            chosen.untag(name)
        else:
            chosen.tag(name)
        what = "untag" if remove else "tag"
        _note_down(chosen, what, _actor(ctx), reason, tag=name)
        return Answer({"run": chosen.id, "tags": identity.tags(chosen.folder)})

    def _again(self, parent: Run, overrides: list[str]) -> tuple[str, list[str]]:
        safe.check_run(parent, self.desk.terms.trust, str(parent.info()["address"]))
        address, own = forms.again(parent)
        # its own minutes were counted from its own start
        return address, [*(o for o in own if not o.startswith("budget.minutes")), *overrides]

    # --- processes -------------------------------------------------------------------------------

    def _launched(
        self, request: LaunchRequest, budget: Budget, reason: str, asked: Mapping[str, object],
        launch: Callable[[], Launch],
    ) -> Answer:  # fmt: skip
        entry, is_new = self.desk.ledger.reserve(request, self.desk.terms.limits)
        if not is_new:
            return self._known(entry)
        try:
            started = launch()
        except BaseException as error:
            self.desk.ledger.failed(entry.id, str(error))
            raise
        self.desk.ledger.started(entry.id, started.pid, started.token)
        found: Future[str | None] = Future()
        waiting = (entry, started, reason, asked, found)
        threading.Thread(target=self._await, args=waiting, daemon=True).start()
        try:
            run = found.result(_PATIENCE_S)
        except TimeoutError:
            run = None
        return self._described(run, budget)

    def _await(
        self, entry: Entry, started: Launch, reason: str, asked: dict[str, Any],
        found: "Future[str | None]",
    ) -> None:  # fmt: skip
        """Until there is a run to write into, or none will be."""
        deadline = time.monotonic() + _LONG_PATIENCE_S
        try:
            while time.monotonic() < deadline:
                run, problem = started.run_id(), started.failure()
                if run is not None:
                    self.desk.ledger.became(entry.id, run)
                    what = str(asked["what"])
                    details = {
                        key: each for key, each in asked.items() if key not in ("what", "run")
                    }
                    budget = {"env_steps": entry.steps, "minutes": entry.minutes}
                    chosen = Run(self.desk.runs / run)
                    _note_down(chosen, what, entry.actor, reason, budget=budget, **details)
                    found.set_result(run)
                    return
                if problem is not None:
                    self.desk.ledger.failed(entry.id, problem)
                    found.set_exception(UserError(f"the run did not start: {problem}"))
                    return
                time.sleep(_LOOK_EVERY_S)
        finally:
            if not found.done():
                found.set_result(None)

    def _known(self, entry: Entry) -> Answer:
        """The same request again: whatever has become of the first."""
        deadline = time.monotonic() + _PATIENCE_S
        while (run := self.desk.ledger.run_of(entry.id)) is None and entry.lives:
            if time.monotonic() > deadline:
                break
            time.sleep(_LOOK_EVERY_S)
            entry = self.desk.ledger.entry(entry.id)
        if run is None and not entry.lives:
            raise UserError(
                f"the request {entry.key!r} came to nothing: {entry.problem or 'it made no run'}; "
                "use another request_key to try again"
            )
        return Answer({"run": run, "same_request": True, "asked": entry.time[:19]})

    def _described(self, run: str | None, budget: Budget) -> Answer:
        spent, most = self.desk.ledger.spent(), self.desk.terms.limits
        data: dict[str, object] = {
            "run": run,
            "budget": {"env_steps": budget.steps, "minutes": budget.minutes},
            "minutes_from": budget.minutes_from,
            "left": {
                "runs": max(0, most.most_runs - spent.runs),
                "env_steps": max(0, most.most_steps - spent.steps),
                "minutes": max(0.0, most.most_minutes - spent.minutes),
            },
        }
        if run is None:
            data["next"] = "it is still being set up; it will be the newest in `runs`"
        return Answer(data)


def _text(asked: dict[str, Any], steps: int | None, minutes: float | None) -> str:
    """All of a request, so that the same key for another one is noticed."""
    return json.dumps({**asked, "steps": steps, "minutes": minutes}, sort_keys=True)


def _actor(ctx: Ctx) -> str:
    """The client, as it introduced itself."""
    params = ctx.session.client_params
    name = clip(params.client_info.name, 60) if params else ""
    printable = "".join(char for char in name if char.isprintable())
    return f"agent {printable or 'without a name'} via mcp"


def _note_down(run: Run, what: str, actor: str, reason: str, **details: object) -> None:
    run.event("action", {"what": what, "actor": actor, "reason": reason, **details})
