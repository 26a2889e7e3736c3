"""Scripted rows, a clock that stands still, and a terminal that remembers."""

import io
import re
from pathlib import Path

from rich.console import Console as Terminal

from spotter.config import validate
from spotter.diagnose.alerts import Alert, AlertCount
from spotter.intervals import Interval
from spotter.metrics.spec import Catalogue, MetricSpec
from spotter.rundir.run import Run
from spotter.sinks.base import Ending, Row, Start
from spotter.types import Evaluation

CATALOGUE = Catalogue(
    (
        MetricSpec("loss/value", "", better="low", shown=True, priority=50),
        MetricSpec("policy/entropy", "", shown=True, priority=31),
        MetricSpec("policy/approx_kl", "", precision=4, shown=True, priority=30),
        MetricSpec("train/episodes", "", precision=0, shown=True, priority=60),
        MetricSpec("train/score", "", better="high", precision=2, shown=True, priority=1),
        MetricSpec("eval/score", "", better="high", precision=2, shown=True, priority=2),
        MetricSpec("net/dead_units", "", better="low"),
        MetricSpec("reward/*", "", shown=True, priority=20),
        MetricSpec("time/*", "", precision=0),
    )
)
KL_HIGH = Alert("kl-high", "policy/approx_kl", "warning", "0.052 [limit 0.03]", "lower algo.lr")
DEAD = Alert("dead-units", "net/dead_units", "critical", "30 % dead", "use tanh")


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def start(
    budget=100_000, threshold=475.0, run=None, summary=None, rollout=(256, 1024), env_steps=0
):
    config = validate(
        {
            "env": {"id": "CartPole-v1", "family": "gymnasium", "count": 4},
            "algo": {"name": "ppo", "steps": 16},
            "budget": {"env_steps": budget},
        }
    )
    return Start(config, CATALOGUE, run, threshold, summary or {}, env_steps, lambda: rollout)


def row(update=1, metrics=None, alerts=(), **more):
    values = {"train/score": 12.345, "policy/entropy": 0.69} if metrics is None else metrics
    return Row(update, update * 64, update * 16, {**values, **more}, tuple(alerts))


def evaluation(score=500.0, threshold=475.0, seeds="test"):
    return Evaluation(6400, (score, score), (10, 10), threshold, seeds, True)


def ending(reason="solved", test=None, best=490.0, alerts=(), last=None):
    counts = tuple(AlertCount(alert, 12, 0.25, 640, 6400) for alert in alerts)
    return Ending(
        reason=reason,
        test=test,
        solved=test is not None and test.solved,
        best=None if best is None else Interval(best, 3.25, 40),
        kept_at=None if best is None else 6144,
        last=None if last is None else Interval(last, 20.0, 20),
        env_steps=6400,
        seconds=75.25,
        alerts=counts,
    )


def a_run():
    return Run(Path("runs") / "20260102-030405-abcd")


def terminal(width=100, height=40, **options):
    options = {"force_terminal": True, "color_system": "standard", **options}
    return Terminal(
        width=width, height=height, file=io.StringIO(), _environ={"TERM": "xterm"}, **options
    )


def written(terminal):
    return terminal.file.getvalue()


def without_styles(text):
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def plain_text(renderable, width=100, height=40):
    """What a renderable looks like, colours aside."""
    screen = terminal(width, height, color_system=None)
    screen.print(renderable)
    return without_styles(written(screen))


def styled(lines):
    """Lines of pieces as one searchable list: text without spaces around it -> style."""
    return {text.strip(): style.strip() for line in lines for text, style in line if text.strip()}


def screen(output):
    """The lines a terminal would hold after `output`: knows what rich's live display writes."""
    lines, at, column = [""], 0, 0
    for token in re.findall(r"\x1b\[[?\d;]*[A-Za-z]|[\r\n]|[^\x1b\r\n]+", output):
        if token == "\r":
            column = 0
        elif token == "\n":
            at, column = at + 1, 0
            lines += [""] * (at + 1 - len(lines))
        elif token.startswith("\x1b["):
            amount, code = token[2:-1], token[-1]
            if code == "A":
                at = max(0, at - int(amount or 1))
            elif code == "K":
                lines[at] = ""
            else:
                assert code in "mhl", f"unexpected control {token!r}"
        else:
            line = lines[at].ljust(column)
            lines[at] = line[:column] + token + line[column + len(token) :]
            column += len(token)
    return lines
