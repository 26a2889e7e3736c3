"""Which versions of what a number was made with."""

import platform
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from spotter import __version__

_PACKAGES: Final = ("torch", "gymnasium", "numpy")


@cache
def versions() -> dict[str, str]:
    """Python, platform and the packages a score depends on."""
    found = {
        "python": platform.python_version(),
        "platform": sys.platform,
        "spotter": __version__,
    }
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
