"""What is published: an sdist and a wheel called spotter-rl that work in a fresh environment."""

import os
import re
import shutil
import site
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from spotter import __version__
from spotter.plugins import DISTRIBUTION, install

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/*.py")]
BUILD = "import sys; from setuptools import build_meta as b; print(b.build_{}(sys.argv[1]))"
SOAK = bool(os.environ.get("SPOTTER_SOAK"))
IN_THE_WHEEL = (
    "spotter/recipes/CartPole-v1.yaml",
    "spotter/recipes/families/classic.yaml",
    "spotter/recipes/protocols/machado2018.yaml",
    "spotter/py.typed",
    "spotter/docs/troubleshooting.md",
    "spotter/docs/howto/doctor.md",
    "spotter/engines/kernels.py",
)


def test_the_name_and_the_version():
    assert PROJECT["name"] == DISTRIBUTION == "spotter-rl"
    assert PROJECT["dynamic"] == ["version"], "spotter.__version__"
    assert PROJECT["scripts"] == {"spotter": "spotter.cli.main:main"}


def test_every_install_hint_says_the_name():
    assert install("box2d") == "pip install 'spotter-rl[box2d]'"
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"pip install (?:-\S+ )*['\"]?spotter(?!-rl)\b", text), page


def test_extras_in_hints_exist():
    known = set(PROJECT["optional-dependencies"])
    for page in PAGES:
        named = re.findall(rf"{DISTRIBUTION}\[(\w+)\]", page.read_text(encoding="utf-8"))
        assert set(named) <= known, page


def _run(*words: object, **more: object) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _build(folder: Path, kind: str, out: Path, compiler: str | None) -> Path:
    env = dict(os.environ) | ({} if compiler is None else {"CC": compiler, "CXX": compiler})
    told = _run(sys.executable, "-c", BUILD.format(kind), out, cwd=folder, env=env)
    return out / told.splitlines()[-1]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory) -> Path:
    """The sdist of what git knows, unpacked."""
    folder = tmp_path_factory.mktemp("package")
    source = folder / "source"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", "src", "*.toml", "*.py", "*.md", "LICENSE", "MANIFEST.in"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listed.returncode:
        pytest.skip("no git checkout")
    for name in filter(None, listed.stdout.split("\0")):
        if name.startswith(("src/", "docs/")) or "/" not in name:
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    sdist = _build(source, "sdist", folder, None)
    assert sdist.name == f"spotter_rl-{__version__}.tar.gz"
    shutil.unpack_archive(sdist, folder, filter="data")
    return folder / sdist.name.removesuffix(".tar.gz")


def _installed(unpacked: Path, tmp_path: Path, compiler: str | None) -> tuple[Path, list[str]]:
    """A fresh environment with the wheel; the dependencies are those of the tests."""
    wheel = _build(unpacked, "wheel", tmp_path, compiler)
    assert re.fullmatch(rf"spotter_rl-{re.escape(__version__)}-.*\.whl", wheel.name)
    home = tmp_path / "venv"
    venv.create(home, with_pip=False)
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    place = Path(_run(python, "-c", "import site; print(site.getsitepackages()[-1])").strip())
    _run(
        *(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps"),
        *("--no-index", "--disable-pip-version-check", wheel),
    )
    lines = [*site.getsitepackages(), *(path for path in sys.path if "site-packages" in path)]
    (place / "dependencies.pth").write_text("\n".join(dict.fromkeys(lines)), encoding="utf-8")
    return python, zipfile.ZipFile(wheel).namelist()


def _works(python: Path, tmp_path: Path) -> None:
    env = {**os.environ, "SPOTTER_RUNS": str(tmp_path / "runs")}
    where = {"cwd": tmp_path, "env": {k: v for k, v in env.items() if k != "PYTHONPATH"}}
    code = "import spotter; print(spotter.__file__)"
    assert Path(_run(python, "-c", code, **where).strip()).is_relative_to(python.parents[1])
    spotter = python.with_name("spotter")
    assert _run(spotter, "--version", **where) == f"spotter {__version__}\n"
    assert "CartPole-v1:ppo" in _run(spotter, "list", "cartpole", **where)
    assert _run(spotter, "help", "alerts.kl-high", **where).startswith("### kl-high\n")
    if not SOAK:  # what needs torch takes seconds to start
        return
    short = ("budget.env_steps=256", "eval.episodes=1", "--quiet", "--no-save")
    assert "CartPole-v1:ppo" in _run(spotter, "train", "CartPole-v1:ppo", *short, **where)


def test_sdist_and_wheel_without_a_compiler(unpacked, tmp_path):
    """The kernels are optional: what cannot be compiled is computed by NumPy."""
    python, names = _installed(unpacked, tmp_path, compiler="no-such-compiler")
    assert not [name for name in names if name.endswith((".so", ".pyd"))]
    assert [name for name in IN_THE_WHEEL if name not in names] == []
    _works(python, tmp_path)


@pytest.mark.skipif(not SOAK, reason="compiles; SPOTTER_SOAK=1 runs it")
@pytest.mark.skipif(shutil.which("cc") is None, reason="no compiler")
def test_sdist_and_wheel_with_a_compiler(unpacked, tmp_path):
    python, names = _installed(unpacked, tmp_path, compiler=None)
    assert [name for name in names if "_kernels" in name and name.endswith((".so", ".pyd"))]
    _works(python, tmp_path)
    code = "from spotter.engines import kernels; print(kernels.COMPILED)"
    assert _run(python, "-c", code, cwd=tmp_path) == "True\n"
