"""The pages say what is true: commands resolve, links lead somewhere, tables are complete."""

import re
import runpy
import shlex
from pathlib import Path

import pytest

from spotter import plugins
from spotter.config import resolve
from spotter.metrics import common
from spotter.metrics.rules import IDS

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
MADE_UP = ("SomePackage:", "my_package:", "path/to/")


def commands() -> list[list[str]]:
    """Every `spotter train` and `spotter config ADDRESS` line in a code block."""
    found = []
    for page in PAGES:
        for line in page.read_text(encoding="utf-8").splitlines():
            if re.match(r"\s*spotter (train|config) [A-Za-z]", line):
                words = shlex.split(line.partition("  #")[0])
                if words[2] not in ("check", "fmt", "schema"):
                    found.append(words)
    return found


def test_there_are_commands_to_check():
    assert len(commands()) > 5


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_commands_in_the_docs_resolve(words):
    address, *rest = words[2:]
    if address.startswith(MADE_UP):
        return
    algo = rest[rest.index("--algo") + 1] if "--algo" in rest else None
    settings = [word for word in rest if "=" in word and "/" not in word]  # not RUN/step=N
    resolve(address, settings, algo)


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


def test_every_setting_of_an_algorithm_is_on_its_page():
    for name in plugins.names("algos"):
        page = (ROOT / f"docs/algorithms/{name}.md").read_text(encoding="utf-8")
        fields = plugins.load("algos", name).Config.model_fields
        keys = {field.alias or key for key, field in fields.items()}
        assert {key for key in keys if key not in page} == set(), name


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
