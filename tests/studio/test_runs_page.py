"""The runs page in a real browser: lists, filters, sorts, starts, stops."""

import re
import shlex
import shutil

import pytest

from spotter.rundir.run import Run
from tests.studio.making import make_run

pytest.importorskip("playwright")
from playwright.sync_api import expect

DARK = "document.body.classList.contains('body--dark')"
ROWS = ".studio-table tbody tr"


def test_it_lists_and_filters(studio, studio_runs, page):
    page.goto(studio.url)
    table = page.locator(ROWS)
    expect(page.get_by_text("Acrobot-v1")).to_be_visible()
    everything = table.count()
    assert everything >= 4
    assert page.locator(".studio-spark polyline").count() >= 4
    expect(page.locator(".studio-tag", has_text="baseline")).to_be_visible()

    page.get_by_label("Filter").fill("acrobot")
    expect(table).to_have_count(1)
    page.get_by_label("Filter").fill("tag=baseline")
    expect(table).to_have_count(1)
    page.get_by_label("Filter").fill("scoer>1")
    expect(page.get_by_role("alert")).to_contain_text("did you mean")
    page.get_by_label("Filter").fill("nothing-like-this")
    expect(page.get_by_text("No run fits this filter")).to_be_visible()
    page.get_by_label("Filter").fill("")
    expect(table).to_have_count(everything)
    assert page.errors == []


def test_it_sorts_and_compares_what_is_selected(studio, page):
    page.goto(studio.url)
    page.get_by_role("columnheader", name="Score", exact=True).click()
    first = page.locator(ROWS).first
    expect(first).to_contain_text("Acrobot-v1")  # the lowest score
    boxes = page.locator(f"{ROWS} .q-checkbox")
    compare = page.get_by_role("button", name="Compare")
    expect(compare).to_be_disabled()
    boxes.nth(0).click()
    boxes.nth(1).click()
    expect(compare).to_have_text("Compare 2 runs")
    compare.click()
    page.wait_for_url(re.compile(r"/compare\?runs=[^,]+,[^,]+"))


def test_env_steps_are_written_as_on_the_command_line_and_sorted_as_numbers(own_studio, page):
    for updates in (100, 24, 400):
        make_run(own_studio.runs, updates=updates)
    page.goto(own_studio.url)
    page.get_by_role("columnheader", name="Env steps", exact=True).click()
    cells = page.locator(f"{ROWS} td:nth-child(7)")
    expect(cells).to_have_text(["6,144", "25,600", "102,400"])


def test_a_row_says_whether_it_is_solved_its_variant_seed_and_kind_of_score(own_studio, page):
    home = own_studio.runs
    good = make_run(home, level=500.0, solved=True, variant="ppo_centre", seed=42)
    bad = make_run(home, level=9.15)
    stopped = make_run(home, level=77.0, status="interrupted")
    page.set_viewport_size({"width": 820, "height": 1180})
    page.goto(own_studio.url)

    def row(run):
        return page.locator(ROWS, has_text=run.id)

    expect(row(good).locator(".studio-solved")).to_have_text("solved")
    expect(row(bad).locator(".studio-solved")).to_have_count(0)
    expect(row(good)).to_contain_text("CartPole-v1:ppo_centre")
    expect(row(good).locator("td").nth(7)).to_have_text("42")
    expect(row(stopped)).to_contain_text("77.0eval")
    expect(row(bad)).not_to_contain_text("eval")
    for name in ("Status", "Run", "Environment", "Score", "Training score", "Env steps", "Seed"):
        head = page.get_by_role("columnheader", name=name, exact=True).bounding_box()
        assert head["x"] + head["width"] <= 820 - 24, f"{name} is out of sight"
    page.get_by_role("columnheader", name="Seed").click()
    expect(page.locator(ROWS).last).to_contain_text(good.id)
    page.get_by_label("Filter").fill("solved=true")
    expect(page.locator(ROWS)).to_have_count(1)


def test_groups_are_shown_and_filtered(own_studio, page):
    for seed in (1, 2):
        make_run(own_studio.runs, seed=seed, group="both")
    make_run(own_studio.runs)
    page.goto(own_studio.url)
    table = page.locator(ROWS)
    expect(table).to_have_count(3)
    expect(page.get_by_role("link", name="both", exact=True)).to_have_count(2)
    page.get_by_label("Filter").fill("group=both")
    expect(table).to_have_count(2)
    page.get_by_role("link", name="both", exact=True).first.click()
    page.wait_for_url("**/compare?runs=both")


def test_what_cannot_be_done_with_a_run_says_why(own_studio, page):
    run = make_run(own_studio.runs)
    page.goto(own_studio.url)
    fork = page.get_by_role("button", name="Fork")
    expect(fork).to_have_attribute("title", "Select one run")
    page.locator(f"{ROWS} .q-checkbox").first.click()
    expect(fork).to_have_attribute("title", re.compile("There is no checkpoint"))
    expect(fork).to_be_disabled()
    expect(page.get_by_role("button", name="Resume")).to_be_disabled()
    (run.folder / "checkpoints" / "step-000025600").mkdir(parents=True)
    page.reload()
    page.locator(f"{ROWS} .q-checkbox").first.click()
    expect(fork).to_be_enabled()
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_disabled()


def test_an_empty_folder_says_what_to_do_and_runs_from_elsewhere_appear(own_studio, page):
    page.goto(own_studio.url)
    expect(page.get_by_text("spotter train CartPole-v1:ppo")).to_be_visible()
    run = make_run(own_studio.runs)
    expect(page.get_by_role("link", name=run.id)).to_be_visible()


def test_start_watch_stop_resume_and_fork_a_run(own_studio, page):
    """The main path: a form, live curves, a stop that asks and saves, and two ways to go on."""
    page.goto(own_studio.url)
    page.get_by_role("button", name="Start a run").click()
    dialog = page.get_by_role("dialog")
    settings = dialog.get_by_label("Settings to change")
    expect(dialog.get_by_text("spotter train CartPole-v1:ppo")).to_be_visible()
    settings.fill("algo.lrr=1")
    dialog.get_by_role("button", name="Start", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("did you mean algo.lr")
    assert not list(own_studio.runs.glob("2*"))

    settings.fill("budget.env_steps=100000000\nenv.threshold=100000\neval.every_steps=null\n"
                  "eval.episodes=1")  # fmt: skip
    dialog.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_url(re.compile(r"/run/2"), timeout=90_000)
    expect(page.locator(".studio-status-running")).to_be_visible(timeout=30_000)
    updates = page.locator(".studio-facts > div", has_text="updates").locator(".studio-fact-value")
    expect(updates).not_to_have_text("0", timeout=30_000)
    before = updates.inner_text()
    expect(updates).not_to_have_text(before, timeout=30_000)  # live, nobody reloaded
    assert page.locator("canvas").count() > 3

    page.get_by_role("button", name="Stop", exact=True).click()
    question = page.get_by_role("dialog")
    expect(question).to_contain_text("saves")
    question.get_by_role("button", name="Cancel").click()
    expect(question).to_be_hidden()
    expect(page.locator(".studio-status-running")).to_be_visible()
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Stop the run").click()
    expect(page.locator(".studio-status")).to_have_text("interrupted", timeout=60_000)
    page.get_by_role("tab", name="Checkpoints").click()
    expect(page.get_by_text("latest").first).to_be_visible()
    first = page.url.rsplit("/", 1)[-1]
    resumes(page, Run(own_studio.runs / first))
    child = forks(page, first, own_studio.runs)
    goes_on_with_a_spent_run(page, child)
    assert page.errors == []


def resumes(page, run):
    """Asks, and goes on with the same run from its latest checkpoint."""
    before = run.info()["env_steps"]
    page.get_by_role("button", name="Resume").click()
    question = page.get_by_role("dialog")
    expect(question).to_contain_text("continues from its latest checkpoint")
    question.get_by_role("button", name="Resume").click()
    expect(page.locator(".studio-status")).to_have_text("running", timeout=60_000)
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    assert page.url.endswith(run.id)
    assert len(run.info()["resumes"]) == 1
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Stop the run").click()
    expect(page.locator(".studio-status")).to_have_text("interrupted", timeout=60_000)
    assert run.info()["env_steps"] >= before > 0


def forks(page, parent, home):
    """The form holds what differs from the recipe; the child says where it comes from, and was
    started by the very command that was shown."""
    page.get_by_role("button", name="Fork").click()
    dialog = page.get_by_role("dialog")
    settings = dialog.get_by_label("Settings to change")
    expect(settings).to_have_value(re.compile("env.threshold=100000"))
    dialog.get_by_label("Beginning with").click()
    page.get_by_role("option", name="its latest checkpoint").click()
    settings.fill("algo.lrr=1")
    dialog.get_by_role("button", name="Fork", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("did you mean algo.lr")
    settings.fill("budget.env_steps=2048\neval.episodes=1\nenv.threshold=100000")
    dialog.get_by_label("Why").fill("it's a smaller step")
    command = dialog.locator(".studio-command")
    expect(command).to_contain_text(f"--from {parent}/@latest --why")
    shown = shlex.split(command.inner_text())
    dialog.get_by_role("button", name="Fork", exact=True).click()
    page.wait_for_url(lambda url: "/run/2" in url and parent not in url, timeout=90_000)
    expect(page.get_by_role("link", name=f"forked from {parent}")).to_be_visible()
    expect(page.get_by_text("it's a smaller step")).to_be_visible()
    child = Run(home / page.url.rsplit("/", 1)[-1])
    assert shown[0] == "spotter" and child.info()["command"][1:] == shown[1:]
    return child


def goes_on_with_a_spent_run(page, run):
    """The form is filled with what the run lacks."""
    expect(page.locator(".studio-status")).to_have_text("finished", timeout=60_000)
    while run.trainer():  # its last film is made after the end
        page.wait_for_timeout(100)
    page.get_by_role("button", name="Resume").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("has spent its budget of 2,048 env steps")
    settings = dialog.get_by_label("Settings to change")
    expect(settings).to_have_value("budget.env_steps=4096")
    settings.fill("budget.env_stepps=4096")
    dialog.get_by_role("button", name="Resume").click()
    expect(dialog.get_by_role("alert")).to_contain_text("did you mean")
    settings.fill("budget.env_steps=4096")
    command = dialog.locator(".studio-command")
    expect(command).to_have_text(f"spotter train --resume {run.id} budget.env_steps=4096")
    shown = shlex.split(command.inner_text())
    dialog.get_by_role("button", name="Resume").click()
    facts = page.locator(".studio-facts > div", has_text="env steps")
    expect(facts.locator(".studio-fact-value")).to_have_text("4,096", timeout=60_000)
    assert run.info()["resumes"][0]["command"][1:] == shown[1:]


def test_a_setting_of_the_form_becomes_an_override(own_studio, page):
    page.goto(own_studio.url)
    page.get_by_role("button", name="Start a run").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("All settings").click()
    dialog.get_by_text("budget", exact=True).click()
    dialog.get_by_label("budget.env_steps").fill("777")
    expect(dialog.get_by_text("budget.env_steps=777")).to_be_visible()


def test_the_form_says_which_defaults_stand_in_for_a_recipe(own_studio, page):
    page.goto(own_studio.url)
    page.get_by_role("button", name="Start a run").click()
    dialog = page.get_by_role("dialog")
    field = dialog.get_by_label("What to train")
    field.fill("Blackjack-v1")
    field.press("Enter")
    note = "no recipe for Blackjack-v1: defaults for tabular states (kind `tabular`)"
    expect(dialog.get_by_text(note)).to_be_visible()


def test_fifty_runs_on_many_pages_at_once(own_studio, page, chromium):
    run = make_run(own_studio.runs, updates=200)
    for number in range(49):
        shutil.copytree(run.folder, own_studio.runs / f"{run.id}-copy{number}")
    page.goto(own_studio.url)
    expect(page.get_by_text("1-25 of 50")).to_be_visible()
    page.reload()
    expect(page.get_by_text("1-25 of 50")).to_be_visible()
    others = [chromium.new_page() for _ in range(5)]
    for other in others:
        other.goto(own_studio.url)
    for other in others:
        expect(other.get_by_text("1-25 of 50")).to_be_visible()
        other.close()


def test_it_works_by_keyboard_alone_in_the_dark_and_on_a_tablet(studio, page):
    page.set_viewport_size({"width": 820, "height": 1180})
    page.goto(studio.url)
    expect(page.get_by_text("Acrobot-v1")).to_be_visible()
    everything = page.locator(ROWS).count()
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 820
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    for words, found, dark in (
        ("acrobot", 1, True),
        ("nothing-like-this", 0, False),
        ("", everything, True),
    ):
        page.get_by_role("button", name="Light or dark").focus()
        page.keyboard.press("Enter")
        page.wait_for_function(f"{DARK} === {str(dark).lower()}")
        page.get_by_label("Filter").fill(words)  # what the server sends does not turn it back
        expect(page.locator(ROWS)).to_have_count(found)
        assert page.evaluate(DARK) is dark
    page.reload()  # remembered
    page.wait_for_function(DARK)
    expect(page.locator(ROWS)).to_have_count(everything)  # drawn, so that the focus stays
    page.get_by_role("link", name=re.compile("^2")).first.press("Enter")
    page.wait_for_url(re.compile("/run/2"))
