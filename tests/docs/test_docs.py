"""The pages say what is true: links lead somewhere, tables are complete."""

import re
import runpy
from pathlib import Path

import pytest
import typer.main
from ruamel.yaml import YAML

from spotter import plugins
from spotter.cli.main import app
from spotter.diagnose.rules import IDS
from spotter.metrics import common
from tests.docs.blocks import of_page

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("kind", ["wrappers", "envs"])
def test_every_environment_plugin_is_described(kind):
    text = (ROOT / "docs/envs/families.md").read_text(encoding="utf-8")
    missing = [name for name in plugins.names(kind) if f"`{name}`" not in text]
    assert not missing


def test_every_signal_and_algorithm_is_described():
    rewards = (ROOT / "docs/howto/shape-rewards.md").read_text(encoding="utf-8")
    assert [name for name in plugins.names("signals") if f"`{name}`" not in rewards] == []
    pages = {path.stem for path in (ROOT / "docs/algorithms").glob("*.md")}
    assert set(plugins.names("algos")) <= pages


@pytest.mark.parametrize("name", plugins.names("algos"))
def test_the_page_of_an_algorithm_shows_its_defaults(name):
    first = of_page(ROOT / f"docs/algorithms/{name}.md")[0]
    config = plugins.load("algos", name).Config
    shown = config.from_data(YAML(typ="safe").load(first.text)["algo"])
    assert shown == config.from_data({"name": name})
    keys = {field.alias or key for key, field in config.model_fields.items()}
    assert {key for key in keys if f"  {key}:" not in first.text} == set()


def test_the_metrics_page_is_made_from_the_catalogue():
    page = (ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8")
    assert [spec.key for spec in common.METRICS if f"`{spec.key}`" not in page] == []
    made = runpy.run_path(str(ROOT / "docs/reference/metrics_page.py"))["page"]()
    assert page == made, "run: python docs/reference/metrics_page.py"


def anchors(page: Path) -> list[str]:
    """What GitHub makes of the headings."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]


def test_every_alert_has_its_place_on_the_troubleshooting_page():
    found = anchors(ROOT / "docs/troubleshooting.md")
    assert [name for name in IDS if found.count(name) != 1] == []


def test_the_readme_counts_its_recipes():
    from spotter.config import recipes

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    number = sum(len(recipes.variants(recipes.open_source(p))) for p in recipes.files().values())
    assert f"{number} variants" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_tables_are_whole(page):
    """A header, a line below it, and the same number of cells in every row."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        rows = table.splitlines()
        assert len(rows) > 1 and re.fullmatch(r"\|(:?-+:?\|)+", rows[1].replace(" ", "")), rows[0]
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1, rows[0]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_in_sentences_exist(page):
    """Of `spotter show` and `spotter train … --why` in the text: the command and its options."""
    commands = typer.main.get_command(app).commands
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for span in re.findall(r"`spotter ([a-z][^`]*)`", text):
        name, *words = span.split()
        assert name in commands, span
        known = {option for param in commands[name].params for option in param.opts}
        known |= {"-h", "--origin", "--check"} if name == "config" else {"-h"}
        asked = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert asked <= known, span
