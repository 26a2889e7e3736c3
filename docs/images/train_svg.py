"""Draws what `spotter train` shows in a terminal, from real runs: a good one and one in trouble.

python docs/images/train_svg.py
"""

import io
import os
import re
import sys
import tempfile
from pathlib import Path

from rich.console import Console as Terminal
from rich.console import RenderableType

from spotter.config import resolve
from spotter.rundir.run import Run
from spotter.sinks.base import Ending, Row, Start
from spotter.sinks.terminal.live import LiveTable
from spotter.sinks.terminal.summary import Verdict
from spotter.training.run import train

SIZE = {"width": 104, "height": 44}


class Camera(LiveTable):
    """A live table, of which one frame is kept, and the verdict."""

    def __init__(self, picture: Terminal, at_env_steps: int) -> None:
        self._newest: Row | None = None
        super().__init__(Terminal(file=io.StringIO(), force_terminal=True, **SIZE))
        self._picture = picture
        self._at = at_env_steps
        self._taken = False

    def open(self, start: Start) -> None:
        super().open(start)
        self._opening = start

    def row(self, row: Row) -> None:
        super().row(row)
        self._newest = row

    def view(self) -> RenderableType:
        view = super().view()
        if not self._taken and self._newest and self._newest.env_steps >= self._at:
            self._taken = True
            self._picture.print(view)
            self._picture.print()
        return view

    def close(self, ending: Ending | None) -> None:
        super().close(ending)
        if ending is not None:
            self._picture.print(Verdict.of(self._opening, ending, self._newest).box())


def draw(at_env_steps: int, address: str, *overrides: str) -> str:
    picture = Terminal(record=True, file=io.StringIO(), highlight=False, **SIZE)
    picture.print(f"$ spotter train {' '.join((address, *overrides))}\n")
    resolved = resolve(address, overrides)
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            train(
                resolved.config,
                [Camera(picture, at_env_steps)],
                lambda: Run.create(resolved.config, address, sys.argv),
            )
        finally:
            os.chdir(here)
    # rich links a web font; the page should not depend on another site
    return re.sub(r"@font-face\s*{[^}]*}", "", picture.export_svg(title="spotter"))


if __name__ == "__main__":
    here = Path(__file__).parent
    (here / "train.svg").write_text(draw(12_000, "CartPole-v1:ppo"), encoding="utf-8")
    trouble = draw(20_000, "CartPole-v1:a2c", "algo.lr=0.3", "budget.env_steps=30000")
    (here / "alerts.svg").write_text(trouble, encoding="utf-8")
