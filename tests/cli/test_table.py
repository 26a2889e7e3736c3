"""Tables on terminals of any width: nothing is cut in silence."""

import re

import pytest

from spotter.cli import table

IDS = ("20261116-072243-542d", "20261116-072241-ef0c")
COLUMNS = ("run", "recipe", "env steps", "score", "remarks")
ROWS = [
    (IDS[0], "LunarLanderContinuous-v3:ppo", "10,240", "490.65 solved", "one two three four"),
    (IDS[1], "CartPole-v1:ppo", "9,999,999", "-1,204.25", ""),
]
GIVES = ("remarks", "recipe…", "recipe", "env steps")
STYLE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def shown(capsys, monkeypatch):
    """`shown(60, columns, rows)`: the lines on a terminal that wide."""

    def show(width: int, *args, **kwargs) -> list[str]:
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        monkeypatch.setenv("COLUMNS", str(width))
        table.show(*args, **kwargs)
        return [line.rstrip() for line in STYLE.sub("", capsys.readouterr().out).splitlines()]

    return show


@pytest.mark.parametrize("width", range(30, 130, 3))
def test_what_must_be_whole_is_whole_at_any_width(shown, width):
    lines = shown(width, COLUMNS, ROWS, wraps=("remarks",), gives=GIVES)
    for identity in IDS:
        assert any(identity in line for line in lines)
    text = "\n".join(lines)
    assert "490.65 solved" in text and "-1,204.25" in text
    left_out = next((line for line in lines if line.startswith("left out")), "")
    assert ("10,240" in text) != ("env steps" in left_out)
    rows = [line for line in lines if not line.startswith("left out")]
    if rows[0].startswith("run  "):
        assert max(map(len, rows)) <= max(width, 39), "a list may be as wide as its cells"
    for name in COLUMNS:
        assert (name in rows[0] or rows[1].startswith(COLUMNS[1])) != (f" {name}" in left_out)


def test_text_gives_way_before_columns_do_and_in_the_order_given(shown):
    def heads(width: int) -> str:
        return shown(width, COLUMNS, ROWS, wraps=("remarks",), gives=GIVES)[0]

    assert heads(120).split() == ["run", "recipe", "env", "steps", "score", "remarks"]
    wrapped = shown(92, COLUMNS, ROWS, wraps=("remarks",), gives=GIVES)
    assert len(wrapped) == 4, "remarks take a second line"
    assert "remarks" not in heads(88)
    shortened = shown(70, COLUMNS, ROWS, wraps=("remarks",), gives=GIVES)
    assert "LunarLander" in shortened[1] and "…" in shortened[1]
    assert "CartPole-v1:ppo" in shortened[2]
    assert shortened[-1] == "left out for lack of room: remarks; a wider terminal shows them"
    assert "recipe" not in heads(50)


def test_where_nothing_may_give_way_every_row_is_a_list(shown):
    lines = shown(40, ("setting", *IDS), [("algo.lr", "0.001", "0.0003"), ("seed", "1", "2")])
    assert lines == [
        "setting               algo.lr",
        f"{IDS[0]}  0.001",
        f"{IDS[1]}  0.0003",
        "",
        "setting               seed",
        f"{IDS[0]}  1",
        f"{IDS[1]}  2",
    ]


def test_a_pipe_gets_everything(capsys):
    table.show(COLUMNS, ROWS, gives=GIVES, header=True)
    lines = capsys.readouterr().out.splitlines()
    assert [tuple(line.split("\t")) for line in lines] == [COLUMNS, *ROWS]
