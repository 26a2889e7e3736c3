"""Compiled kernels against NumPy's: the same numbers for every shape; errors, never crashes."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spotter.engines import kernels, losses, plain

try:
    from spotter.engines import _kernels
except ImportError:
    _kernels = None

SETS = _kernels.instruction_sets() if _kernels else []
compiled = pytest.mark.usefixtures("instruction_set")
SIZES = st.integers(1, 70)
KINDS = st.sampled_from([plain.LINEAR, plain.TANH, plain.RELU])
shapes = settings(max_examples=60, deadline=None)


@pytest.fixture(params=SETS, scope="module")
def instruction_set(request):
    """Every one this processor has; none, and so nothing to test, where the build failed."""
    _kernels.use(request.param)
    yield
    _kernels.use(SETS[-1])


def noise(seed, *shapes):
    draw = np.random.default_rng(seed)
    return [draw.normal(size=shape).astype(np.float32) for shape in shapes]


def close(found, expected, rtol=1e-4, sums=1.0):
    """`sums`: the size of what was summed, where that is more than the results show."""
    scale = max(sums, float(np.abs(expected).max(initial=1e-6)))
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=3e-6 * max(1.0, scale))


@compiled
@shapes
@given(seed=st.integers(0, 999), rows=SIZES, inputs=SIZES, outputs=SIZES, kind=KINDS)
@example(seed=0, rows=1, inputs=1, outputs=1, kind=plain.TANH)
@example(seed=0, rows=257, inputs=130, outputs=33, kind=plain.TANH)
@example(seed=0, rows=300, inputs=300, outputs=2, kind=plain.LINEAR)
def test_layers(seed, rows, inputs, outputs, kind):
    x, weight, bias = noise(seed, (rows, inputs), (outputs, inputs), outputs)
    found, expected = np.full((2, rows, outputs), np.nan, np.float32)
    _kernels.forward(x, weight, bias, found, kind)
    plain.forward(x, weight, bias, expected, kind)
    # before tanh, sums are as large as the square root of their terms, and rounded accordingly
    close(found, expected, sums=np.sqrt(inputs))

    (d,) = noise(seed + 1, (rows, outputs))
    results = []
    for module in (_kernels, plain):
        sums = [np.full_like(a, np.nan) for a in (weight, bias, x)]
        own = d.copy()
        module.backward(own, expected, x, weight, *sums, kind)
        without = [np.full_like(a, np.nan) for a in (weight, bias)]
        module.backward(d.copy(), expected, x, weight, *without, None, kind)
        assert all(np.array_equal(a, b) for a, b in zip(without, sums, strict=False))
        results.append([own, *sums])
    for ours, theirs in zip(*results, strict=True):
        close(ours, theirs)


@compiled
@shapes
@given(seed=st.integers(0, 999), rows=SIZES, inputs=SIZES, outputs=st.integers(1, 9))
def test_heads_may_lie_transposed(seed, rows, inputs, outputs):
    x, weight, bias, d = noise(seed, (rows, inputs), (outputs, inputs), outputs, (outputs, rows))
    across, down = np.empty((outputs, rows), np.float32), np.empty((rows, outputs), np.float32)
    _kernels.forward(x, weight, bias, across.T, plain.LINEAR)
    _kernels.forward(x, weight, bias, down, plain.LINEAR)
    assert np.array_equal(across.T, down)
    close(down, x @ weight.T + bias)
    of_weight, of_bias, of_x = np.empty_like(weight), np.empty_like(bias), np.empty_like(x)
    _kernels.backward(d.T, None, x, weight, of_weight, of_bias, of_x, plain.LINEAR)
    close(of_weight, d @ x)
    close(of_bias, d.sum(axis=1))
    close(of_x, d.T @ weight)


@compiled
@pytest.mark.parametrize("outputs", [1, 4, 33, 64])
def test_a_row_gives_the_same_bits_alone_and_among_others(outputs):
    x, weight, bias = noise(0, (67, 50), (outputs, 50), outputs)
    together, alone = np.empty((2, 67, outputs), np.float32)
    _kernels.forward(x, weight, bias, together, plain.TANH)
    for row in range(67):
        _kernels.forward(x[row : row + 1], weight, bias, alone[row : row + 1], plain.TANH)
    assert np.array_equal(together, alone)


@compiled
def test_tanh_is_right_to_a_few_units_in_the_last_place():
    x = np.concatenate([np.linspace(-12, 12, 20_001), [-np.inf, np.inf, 0, 1e-30, 3e38]])
    x = x.astype(np.float32)[:, None]
    one, none = np.ones((1, 1), np.float32), np.zeros(1, np.float32)
    found = np.empty_like(x)
    _kernels.forward(x, one, none, found, plain.TANH)
    expected = np.tanh(x.astype(np.float64))
    assert (np.abs(found - expected) <= 6 * np.spacing(np.abs(expected).astype(np.float32))).all()
    assert np.abs(found).max() <= 1


@compiled
@pytest.mark.parametrize("kind", [plain.LINEAR, plain.TANH, plain.RELU])
def test_not_a_number_is_passed_on(kind):
    x, weight, bias = noise(0, (9, 20), (20, 20), 20)
    x[4, 7] = np.nan
    out = np.empty((9, 20), np.float32)
    _kernels.forward(x, weight, bias, out, kind)
    assert np.isnan(out[4]).all()
    assert np.isfinite(np.delete(out, 4, axis=0)).all()
    assert np.isnan(_kernels.clip(x[4].copy(), 0.5))
    advantage = np.array([np.nan, 1], np.float32)
    slope = np.empty(2, np.float32)
    assert np.isnan(_kernels.surrogate(np.ones(2, np.float32), advantage, slope, 0.2))
    assert np.isnan(slope[0])


@compiled
@pytest.mark.parametrize("module", [_kernels, plain], ids=["compiled", "numpy"])
def test_without_a_limit_a_broken_gradient_is_left_as_it_is(module):
    gradient = np.array([1, np.nan, np.inf, 2], np.float32)
    module.clip(gradient, np.inf)
    np.testing.assert_array_equal(gradient, [1, np.nan, np.inf, 2])
    module.clip(gradient, 0.5)
    assert np.isnan(gradient).all()


@compiled
@shapes
@given(
    seed=st.integers(0, 999),
    length=st.integers(1, 90),
    share=st.floats(0, 1),
    limit=st.sampled_from([0.1, 5.0, np.inf]),
    decay=st.sampled_from([0.0, 0.01]),
)
def test_steps(seed, length, share, limit, decay):
    split = round(share * length)
    results = []
    for module in (_kernels, plain):
        flat, mean, square = noise(seed, length, length, length)
        square, slow = square**2, square**2
        norms = []
        for step in range(1, 4):
            (gradient,) = noise(seed + step, length)
            norms.append(module.clip(gradient, limit))
            rates = (split, 1e-2, 3e-3)
            module.adam(flat, gradient, mean, square, *rates, step, 0.9, 0.999, 1e-5, decay)
            module.rmsprop(flat, gradient, slow, *rates, 0.99, 1e-5)
        results.append([flat, mean, square, slow, gradient, norms])
    for ours, theirs in zip(*results, strict=True):
        close(ours, theirs)


@compiled
@shapes
@given(
    seed=st.integers(0, 999),
    entries=st.integers(1, 12),
    count=SIZES,
    of_entropy=st.sampled_from([0.0, -0.3]),
    masked=st.booleans(),
)
def test_categorical(seed, entries, count, of_entropy, masked):
    out, of_log_prob = noise(seed, (entries, count), count)
    out *= 4
    if masked:
        out[1:][np.random.default_rng(seed).random((entries - 1, count)) < 0.3] = -1.7e38
    action = np.random.default_rng(seed).integers(0, entries, (count, 2))[:, 1]  # with a stride
    if masked:
        action[:] = 0
    results = []
    for module in (_kernels, plain):
        logs, probs, slope = np.full((3, entries, count), np.nan, np.float32)
        chosen, entropy = np.full((2, count), np.nan, np.float32)
        module.categorical(out, action, logs, probs, chosen, entropy)
        module.categorical_slope(logs, probs, action, entropy, of_log_prob, of_entropy, slope)
        results.append([logs, probs, chosen, entropy, slope])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=1e-5)


@compiled
@shapes
@given(
    seed=st.integers(0, 999),
    count=SIZES,
    clip=st.sampled_from([0.05, 0.2]),
    huber=st.sampled_from([0.3, np.inf]),
    value_clip=st.sampled_from([0.1, np.inf]),
)
def test_losses(seed, count, clip, huber, value_clip):
    log_ratio, advantage, value, target, old = noise(seed, *[count] * 5)
    log_ratio *= np.float32(0.2)
    ratio = np.exp(log_ratio)
    ours, theirs, slope, value_slope = np.full((4, count), np.nan, np.float32)
    _kernels.standardize(advantage, ours)
    plain.standardize(advantage, theirs)
    close(ours, theirs)
    loss = _kernels.surrogate(ratio, advantage, slope, clip)
    for found, wanted in zip(
        (loss, slope), losses.clipped_surrogate(ratio, advantage, clip), strict=True
    ):
        close(found, wanted)
    loss = _kernels.value_loss(value, target, old, value_slope, huber, value_clip)
    options = {
        "huber_delta": None if huber == np.inf else huber,
        "clip": None if value_clip == np.inf else value_clip,
    }
    expected = losses.value_loss(value, target, old_value=old, **options)
    for found, wanted in zip((loss, value_slope), expected, strict=True):
        close(found, wanted)
    shift = losses.policy_shift(log_ratio, clip, ratio)
    close(_kernels.shift(log_ratio, ratio, clip), list(shift.values()))


ROW, COLUMN = np.zeros((1, 3), np.float32), np.zeros((3, 1), np.float32)
THREE, SQUARE = np.zeros(3, np.float32), np.zeros((3, 3), np.float32)
LOCKED = np.zeros((3, 3), np.float32)
LOCKED.flags.writeable = False
ASTRAY = np.zeros(37, np.uint8)[1:].view(np.float32).reshape(3, 3)


@compiled
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("forward", (SQUARE, SQUARE, THREE, SQUARE)),
        ("forward", (SQUARE, SQUARE, THREE, ROW, 0)),
        ("forward", (SQUARE, COLUMN, THREE, SQUARE, 0)),
        ("forward", (SQUARE, SQUARE, THREE[:2], SQUARE, 0)),
        ("forward", (SQUARE.astype(np.float64), SQUARE, THREE, SQUARE, 0)),
        ("forward", (SQUARE.astype(np.int32), SQUARE, THREE, SQUARE, 0)),
        ("forward", (SQUARE, SQUARE, THREE, LOCKED, 0)),
        ("forward", (SQUARE, SQUARE, THREE, SQUARE.T, 1)),
        ("forward", (SQUARE, SQUARE, THREE, SQUARE, 7)),
        ("forward", (SQUARE, SQUARE, np.zeros(6, np.float32)[::2], SQUARE, 0)),
        ("forward", ([[1.0]], SQUARE, THREE, SQUARE, 0)),
        ("forward", (ASTRAY, SQUARE, THREE, SQUARE, 0)),
        ("forward", (SQUARE, SQUARE, THREE, SQUARE, "tanh")),
        ("backward", (SQUARE, None, SQUARE, SQUARE, SQUARE, THREE, None, 1)),
        ("backward", (SQUARE, SQUARE, ROW, SQUARE, SQUARE, THREE, None, 1)),
        ("backward", (SQUARE, SQUARE, SQUARE, SQUARE, SQUARE, THREE, ROW, 1)),
        ("backward", (SQUARE.T, SQUARE, SQUARE, SQUARE, SQUARE, THREE, None, 2)),
        ("clip", (SQUARE, 1.0)),
        ("clip", (THREE, None)),
        ("adam", (THREE, THREE, THREE, THREE, 4, 1, 1, 1, 0.9, 0.999, 1e-5, 0)),
        ("adam", (THREE, THREE, THREE[:2], THREE, 1, 1, 1, 1, 0.9, 0.999, 1e-5, 0)),
        ("rmsprop", (THREE, THREE, THREE, -1, 1, 1, 0.9, 1e-5)),
        ("categorical", (SQUARE, np.array([0, 1, 3]), SQUARE, SQUARE, THREE, THREE)),
        ("categorical", (SQUARE, np.array([0, -1, 2]), SQUARE, SQUARE, THREE, THREE)),
        ("categorical", (SQUARE, THREE, SQUARE, SQUARE, THREE, THREE)),
        ("categorical_slope", (SQUARE, ROW, np.zeros(3, int), THREE, THREE, 0.0, SQUARE)),
        ("standardize", (THREE, THREE[:2])),
        ("surrogate", (THREE, THREE, THREE[:1], 0.2)),
        ("shift", (THREE, SQUARE, 0.2)),
        ("value_loss", (THREE, THREE, THREE, THREE, 1.0)),
        ("use", ("abacus",)),
    ],
)
def test_what_does_not_fit_is_refused(name, arguments):
    with pytest.raises((ValueError, TypeError, BufferError)):
        getattr(_kernels, name)(*arguments)


@compiled
def test_no_rows_are_no_work():
    none = np.zeros((0, 3), np.float32)
    weight, bias = np.ones((2, 3), np.float32), np.ones(2, np.float32)
    _kernels.forward(none, weight, bias, np.zeros((0, 2), np.float32), plain.TANH)
    of_weight, of_bias = np.ones_like(weight), np.ones_like(bias)
    d = np.zeros((0, 2), np.float32)
    _kernels.backward(d, d, none, weight, of_weight, of_bias, none, plain.TANH)
    assert not of_weight.any() and not of_bias.any()


@pytest.mark.parametrize("off", [True, False])
def test_the_environment_switches_them_off(monkeypatch, off):
    script = "from spotter.engines import kernels; print(kernels.COMPILED, kernels.forward)"
    if off:
        monkeypatch.setenv("SPOTTER_KERNELS", "0")
    else:
        monkeypatch.delenv("SPOTTER_KERNELS", raising=False)
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout
    is_built = importlib.util.find_spec("spotter.engines._kernels") is not None
    wanted = is_built and not off
    assert said.startswith(str(wanted))
    assert ("built-in" in said) == wanted


def test_every_kernel_has_a_numpy_version():
    stated = {"surrogate": "clipped_surrogate", "shift": "policy_shift", "value_loss": "value_loss"}
    for name in kernels.NAMES:
        assert callable(getattr(losses, stated[name]) if name in stated else getattr(plain, name))
        assert callable(getattr(kernels, name)) or not kernels.COMPILED
