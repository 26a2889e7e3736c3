"""The loops around `policy.predict` that pages show run as they stand there."""

import re
from pathlib import Path

import pytest

import spotter

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/quickstart.md", "docs/concepts.md")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run for `@last`, the same for all pages."""
    runs = tmp_path_factory.mktemp("shown")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPOTTER_RUNS", str(runs))
        spotter.train(
            "CartPole-v1:ppo",
            quiet=True,
            budget={"env_steps": 512},
            eval={"episodes": 1},
            video={"when": None},
        )
    return runs


@pytest.mark.parametrize("page", PAGES)
def test_the_loop_on_the_page_runs(page, trained, monkeypatch):
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = [b for b in re.findall(r"```python\n(.*?)```", text, re.S) if ".predict(" in b]
    assert blocks
    monkeypatch.setenv("SPOTTER_RUNS", str(trained))
    for block in blocks:
        names: dict = {}
        exec(compile(block, page, "exec"), names)
        assert names["terminated"] is not None


def test_the_quickstart_shows_the_scored_environment():
    assert "spotter.make_env(" in (ROOT / "docs/quickstart.md").read_text(encoding="utf-8")
