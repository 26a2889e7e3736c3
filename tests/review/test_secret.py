"""The key is taken out wherever a server repeats it, and nothing else is."""

import pytest

from spotter.review.secret import without

KEY = "sk-secret-12345"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"You sent Bearer {KEY}.", "You sent Bearer (key)."),
        (f"{KEY}{KEY}", "(key)(key)"),
        ("a sk-sec\n    ret-1 2345 b", "a (key) b"),
        ("a sk-\x00se\u200bcret\u00a0-12345 b", "a (key) b"),
        ("sk-secret-1234", "sk-secret-1234"),
        ("as it is,\n\n  with spaces", "as it is,\n\n  with spaces"),
        ("", ""),
    ],
    ids=["plain", "twice", "wrapped", "unseen", "another", "none", "empty"],
)
def test_a_key_is_found_however_it_is_spaced(text, left):
    assert without(text, KEY) == left


def test_a_stand_in_is_hidden_only_as_a_word():
    assert without("Bearer ollama, ollamas", "ollama") == "Bearer (key), ollamas"
    assert without("as it is", "") == "as it is"
