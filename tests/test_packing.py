"""Trees come back exactly, through real JSON and real safetensors."""

import json
import math
import random
from collections import deque

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

from spotter.packing import pack, unpack
from spotter.rundir.files import read_json, write_json


def through(tree, folder):
    data, arrays = pack(tree)
    write_json(folder / "x.json", {"tree": data})
    back = safetensors.numpy.load(safetensors.numpy.save(arrays))
    return unpack(read_json(folder / "x.json")["tree"], back)


def same(a, b):
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple | deque):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and (a == b or (a != a and b != b))


@pytest.mark.parametrize(
    "tree",
    [
        {"a": [1, 2.5, None, True, "text"], "b": (1, (2, 3))},
        {"nan": math.nan, "text": "nan", "minus": -math.inf, "word": "-inf"},
        {1: "whole keys", (2, 3): "tuple keys", "$odd": 4},
        deque([1, 2], maxlen=8),
        {"x": np.float32(0.1), "y": np.int64(3), "z": np.bool_(True), "w": np.float64(math.nan)},
        {"e": np.zeros((0, 3)), "s": np.array(3.5), "b": np.array([True, False])},
        {"board": np.array([[b"S", b"F"], [b"H", b"G"]]), "names": np.array(["left", "right"])},
        {"big": 2**127 + 1, "bytes": b"\x00\xff"},
        {"a": {"b": np.zeros(2)}, "a/b": np.ones(3)},
        {1, 2, 3},
        random.Random(3).getstate(),
    ],
    ids=lambda tree: type(tree).__name__,
)
def test_what_is_packed_comes_back(tree, tmp_path):
    assert same(tree, through(tree, tmp_path))


def test_a_random_stream_continues(tmp_path):
    stream = np.random.default_rng(3)
    stream.normal(size=7)
    state = through(stream.bit_generator.state, tmp_path)
    other = np.random.default_rng(4)
    other.bit_generator.state = state
    assert (other.normal(size=5) == stream.normal(size=5)).all()


plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
trees = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        | st.tuples(inner, inner)
    ),
    max_leaves=10,
)


@given(trees)
def test_any_tree_survives_json(tree):
    data, arrays = pack(tree)
    assert not arrays
    assert same(tree, unpack(json.loads(json.dumps(data, allow_nan=False)), {}))


@pytest.mark.parametrize("value", [object(), np.array([object()]), lambda: 0])
def test_what_cannot_be_saved_is_named(value):
    with pytest.raises(TypeError, match="/deep/inside is"):
        pack({"deep": {"inside": value}})
