"""Whatever is skipped is said at the end, with the command that brings it."""

import pytest

from tests import left_out
from tests.studio import browser


def test_one_line_per_missing_thing():
    reasons = [
        *["Skipped: no browser"] * 3,
        "Skipped: could not import 'envpool': No module named 'envpool'",
        "Skipped: Windows has no limit on file sizes",
    ]
    assert list(left_out.lines(reasons)) == [
        "3 tests left out for lack of a browser: make browser",
        "1 test left out for lack of EnvPool (Linux): "
        ".venv/bin/pip install -c constraints.txt -e '.[fast]'",
        "1 test left out: Windows has no limit on file sizes",
    ]


def test_installing_a_browser_never_fails(monkeypatch):
    def broken(command, **options):
        raise OSError("no network")

    monkeypatch.setattr(browser.subprocess, "run", broken)
    monkeypatch.setattr(browser, "find", lambda: None)
    assert browser.install() is None


@pytest.mark.parametrize("name", ["chromium", "google-chrome"])
def test_a_browser_of_the_system_is_found(monkeypatch, name):
    path = f"/somewhere/{name}"
    monkeypatch.setattr(browser.shutil, "which", lambda wanted: path if wanted == name else None)
    assert str(browser.find()) == path
