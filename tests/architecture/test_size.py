"""Files and functions of a size that can be read at once; each file says what it is for."""

import ast
import re

from tests.architecture.source import ROOT, modules

LONGEST_FILE = 400
LONGEST_FUNCTION = 60
LONGEST_SPINE = 1_500


def test_files_are_short():
    lengths = {module.path: len(module.text.splitlines()) for module in modules().values()}
    assert {path: length for path, length in lengths.items() if length > LONGEST_FILE} == {}


def test_functions_are_short():
    assert [
        f"{module.path}:{node.lineno}: {node.name}"
        for module in modules().values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno >= LONGEST_FUNCTION
    ] == []


def test_files_say_what_they_are_for():
    assert [m.path for m in modules().values() if not ast.get_docstring(m.tree)] == []


def test_nothing_is_left_to_do():
    assert lines_with(r"\b(TODO|FIXME|XXX)\b") == []


def lines_with(pattern: str) -> list[str]:
    return [
        f"{module.path}:{number}: {line.strip()}"
        for module in modules().values()
        for number, line in enumerate(module.text.splitlines(), 1)
        if re.search(pattern, line)
    ]


def test_one_training_step_is_six_short_files():
    """README and docs/architecture.md name them in this order."""
    spine = (
        "training.training", "collect.collector", "policy.actor_critic", "algos.ppo",
        "engines.losses", "sinks.recorder",
    )  # fmt: skip
    found = [modules()[f"spotter.{name}"] for name in spine]
    assert sum(len(module.text.splitlines()) for module in found) <= LONGEST_SPINE
    readme = (ROOT.parent / "README.md").read_text(encoding="utf-8")
    places = [readme.index(f"src/spotter/{name.replace('.', '/')}.py") for name in spine]
    assert places == sorted(places)
