"""The pages of explorations in a real browser: a list, a map of cells, frames, ways, films."""

import json
import shutil
from urllib.parse import quote

import numpy as np
import pytest

from spotter.explore import archive as keeping
from spotter.explore import cells, tree
from spotter.explore.archive import FILE
from spotter.explore.go import Exploration, Settings
from spotter.system.interrupts import Interrupts
from tests.explore.test_go import explored
from tests.studio.making import start_server
from tests.studio.test_security import ESCAPES, ask

pytest.importorskip("ale_py")
GAME = "ALE/MontezumaRevenge-v5"
ATARI = {"id": GAME, "family": "atari", "sticky": 0.0, "noops": 0, "life_loss": False,
         "observe": "ram", "stack": 1}  # fmt: skip
HOW = cells.suited_to(GAME)
PIXELS = "canvas => canvas.toDataURL()"


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """A server, and beside its runs an exploration of Montezuma's first room."""
    home = tmp_path_factory.mktemp("shown")
    explored(home / "explored" / "montezuma", 25, env=ATARI, cells=HOW, steps=60).close()
    server = start_server(home / "runs")
    yield server
    server.stop()


@pytest.fixture
def folder(shown):
    return shown.runs.parent / "explored" / "montezuma"


@pytest.fixture
def at(shown, page):
    """Visit an exploration, with its frame."""

    def visit(path: str = "montezuma"):
        page.goto(f"{shown.url}explored/{path}")
        page.locator(".map-frame img").wait_for()
        return page

    yield visit
    assert page.errors == []


def fact(page, name):
    return page.locator(f"[data-fact='{name}']").inner_text().strip()


def number_of(page):
    """The chosen cell, from 0."""
    return int(page.locator(".map-which").inner_text().split()[1].replace(",", "")) - 1


def test_nothing_explored_yet(own_studio, page):
    page.goto(f"{own_studio.url}explored")
    page.get_by_text("There are no explorations in").wait_for()
    page.get_by_text("spotter explore ALE/MontezumaRevenge-v5").wait_for()


def test_the_list_leads_to_the_map(shown, folder, page):
    archive, about = keeping.load(folder)
    page.goto(shown.url)
    page.get_by_role("link", name="Explored").click()
    row = page.locator("tbody tr", has_text="montezuma")
    words = row.inner_text()
    assert GAME in words and f"{about['frames']:,}" in words and str(len(archive.entries)) in words
    row.get_by_role("link").click()
    page.locator(".map-canvas").first.wait_for()
    assert page.url.startswith(f"{shown.url}explored/montezuma")
    assert fact(page, "cells") == f"{len(archive.entries):,}"
    assert page.locator("nav a[aria-current]").inner_text() == "Explored"


def test_an_archive_that_cannot_be_read_is_a_sentence(shown, page):
    broken = shown.runs.parent / "explored" / "broken"
    broken.mkdir()
    (broken / FILE).write_bytes(b"hello")
    page.goto(f"{shown.url}explored")
    page.get_by_text("1 archive cannot be read").click()
    page.get_by_text("is no archive that can be read").wait_for()
    page.goto(f"{shown.url}explored/broken")
    assert "is no archive that can be read" in page.get_by_role("alert").inner_text()
    shutil.rmtree(broken)


def test_a_cell_is_chosen_on_the_map(at, folder):
    archive, _ = keeping.load(folder)
    names = [cells.named(HOW, cell) for cell in archive.entries]
    page = at("montezuma?cell=0")
    assert number_of(page) == 0
    places = [(name["x"], name["y"]) for name in names]
    wanted = max(number for number, place in enumerate(places) if places.count(place) == 1)
    x, y = np.array(places).T
    across, down = max(np.ptp(x), 7) + 1, max(np.ptp(y), 3) + 1
    canvas = page.locator(".map-canvas")
    box = canvas.bounding_box()
    left = (x[wanted] - x.min() + 0.5) / across * box["width"]
    top = (max(y.max(), y.min() + 3) - y[wanted] + 0.5) / down * box["height"]
    before = canvas.evaluate(PIXELS)
    canvas.click(position={"x": float(left), "y": float(top)})
    page.wait_for_function(f"location.search === '?cell={wanted}'")
    assert number_of(page) == wanted and canvas.evaluate(PIXELS) != before
    entry = list(archive.entries.values())[wanted]
    values = {**names[wanted], "visits": entry.visits, "starts": entry.chosen,
              "actions": archive.nodes[entry.node].length}  # fmt: skip
    for name, value in values.items():
        assert page.locator(f"[data-field='{name}']").inner_text() == f"{value:,}"
    assert page.locator(".map-way li").count() == len(tree.chain(archive, entry.node))
    image = page.locator(".map-frame img")
    page.wait_for_function("!document.querySelector('.map-frame.waiting')")
    assert image.evaluate("i => [i.naturalWidth, i.naturalHeight]") == [160, 210]
    assert page.locator(".map-note").count() == 0, "it is what exploring saw"


def test_keys_move_over_the_map_and_along_the_tree(at, folder):
    archive, _ = keeping.load(folder)
    names = [cells.named(HOW, cell) for cell in archive.entries]
    page = at("montezuma?cell=0")
    page.locator(".map-canvas").focus()
    page.keyboard.press("End")
    page.wait_for_function("location.search !== '?cell=0'")
    last = number_of(page)
    assert (names[last]["x"], names[last]["y"]) not in {(n["x"], n["y"]) for n in names[:last]}
    is_leftmost = names[last]["x"] == min(name["x"] for name in names)
    page.keyboard.press("ArrowRight" if is_leftmost else "ArrowLeft")
    page.wait_for_function(f"location.search !== '?cell={last}'")
    moved = names[number_of(page)]["x"] - names[last]["x"]
    assert moved > 0 if is_leftmost else moved < 0
    longest = max(archive.entries.values(), key=lambda one: archive.nodes[one.node].length).node
    page = at(f"montezuma?cell={[one.node for one in archive.entries.values()].index(longest)}")
    places = page.locator(".map-way li")
    length = len(tree.chain(archive, longest))
    assert places.count() == length > 2
    page.locator(".map-tree canvas").focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(f"document.querySelectorAll('.map-way li').length === {length - 1}")
    places.first.get_by_role("button").click()
    page.get_by_role("heading", name="The way there: 1 place,").wait_for()


def test_colours_and_ways_are_switched(at):
    page = at()
    canvas = page.locator(".map-canvas")
    seen = [canvas.evaluate(PIXELS)]
    for shade in ("order", "chosen"):
        page.get_by_label("Colour by").select_option(shade)
        page.wait_for_timeout(100)
        seen.append(canvas.evaluate(PIXELS))
    for name in ("ways", "y upwards"):
        page.get_by_label(name).uncheck()
        page.wait_for_timeout(100)
        seen.append(canvas.evaluate(PIXELS))
    assert len(set(seen)) == 5


def test_a_film_of_the_way_is_made_once(at, folder):
    page = at("montezuma?cell=3")
    for _ in range(2):
        page.get_by_role("button", name="Film of the way").click()
        page.locator("video").wait_for(timeout=60_000)
        page.wait_for_function("document.querySelector('video').readyState >= 2")
        page.reload()
    [film] = (folder / "films").iterdir()
    archive, about = keeping.load(folder)
    node = list(archive.entries.values())[3].node
    assert film.name == f"way-{tree.digests(archive, about['settings'])[node]}.mp4"


def test_it_follows_an_exploration_that_goes_on(shown, at, folder):
    copy = folder.with_name("growing")
    shutil.copytree(folder, copy)
    page = at("growing?cell=2")
    before = int(fact(page, "cells"))
    goes_on = Exploration(copy, Settings(env=ATARI, cells=HOW, steps=60))
    with Interrupts() as interrupts:
        interrupts.begin()
        goes_on.run(lambda now: now.cells >= before + 5, interrupts)
    now = goes_on.progress.cells
    goes_on.close()
    page.get_by_text(f"+{now - before}", exact=True).wait_for(timeout=20_000)
    assert fact(page, "cells").split()[0] == str(now)
    assert number_of(page) == 2, "what is looked at stays"


def test_a_game_that_cannot_be_played_says_why(shown, folder, page):
    copy = folder.with_name("unknown")
    shutil.copytree(folder, copy)
    with np.load(copy / FILE) as old:
        data = {name: old[name] for name in old.files}
    about = json.loads(str(data["about"]))
    about["settings"]["env"] = {"id": "NoSuchGame-v0", "family": "gymnasium"}
    np.savez_compressed(copy / FILE, **{**data, "about": np.array(json.dumps(about))})
    page.goto(f"{shown.url}explored/unknown")
    note = page.locator(".map-note")
    note.wait_for()
    assert "NoSuchGame" in note.inner_text() and page.locator(".map-frame img").count() == 0
    page.get_by_role("button", name="Film of the way").click()
    page.locator(".studio-problem", has_text="NoSuchGame").wait_for(timeout=60_000)
    assert page.locator(".map-canvas").count() == 1, "the map needs no game"


def test_an_archive_from_elsewhere_runs_no_code(shown, tmp_path):
    """Its game is a module that is there, but it was not saved under this name."""
    explored(tmp_path / "mine", 5).close()
    copy = shown.runs.parent / "explored" / "copied"
    shutil.copytree(tmp_path / "mine", copy)
    archive, about = keeping.load(copy)
    digest = tree.digests(archive, about["settings"])[archive.best]
    status, _, body = ask(shown, f"/api/explored/copied/{digest}.jpg")
    assert status == 404 and "copied was not saved here and names env.id=tests.explore" in body
    assert ask(shown, "/api/explored/copied.json")[0] == 200
    shutil.rmtree(copy)


@pytest.mark.parametrize("name", ESCAPES)
def test_nothing_outside_the_explorations_is_served(shown, folder, name):
    secret = folder.parents[1] / "secret"
    shutil.copytree(folder, secret, dirs_exist_ok=True)
    (secret / "films").mkdir(exist_ok=True)
    (secret / "films" / "way-1.mp4").write_text("TOP SECRET")
    templates = ("explored/{}", "api/explored/{}.json", "api/explored/{}/films/way-1.mp4",
                 "api/explored/montezuma/films/{}", "api/explored/montezuma/{}.jpg")  # fmt: skip
    for template in templates:
        for path in (template.format(quote(name, safe="")), template.format(quote(name))):
            status, _, body = ask(shown, f"/{path}")
            assert "TOP SECRET" not in body and "root:" not in body and '"ids"' not in body
            assert status in (307, 400, 404) or path.startswith("explored/")


def test_only_films_of_ways_are_served(shown, folder):
    (folder / "films").mkdir(exist_ok=True)
    (folder / "films" / "way-ab.mp4").symlink_to("/etc/passwd")
    for name, why in (("way-ab.mp4", "leads out of it"), ("archive.npz", "no film of that name"),
                      ("way-.mp4", "no film"), ("way-%2e%2e.mp4", "no film")):  # fmt: skip
        status, _, body = ask(shown, f"/api/explored/montezuma/films/{name}")
        assert status == 404 and why in body
    (folder / "films" / "way-ab.mp4").unlink()
    status, _, body = ask(shown, "/api/explored/montezuma/0123456789abcdef.jpg")
    assert status == 404 and "no longer in the archive" in body


def test_a_page_asks_again_only_for_what_is_new(shown, folder):
    path = "/api/explored/montezuma.json"
    stamp = json.loads(ask(shown, path)[2])["stamp"]
    assert ask(shown, f"{path}?since={stamp}")[0] == 204
    assert ask(shown, f"{path}?since=older")[0] == 200
