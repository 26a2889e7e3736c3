"""Every setting is described, and the page of settings is that of the code."""

import runpy
from pathlib import Path

from spotter.config import RunConfig, tree
from spotter.config.reference import entries, find

REFERENCE = Path(__file__).parents[2] / "docs/reference"


def test_no_setting_without_a_description_and_a_type():
    assert [e.name for e in entries() if not e.meaning.strip()] == []
    assert [e.name for e in entries() if not e.type or "anything" in e.type] == []


def test_every_setting_is_there():
    names = {entry.name for entry in entries()}
    for algo in ("ppo", "a2c", "reinforce"):
        known = {*tree.paths(RunConfig, {"algo": {"name": algo}})} - {"algo.name"}
        assert known <= names


def test_what_an_entry_says():
    steps = find("budget.env_steps")[0]
    assert (steps.type, steps.range) == ("whole number or null", "≥ 1")
    assert "total_timesteps" in steps.also
    rates = {entry.section: entry for entry in find("algo.lr")}
    assert rates["algo: a2c"].default == "0.0007"
    assert rates["algo: ppo"].range == "≥ 0"
    assert find("algo.gamma")[0].range == "0 … 1"
    assert find("algo.target_kl")[0].type == "number or schedule or null"
    assert find("frame_stack.count")[0].range == "1 … 1000"
    assert find("no.such") == []


def test_the_page_is_made_from_the_code():
    page = (REFERENCE / "settings.md").read_text(encoding="utf-8")
    made = runpy.run_path(str(REFERENCE / "settings_page.py"))["page"]()
    assert page == made, "run: python docs/reference/settings_page.py"
