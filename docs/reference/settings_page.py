"""Writes docs/reference/settings.md from the models; a test compares the two.

python docs/reference/settings_page.py
"""

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from spotter.config.reference import Entry, entries

INTRODUCTION = """\
# Settings

Every setting, made from the code by `python docs/reference/settings_page.py`. In a shell, `spotter
list settings` prints the same, `spotter list settings lr` those with a word. Defaults are those of
the code; families, protocols and recipes set others: `spotter config ADDRESS --origin` shows what
an environment gets and from where. *Elsewhere* is what other libraries
([Stable-Baselines3, CleanRL, RLlib](../coming-from-sb3.md)) call it.

A *schedule* is a number that changes while training: `{start: 1e-3, end: 0}`; its keys are
[below](#schedules). Wrappers stand in the list `env.wrappers`, reward signals in `reward.signals`.
"""


def page() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    for section, found in groupby(entries(), key=lambda entry: entry.section):
        parts.append(f"## {section}\n\n{table(found)}")
    return "\n".join(parts)


def table(found: Iterable[Entry]) -> str:
    lines = [
        "| setting | type | default | range | meaning | elsewhere |",
        "|---|---|---|---|---|---|",
    ]
    for entry in found:
        also = ", ".join(f"`{name}`" for name in entry.also)
        default = f"`{entry.default}`" if entry.default else "needed"
        meaning = entry.meaning.replace("|", "\\|")
        cells = [f"`{entry.name}`", entry.type, default, entry.range, meaning, also]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("settings.md").write_text(page(), encoding="utf-8")
