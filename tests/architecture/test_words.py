"""Plain words: source and docs name who does what, not "somebody"."""

import re

from tests.architecture.source import ROOT

PERSONIFIED = re.compile(r"\b(somebody|nobody|whoever|anew)\b", re.IGNORECASE)
TOP = ROOT.parent


def test_no_part_is_a_person():
    texts = [TOP / "README.md", *(TOP / "docs").rglob("*.md")]
    texts += [path for end in ("py", "js") for path in (ROOT / "spotter").rglob(f"*.{end}")]
    assert len(texts) > 500
    assert [
        f"{path}:{number}: {line.strip()}"
        for path in texts
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if PERSONIFIED.search(line)
    ] == []
