"""Reading a config is quick: no torch, and no Gymnasium unless an environment must be looked up."""

import subprocess
import sys

import pytest

LOOK = "import sys; print(*sorted({'torch', 'gymnasium'} & sys.modules.keys()))"


@pytest.mark.parametrize(
    "code",
    [
        "import spotter.config, spotter.plugins, spotter.schedules, spotter.seeding",
        "import spotter.config.format, spotter.config.schema, spotter.config.catalogue",
        "from spotter.config import resolve; resolve('CartPole-v1:ppo')",
        "from spotter.config import resolve; resolve('CartPole-v1:a2c')",
        "import spotter.cli.main",
    ],
)
def test_neither_torch_nor_gymnasium(code):
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{LOOK}"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def test_no_torch_even_for_an_environment_without_a_recipe():
    code = "from spotter.config import resolve; resolve('MountainCarContinuous-v0')"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{LOOK}"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "gymnasium"
