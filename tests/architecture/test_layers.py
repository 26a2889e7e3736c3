"""Imports between packages go strictly down; plug-ins do not know each other."""

import ast
from collections.abc import Iterator

from spotter import plugins
from tests.architecture.source import ROOT, Module, at_import, imports, modules, part_of

LAYERS = {
    0: "intervals seeding versions packing",
    1: "types",
    2: "metrics schedules plugins system text",
    3: "config",
    4: "envs policy",
    5: "rollouts rundir",
    6: "engines video",
    7: "collect diagnose charts",
    8: "algos sinks pages explore",
    9: "training launch",
    10: "episodes sweeps bench",
    11: "review api",
    12: "studio mcp",
    13: "cli",
}
LEVEL = {part: level for level, parts in LAYERS.items() for part in parts.split()}
LEVEL[""] = LEVEL["__main__"] = 14  # the doors
LEVEL["testing"] = 15  # may use everything, and is used by nothing
TORCH_FREE = {"types", "intervals", "metrics", "schedules", "seeding", "packing", "versions"} | {
    "config", "plugins", "system", "text", "algos", "rundir", "diagnose", "charts", "sinks",
    "pages", "review", "launch", "cli", "studio", "mcp",
}  # fmt: skip
MOST_AT_THE_TOP = 10
PLUGINS = {
    f"{what.package}.{name}" for kind, what in plugins.KINDS.items() for name in plugins.names(kind)
}


def test_every_package_has_a_layer():
    assert {module.part for module in modules().values()} - LEVEL.keys() == set()


def test_imports_go_down():
    assert [found for module in modules().values() for found in upwards(module)] == []


def upwards(module: Module) -> Iterator[str]:
    for line, target in imports(module):
        place = f"{module.path}:{line}: {module.name} imports {target}"
        part = part_of(target)
        if target == "spotter" and module.part != "testing":
            if "import __version__" not in module.text.splitlines()[line - 1]:
                yield f"{place}: import from where it is defined"
        elif target.startswith("spotter.") and part != module.part:
            if LEVEL[part] >= LEVEL[module.part]:
                yield f"{place}: upwards or sideways"
        elif module.name in PLUGINS and target in PLUGINS and target != module.name:
            yield f"{place}: plug-ins do not know each other"


def test_no_torch_where_reading_must_be_quick():
    quick = [module for module in modules().values() if module.part in TORCH_FREE]
    assert [
        f"{module.path}:{line}"
        for module in quick
        for line, target in at_import(module)
        if target.split(".")[0] == "torch"
    ] == []


def test_few_modules_at_the_top():
    at_the_top = [path for path in (ROOT / "spotter").glob("*.py") if path.stem[0] != "_"]
    assert len(at_the_top) <= MOST_AT_THE_TOP


def test_only_rundir_reads_the_lines_of_a_run():
    """Everything else asks `History`, `Search` or `RunView`."""
    readers = {
        module.name
        for module in modules().values()
        if any(target == "spotter.rundir.lines" for _, target in imports(module))
    }
    assert {name.split(".")[1] for name in readers} == {"rundir"}


def test_the_map_in_the_readme_names_every_package():
    readme = (ROOT.parent / "README.md").read_text(encoding="utf-8")
    map_ = readme.partition("```text\nsrc/spotter/\n")[2].partition("```")[0]
    packages = {path.name for path in (ROOT / "spotter").iterdir() if path.is_dir()}
    assert {name for name in packages - {"__pycache__"} if f"{name}/" not in map_} == set()


def test_the_rules_see_what_they_should():
    """A test of the test: known imports are found, wherever they stand."""
    ppo = modules()["spotter.algos.ppo"]
    everywhere, at_once = ({target for _, target in found(ppo)} for found in (imports, at_import))
    assert {"torch", "spotter.engines.learner", "spotter.rollouts.rollout"} <= everywhere
    assert "spotter.metrics.spec" in at_once
    assert not {"torch", "spotter.rollouts.rollout"} & at_once
    assert {"spotter.algos.ppo", "spotter.envs.wrappers.frame_skip"} <= PLUGINS
    wrong = "from spotter.cli import main\nfrom spotter.config import resolve\nimport spotter\n"
    made = Module("spotter.config.made", ppo.path, wrong, ast.parse(wrong))
    assert [found.rpartition(": ")[2] for found in upwards(made)] == [
        "upwards or sideways", "import from where it is defined"
    ]  # fmt: skip
