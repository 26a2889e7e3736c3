"""Imports go down, never up, never sideways between plug-ins."""

import pytest

from spotter import plugins
from tests.architecture.source import Module, at_import, imports, modules, part_of

LAYERS = {
    0: "types metrics functional schedules seeding distributed packing versions interrupts streams "
    "intervals machine children",
    1: "config plugins door",
    2: "envs nets",
    3: "rollout collector rewards optim fast predict diagnosis transfer devices estimate",
    4: "algos",
    5: "recorder checkpoint evaluate selection scoring cadence origins interventions blackbox "
    "sinks display rundir video results phases",
    6: "training gather loop filming restore summary unused",
    7: "verify bench doctor digest review sweeps launch hub traces",
    8: "cli api studio mcp",
}
LEVEL = {part: level for level, parts in LAYERS.items() for part in parts.split()}
LEVEL[""] = LEVEL["__main__"] = 9  # the doors
TORCH_FREE = {"types", "intervals", "metrics", "schedules", "seeding", "packing", "versions"} | {
    "config", "plugins", "algos", "rundir", "display", "doctor", "digest", "review", "launch",
    "cli", "studio", "mcp",
}  # fmt: skip
PLUGINS = {
    f"{package}.{name}"
    for kind, package in plugins.PACKAGES.items()
    for name in plugins.names(kind)
}


@pytest.mark.parametrize("module", modules().values(), ids=lambda module: module.name)
def test_imports_go_down(module: Module):
    if module.part == "testing":
        return  # may use everything; nobody may use it
    assert module.part in LEVEL, f"{module.name} has no layer; add it to ARCHITECTURE and here"
    for line, target in imports(module):
        if target.split(".")[0] != "spotter":
            continue
        place = f"{module.path}:{line}: {module.name} imports {target}"
        part = part_of(target)
        assert part != "testing", f"{place}, which is for tests"
        if target == "spotter":
            assert _only_version(module, line), f"{place}: import from where it is defined"
            continue
        assert LEVEL[part] <= LEVEL[module.part], f"{place}: upwards"
        sideways = module.name in PLUGINS and target in PLUGINS and target != module.name
        same_layer = LEVEL[part] == LEVEL[module.part]
        assert not (sideways and same_layer), f"{place}: plug-ins do not know each other"


def _only_version(module: Module, line: int) -> bool:
    return "import __version__" in module.text.splitlines()[line - 1]


@pytest.mark.parametrize("module", modules().values(), ids=lambda module: module.name)
def test_no_torch_where_reading_must_be_quick(module: Module):
    if module.part in TORCH_FREE:
        for line, target in at_import(module):
            assert target.split(".")[0] != "torch", f"{module.path}:{line}: imports torch"


def test_the_rules_see_what_they_should():
    """A test of the test: known imports are found, wherever they stand."""
    ppo = modules()["spotter.algos.ppo"]
    everywhere, at_once = ({target for _, target in found(ppo)} for found in (imports, at_import))
    assert {"torch", "spotter.functional", "spotter.rollout"} <= everywhere
    assert "spotter.metrics.spec" in at_once
    assert not {"torch", "spotter.rollout"} & at_once
    assert {"spotter.algos.ppo", "spotter.envs.wrappers.frame_skip"} <= PLUGINS
    assert "spotter.algos.base" not in PLUGINS
