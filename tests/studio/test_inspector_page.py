"""The inspector in a real browser: stepping through an episode asks nobody but for pictures."""

import re
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np
import pytest

from spotter.episodes import format as traces
from spotter.episodes import labels
from spotter.episodes.advantages import judged
from spotter.studio.pages.inspector import changes
from tests.studio import episodes
from tests.studio.making import make_run


@pytest.fixture(scope="module")
def shown(studio_runs):
    """A run with an episode of each kind: name -> episode."""
    run = make_run(studio_runs, updates=5)
    return run, {
        "cartpole": episodes.cartpole(run, 40),
        "pixels": episodes.pixels(run),
        "bandit": episodes.bandit(run),
        "recurrent": episodes.recurrent(run, 30, 6),
    }


@pytest.fixture
def visit(page, studio, shown):
    def go(kind, **more):
        run, names = shown
        query = "".join(f"&{key}={value}" for key, value in more.items())
        page.goto(f"{studio.url}inspect?run={run.id}&episode={names[kind]}{query}")
        page.wait_for_selector(".viewer-step")
        return traces.load(traces.find(run, names[kind]))

    return go


def step_of(page):
    return int(re.search(r"step (\d+)", page.inner_text(".viewer-step"))[1])


def fact(page, name):
    return float(page.inner_text(f'[data-fact="{name}"]').replace("−", "-"))


def picture(page, selector=".viewer-frame img"):
    page.wait_for_function(f"document.querySelector('{selector}').complete")
    return page.get_attribute(selector, "src")


# --- stepping -------------------------------------------------------------------------------------


def test_arrow_keys_move_through_a_stored_episode(page, visit):
    visit("cartpole")
    assert step_of(page) == 0
    for key, expected in (
        ("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", 39), ("ArrowRight", 39),
        ("Home", 0), ("ArrowLeft", 0), ("Shift+ArrowRight", 10),
    ):  # fmt: skip
        page.keyboard.press(key)
        assert step_of(page) == expected, key
    assert page.errors == []


def test_a_click_on_a_row_jumps_there(page, visit):
    trace = visit("cartpole")
    page.click('.viewer-table [data-step="7"]')
    assert step_of(page) == 7
    assert page.inner_text(".viewer-action").startswith(labels.action_label(trace, 7))


def test_a_core_is_a_strip_over_time_and_a_click_on_it_jumps_there(page, visit):
    trace = visit("recurrent")
    strip = page.wait_for_selector(".viewer-memory canvas")
    assert "6 numbers over 30 steps" in strip.get_attribute("aria-label")
    pixels = """canvas => [canvas.width, canvas.height,
        ...canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data]"""
    width, height, *data = strip.evaluate(pixels)
    image = np.array(data).reshape(height, width, 4)
    assert (width, height) == (30, 6)
    state = trace.columns["state"].astype(float).T
    np.testing.assert_allclose(image[..., 3], 255 * np.abs(state), atol=2)
    clear = np.abs(state) > 0.1
    assert ((image[..., 0] > image[..., 2]) == (state > 0))[clear].all(), "orange above, blue below"
    strip.click(position={"x": strip.bounding_box()["width"] * 12.5 / 30, "y": 20})
    assert step_of(page) == 12
    visit("cartpole")
    assert page.locator(".viewer-memory").count() == 0


def test_only_rows_in_sight_are_drawn_and_the_table_follows(page, visit):
    visit("cartpole")
    assert page.locator(".viewer-table .viewer-row").count() < 30
    page.keyboard.press("End")
    page.wait_for_selector('.viewer-table .viewer-row.now[data-step="39"]')


def test_frames_differ_between_steps(page, visit, studio):
    visit("cartpole")
    first = picture(page)
    page.keyboard.press("ArrowRight")
    second = picture(page)
    bodies = [urlopen(studio.url.rstrip("/") + path).read() for path in (first, second)]
    assert bodies == [episodes.jpeg(0), episodes.jpeg(1)]
    assert page.evaluate("document.querySelector('.viewer-frame img').naturalWidth") == 96


def test_playing_moves_and_stops_at_the_end(page, visit):
    visit("cartpole", step=30)
    assert step_of(page) == 30
    page.keyboard.press(" ")
    page.wait_for_function("document.querySelector('.viewer-step').textContent.includes('39 of')")
    page.wait_for_selector("button.viewer-play:has-text('Play')")


def test_moving_asks_the_server_for_pictures_only(page, visit):
    visit("cartpole")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.wait_for_timeout(300)
    wanted = [url for url in asked if "/api/" in url]
    assert wanted
    assert all("/api/frame/" in url for url in wanted)


def test_keys_in_a_field_do_not_move_the_episode(page, visit):
    visit("cartpole", step=5)
    page.focus(".viewer-gamma")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Home")
    assert step_of(page) == 5


# --- numbers --------------------------------------------------------------------------------------


def test_gamma_and_lambda_change_advantages_as_the_server_computes_them(page, visit):
    trace = visit("cartpole", step=3)
    own = judged(trace)
    assert fact(page, "advantage") == pytest.approx(own.advantage[3], rel=1e-3)
    assert fact(page, "return") == pytest.approx(own.returns[3], rel=1e-3)
    assert fact(page, "return minus value") == pytest.approx(own.return_minus_value[3], rel=1e-3)
    page.fill(".viewer-gamma", "0.5")
    page.fill(".viewer-lambda", "0.1")
    other = judged(trace, 0.5, 0.1)
    assert fact(page, "advantage") == pytest.approx(other.advantage[3], rel=1e-3)
    assert fact(page, "return") == pytest.approx(other.returns[3], rel=1e-3)
    assert abs(other.advantage[3] - own.advantage[3]) > 0.05
    page.fill(".viewer-gamma", "7")
    assert "from 0 to 1" in page.inner_text(".viewer [role=alert]")
    assert fact(page, "advantage") == pytest.approx(other.advantage[3], rel=1e-3)


def test_an_episode_that_was_cut_off_goes_on_with_the_value(page, studio, shown):
    run, _ = shown
    name = episodes.cartpole(run, 6, end="truncated", final_value=33.0, seed=8)
    page.goto(f"{studio.url}inspect?run={run.id}&episode={name}&step=5")
    page.wait_for_selector(".viewer-step")
    own = judged(traces.load(traces.find(run, name)))
    assert fact(page, "return") == pytest.approx(own.returns[5], rel=1e-3)
    assert "truncated" in page.inner_text(".viewer-action")


def test_without_a_critic_the_baseline_is_shown(page, studio, shown):
    run, _ = shown
    name = episodes.cartpole(run, 9, baseline="mean", baseline_mean=3.25, seed=9, end="cut")
    page.goto(f"{studio.url}inspect?run={run.id}&episode={name}&step=4")
    page.wait_for_selector(".viewer-step")
    trace = traces.load(traces.find(run, name))
    own, other = judged(trace), judged(trace, gamma=0.5)
    assert fact(page, "baseline") == 3.25
    assert fact(page, "advantage") == pytest.approx(own.advantage[4], rel=1e-3)
    assert page.query_selector('[data-fact="value"]') is None
    assert page.query_selector(".viewer-lambda") is None
    page.fill(".viewer-gamma", "0.5")
    assert fact(page, "baseline") == pytest.approx(other.baseline, rel=1e-3)
    assert fact(page, "advantage") == pytest.approx(other.advantage[4], rel=1e-3)


def test_continuous_actions_are_in_the_environments_units(page, studio, shown):
    run, _ = shown
    name = episodes.torque(run)
    page.goto(f"{studio.url}inspect?run={run.id}&episode={name}&step=1")
    page.wait_for_selector(".viewer-step")
    assert page.inner_text(".viewer-action") == "torque -1.00"
    assert page.inner_text(".viewer-axis b") == "1 ± 0.5"
    if box := page.query_selector(".viewer-axis input"):  # where a policy can play on
        assert box.get_attribute("max") == "2"
        assert box.input_value() == "-1"


def test_masked_actions_and_unlikely_picks_are_marked(page, visit):
    trace = visit("pixels")
    assert page.locator(".viewer-choice.masked").count() == 1
    assert "masked" in page.inner_text(".viewer-choice.masked")
    page.keyboard.press("ArrowRight")
    assert page.locator(".viewer-choice.masked").count() == 0
    odd = int((~trace.columns["greedy"]).nonzero()[0][0])
    page.click(f'.viewer-table [data-step="{odd}"]')
    assert "not the most likely" in page.inner_text(".viewer-action")


def test_stacked_frames_carry_the_action_taken_when_they_were_seen(page, visit):
    trace = visit("pixels", step=2)
    tiles = page.locator(".viewer-tiles span").all_inner_texts()
    words = [labels.action_label(trace, step) for step in range(3)]
    assert tiles == ["before the start", *words]
    before = picture(page, ".viewer-tile img")
    page.keyboard.press("ArrowRight")
    assert picture(page, ".viewer-tile img") != before
    size = "[document.querySelector('.viewer-tile img').naturalWidth]"
    assert page.evaluate(size) == [4 * 84]


def test_a_bandit_without_frames_or_names(page, visit):
    visit("bandit")
    assert "cannot be rendered" in page.inner_text(".viewer-frame")
    assert page.locator(".viewer-choice").count() == 10
    page.keyboard.press("ArrowRight")
    assert step_of(page) == 0
    assert page.errors == []


def test_the_audit_lists_every_part(page, visit):
    visit("cartpole")
    page.get_by_role("tab", name="Reward audit").click()
    page.wait_for_selector(".inspect-audit table")
    text = page.inner_text(".inspect-audit table")
    for part in ("env", "centre", "training reward"):
        assert part in text


# --- files and mistakes ---------------------------------------------------------------------------


def fetched(studio, path):
    try:
        with urlopen(studio.url.rstrip("/") + path) as answer:
            return answer.status, answer.read()
    except HTTPError as error:
        return error.code, error.read()


def test_csv_and_zip_can_be_taken_away(studio, shown):
    run, names = shown
    base = f"/api/episode/{run.id}/{names['cartpole']}"
    status, table = fetched(studio, base + ".csv?gamma=0.5&lam=0.1")
    assert status == 200
    assert len(table.splitlines()) == 41
    assert fetched(studio, base + ".zip")[1][:2] == b"PK"
    assert fetched(studio, base + ".csv?gamma=abc") == (
        404,
        b"gamma must be from 0 to 1, not 'abc'",
    )


@pytest.mark.parametrize(
    "path",
    [
        "/api/frame/{run}/{name}/40000.jpg",
        "/api/frame/{run}/{name}/-1.jpg",
        "/api/frame/{run}/{name}/x.jpg",
        "/api/seen/{run}/{name}/9/0.png",
        "/api/episode/{run}/nothing.json",
        "/api/episode/nobody/{name}.json",
        "/api/episode/{run}/%2e%2e.zip",
    ],
)
def test_whatever_is_not_there_is_a_sentence(studio, shown, path):
    run, names = shown
    status, body = fetched(studio, path.format(run=run.id, name=names["cartpole"]))
    assert status == 404
    assert b"Traceback" not in body
    assert len(body.splitlines()) == 1


@pytest.mark.parametrize(
    "path", ["/api/frame/{run}/..%2f..%2fsecret/0.jpg", "/api/frame/..%2f{run}/{name}/0.jpg"]
)
def test_paths_are_no_names(studio, shown, path):
    run, names = shown
    assert fetched(studio, path.format(run=run.id, name=names["cartpole"]))[0] == 404


def test_a_run_without_episodes_says_what_to_do(page, studio, studio_runs):
    run = make_run(studio_runs, updates=3)
    page.goto(f"{studio.url}inspect?run={run.id}")
    assert "has been captured yet" in page.inner_text(".studio-empty")
    page.goto(f"{studio.url}inspect?run=nobody")
    assert "there is no run nobody" in page.inner_text("[role=alert]")
    page.goto(f"{studio.url}inspect?run={run.id}&episode=nothing")
    assert "has no episode 'nothing'" in page.inner_text("[role=alert]")


def test_an_episode_deleted_under_the_page(page, studio, studio_runs):
    run = make_run(studio_runs, updates=3)
    name = episodes.cartpole(run, 5)
    page.goto(f"{studio.url}inspect?run={run.id}&episode={name}")
    page.wait_for_selector(".viewer-step")
    (run.folder / "episodes" / name).rename(run.folder / "episodes" / "gone")
    page.keyboard.press("ArrowRight")
    assert step_of(page) == 1, "numbers are here already"
    page.reload()
    assert "has no episode" in page.inner_text("[role=alert]")


def test_changed_settings_are_split_where_a_name_begins():
    assert changes("env.sticky=0.25 algo.gamma=0.9") == ["env.sticky=0.25", "algo.gamma=0.9"]
    assert changes(" env.wrappers=[{name: x, count: 2}]\nalgo.lr=1e-3 ") == [
        "env.wrappers=[{name: x, count: 2}]",
        "algo.lr=1e-3",
    ]
    assert changes("  ") == []
