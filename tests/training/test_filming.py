"""How long the film at the end of a run may take."""

import math
from types import SimpleNamespace
from typing import Any

import pytest

from spotter.training.filming import Films


@pytest.mark.parametrize(
    ("elapsed_s", "evaluating_s", "within_s"),
    [
        (3.0, 0.2, 0.5),  # never less than half a second
        (20.0, 0.8, 1.2),  # what evaluations left of a tenth
        (60.0, 1.0, 2.0),  # two seconds at most …
        (1000.0, 10.0, 20.0),  # … or 2 % of the run
        (1000.0, 95.0, 5.0),
        (1000.0, 300.0, 0.5),  # evaluations that were asked for took more than the share
    ],
)
def test_a_film_takes_what_evaluations_left_of_the_share(
    make_config: Any, elapsed_s: float, evaluating_s: float, within_s: float
) -> None:
    recorder: Any = SimpleNamespace(elapsed_s=elapsed_s, evaluating_s=evaluating_s)
    around: Any = SimpleNamespace()
    films = Films(None, make_config("CartPole-v1"), recorder, around, around)
    assert films._within_s() == pytest.approx(within_s)
    asked = Films(
        None, make_config("CartPole-v1", video={"when": "best"}), recorder, around, around
    )
    assert asked._within_s() == math.inf
