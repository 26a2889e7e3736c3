"""The dialogs that start, resume, fork and stop a run, shared by the runs page and the run page."""

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from itertools import groupby
from typing import Final, TypeVar

from nicegui import ui

from spotter.config.catalogue import entries
from spotter.launch.local import Launch, checked
from spotter.rundir.run import Run
from spotter.studio import forms, theme
from spotter.studio.context import Context
from spotter.types import UserError

Element = TypeVar("Element", bound=ui.element)

_PATIENCE_S: Final = 120
_LOOK_EVERY_S: Final = 0.25


@cache
def _addresses() -> dict[str, str]:
    """What can be started, with its description; looked up once, for it reads every recipe."""
    found = [entry for entry in entries() if not entry.problem]
    return {entry.address: f"{entry.address} — {entry.description}" for entry in found}


async def start(context: Context) -> None:
    """Ask what to train, and train it."""
    form = _Form("Start a run", lambda: context.launcher.start(*form.wish()), "Start")
    await form.ask(address="CartPole-v1:ppo")


async def fork(context: Context, run: Run) -> None:
    """Ask what to change, and train on from a run's weights."""
    source = {"@best": "its best checkpoint", "@latest": "its latest checkpoint"}
    form = _Form(
        f"Fork {run.id}",
        lambda: context.launcher.fork(run, form.checkpoint(), *form.wish()),
        "Fork",
        source,
    )
    address, overrides = await asyncio.to_thread(forms.again, run)
    await form.ask(address=address, overrides=overrides)


async def resume(context: Context, run: Run) -> None:
    """Go on with a run, after a question: it goes back to its latest checkpoint."""
    text = f"Go on with {run.id}? It continues from its latest checkpoint."
    if await theme.confirm(text, "Resume"):
        with _saying():
            await arrive(await asyncio.to_thread(context.launcher.resume, run))


async def stop(context: Context, run: Run) -> None:
    """Stop a run, after a question."""
    text = f"Stop {run.id}? It finishes its update, saves, and can be resumed later."
    if await theme.confirm(text, "Stop the run"):
        with _saying():
            await asyncio.to_thread(context.launcher.stop, run)
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
            failure = launch.failure()
            if failure:
                raise UserError(failure)
            found = await asyncio.to_thread(launch.run_id)
            if found:
                ui.navigate.to(f"/run/{found}")
                return
            await asyncio.sleep(_LOOK_EVERY_S)
        raise UserError(
            f"process {launch.process.pid} has not begun to train yet; see {launch.log}"
        )
    finally:
        waiting.dismiss()


class _Form:
    """Address, overrides and why; beneath them every setting with its value, origin and meaning."""

    def __init__(
        self,
        title: str,
        launch: Callable[[], Launch],
        verb: str,
        sources: dict[str, str] | None = None,
    ) -> None:
        self._launch = launch
        self._edits: dict[str, str] = {}
        with ui.dialog() as self._dialog, ui.card().classes("studio-dialog studio-wide"):
            theme.heading(title)
            self._address = _labelled(ui.select({}, label="What to train", with_input=True,
                new_value_mode="add-unique", on_change=self._show_settings))  # fmt: skip
            self._source = (
                ui.select(sources, value="@best", label="Beginning with") if sources else None
            )
            self._overrides = _labelled(
                ui.textarea("Settings to change, one per line", placeholder="algo.lr=3e-4")
            ).props("autogrow outlined")
            self._overrides.on_value_change(self._preview)
            self._why = _labelled(ui.input("Why (kept with the run)"))
            self._settings = ui.element("div").classes("w-full")
            self._command = ui.label().classes("studio-log studio-command")
            self._problem = ui.element("div").classes("w-full")
            with ui.row().classes("w-full justify-end"):
                ui.button("Cancel", on_click=self._dialog.close).props("flat")
                ui.button(verb, on_click=self._submit).props("unelevated")
        self._dialog.on("hide", self._dialog.delete)

    async def ask(self, address: str, overrides: Sequence[str] = ()) -> None:
        self._address.set_options({address: address}, value=address)
        self._overrides.value = "\n".join(overrides)
        self._dialog.open()
        known = await asyncio.to_thread(_addresses)
        chosen = str(self._address.value)
        self._address.set_options({chosen: chosen, **known}, value=chosen)

    def checkpoint(self) -> str:
        assert self._source is not None
        return str(self._source.value)

    def wish(self) -> tuple[str, list[str], str]:
        """Address, overrides, why."""
        edits = [f"{name}={value}" for name, value in self._edits.items()]
        typed = forms.overrides_of(self._overrides.value or "")
        return str(self._address.value or ""), [*edits, *typed], str(self._why.value or "")

    async def _submit(self) -> None:
        self._problem.clear()
        try:
            launch = await asyncio.to_thread(self._launch)
            await arrive(launch)
        except UserError as error:
            with self._problem:
                theme.problem(str(error))

    def _preview(self) -> None:
        try:
            address, overrides, _ = self.wish()
        except UserError as error:
            self._command.text = str(error)
            return
        self._command.text = shlex.join(["spotter", "train", address, *overrides])

    def _show_settings(self) -> None:
        """Every setting of the address that was chosen; what is edited becomes an override."""
        self._edits.clear()
        self._settings.clear()
        self._problem.clear()
        try:
            found = forms.settings(checked(str(self._address.value or "")))
        except UserError as error:
            with self._problem:
                theme.problem(str(error))
            return
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
