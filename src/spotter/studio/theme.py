"""How every page looks: one frame with header and navigation, light and dark, and the few pieces
all pages share. Colours and spacing are in `static/studio.css`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, repeat
from pathlib import Path
from typing import Final

from nicegui import ui

from spotter.rundir.identity import Info
from spotter.types import UserError

STATIC: Final = Path(__file__).parent / "static"
PAGES: Final = (
    ("Runs", "/"),
    ("Compare", "/compare"),
    ("Inspector", "/inspect"),
    ("Play", "/play"),
    ("Film", "/film"),
    ("Explored", "/explored"),
)
ACCENT: Final = {False: "#0b6e99", True: "#58b6dd"}
_COOKIE: Final = "spotter_dark"
_DARK_WORDS: Final = {"1": True, "0": False}
Cell = str | Callable[[], object]


@contextmanager
def frame(title: str) -> Iterator[None]:
    """The page around what is drawn inside: header, navigation, dark switch, a quiet footer."""
    ui.page_title(f"{title} · Spotter Studio")
    ui.add_css(STATIC / "studio.css")
    ui.colors(primary=ACCENT[False], accent=ACCENT[False], dark_page="#14171a", dark="#1c2024")
    dark = ui.dark_mode(is_dark())
    with ui.header().classes("studio-header"), ui.row().classes("studio-bar"):
        ui.link("Spotter Studio", "/").classes("studio-name")
        with ui.element("nav").props('aria-label="Pages"').classes("studio-nav"):
            for name, target in PAGES:
                link = ui.link(name, target)
                if _is_here(target):
                    link.props('aria-current="page"')
        ui.space()
        _dark_switch(dark)
    with ui.element("div").classes("studio-main") as content:
        ui.skip_link("Skip to content", target=content)
        yield


def is_dark() -> bool | None:
    """What the reader chose; None: what their system says."""
    request = ui.context.client.request
    return _DARK_WORDS.get(request.cookies.get(_COOKIE, ""))


@contextmanager
def page(title: str) -> Iterator[None]:
    """A frame with a heading; a user's mistake while it is drawn is a sentence on it."""
    with frame(title):
        heading(title, 1)
        try:
            yield
        except UserError as error:
            problem(str(error))


@contextmanager
def cleared(place: ui.element) -> Iterator[None]:
    """What is drawn inside takes the place of what was there."""
    place.clear()
    with place:
        yield


def say(place: ui.element, sentence: str) -> None:
    """What went wrong, where there is a place for it; nothing if empty."""
    with cleared(place):
        if sentence:
            problem(sentence)


def problem(text: str) -> None:
    """What went wrong, in one sentence."""
    with ui.element("div").props('role="alert"').classes("studio-problem"):
        ui.label(text)


def empty(text: str, hint: str = "") -> None:
    """There is nothing here (yet), and what to do about it."""
    with ui.element("div").classes("studio-empty"):
        ui.label(text).classes("studio-empty-text")
        if hint:
            ui.label(hint).classes("studio-empty-hint")


@contextmanager
def card(title: str = "", classes: str = "") -> Iterator[ui.element]:
    """A quiet box with a heading."""
    with ui.element("section").classes(f"studio-card {classes}") as box:
        if title:
            heading(title)
        yield box


def heading(text: str, level: int = 2) -> ui.label:
    """A real heading, so that screen readers can jump to it."""
    label = ui.label(text).classes(f"studio-h{level}")
    label.props(f'role="heading" aria-level="{level}"')
    return label


def table(heads: Sequence[str], rows: Iterable[Sequence[Cell]], kinds: Sequence[str] = ()) -> None:
    """Cells are texts, or functions that draw them; `kinds` are CSS classes by column."""
    with ui.element("div").classes("studio-scroll"), ui.element("table").classes("studio-plain"):
        with ui.element("thead"):
            _row("th", heads)
        with ui.element("tbody"):
            for row in rows:
                _row("td", row, kinds)


def _row(tag: str, cells: Sequence[Cell], kinds: Sequence[str] = ()) -> None:
    with ui.element("tr"):
        for cell, kind in zip(cells, chain(kinds, repeat("")), strict=False):
            with ui.element(tag):
                if callable(cell):
                    cell()
                else:
                    ui.label(cell).classes(kind)


def run_picker(
    infos: Sequence[Info], chosen: str, visit: Callable[[str], None], classes: str
) -> None:
    """Every run to choose from; one that is not listed stands there by its id."""
    names = {info["id"]: f"{info['id']}  {info['address']}" for info in infos}
    ui.select(
        names if chosen in names else {**names, chosen: chosen},
        value=chosen,
        label="Run",
        with_input=True,
        on_change=lambda e: visit(e.value),
    ).props("outlined dense").classes(classes)


def no_runs() -> None:
    empty("There are no runs yet", "Start one: spotter train CartPole-v1")


def allow(button: ui.button, reason: str = "") -> None:
    """A button that can be pressed; with a reason against it, one that says so instead."""
    button.set_enabled(not reason)
    hint(button, reason)


def hint(element: ui.element, text: str) -> None:
    """What the browser says when the mouse rests there; nothing if empty. No quotes in it."""
    element.props(f'title="{text}"') if text else element.props(remove="title")


async def confirm(text: str, yes: str, no: str = "Cancel") -> bool:
    """Ask; True only if the reader pressed `yes`."""
    with ui.dialog() as dialog, ui.card().classes("studio-dialog"):
        ui.label(text)
        with ui.row().classes("w-full justify-end"):
            ui.button(no, on_click=lambda: dialog.submit(False)).props("flat autofocus")
            ui.button(yes, on_click=lambda: dialog.submit(True)).props("unelevated")
    answer = await dialog
    dialog.delete()
    return bool(answer)


def _is_here(target: str) -> bool:
    path = ui.context.client.request.url.path
    below = "/run/" if target == "/" else f"{target}/"
    return path == target or path.startswith(below)


def _dark_switch(dark: ui.dark_mode) -> None:
    """The choice lives in a cookie of the browser, so that the server draws the right page, and is
    sent to the page that is open: whatever the server sends next would turn it back."""
    remember = f"document.cookie='{_COOKIE}='+(d?1:0)+';path=/;max-age=31536000;samesite=strict'"
    toggle = f"() => {{ const d = !Quasar.Dark.isActive; setDark(d); {remember}; emit(d); }}"
    # a plain button: the browser itself turns Enter and space into clicks
    with (
        ui.element("button")
        .props('type="button" aria-label="Light or dark"')
        .classes("studio-contrast") as switch
    ):
        ui.icon("contrast")
    switch.on("click", lambda choice: dark.set_value(bool(choice.args)), js_handler=toggle)
