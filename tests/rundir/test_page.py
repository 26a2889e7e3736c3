"""docs/run-directory.md says everything there is to know about the folder."""

import re
from pathlib import Path

from spotter.rundir import archive, query
from spotter.rundir.run import FORMAT

PAGE = (Path(__file__).parents[2] / "docs" / "run-directory.md").read_text(encoding="utf-8")


def test_every_field_is_on_the_page(make_run):
    fields = set(re.findall(r"`([a-z_]+)`", PAGE.partition("## run.json")[2].partition("##")[0]))
    assert set(make_run().info()) <= fields


def test_every_file_and_column_is_on_the_page():
    assert [name for name in archive.CONTENTS if name not in PAGE] == []
    columns = PAGE.rpartition("`spotter.runs()`:")[2]
    assert [
        name for name in query.COLUMNS if name not in ("id", *re.findall(r"\w+", columns))
    ] == []


def test_the_format_is_the_present_one():
    assert f"Format version: {FORMAT}." in PAGE
