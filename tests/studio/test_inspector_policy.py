"""The inspector where a policy is needed: new episodes, other actions, what a network looks at."""

import re

import pytest

from spotter.episodes import format as traces
from spotter.episodes.capture import capture_to_disk
from spotter.rundir import checkpoints
from tests.episodes.making import saved
from tests.episodes.odd import ID as PICTURES
from tests.studio.test_inspector_page import step_of


@pytest.fixture
def stored(make_config, studio_runs, monkeypatch):
    """A run of a given environment with untrained weights, and the name of an episode of it."""

    def make(env_id, most_steps=12, pictures=True, **sections):
        monkeypatch.setenv("SPOTTER_RUNS", str(studio_runs))
        run = saved(make_config(env_id, **sections))
        folder = capture_to_disk(str(run.folder), most_steps=most_steps, pictures=pictures, seed=5)
        return run, folder.rsplit("/", 1)[-1]

    return make


def opened(page, studio, run, name, step=0):
    page.goto(f"{studio.url}inspect?run={run.id}&episode={name}&step={step}")
    page.wait_for_selector(".viewer-step")


def captured(page, studio, run, **fields):
    """Fill the form, press the button; the address afterwards."""
    page.goto(f"{studio.url}inspect?run={run.id}")
    page.get_by_role("button", name="Capture an episode").click()
    for label, text in fields.items():
        page.get_by_label(label.replace("_", " ")).fill(text)
    page.get_by_role("button", name="Capture", exact=True).click()


def test_an_episode_is_captured_and_another_action_tried(page, studio, trained):
    captured(page, studio, trained, Seed="12", Steps_at_most="60")
    page.wait_for_url("**episode=**", timeout=60_000)
    page.wait_for_selector(".viewer-step")
    stored = traces.listing(trained)[0]
    assert traces.load(stored).meta.seed == 12
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.get_by_role("button", name=re.compile("Try push")).click()
    page.wait_for_selector(".inspect-branch table", timeout=60_000)
    old, new = (traces.load(folder) for folder in reversed(traces.listing(trained)[:2]))
    assert (old.columns["action"][:3] == new.columns["action"][:3]).all()
    assert old.columns["action"][3] != new.columns["action"][3]
    assert (old.columns["obs/obs"][:4] == new.columns["obs/obs"][:4]).all()
    text = page.inner_text(".inspect-branch")
    assert f"{old.meta.score:g}" in text
    assert f"{new.meta.score:g}" in text
    page.get_by_role("link", name="Open the new episode").click()
    page.wait_for_selector(".viewer-step")
    assert "given, not chosen" in page.inner_text(".viewer-action")
    assert step_of(page) == 3


def test_a_checkpoint_in_the_address_is_chosen_in_the_form(page, studio, trained):
    first = checkpoints.read(trained.folder)[0].env_steps
    page.goto(f"{studio.url}inspect?run={trained.id}&checkpoint=step%3D{first}")
    page.get_by_role("button", name="Capture an episode").click()
    page.get_by_role("dialog").get_by_text(f"{first:,} env steps").wait_for()
    page.goto(f"{studio.url}inspect?run={trained.id}&checkpoint=step%3D7")
    assert "has no checkpoint step=7" in page.inner_text("[role=alert]")


def test_a_setting_that_does_not_exist_is_a_sentence(page, studio, trained):
    captured(page, studio, trained, Changed_settings="env.stickyy=1")
    page.wait_for_selector(".q-dialog [role=alert]", timeout=60_000)
    assert "stickyy" in page.inner_text(".q-dialog [role=alert]")


def test_other_numbers_are_tried_where_actions_are_numbers(page, studio, stored):
    run, name = stored("Pendulum-v1", env={"family": "classic"})
    opened(page, studio, run, name, 3)
    field = page.get_by_label("Another torque")
    old = traces.load(traces.find(run, name))
    assert float(field.input_value()) == pytest.approx(old.columns["received"][3, 0], abs=1e-3)
    assert "±" in page.inner_text(".viewer-axis")
    field.fill("3")
    page.get_by_role("button", name="try these numbers").click()
    assert field.evaluate("e => e.validity.rangeOverflow"), "the browser refuses it"
    field.fill("-0.75")
    page.get_by_role("button", name="try these numbers").click()
    page.wait_for_selector(".inspect-branch table", timeout=60_000)
    new = traces.load(traces.listing(run)[0])
    assert new.columns["received"][3, 0] == -0.75
    assert (old.columns["action"][:3] == new.columns["action"][:3]).all()
    assert "-0.75 (tried)" in page.inner_text(".inspect-branch")
    assert page.errors == []


def test_a_step_is_explained_where_the_network_looks_at_pictures(page, studio, stored):
    run, name = stored(PICTURES, pictures=False, env={"kwargs": {"actions": "two"}})
    opened(page, studio, run, name, 4)
    page.get_by_role("button", name="Explain this step").click()
    page.wait_for_selector(".inspect-vision img", timeout=60_000)
    text = page.inner_text(".inspect-vision")
    for title in ("Saliency for the action", "Saliency for the value", "Activations", "Filters of"):
        assert title in text
    drawn = page.locator(".inspect-picture").evaluate_all("all => all.map(e => e.naturalWidth)")
    assert len(drawn) >= 4
    assert min(drawn) > 7
    assert page.errors == []
