"""One line that is drawn again in place."""

import sys
import types

from spotter.sinks.base import Sink
from spotter.sinks.terminal.notebook import NotebookLine, in_notebook
from tests.sinks.terminal.scripted import KL_HIGH, Clock, ending, evaluation, row, start


class Screen:
    """What was shown, and how often something new appeared."""

    def __init__(self):
        self.displays, self.now = 0, None

    def display(self, shown):
        self.displays += 1
        self.now = shown
        return self

    def update(self, shown):
        self.now = shown


def opened(**options):
    screen, clock = Screen(), Clock()
    line: Sink = NotebookLine(clock, screen.display)
    line.open(start(**options))
    return line, screen, clock


def test_everything_is_in_one_place():
    line, screen, clock = opened()
    for update in range(1, 5):
        clock.now += 1
        line.row(row(update, metrics={"train/score": 12.3, "time/fps": 999.0, "time/eta_s": 61.0}))
    assert repr(screen.now) == (
        "  0% CartPole-v1 · ppo · 256 of 100,000 env steps · train 12.3 · 999 steps/s · 61.0 s left"
    )
    line.evaluation(evaluation(seeds="eval"))
    line.event("checkpoint", {"best": True})
    line.close(ending())
    assert repr(screen.now).endswith("· train 12.3 · eval 500.0 ± 0.0 · solved after 75.2 s")
    assert screen.displays == 1


def test_it_is_drawn_twice_a_second_at_most():
    line, screen, clock = opened()
    before = screen.now
    clock.now += 0.1
    line.row(row(1))
    assert screen.now is before
    clock.now += 0.5
    line.row(row(2))
    assert screen.now is not before


def test_messages_stand_below_once_and_are_escaped():
    line, screen, clock = opened(budget=None)
    line.note("<b>careful</b>")
    line.note("<b>careful</b>")
    clock.now += 1
    line.row(row(1, alerts=[KL_HIGH]))
    markup = screen.now._repr_html_()
    assert markup.count("&lt;b&gt;careful") == 1
    assert "alert kl-high: saw 0.052" in markup
    assert "<progress" not in markup, "there is no budget to show a share of"


def test_an_error_ends_the_line():
    line, screen, _ = opened()
    line.close(None)
    assert repr(screen.now).endswith("stopped by an error")


def test_a_kernel_is_a_notebook(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not in_notebook()
    for shell, expected in (
        (None, False),
        (types.SimpleNamespace(), False),
        (types.SimpleNamespace(kernel=1), True),
    ):
        fake = types.SimpleNamespace(get_ipython=lambda shell=shell: shell)
        monkeypatch.setitem(sys.modules, "IPython", fake)
        assert in_notebook() is expected
