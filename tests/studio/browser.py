"""Where the browser for Studio's tests is; run as a script, it is installed where that is possible.

`python -m tests.studio.browser` never fails: tests that need a browser are left out without one.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
APT = ("apt-get", "install", "--yes", "--no-install-recommends", "chromium")
_PATIENCE_S = 600


def find() -> Path | None:
    """The system's Chromium or Chrome, or the one Playwright has downloaded."""
    for name in NAMES:
        if found := shutil.which(name):
            return Path(found)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    with sync_playwright() as driver:
        own = Path(driver.chromium.executable_path)
    return own if own.exists() else None


def install() -> Path | None:
    """By the system's package manager where we may, otherwise through Playwright."""
    attempts = [[sys.executable, "-m", "playwright", "install", "chromium"]]
    if hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get"):
        attempts.insert(0, list(APT))
    for command in attempts:
        print("browser:", " ".join(command), flush=True)
        try:
            subprocess.run(command, check=False, timeout=_PATIENCE_S, capture_output=True)
        except (OSError, subprocess.SubprocessError) as error:
            print("browser:", error)
        if found := find():
            return found
    return None


if __name__ == "__main__":
    browser = find() or install()
    print(f"browser: {browser or 'none could be installed; tests that need one are left out'}")
