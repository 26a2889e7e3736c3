"""`spotter doctor` as a library: every installed family is well, and what is wrong is found out."""

import dataclasses
import json
import os
import sys

import pytest

from spotter import plugins
from spotter.config import EnvConfig
from spotter.diagnose.doctor import environments as doctor
from spotter.diagnose.doctor.environments import (
    Finding,
    environment,
    examine,
    example,
    family,
    machine,
    remedy,
)

OWN = "tests.envs.promises"
ALIKE = "all seeds give the same game; envs differ by the policy only"


def breaking(what):
    return EnvConfig(id="Promises-v0", family=OWN, kwargs={"breaks": what})


@pytest.mark.parametrize("name", plugins.names("envs"))
def test_every_installed_family_is_well(name):
    """With its real emulator, in a process of its own: what a user's first look would show."""
    found = family(name)
    if found.state == "not installed":
        pytest.skip(found.fix)
    assert (found.state, found.problem in ("", ALIKE)) == ("ok", True), found
    assert found.seeds and found.env and found.observation and found.action
    assert 0 < found.step_s < 1


def test_families_are_looked_at_one_by_one(monkeypatch):
    monkeypatch.setattr(doctor, "family", Finding)
    assert [found.family for found in doctor.families()] == plugins.names("envs")


@pytest.mark.parametrize("name", sorted({"bandit", "box2d", "classic", "gymnasium", "toy_text"}))
def test_every_family_has_an_example(name):
    assert example(name).family == name


def test_a_family_may_name_its_example():
    found = examine({"family": OWN})
    assert (found.env, found.state, found.problem) == ("Promises-v0", "ok", "")
    assert (found.observation, found.action) == ("vector 2", "discrete 2")
    assert (found.seeds, found.copies_differ) == (True, True)


def test_a_family_without_example_says_so(monkeypatch):
    monkeypatch.delattr("tests.envs.promises.EXAMPLE")
    assert "names no EXAMPLE to try, and no recipe uses it" in examine({"family": OWN}).problem


def test_a_crash_is_a_finding():
    found = environment(breaking("crash"))
    assert found.state == "broken" and found.env == "Promises-v0"
    assert found.problem.startswith("its process ") and "pip install --force-reinst" in found.fix
    if os.name == "posix":
        assert "was killed by SIGABRT" in found.problem


def test_an_exit_is_a_finding():
    assert "its process ended with code 3" in environment(breaking("exit")).problem


def test_a_hang_is_a_finding(monkeypatch):
    monkeypatch.setattr(doctor, "TIMEOUT_S", 3.0)
    found = environment(breaking("hang"))
    assert (found.state, found.problem) == ("broken", "it has not answered for 3 s")


@pytest.mark.parametrize(
    ("what", "state", "problem", "fix"),
    [
        ("seeds", "ok", "the same seed gives another game, so runs cannot be repeated", ""),
        ("other seeds", "ok", ALIKE, ""),
        ("display", "ok", "cannot render: RuntimeError: No available video device", "xvfb-run"),
        ("reward", "broken", "a reward of nan", "spotter doctor Promises-v0 --json"),
        ("make", "broken", "RuntimeError: no such cartridge", "spotter doctor Promises-v0 --json"),
        (
            "library",
            "broken",
            "it is installed but cannot be loaded: libGL.so.1: cannot open",
            "apt-get install libgl1",
        ),
    ],
)
def test_what_is_wrong_and_what_to_do(what, state, problem, fix):
    found = examine({"env": breaking(what).model_dump(mode="json")})
    assert found.state == state
    assert found.problem.startswith(problem)
    assert fix in found.fix


def test_a_package_that_is_not_there_is_no_fault(monkeypatch):
    minatar = pytest.importorskip("spotter.envs.families.minatar")
    monkeypatch.setitem(sys.modules, "minatar", None)
    monkeypatch.setattr(minatar, "_module", lambda file: plugins.require("minatar", "minatar"))
    found = examine({"family": "minatar"})
    assert found.state == "not installed"
    assert found.fix == "pip install 'spotter-rl[minatar]'"


@pytest.mark.parametrize(
    ("text", "what_to_do"),
    [
        ("x is not installed: pip install 'spotter-rl[x]'", "pip install 'spotter"),
        ("no ROM; import it: python -m stable_retro.import folder; then", "python -m stable_retro"),
        ("libopenal.so.1: cannot open shared object file: No such", "apt-get install libopenal1"),
        ("libglib-2.0.so.0: cannot open shared object file", "apt-get install libglib2.0-0"),
        ("libSDL2-2.0.so.0: cannot open shared object file", "apt-get install libsdl2-2.0-0"),
        ("libweird.so.7: cannot open shared object file", "install what holds libweird.so.7"),
        ("could not open display", "xvfb-run -a"),
        ("error: XDG_RUNTIME_DIR not set in the environment.", "SDL_VIDEODRIVER=dummy"),
        ("ValueError: something else", ""),
    ],
)
def test_remedies(text, what_to_do):
    found = remedy(text)
    assert found.startswith(what_to_do) or (what_to_do and what_to_do in found)
    assert bool(found) == bool(what_to_do)


def test_a_finding_survives_the_way_between_processes():
    found = examine({"family": "bandit"})
    assert Finding(**json.loads(json.dumps(dataclasses.asdict(found)))) == found


def test_the_machine():
    facts = machine()
    assert facts["device"] and facts["torch"] and int(facts["cores"]) >= 1
    assert facts["video"].startswith("av ")
    assert facts["kernels"].startswith(("compiled", "not compiled"))
