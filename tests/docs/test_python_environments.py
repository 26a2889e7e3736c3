"""The page about environments given from Python runs as it stands there."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/howto/python-environments.md"


def test_the_example_trains(tmp_path, monkeypatch):
    monkeypatch.setenv("SPOTTER_RUNS", str(tmp_path))
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    names: dict = {"__name__": "a_notebook"}
    exec(compile(block, str(PAGE), "exec"), names)
    assert names["result"].score == -7, "the shortest way"
