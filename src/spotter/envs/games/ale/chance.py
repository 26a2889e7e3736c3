"""Random numbers as ale-py's vector environment draws them."""

from typing import Any

import numpy as np


def stream(seed: int) -> np.random.Generator:
    """The numbers C++ knows as `std::mt19937(seed)`."""
    bits = np.random.MT19937()
    state: Any = np.random.RandomState(seed).get_state(legacy=False)
    bits.state = state
    return np.random.Generator(bits)


def below(stream: np.random.Generator, bound: int) -> int:
    """A number from 0 to `bound`, exclusive, drawn as GNU's C++ library does (Lemire, 2019).

    Other C++ libraries draw other numbers: there the same seed may begin with other idle frames.
    """
    if bound == 1:
        return 0
    while True:
        product = stream.bit_generator.random_raw() * bound
        if product % 2**32 >= 2**32 % bound:
            return int(product // 2**32)
