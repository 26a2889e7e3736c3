"""Compiled GRU and LSTM against NumPy's: the same numbers for every shape, and no crashes."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spotter.engines import plain

try:
    from spotter.engines import _kernels
except ImportError:
    _kernels = None

SETS = _kernels.instruction_sets() if _kernels else []
compiled = pytest.mark.usefixtures("instruction_set")
shapes = settings(max_examples=40, deadline=None)
SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=12).map(
    lambda counts: sorted(counts, reverse=True)
)
CELLS = {"lstm": (4, 2, 5), "gru": (3, 1, 3)}
"""Blocks of gates, parts of a state, arrays that each step fills in."""


@pytest.fixture(params=SETS, scope="module")
def instruction_set(request):
    """Every one this processor has; none, and so nothing to test, where the build failed."""
    _kernels.use(request.param)
    yield
    _kernels.use(SETS[-1])


def given_to(name, seed, size, sizes, more=0):
    """The arguments of a cell; `more` sequences in the state than there are."""
    blocks, parts, filled = CELLS[name]
    draw = np.random.default_rng(seed)
    rows = sum(sizes)

    def some(*shape):
        return draw.normal(size=shape).astype(np.float32)

    states = [some(sizes[0] + more, size) for _ in range(parts)]
    return [
        2 * some(rows, blocks * size), some(blocks * size, size) / np.float32(np.sqrt(size)),
        some(blocks * size), np.array(sizes, np.int64), *states,
        *np.full((filled, rows, size), np.nan, np.float32),
    ]  # fmt: skip


def slopes_of(name, module, found, of_output):
    """What the derivative leads to, given the arguments of a cell that has been run."""
    gates, weight, _, sizes, *rest = found
    kept = rest[3:6:2] if name == "lstm" else rest[1:3]
    of = np.full((1 if name == "lstm" else 2, *gates.shape), np.nan, np.float32)
    getattr(module, f"{name}_slopes")(of_output, gates, weight, sizes, *kept, *of)
    return of


@compiled
@shapes
@pytest.mark.parametrize("name", CELLS)
@given(seed=st.integers(0, 999), size=st.integers(1, 70), sizes=SIZES, more=st.integers(0, 2))
@example(seed=0, size=150, sizes=[13, 13, 2], more=0)
@example(seed=0, size=64, sizes=[3] + [2] * 90, more=1)
def test_cells(name, seed, size, sizes, more):
    ours, theirs = (given_to(name, seed, size, sizes, more) for _ in range(2))
    getattr(_kernels, name)(*ours)
    getattr(plain, name)(*theirs)
    for found, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5)
    of_output = np.random.default_rng(seed + 1).normal(size=ours[-1].shape).astype(np.float32)
    found = slopes_of(name, _kernels, theirs, of_output)
    expected = slopes_of(name, plain, theirs, of_output)
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5 * scale)


@compiled
@pytest.mark.parametrize("name", CELLS)
def test_a_sequence_gives_the_same_bits_alone_and_among_others(name):
    _, parts, _ = CELLS[name]
    together = given_to(name, 0, 33, [5] * 7)
    alone = [x.copy() for x in together]
    for i in (0, *range(4 + parts, len(alone))):
        alone[i] = np.ascontiguousarray(alone[i][3::5])
    for i in range(4, 4 + parts):
        alone[i] = alone[i][3:4]
    alone[3] = np.ones(7, np.int64)
    getattr(_kernels, name)(*together)
    getattr(_kernels, name)(*alone)
    np.testing.assert_array_equal(together[-1][3::5], alone[-1])
    np.testing.assert_array_equal(together[0][3::5], alone[0])


@compiled
@pytest.mark.parametrize("name", CELLS)
def test_a_state_may_lie_between_those_of_other_layers(name):
    _, parts, _ = CELLS[name]
    plainly, within = (given_to(name, 0, 20, [4, 4, 1]) for _ in range(2))
    for i in range(4, 4 + parts):
        layers = np.zeros((4, 3, 20), np.float32)
        layers[:, 1] = within[i]
        within[i] = layers[:, 1]
    getattr(_kernels, name)(*plainly)
    getattr(_kernels, name)(*within)
    np.testing.assert_array_equal(plainly[-1], within[-1])


@pytest.mark.skipif(not SETS, reason="nothing was compiled")
@pytest.mark.parametrize(
    ("name", "place", "wrong", "words"),
    [
        ("lstm", 3, np.array([2, 3, 1], np.int64), "step 1 has 3 sequences after 2"),
        ("lstm", 3, np.array([3, 2], np.int64), "length"),
        ("lstm", 3, np.array([3, 2, -1, 2], np.int64), "step 2 has -1"),
        ("lstm", 3, np.array([4, 2], np.int64), "step 0 has 4 sequences after 3"),
        ("lstm", 3, np.array([3, 2, 1], np.int32), "int64"),
        ("lstm", 3, np.array([3, 0, 2, 0, 1, 0], np.int64)[::2], "consecutive"),
        ("lstm", 1, np.zeros((20, 5), np.float64), "float32"),
        ("lstm", 1, np.zeros((15, 5), np.float32), "length"),
        ("lstm", 5, np.zeros((2, 5), np.float32), "length"),
        ("lstm", 10, np.zeros((5, 6), np.float32).T, "whole rows"),
        ("gru", 0, np.zeros((6, 20), np.float32), "length"),
        ("gru", 2, np.zeros(20, np.float32), "length"),
        ("gru", 4, np.zeros((2, 5), np.float32), "step 0 has 3 sequences after 2"),
        ("gru", 7, np.zeros((7, 5), np.float32), "length"),
    ],
)
def test_what_does_not_fit_is_an_error(name, place, wrong, words):
    given = given_to(name, 0, 5, [3, 2, 1])
    given[place] = wrong
    with pytest.raises(ValueError, match=words):
        getattr(_kernels, name)(*given)


@pytest.mark.skipif(not SETS, reason="nothing was compiled")
@pytest.mark.parametrize("name", CELLS)
def test_slopes_check_what_they_are_given(name):
    given = given_to(name, 0, 5, [3, 2, 1])
    with pytest.raises(ValueError, match="length"):
        slopes_of(name, _kernels, given, np.zeros((5, 5), np.float32))
    with pytest.raises(TypeError, match="arguments"):
        getattr(_kernels, f"{name}_slopes")(given[0])
    given[3] = np.array([3, 3], np.int64)[::-1].copy()
    given[3][1] = 4
    with pytest.raises(ValueError, match="step 1 has 4"):
        slopes_of(name, _kernels, given, given[-1])
