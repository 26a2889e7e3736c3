"""docs/tutorial.ipynb runs as it stands there, and shows each thing once."""

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

NOTEBOOK = Path(__file__).parents[2] / "docs/tutorial.ipynb"


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    """Code cells with their outputs, after one run from top to bottom in an empty folder."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "kept without outputs"
    folder = tmp_path_factory.mktemp("notebook")
    where = {"metadata": {"path": str(folder)}}
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SPOTTER_RUNS", raising=False)
        nbclient.NotebookClient(notebook, timeout=300, resources=where).execute()
    logs = [log.read_text(encoding="utf-8") for log in folder.glob("runs/*/run.log")]
    assert len(logs) == 3 and all("env steps" in log for log in logs), "logs stay in their files"
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def kinds(cell) -> list[str]:
    return [output.output_type for output in cell.outputs]


def test_training_is_one_live_line_and_its_result(cells):
    assert kinds(cells[0]) == ["display_data", "execute_result"]
    line, result = (output.data for output in cells[0].outputs)
    assert "CartPole-v1 · ppo · " in line["text/plain"]
    assert "<progress value=" in line["text/html"]
    assert result["text/plain"].startswith("<Result CartPole-v1 · ppo: score ")
    assert "\n" not in result["text/plain"]
    assert "data:image/svg+xml;base64," in result["text/html"]


def test_quiet_is_quiet(cells):
    assert kinds(cells[2]) == ["execute_result"]


def test_the_loop_gives_the_score_of_the_record(cells):
    played, written = eval(cells[3].outputs[-1].data["text/plain"])
    assert played == written


def test_nothing_else_is_printed(cells):
    assert [kinds(cell) for cell in cells[3:]] == [
        ["execute_result"], ["display_data", "execute_result"], ["execute_result"],
    ]  # fmt: skip
