"""The dialogs that start, resume, fork and stop a run, shared by the runs page and the run page."""

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Final, TypeVar

from nicegui import ui

from spotter.config.catalogue import entries
from spotter.launch import forms
from spotter.launch.checks import checked
from spotter.launch.launch import Launch
from spotter.rundir import checkpoints
from spotter.rundir.run import Run
from spotter.studio import theme
from spotter.studio.context import Context
from spotter.types import UserError

Element = TypeVar("Element", bound=ui.element)

_PATIENCE_S: Final = 120
_LOOK_EVERY_S: Final = 0.25
_MOST_LETTERS: Final = 500  # of why; what is kept with a run


@cache
def _addresses() -> dict[str, str]:
    """What can be started, with its description; looked up once, for it reads every recipe."""
    found = [entry for entry in entries() if not entry.problem]
    return {entry.address: f"{entry.address} — {entry.description}" for entry in found}


@dataclass(frozen=True)
class _Wish:
    """What the fields of a form say."""

    address: str
    overrides: list[str]
    why: str
    checkpoint: str
    """`@best` or `@latest`; empty where nothing is forked."""


async def start(context: Context) -> None:
    """Ask what to train, and train it."""
    form = _Form(
        "Start a run",
        "Start",
        lambda wish: context.dispatcher.start(wish.address, wish.overrides, wish.why),
        lambda wish: [wish.address, *wish.overrides],
    )
    form.add_address()
    form.add_settings()
    await form.ask("CartPole-v1:ppo")


async def fork(context: Context, run: Run) -> None:
    """Ask what to change, and train on from a run's weights."""
    with _saying():
        sources = await asyncio.to_thread(_sources, run)
        address, overrides = await asyncio.to_thread(forms.again, run)
        form = _Form(
            f"Fork {run.id}",
            "Fork",
            lambda wish: context.dispatcher.fork(
                run, wish.checkpoint, wish.address, wish.overrides, wish.why
            ),
            lambda wish: [wish.address, *wish.overrides, "--from", f"{run.id}/{wish.checkpoint}"],
        )
        form.add_address()
        form.add_sources(sources)
        form.add_settings(overrides)
        await form.ask(address)


def _sources(run: Run) -> dict[str, str]:
    """The checkpoints a fork may begin with."""
    roles = {role for one in checkpoints.read(run.folder) for role in one.roles}
    if not roles:
        raise UserError(f"run {run.id} has no checkpoint to begin with")
    return {f"@{role}": f"its {role} checkpoint" for role in ("best", "latest") if role in roles}


async def resume(context: Context, run: Run) -> None:
    """Ask what to change, and resume a run from its latest checkpoint."""
    with _saying():
        further = await asyncio.to_thread(forms.further, run)
        form = _Form(
            f"Resume {run.id}",
            "Resume",
            lambda wish: context.dispatcher.resume(run, wish.overrides, wish.why),
            lambda wish: ["--resume", run.id, *wish.overrides],
        )
        form.add_text("It continues from its latest checkpoint.")
        if further.reason:
            form.add_text(further.reason)
        form.add_settings(further.overrides)
        await form.ask()


async def stop(context: Context, run: Run) -> None:
    """Stop a run, after a question."""
    text = f"Stop {run.id}? It finishes its update, saves, and can be resumed later."
    if await theme.confirm(text, "Stop the run"):
        with _saying():
            await asyncio.to_thread(context.dispatcher.stop, run)
            ui.notify(f"{run.id} is stopping: it saves first", type="info")


class _saying:  # noqa: N801  # reads as a statement: `with _saying():`
    """A user's mistake becomes one sentence on the page."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, UserError):
            ui.notify(str(error), type="negative", multi_line=True, timeout=10_000)
            return True
        return False


async def arrive(launch: Launch) -> None:
    """Wait until a started process has its run, and go there."""
    waiting = ui.notification("Starting…", spinner=True, timeout=None)
    try:
        for _ in range(round(_PATIENCE_S / _LOOK_EVERY_S)):
            failure = await asyncio.to_thread(launch.failure)
            if failure:
                raise UserError(failure)
            found = await asyncio.to_thread(launch.run_id)
            if found:
                ui.navigate.to(f"/run/{found}")
                return
            await asyncio.sleep(_LOOK_EVERY_S)
        raise UserError(
            f"{launch} has not begun to train yet; its run will be in the list, see {launch.log}"
        )
    finally:
        waiting.dismiss()


class _Form:
    """What to train and how, and the command that does the same; only the fields that were added.

    `words`: what stands after `spotter train`, without the reason.
    """

    def __init__(
        self,
        title: str,
        verb: str,
        launch: Callable[[_Wish], Launch],
        words: Callable[[_Wish], list[str]],
    ) -> None:
        self._launch, self._words = launch, words
        self._edits: dict[str, str] = {}
        self._address: ui.select | None = None
        self._source: ui.select | None = None
        with ui.dialog() as self._dialog, ui.card().classes("studio-dialog studio-wide"):
            theme.heading(title)
            self._fields = ui.element("div").classes("w-full studio-stack")
            self._command = ui.label().classes("studio-log studio-command")
            self._problem = ui.element("div").classes("w-full")
            with ui.row().classes("w-full justify-end"):
                ui.button("Cancel", on_click=self._dialog.close).props("flat")
                ui.button(verb, on_click=self._submit).props("unelevated")
        self._dialog.on("hide", self._dialog.delete)

    def add_text(self, text: str) -> None:
        with self._fields:
            ui.label(text)

    def add_address(self) -> None:
        with self._fields:
            self._address = _labelled(ui.select({}, label="What to train", with_input=True,
                new_value_mode="add-unique", on_change=self._show_settings))  # fmt: skip

    def add_sources(self, sources: Mapping[str, str]) -> None:
        """Checkpoints to begin with, the best one first."""
        with self._fields:
            self._source = _labelled(ui.select(dict(sources), value=next(iter(sources)),
                label="Beginning with", on_change=self._preview))  # fmt: skip

    def add_settings(self, overrides: Sequence[str] = ()) -> None:
        """Overrides and why; beneath them, with an address, every setting it has."""
        with self._fields:
            field = ui.textarea(
                "Settings to change, one per line", placeholder="algo.lr=3e-4",
                value="\n".join(overrides), on_change=self._preview,
            )  # fmt: skip
            self._overrides = _labelled(field).props("autogrow outlined")
            self._why = _labelled(ui.input("Why (kept with the run)", on_change=self._preview))
            self._why.props(f"maxlength={_MOST_LETTERS}")
            self._settings = ui.element("div").classes("w-full")

    async def ask(self, address: str = "") -> None:
        self._preview()
        self._dialog.open()
        if self._address is not None:
            self._address.set_options({address: address}, value=address)
            known = await asyncio.to_thread(_addresses)
            chosen = str(self._address.value)
            self._address.set_options({chosen: chosen, **known}, value=chosen)

    def _wish(self) -> _Wish:
        edits = [f"{name}={value}" for name, value in self._edits.items()]
        typed = forms.overrides_of(self._overrides.value or "")
        return _Wish(
            str(self._address.value or "").strip() if self._address else "",
            [*edits, *typed],
            " ".join(str(self._why.value or "").split())[:_MOST_LETTERS],
            str(self._source.value) if self._source else "",
        )

    async def _submit(self) -> None:
        self._problem.clear()
        try:
            launch = await asyncio.to_thread(self._launch, self._wish())
            await arrive(launch)
        except UserError as error:
            theme.say(self._problem, str(error))

    def _preview(self) -> None:
        """The command that, typed in a terminal, does what the button does."""
        try:
            wish = self._wish()
        except UserError as error:
            self._command.text = str(error)
            return
        reason = ["--why", wish.why] if wish.why else []
        self._command.text = shlex.join(["spotter", "train", *self._words(wish), *reason])

    def _show_settings(self) -> None:
        """Every setting of the address that was chosen; what is edited becomes an override."""
        self._edits.clear()
        self._settings.clear()
        self._problem.clear()
        try:
            resolved = checked(self._wish().address)
            found = forms.settings(resolved)
        except UserError as error:
            theme.say(self._problem, str(error))
            return
        with self._settings:
            for note in resolved.notes:
                ui.label(note)
        with self._settings, ui.expansion("All settings").classes("w-full"):
            for section, settings in groupby(found, lambda setting: setting.section):
                with ui.expansion(section).classes("w-full").props("dense group=settings"):
                    for setting in settings:
                        self._line(setting)
        self._preview()

    def _line(self, setting: forms.Setting) -> None:
        def edited(value: str | None) -> None:
            if value is None or value.strip() in ("", setting.value):
                self._edits.pop(setting.name, None)
            else:
                self._edits[setting.name] = value.strip()
            self._preview()

        about = f"{setting.about} [{setting.origin}]".strip()
        if setting.choices:
            choices = list(dict.fromkeys((setting.value, *setting.choices)))
            field: ui.select | ui.input = ui.select(choices, value=setting.value,
                label=setting.name)  # fmt: skip
        else:
            field = ui.input(setting.name, value=setting.value)
        field.on_value_change(lambda event: edited(event.value))
        field.props(f'dense outlined hint="{_attribute(about)}"').classes(
            "w-full mono studio-setting"
        )


def _labelled(element: Element) -> Element:
    element.props("outlined").classes("w-full")
    return element


def _attribute(text: str) -> str:
    return text.replace("\\", "").replace('"', "'")


Action = Callable[[Context, Run], Awaitable[None]]
