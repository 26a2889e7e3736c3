"""The run page in a real browser: charts, tabs, and everything that may happen under it."""

import json
import re
import shutil

import pytest

from spotter.episodes import format as traces
from spotter.launch import forms
from spotter.launch.dispatch import Dispatcher
from spotter.launch.worker import Worker
from spotter.rundir.files import LineWriter
from spotter.rundir.run import Run
from spotter.studio import run_view
from spotter.studio.context import Context
from spotter.types import UserError
from tests.studio import episodes
from tests.studio.drawn import options_of, texts_of
from tests.studio.making import ALERT, failed_run, make_run, rows, start_server

pytest.importorskip("playwright")
from playwright.sync_api import expect


@pytest.fixture(scope="module")
def alerted(studio_runs):
    """The run of `studio_runs` that has an alert."""
    for path in studio_runs.iterdir():
        events = path / "events.jsonl"
        if events.is_file() and ALERT["id"] in events.read_text():
            return path.name
    raise AssertionError


def test_charts_tabs_and_switches(studio, alerted, page):
    page.goto(f"{studio.url}run/{alerted}")
    expect(page.locator("canvas").first).to_be_visible()
    expect(page.get_by_text("share of each action in the rollout")).to_be_visible()
    page.get_by_role("button", name="Losses").click()
    expect(page.get_by_text("every loss divided by its largest size")).to_be_visible()
    page.get_by_label("x axis").click()
    page.get_by_role("option", name="vector steps").click()
    page.get_by_role("slider", name="Smoothing").press("ArrowRight")

    page.get_by_role("tab", name="Alerts").click()
    expect(page.get_by_text(ALERT["advice"])).to_be_visible()
    page.get_by_role("tab", name="Config").click()
    expect(page.get_by_text("algo.lr", exact=True)).to_be_visible()
    page.get_by_role("tab", name="Log").click()
    expect(page.get_by_text(f"last line of {alerted}")).to_be_visible()
    page.get_by_role("tab", name="Videos").click()
    expect(page.get_by_text("No videos")).to_be_visible()
    assert page.errors == []


def test_marks_have_a_legend(studio, studio_runs, alerted, page):
    run = make_run(studio_runs)
    run.event("resume", {"env_steps": 5120, "changes": {"algo.lr": [1e-3, 1e-4]}})
    page.goto(f"{studio.url}run/{run.id}")
    expect(page.get_by_text("┆ settings changed")).to_be_visible()
    expect(page.get_by_text("┆ alert, when it was first raised")).not_to_be_visible()
    page.goto(f"{studio.url}run/{alerted}")
    expect(page.get_by_text("┆ alert, when it was first raised")).to_be_visible()
    expect(page.get_by_text("┆ settings changed")).not_to_be_visible()
    assert page.errors == []


def test_people_stand_beside_the_policy(studio, studio_runs, page):
    run = make_run(studio_runs, level=100.0)
    for seed, length in enumerate((30, 50)):
        episodes.cartpole(run, length, mode="human", seed=seed)
    for at, more in enumerate(({"end": "stopped"}, {"changes": ("env.sticky=0.5",)},
                               {"warnings": (f"{traces.TAKEN_OVER}x at step 3",)})):  # fmt: skip
        episodes.cartpole(run, 99, mode="human", seed=10 + at, **more)
    names = ["human: mean 40.0 of 2 episodes", "human: best 50.0"]
    page.goto(f"{studio.url}run/{run.id}")
    expect(page.locator("canvas").first).to_be_visible()
    drawn = options_of(page, ".studio-chart")
    assert [line["name"] for line in drawn["series"]] == ["train/score", "eval/score", *names]
    assert [line["markLine"]["data"] for line in drawn["series"][-2:]] == [
        [{"yAxis": 40}],
        [{"yAxis": 50}],
    ]
    assert drawn["series"][-1]["data"] == [[256, 50], [25600, 50]], "as wide as the curves"
    assert drawn["legend"]["data"] == ["train/score", "eval/score"]
    page.goto(f"{studio.url}compare?runs={run.id}")
    page.wait_for_selector(".compare-line canvas")
    assert [line["name"] for line in options_of(page, ".compare-line")["series"]][1:] == names
    page.goto(f"{studio.url}compare?runs={run.id}&metric=policy/entropy")
    page.wait_for_selector(".compare-line canvas")
    assert len(options_of(page, ".compare-line")["series"]) == 1
    assert page.errors == []


def test_a_failed_run_says_why_and_offers_only_what_can_be_done(own_studio, page):
    run = failed_run(own_studio.runs, "UserError: reward signal info: info['x'] is not there")
    page.goto(f"{own_studio.url}run/{run.id}")
    expect(page.get_by_role("alert")).to_have_text(
        "This run failed before its first update: reward signal info: info['x'] is not there"
    )
    expect(page.get_by_text("UserError")).to_have_count(0)
    expect(page.get_by_text("No update was finished")).to_be_visible()
    for name in ("Resume", "Fork"):
        button = page.get_by_role("button", name=name)
        expect(button).to_be_disabled()
        expect(button).to_have_attribute("title", re.compile("There is no checkpoint"))
    inspect = page.get_by_role("link", name="Inspect", exact=True)
    expect(inspect).to_have_attribute("aria-disabled", "true")
    expect(inspect).to_have_attribute("title", re.compile("There is no checkpoint"))
    play = page.locator(".studio-action", has_text="Play")
    expect(play).to_have_attribute("href", re.compile("/play"))
    (run.folder / "checkpoints" / "step-000000256").mkdir(parents=True)
    expect(page.get_by_role("button", name="Fork")).to_be_enabled()
    expect(inspect).to_have_attribute("href", re.compile("/inspect"))


def test_other_errors_keep_their_kind(own_studio):
    context = Context(own_studio.runs, Worker())
    run = failed_run(own_studio.runs, "ValueError: nan")
    now = run_view.read(context, run.id)
    assert run_view.failure(now) == "This run failed before its first update: ValueError: nan"
    run = make_run(own_studio.runs, status="failed")
    assert "failed after 25,600 env steps" in run_view.failure(run_view.read(context, run.id))


def test_alerts_raised_together_can_be_read(own_studio, page):
    names = ("clipfrac_high", "critic_useless", "value_loss_exploding")
    run = make_run(own_studio.runs, alerts=tuple({**ALERT, "id": name} for name in names))
    near = {**ALERT, "id": "kl_high", "env_steps": 100 * 128 + 300}
    run.event("alert", near)
    page.goto(f"{own_studio.url}run/{run.id}")
    expect(page.locator("canvas").first).to_be_visible()
    for width in (1280, 820):
        page.set_viewport_size({"width": width, "height": 1180})
        page.wait_for_timeout(300)
        boxes = [texts_of(page, ".studio-chart", name)[0] for name in (*names, "kl_high")]
        for at, one in enumerate(boxes):
            assert one["x"] >= 0 and one["right"] <= one["width"] and one["y"] > 20
            for other in boxes[at + 1 :]:
                is_below = one["bottom"] <= other["y"] or other["bottom"] <= one["y"]
                is_beside = one["right"] <= other["x"] or other["right"] <= one["x"]
                assert is_below or is_beside


def test_films_of_learning_are_told_apart(tmp_path):
    run = make_run(tmp_path)
    (run.folder / "videos").mkdir()
    about = {"env_steps": 4096, "score": 161.0, "seed": 3}
    film = {**about, "kind": "film", "seconds": 29.6, "stages": [{"env_steps": 0}, about]}
    made = {"step-000004096": about, "film-1280x720": film, "film-old": {"kind": "film"}}
    for name, written in made.items():
        (run.folder / "videos" / f"{name}.mp4").write_bytes(b"")
        (run.folder / "videos" / f"{name}.json").write_text(json.dumps(written))
    captions = {each.name: each.caption for each in run_view.films(run)}
    assert captions == {
        "step-000004096.mp4": "after 4,096 env steps · score 161",
        "film-1280x720.mp4": "film of learning: film-1280x720.mp4 · 2 policies, after 0 to 4,096 "
        "env steps · 30 s · seed 3",
        "film-old.mp4": "film of learning: film-old.mp4",
    }


def test_tags_are_put_on_and_taken_off(own_studio, page):
    run = make_run(own_studio.runs, tags=("old",))
    page.goto(f"{own_studio.url}run/{run.id}")
    field = page.get_by_label("Add a tag")
    field.fill("../x")
    field.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("cannot be a tag")
    field.fill("promising")
    field.press("Enter")
    expect(page.locator(".studio-words .studio-tag")).to_have_count(2)
    expect(field).to_have_value("")
    expect(page.get_by_role("alert")).to_have_count(0)
    page.get_by_role("button", name="Remove the tag old").click()
    expect(page.locator(".studio-words .studio-tag")).to_have_text(["promising×"])
    assert run.info()["tags"] == ["promising"]
    run.tag("elsewhere")  # as `spotter runs tag` does
    expect(page.locator(".studio-words .studio-tag")).to_have_count(2)
    assert page.errors == []


def test_the_log_follows_unless_somebody_has_scrolled_up(own_studio, page):
    run = make_run(own_studio.runs, status="running")
    path = run.folder / "run.log"
    path.write_text("".join(f"line {number}\n" for number in range(200)))
    page.goto(f"{own_studio.url}run/{run.id}")
    page.get_by_role("tab", name="Log").click()
    log = page.get_by_role("log")
    expect(log).to_contain_text("line 199")
    at_end = "e => e.scrollTop + e.clientHeight > e.scrollHeight - 8"
    page.wait_for_function(f"({at_end})(document.querySelector('[role=log]'))")
    log.evaluate("e => { e.scrollTop = 300; }")
    with path.open("a") as file:
        file.write("one more\n")
    expect(log).to_contain_text("one more")
    assert log.evaluate("e => e.scrollTop") == 300
    log.evaluate("e => { e.scrollTop = e.scrollHeight; }")
    with path.open("a") as file:
        file.write("and another\n")
    expect(log).to_contain_text("and another")
    assert log.evaluate(at_end)


def test_a_real_run_has_checkpoints_with_certificates_and_a_report(studio, trained, page):
    page.goto(f"{studio.url}run/{trained.id}")
    page.get_by_role("tab", name="Checkpoints").click()
    expect(page.get_by_text("over 2 episodes").first).to_be_visible()
    with page.expect_popup() as popup:
        page.get_by_role("link", name="Report").click()
    expect(popup.value.get_by_text("CartPole-v1").first).to_be_visible()
    assert (trained.folder / "report.html").is_file()


def test_a_child_shows_what_changed_against_its_parent(studio, studio_runs, page):
    context = Context(studio_runs, Worker())
    child = next(run for path in sorted(studio_runs.iterdir()) if (path / "run.json").is_file()
                 and (run := context.run_of(path.name)).info()["parent"])  # fmt: skip
    changes = {change.setting: change.after for change in run_view.parent_changes(context, child)}
    assert changes == {"algo.lr": "0.0001"}
    page.goto(f"{studio.url}run/{child.id}")
    page.get_by_role("tab", name="Config").click()
    expect(page.get_by_text("Changed against the run")).to_be_visible()
    page.get_by_role("link", name=re.compile("forked from")).click()
    page.wait_for_url(re.compile(child.info()["parent"]["run"]))


def test_settings_have_their_origin(trained):
    origins = {line.name: line.origin for line in run_view.settings(trained)}
    assert origins["budget.env_steps"] == "command line"
    assert origins["algo.clip"] == "variant ppo"
    assert origins["env.restarts"] == "default"


def test_settings_of_a_run_from_elsewhere_import_nothing(trained, tmp_path, monkeypatch):
    run = Run(tmp_path / trained.id)
    shutil.copytree(trained.folder, run.folder)
    config = run.folder / "config.yaml"
    config.write_text(config.read_text().replace("family: classic", "family: strange.module"))
    (tmp_path / "strange").mkdir()
    (tmp_path / "strange" / "__init__.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    lines = {line.name: line for line in run_view.settings(run)}
    assert lines["env.family"].value == "strange.module" and lines["algo.gamma"].origin == ""
    with pytest.raises(UserError, match="was not trained here with"):
        forms.further(run)
    with pytest.raises(UserError, match="was not trained here with"):
        Dispatcher(tmp_path).resume(run)


def test_five_thousand_updates_take_little_more_than_some_hundred(own_studio, page):
    """What is sent, not how long it takes: that would depend on what else the machine does."""
    sent = []
    page.on("websocket", lambda line: line.on("framereceived", lambda data: sent.append(len(data))))
    for updates in (500, 5000):
        run = make_run(own_studio.runs, updates=updates)
        page.goto("about:blank")
        sent.clear()
        page.goto(f"{own_studio.url}run/{run.id}")
        page.locator("canvas").first.wait_for()
        total = sum(sent) + len(page.content())
        if updates == 500:
            small = total
    assert total < 2 * small, (small, total)
    a_zoom_shows_more(page)


def a_zoom_shows_more(page):
    """A tenth of the axis gets as many points as all of it had; a double click goes back."""
    chart = page.locator(".studio-chart").first
    inside = f"""() => {{
        const chart = getElement({chart.get_attribute("id")[1:]});
        const steps = chart.options.series[0].data.map((point) => point[0]);
        return steps.filter((x) => x > 512000 && x < 640000).length;
    }}"""
    assert page.evaluate(inside) < 60
    zoomed = "type: 'dataZoom', start: 40, end: 50"
    page.evaluate(f"getElement({chart.get_attribute('id')[1:]}).chart.dispatchAction({{{zoomed}}})")
    page.wait_for_function(f"({inside})() > 300")
    shown = options_of(page, ".studio-chart >> nth=1")["dataZoom"][0]
    assert (shown["start"], shown["end"]) == (40, 50), "the others follow"
    chart.dblclick()
    page.wait_for_function(f"({inside})() < 60")
    assert page.errors == []


def test_new_updates_appear_by_themselves(own_studio, page):
    run = make_run(own_studio.runs, updates=10, status="running")
    page.goto(f"{own_studio.url}run/{run.id}")
    updates = page.locator(".studio-facts > div", has_text="updates").locator(".studio-fact-value")
    expect(updates).to_have_text("10")
    with LineWriter(run.metrics_path) as lines:
        for row in rows(30)[10:]:
            lines.write({**row, "fresh/metric": 1.0})
    expect(updates).to_have_text("30")
    expect(page.get_by_role("button", name="Fresh")).to_be_visible()


def test_a_run_deleted_under_the_page_is_one_sentence(own_studio, page):
    run = make_run(own_studio.runs)
    (run.folder / "checkpoints" / "step-000025600").mkdir(parents=True)
    page.goto(f"{own_studio.url}run/{run.id}")
    expect(page.locator("canvas").first).to_be_visible()
    shutil.rmtree(run.folder)
    expect(page.get_by_role("alert")).to_contain_text("This run is gone")
    expect(page.locator("canvas").first).to_be_visible()  # what was seen last stays
    page.get_by_role("tab", name="Config").click()
    page.get_by_role("tab", name="Log").click()
    expect(page.get_by_text("Nothing was printed yet")).to_be_visible()
    page.get_by_role("button", name="Fork").click()
    expect(page.get_by_role("alert").first).to_contain_text("This run is gone")
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("there is no run")
    assert page.errors == []


def test_a_server_that_restarts_finds_its_page_again(tmp_path, page):
    home = tmp_path / "runs"
    run = make_run(home)
    server = start_server(home)
    page.goto(f"{server.url}run/{run.id}")
    expect(page.locator("canvas").first).to_be_visible()
    port = server.port
    server.stop()
    again = start_server(home, port=port)
    try:
        page.wait_for_event("load", timeout=30_000)
        expect(page.locator("canvas").first).to_be_visible()
        page.get_by_role("tab", name="Log").click()
        expect(page.get_by_text(f"last line of {run.id}")).to_be_visible()
    finally:
        again.stop()


def test_a_run_that_does_not_exist_is_one_sentence(studio, page):
    page.goto(f"{studio.url}run/20200101-000000-abcd")
    expect(page.get_by_role("alert")).to_contain_text("there is no run")


def test_damaged_runs_do_not_break_the_list(own_studio, page):
    good = make_run(own_studio.runs)
    broken = own_studio.runs / "broken"
    broken.mkdir()
    (broken / "run.json").write_text("{nonsense")
    page.goto(own_studio.url)
    expect(page.get_by_role("link", name=good.id)).to_be_visible()
    page.get_by_text("1 folder cannot be read").click()
    expect(page.locator(".studio-unreadable")).to_contain_text("broken")
    page.goto(f"{own_studio.url}run/broken")
    expect(page.get_by_role("alert")).to_contain_text("is not a run")
