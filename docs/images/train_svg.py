"""Draws docs/images/train.svg: a real `spotter train CartPole-v1:ppo`, as seen in a terminal.

python docs/images/train_svg.py
"""

import io
import re
from pathlib import Path

from rich.console import Console as Terminal

from spotter.cli.train import verdict
from spotter.config import resolve
from spotter.sinks.console import Console
from spotter.training import train

if __name__ == "__main__":
    terminal = Terminal(record=True, width=96, file=io.StringIO(), highlight=False)
    terminal.print("$ make train\n.venv/bin/spotter train CartPole-v1:ppo")
    resolved = resolve("CartPole-v1:ppo")
    result = train(resolved.config, [Console(terminal)])
    terminal.print(verdict(resolved.address, result, resolved.config.eval.episodes))
    svg = terminal.export_svg(title="spotter")
    # rich links a web font; the page should not depend on another site
    svg = re.sub(r"@font-face\s*{[^}]*}", "", svg)
    Path(__file__).with_name("train.svg").write_text(svg, encoding="utf-8")
