"""A page keeps its budget, keeps what matters, and says what it left out."""

import random

import pytest

from spotter.pages.digest.budget import Line, Section, page
from spotter.pages.digest.tokens import clip, tokens


def lines(count: int, word: str = "a line of several words", first: float = 0.0) -> list[Line]:
    return [Line(f"- {word} {i}", first + i) for i in range(count)]


def test_everything_stays_where_there_is_room():
    text = page([Section("# Head", lines(2)), Section("## More", lines(3), intro="Why.")], 1000)
    assert text == (
        "# Head\n\n- a line of several words 0\n- a line of several words 1\n\n"
        "## More\n\nWhy.\n\n- a line of several words 0\n- a line of several words 1\n"
        "- a line of several words 2\n"
    )


def test_the_least_worth_goes_first_and_is_named():
    sections = [
        Section("# Head", lines(2, "head"), importance=100, needed=2),
        Section("## Gossip", lines(30, "gossip"), importance=10, what="rumours"),
        Section("## News", lines(10, "news"), importance=90, fade=1, what="news"),
    ]
    text = page(sections, 150)
    assert "- news 9" in text
    assert "gossip 29" not in text
    assert "Left out to stay within 150 tokens: " in text
    assert "of 30 rumours" in text
    tiny = page(sections, 60)
    assert "gossip" in tiny.splitlines()[-1]
    assert "## Gossip" not in tiny
    assert "- head 1" in tiny


def test_lines_stand_in_their_order_though_ranked_otherwise():
    ranked = [Line("old", 5), Line("middle", 9), Line("new", 1)]
    text = page([Section("", [*ranked, *lines(40, "filler", 10)], what="x")], 60)
    kept = [line for line in text.splitlines() if line in ("old", "middle", "new")]
    assert kept == ["old", "middle", "new"]


@pytest.mark.parametrize("seed", range(20))
def test_no_page_is_longer_than_its_budget(seed):
    draw = random.Random(seed)
    letters = "abc DEF 123 ,;:▁█é漢😀\t"

    def text(most: int) -> str:
        return "".join(draw.choice(letters) for _ in range(draw.randrange(most)))

    sections = [
        Section(
            f"## {text(20)}",
            [Line(text(120), draw.random()) for _ in range(draw.randrange(30))],
            what=text(10),
            importance=draw.random() * 100,
            fade=draw.random() * 10,
            intro=text(60),
        )
        for _ in range(8)
    ]
    head = Section(text(900), [Line(text(900)) for _ in range(5)], importance=100, needed=3)
    for budget in (400, 700, 1500, 5000):
        assert tokens(page([head, *sections], budget)) <= budget


def test_clipping_stays_below_and_keeps_the_beginning():
    assert clip("short", 10) == "short"
    cut = clip("word " * 100, 20)
    assert cut.startswith("word word")
    assert cut.endswith("…")
    assert tokens(cut) <= 20
