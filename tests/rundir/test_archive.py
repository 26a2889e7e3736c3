"""Runs as zip files: there and back, and never anything else in."""

import os
import pickle
import shutil
import stat
import struct
import zipfile

import pytest

from spotter.rundir import archive
from spotter.rundir.archive import export_run, import_run
from spotter.rundir.run import all_runs, home, select
from spotter.types import UserError


@pytest.fixture
def full_run(make_run):
    """A run with one file of everything."""
    run = make_run(scores=[1.0, 2.0], score=1.5)
    run.tag("reference")
    weights = b"{}" + b" " * 6
    safetensors = struct.pack("<Q", len(weights)) + weights
    for name, content in {
        "metrics.jsonl": b'{"env_steps": 100}\n',
        "report.html": b"<html>",
        "report.md": b"# r",
        "run.log": b"log",
        "checkpoints/latest.json": b'{"step": "step-000000100"}',
        "checkpoints/step-000000100/policy.safetensors": safetensors,
        "checkpoints/step-000000100/rollout.csv": b"a,b\n",
        "videos/step-000000100.mp4": b"\x00" * 50,
    }.items():
        path = run.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return run


def contents(folder) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_a_run_comes_back_whole(full_run, tmp_path, monkeypatch):
    before = contents(full_run.folder)
    assert export_run(full_run, tmp_path / "x.zip") == []
    monkeypatch.setenv("SPOTTER_RUNS", str(tmp_path / "elsewhere"))
    run, is_new = import_run(tmp_path / "x.zip")
    assert is_new
    assert contents(run.folder) == before
    assert select("reference") == run
    assert run.info()["score"] == 1.5
    assert [path.name for path in home().iterdir() if path.name.startswith(".")] == []


def test_importing_again_is_fine_unless_it_is_another_run(full_run, tmp_path):
    export_run(full_run, tmp_path / "x.zip")
    assert import_run(tmp_path / "x.zip") == (full_run, False)
    (full_run.folder / "run.log").write_text("other")
    with pytest.raises(UserError, match=f"there is another run {full_run.id}"):
        import_run(tmp_path / "x.zip")
    assert (full_run.folder / "run.log").read_text() == "other"
    assert len(all_runs()) == 1


def test_what_is_no_part_of_a_run_stays_behind(full_run, tmp_path):
    (full_run.folder / "core").write_bytes(b"x")
    (full_run.folder / "trainer-1.lock").write_text("left by a kill")
    os.utime(full_run.folder / "trainer-1.lock", (1, 1))
    (full_run.folder / "videos" / ".half.mp4.tmp").write_text("x")
    (full_run.folder / "videos" / "link.mp4").symlink_to("/etc/passwd")
    assert export_run(full_run, tmp_path / "x.zip") == ["core"]
    with zipfile.ZipFile(tmp_path / "x.zip") as written:
        names = {name.partition("/")[2] for name in written.namelist()}
    assert not {"core", "trainer-1.lock", "videos/.half.mp4.tmp", "videos/link.mp4"} & names
    assert "checkpoints/step-000000100/policy.safetensors" in names


def test_export_refuses(make_run, full_run, tmp_path):
    (tmp_path / "x.zip").write_text("precious")
    with pytest.raises(UserError, match="exists already"):
        export_run(full_run, tmp_path / "x.zip")
    assert (tmp_path / "x.zip").read_text() == "precious"
    with pytest.raises(UserError, match="is being trained by process"):
        export_run(make_run(status="running"), tmp_path / "y.zip")
    with pytest.raises(UserError, match="there is no folder"):
        export_run(full_run, tmp_path / "none" / "y.zip")
    assert not (tmp_path / "y.zip").exists()


# --- archives from strangers ---------------------------------------------------------------------


@pytest.fixture
def forged(full_run, tmp_path, monkeypatch):
    """`forged({name: bytes or ZipInfo})`: a good archive with more in it; nothing is there yet."""
    export_run(full_run, tmp_path / "good.zip")
    monkeypatch.setenv("SPOTTER_RUNS", str(tmp_path / "victim" / "runs"))

    def make(extra):
        path = tmp_path / "bad.zip"
        shutil.copy(tmp_path / "good.zip", path)
        with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as target:
            for name, content in extra.items():
                target.writestr(name.format(id=full_run.id), content)
        return path

    return make


def refused(path, sentence, tmp_path):
    with pytest.raises(UserError, match=sentence) as caught:
        import_run(path)
    assert "\n" not in str(caught.value)
    victim = tmp_path / "victim"
    assert not victim.exists() or list((victim / "runs").iterdir()) == []


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("../evil.json", "leads out of the folder"),
        ("{id}/../../evil.json", "leads out of the folder"),
        ("{id}/checkpoints/../../../evil.json", "leads out of the folder"),
        ("/tmp/evil.json", "leads out of the folder"),
        ("{id}/C:/evil.json", "leads out of the folder"),
        ("{id}\\..\\evil.json", "leads out of the folder"),
        ("{id}/evil.json", "is no part of a run"),
        ("{id}/evil/x.json", "is no part of a run"),
        ("{id}/trainer-1.lock", "is no part of a run"),
        ("other/run.json", "one folder, the run"),
        ("{id}/checkpoints/model.pkl", "is no kind of file a run holds"),
        ("{id}/checkpoints/step-000000100/model.pt", "is no kind of file a run holds"),
        ("{id}/videos/run.py", "is no kind of file a run holds"),
        ("{id}/checkpoints", "is no kind of file a run holds"),
        ("{id}/videos/.hidden.json", "is hidden"),
        ("{id}/videos/\x1b[2J.json", "is no name for a file"),
        ("{id}/RUN.JSON", "is no part of a run"),
        ("{id}/videos/STEP-000000100.mp4", "two files of the same name"),
        ("{id}/tags/full", "is no kind of file a run holds"),
        ("loose.json", "is no folder of a run"),
        ("{id}/videos/" + "x" * 300 + ".json", "is no name for a file"),
    ],
)
def test_names_that_do_not_belong(forged, tmp_path, name, sentence):
    refused(forged({name: b"evil"}), sentence, tmp_path)


def test_links_are_refused(forged, full_run, tmp_path):
    link = zipfile.ZipInfo(f"{full_run.id}/videos/link.json")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    path = forged({})
    with zipfile.ZipFile(path, "a") as target:
        target.writestr(link, "/etc/passwd")
    refused(path, "is a link or a device", tmp_path)


class Evil:
    def __reduce__(self):
        return (print, ("executed",))


def test_a_pickle_that_calls_itself_weights_is_refused(forged, tmp_path, capsys):
    name = "{id}/checkpoints/step-000000200/policy.safetensors"
    refused(forged({name: pickle.dumps(Evil())}), "holds something else", tmp_path)
    refused(forged({name: b""}), "holds something else", tmp_path)
    assert "executed" not in capsys.readouterr().out


def test_a_bomb_is_refused_before_it_goes_off(forged, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_SAFE_BYTES", 1_000_000)
    refused(forged({"{id}/videos/x.json": b"0" * 5_000_000}), "bytes would become", tmp_path)
    monkeypatch.setattr(archive, "_MOST_FILES", 5)
    refused(forged({}), "more than a run has", tmp_path)


def test_a_file_longer_than_announced_is_refused(forged, tmp_path):
    path = forged({"{id}/videos/x.json": b"0" * 100})
    data = bytearray(path.read_bytes())
    header = data.rindex(b"PK\x01\x02")
    data[header + 24 : header + 28] = struct.pack("<I", 10)  # its length in the table of contents
    path.write_bytes(data)
    refused(path, "is no archive of a run: Bad CRC", tmp_path)


def replaced(path, name, content):
    """The same archive with one file exchanged."""
    with zipfile.ZipFile(path) as source:
        files = {entry: source.read(entry) for entry in source.namelist()}
    with zipfile.ZipFile(path, "w") as target:
        for entry, data in files.items():
            if not entry.endswith(f"/{name}"):
                target.writestr(entry, data)
            elif content is not None:
                target.writestr(entry, content)
    return path


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("run.json", "{", "is not a run"),
        ("run.json", "{}", "run.json has no"),
        ("run.json", None, "run.json is missing"),
        ("config.yaml", None, "config.yaml is missing"),
        ("config.yaml", "a: &x [1, 1]\nb: [*x, *x]\n", "config.yaml holds aliases"),
        ("config.yaml", "a: [", "is refused"),
        ("config.yaml", "- 1", "should be a map"),
        ("config.yaml", b"\xff\xfe", "is refused"),
    ],
)
def test_runs_that_cannot_be_read_stay_out(forged, tmp_path, name, content, sentence):
    refused(replaced(forged({}), name, content), sentence, tmp_path)


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.95])
def test_half_an_archive_is_refused(forged, tmp_path, keep):
    path = forged({})
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])
    refused(path, "is no archive of a run", tmp_path)


def test_a_damaged_archive_is_refused(forged, tmp_path):
    path = forged({"{id}/videos/x.json": bytes(range(256)) * 20})
    data = bytearray(path.read_bytes())
    place = data.index(b"videos/x.json") + 40
    data[place : place + 20] = b"\xff" * 20
    path.write_bytes(data)
    refused(path, "is no archive of a run", tmp_path)


def test_what_is_no_archive(tmp_path):
    (tmp_path / "x.zip").write_text("hello")
    with pytest.raises(UserError, match="is no archive of a run"):
        import_run(tmp_path / "x.zip")
    with pytest.raises(UserError, match="there is no file"):
        import_run(tmp_path / "y.zip")
    with pytest.raises(UserError, match="there is no file"):
        import_run(tmp_path)
