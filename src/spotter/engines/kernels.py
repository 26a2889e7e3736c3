"""The primitives under the NumPy engine: compiled where that worked, else NumPy's.

Both give the same numbers up to rounding. `SPOTTER_KERNELS=0` in the environment asks for NumPy.
"""

import os
from collections.abc import Callable
from typing import Final

from spotter.engines import plain
from spotter.engines.plain import LINEAR, RELU, TANH, Floats

__all__ = ["COMPILED", "LINEAR", "NAMES", "RELU", "TANH"]

NAMES: Final = (
    "forward",
    "backward",
    "clip",
    "adam",
    "rmsprop",
    "categorical",
    "categorical_slope",
    "standardize",
    "surrogate",
    "shift",
    "value_loss",
    "lstm",
    "lstm_slopes",
    "gru",
    "gru_slopes",
)

forward = plain.forward
backward = plain.backward
clip = plain.clip
adam = plain.adam
rmsprop = plain.rmsprop
categorical = plain.categorical
categorical_slope = plain.categorical_slope
standardize = plain.standardize
lstm = plain.lstm
lstm_slopes = plain.lstm_slopes
gru = plain.gru
gru_slopes = plain.gru_slopes
surrogate: Callable[[Floats, Floats, Floats, float], float] | None = None
shift: Callable[[Floats, Floats, float], tuple[float, float, float]] | None = None
value_loss: Callable[[Floats, Floats, Floats, Floats, float, float], float] | None = None
"""None: where they were not compiled, `losses.py` serves."""


def _take_compiled() -> bool:
    """Whether compiled primitives took the place of NumPy's."""
    if os.environ.get("SPOTTER_KERNELS") == "0":
        return False
    try:
        from spotter.engines import _kernels

        compiled = {name: vars(_kernels)[name] for name in NAMES}
    except (ImportError, KeyError):  # none, or left over from another version
        return False
    globals().update(compiled)
    return True


COMPILED: Final = _take_compiled()
