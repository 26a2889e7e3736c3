"""Which libraries take part, in which works, and how each one's virtual environment is made.

Every peer has its own environment under .venvs/, made on demand with pinned versions. torch is
asked for as 2.13.0; where pip finds a CPU build of it, that one is taken.
"""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
_VENVS = HERE / ".venvs"
_TORCH = "torch==2.13.0"
_GYMNASIUM = ("gymnasium[box2d]==1.4.0", "numpy==2.4.6")
_SB3 = "stable-baselines3==2.9.2"
_ATARI = ("ale-py==0.12.1", "opencv-python-headless==5.0.0.93")


class UnavailableError(Exception):
    """Why a contestant cannot take part."""


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """One library: its script, its works, its packages."""

    name: str
    title: str
    works: tuple[str, ...]
    packages: tuple[str, ...] = ()
    """Empty: runs in the interpreter this was started with."""
    without_dependencies: str = ""
    """One more package, built in the environment, whose own pins are out of date."""
    cannot: str = ""
    note: str = ""

    @property
    def script(self) -> Path:
        return HERE / f"peer_{self.name}.py"

    @property
    def is_spotter(self) -> bool:
        return not self.packages

    def python(self) -> Path:
        """Its interpreter, installed if need be."""
        if self.cannot:
            raise UnavailableError(self.cannot)
        if self.is_spotter:
            return Path(sys.executable)
        home = _VENVS / self.name
        python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        ready = home / "ready.txt"
        wanted = "\n".join((*self.packages, self.without_dependencies))
        if not ready.exists() or ready.read_text(encoding="utf-8") != wanted:
            self._install(home, python)
            ready.write_text(wanted, encoding="utf-8")
        return python

    def _install(self, home: Path, python: Path) -> None:
        print(f"installing {self.title} in {home}", file=sys.stderr, flush=True)
        if not python.exists():
            venv.create(home, with_pip=True)
        _pip(python, *self.packages)
        if self.without_dependencies:
            # its setup.py names a variable that exists only with the games that need downloads
            text = "import builtins; builtins.c_extension_paths = []\n"
            (_site(python) / "build_without_games.pth").write_text(text, encoding="utf-8")
            _pip(python, "--no-build-isolation", "--no-deps", self.without_dependencies)


def _site(python: Path) -> Path:
    """Where an interpreter's packages are."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True)
    return Path(done.stdout.strip())


def _pip(python: Path, *arguments: str) -> None:
    command = [str(python), "-m", "pip", "install", "--quiet", *arguments]
    done = subprocess.run(
        command, env=environment({"NO_OCEAN": "1"}), capture_output=True, text=True, check=False
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "rror" in line]
        raise UnavailableError(f"could not install: {lines[-1].strip() if lines else 'pip failed'}")


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """This process's variables, without a CUDA compiler that a CPU build would stumble over."""
    nvcc = shutil.which("nvcc")
    folders = os.environ.get("PATH", "").split(os.pathsep)
    path = os.pathsep.join(f for f in folders if not nvcc or Path(f) != Path(nvcc).parent)
    return {**os.environ, "PATH": path, **extra}


SPOTTER, REFERENCE = "spotter", "sb3"
CONTESTANTS = (
    Contestant(
        name=SPOTTER,
        title="Spotter",
        works=("W1", "W2", "W3", "W4", "W5", "W6", "W7", "W8", "W9"),
    ),
    Contestant(
        name="gru",
        title="Spotter, `policy.core=gru`",
        works=("W9",),
        note="remembers with another cell, the one that its docs recommend",
    ),
    Contestant(
        name="envpool",
        title="Spotter, `env.backend=envpool`",
        works=("W2",),
        note="EnvPool's own version of the environment; needs the extra `fast`",
    ),
    Contestant(
        name="command",
        title="`spotter train CartPole-v1:ppo`",
        works=("W1",),
        note="the whole command with its own recipe: evaluation, test, files and video included",
    ),
    Contestant(
        name=REFERENCE,
        title="Stable-Baselines3",
        works=("W1", "W2", "W3", "W4", "W5", "W6", "W7", "W8", "W9"),
        packages=(_TORCH, _SB3, "sb3-contrib==2.9.2", *_GYMNASIUM, *_ATARI),
        note="with the LSTM it is sb3-contrib's RecurrentPPO",
    ),
    Contestant(
        name="sbx",
        title="SBX",
        works=("W1", "W2", "W4", "W5", "W6"),
        packages=(_TORCH, "sbx-rl==0.28.0", _SB3, *_GYMNASIUM),
        note="JAX on the CPU, with its own number of threads",
    ),
    Contestant(
        name="puffer",
        title="PufferLib",
        works=("W1", "W2", "W3", "W4", "W5", "W6"),
        packages=(
            _TORCH,
            *_GYMNASIUM,
            *_ATARI,
            "gym==0.26.2",
            "psutil==7.2.2",
            "rich==15.0.0",
            "rich-argparse==1.8.0",
            "pyro-ppl==1.9.2",
            "setuptools",
            "wheel",
        ),
        without_dependencies="pufferlib==3.0.0",
        note="its trainer on its serial back-end; rewards held to ±1, constant clip range, clipped "
        "values, cosine learning rate, minibatches are segments drawn by priority",
    ),
    Contestant(
        name="sample_factory",
        title="Sample Factory",
        works=("W1", "W3", "W4", "W6"),
        packages=(
            _TORCH,
            "sample-factory==2.1.1",
            "gymnasium==0.29.1",
            "numpy==1.26.4",
            "ale-py==0.12.1",
        ),
        note="synchronous, with two sampler processes, one for inference and one for learning; "
        "constant clip range; scored by its last twenty training episodes; needs a Gymnasium "
        "older than LunarLander-v3 and Taxi-v4",
    ),
    Contestant(
        name="tianshou",
        title="Tianshou",
        works=("W1", "W2", "W4", "W5", "W6", "W7"),
        packages=(_TORCH, "tianshou==2.0.1", *_GYMNASIUM),
    ),
    Contestant(
        name="cleanrl",
        title="CleanRL",
        works=("W1", "W2", "W3"),
        packages=("cleanrl==0.4.8",),
        cannot="the newest package, cleanrl 0.4.8 of 2021, imports gym.wrappers.Monitor, which gym "
        "dropped in 0.23, and knows no Gymnasium",
    ),
)
