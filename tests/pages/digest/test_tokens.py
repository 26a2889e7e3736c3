"""How many tokens a text is worth."""

import json
from pathlib import Path

import pytest

from spotter.pages.digest.tokens import tokens

# Pieces of real pages, each with what four tokenizers of models counted.
COUNTED = json.loads((Path(__file__).parent / "counted.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("piece", COUNTED, ids=lambda piece: piece["name"])
def test_the_estimate_is_never_below_a_real_tokenizer_nor_far_above(piece):
    estimate, counted = tokens(piece["text"]), piece["counted"].values()
    assert estimate >= max(counted)
    assert estimate <= 2 * max(counted)


def test_tokens_of_nothing_and_of_parts():
    assert tokens("") == 0
    one, other = "train/score 497.5\n", "▁▂▃ rising"
    assert tokens(one + other) <= tokens(one) + tokens(other)
