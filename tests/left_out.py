"""What a test run left out, in one line per missing thing, with the command that brings it."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

_PACKAGES = [
    "ale_py",
    "cv2",
    "ipykernel",
    "matplotlib",
    "minatar",
    "minigrid",
    "mujoco",
    "nbclient",
    "nbformat",
    "popgym",
    "PIL",
    "stable_retro",
    "tensorboard",
    "vizdoom",
]
BRINGS = {
    r"needs its ROM": ("a ROM of yours", ".venv/bin/python -m stable_retro.import FOLDER"),
    r"no browser|playwright": ("a browser", "make browser"),
    r"envpool": ("EnvPool (Linux)", ".venv/bin/pip install -c constraints.txt -e '.[fast]'"),
    "|".join(_PACKAGES): (
        "optional packages",
        ".venv/bin/pip install -c constraints.txt -e '.[dev]'",
    ),
    r"no zsh|no fish": ("other shells", "apt-get install zsh fish"),
    r"NVIDIA": ("an NVIDIA GPU", "run on a machine with one"),
    r"SOAK|soak": ("time", "make soak"),
    r"root|mount|small disk|tmpfs": ("a small disk to fill", "run as root on Linux"),
}


def lines(reasons: Iterable[str]) -> Iterator[str]:
    """`96 tests left out for lack of a browser: make browser`."""
    counted: Counter[tuple[str, str]] = Counter()
    for reason in reasons:
        text = reason.removeprefix("Skipped: ")
        found = (needs for pattern, needs in BRINGS.items() if re.search(pattern, text))
        counted[next(found, (text, ""))] += 1
    for (thing, command), count in counted.most_common():
        tests = f"{count} test{'s' * (count != 1)} left out"
        yield f"{tests} for lack of {thing}: {command}" if command else f"{tests}: {thing}"
