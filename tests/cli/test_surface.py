"""The commands and options are a promise: change this file when you change them."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.main import get_command

from spotter import __version__
from spotter.cli.main import app

SURFACE = {
    "spotter": ["--version"],
    "spotter list": ["TEXT..."],
    "spotter train": [
        "ADDRESS",
        "KEY=VALUE...",
        "--algo",
        "--seed",
        "--seeds",
        "--jobs",
        "--group",
        "--resume",
        "--from",
        "--fresh-optimizer",
        "--demo",
        "--verify",
        "--why",
        "--require-solved",
        "--quiet",
        "--no-save",
        "--trust",
        "--launch",
    ],
    "spotter explore": [
        "ENV",
        "KEY=VALUE...",
        "--minutes",
        "--frames",
        "--score",
        "--seed",
        "--cells",
        "--steps",
        "--out/-o",
        "--film",
    ],
    "spotter runs": ["QUERY...", "--last", "--json"],
    "spotter show": ["RUN"],
    "spotter report": ["RUN"],
    "spotter compare": ["RUN..."],
    "spotter diff": ["RUN", "OTHER"],
    "spotter plot": ["RUN...", "--metric", "--out/-o"],
    "spotter tag": ["RUN", "TAG", "--remove"],
    "spotter note": ["RUN", "TEXT"],
    "spotter stop": ["RUN"],
    "spotter rm": ["RUN...", "--yes"],
    "spotter export": ["RUN", "FILE"],
    "spotter import": ["FILE"],
    "spotter reindex": [],
    "spotter eval": ["RUN", "KEY=VALUE...", "--episodes", "--trust"],
    "spotter doctor": ["ENV|RUN", "KEY=VALUE...", "--json", "--environment", "--trust"],
    "spotter inspect": [
        "RUN",
        "KEY=VALUE...",
        "--seed",
        "--sampled",
        "--untrained",
        "--episodes",
        "--gamma",
        "--lambda",
        "--csv",
        "--step",
        "--audit",
        "--json",
        "--trust",
    ],
    "spotter play": [
        "RUN|ADDRESS",
        "--mode",
        "--headless",
        "--episodes",
        "--seed",
        "--fps",
        "--step-by-step",
        "--race",
        "--record",
        "--trust",
    ],
    "spotter film": [
        "RUN",
        "--checkpoints",
        "--seconds",
        "--size",
        "--seed",
        "--out/-o",
        "--title",
        "--fps",
        "--trust",
    ],
    "spotter studio": ["--port", "--host", "--token", "--no-browser"],
    "spotter blackbox": ["FOLDER", "--timeout", "--trust"],
    "spotter bench": [
        "ADDRESS",
        "KEY=VALUE...",
        "--algo",
        "--seconds",
        "--apply",
        "--apply-learning",
        "--json",
    ],
    "spotter digest": ["RUN", "--tokens", "--runs"],
    "spotter review": ["RUN", "--frames", "--question", "--show", "--yes"],
    "spotter mcp": [
        "--http",
        "--port",
        "--host",
        "--read-only",
        "--most-runs",
        "--most-steps",
        "--most-minutes",
        "--renew",
        "--answer-tokens",
        "--trust",
    ],
    "spotter help": ["TOPIC"],
    "spotter completion": ["SHELL"],
    "spotter config": [],
    "spotter config show": ["ADDRESS", "KEY=VALUE...", "--origin", "--algo", "--json"],
    "spotter config check": ["FILE..."],
    "spotter config fmt": ["FILE...", "--check"],
    "spotter config schema": [],
}
FASTEST_S = 0.5


def _surface(command, name: str) -> dict[str, list[str]]:
    found = {name: [_shown(param) for param in command.params]}
    for key, sub in getattr(command, "commands", {}).items():
        found |= _surface(sub, f"{name} {key}")
    return found


def _shown(param) -> str:
    if param.param_type_name == "option":
        return "/".join(param.opts)
    return f"{param.metavar}{'...' if param.nargs == -1 else ''}"


def test_commands_and_options():
    assert _surface(get_command(app), "spotter") == SURFACE


def test_help_is_instant():
    script = Path(sys.executable).parent / "spotter"
    times = []
    for _ in range(3):
        began = _seconds_of_children()
        subprocess.run([script, "--help"], check=True, capture_output=True)
        times.append(_seconds_of_children() - began)
    print(f"spotter --help: {min(times):.2f} s")
    assert min(times) < FASTEST_S


def _seconds_of_children() -> float:
    """CPU time, which a busy machine does not stretch; the clock where the system has no count."""
    spent = os.times()
    return spent.children_user + spent.children_system or time.perf_counter()


@pytest.mark.parametrize("name", SURFACE)
def test_every_command_explains_itself(spotter, name):
    ran = spotter(*name.split()[1:], "--help")
    assert ran.code == 0
    assert ran.out.startswith(f"Usage: {name}")
    assert not ran.err


def _help(spotter, name: str, monkeypatch) -> list[str]:
    monkeypatch.setenv("COLUMNS", "80")
    return spotter(*name.split()[1:], "-h").out.splitlines()


@pytest.mark.parametrize("name", SURFACE)
def test_help_fits_into_80_columns_and_nothing_is_cut(spotter, name, monkeypatch):
    lines = _help(spotter, name, monkeypatch)
    assert [line for line in lines if len(line) > 80] == []
    assert [line for line in lines if re.search(r"[a-z,]\.\.\.$", line)] == []


@pytest.mark.parametrize("name", SURFACE)
def test_every_command_has_examples_of_itself(spotter, name, monkeypatch):
    lines = _help(spotter, name, monkeypatch)
    after = lines[lines.index("  Examples:") + 1 :]
    short = name.removesuffix(" show") if name.startswith("spotter config") else name
    assert any(short in line for line in after)


@pytest.mark.parametrize("name", SURFACE)
def test_metavars_are_of_one_style(spotter, name, monkeypatch):
    """Capitals, no types of Python; what may be left out stands in brackets."""
    text = "\n".join(_help(spotter, name, monkeypatch)).partition("  Examples:")[0]
    assert not re.search(r"<(int|str|float|path|list|Path)\b|\{[A-Z]|x>=|\[required\]", text)
    for line in text.splitlines():
        option = re.match(r"  (?:-\w, )?--[a-z-]+ (\S+)  ", line)
        assert option is None or re.fullmatch(r"[A-Z]+|WxH", option[1]), line


def test_commands_come_in_groups(spotter):
    lines = spotter("-h").out.splitlines()
    places = [lines.index(f"{title}:") for title in ("Train", "Look", "Share", "Agents", "Help")]
    assert places == sorted(places)
    for name in SURFACE:
        if name.count(" ") == 1:
            assert any(line.startswith(f"  {name.split()[1]} ") for line in lines), name


@pytest.mark.parametrize("args", [(), ("--help",), ("-h",)])
def test_the_help_teaches(spotter, args):
    out = spotter(*args).out
    examples = [line for line in out.splitlines() if line.startswith("    spotter ")]
    assert len(examples) >= 4
    assert all(name in out for name in ("list", "train", "config"))


def test_config_alone_shows_its_help(spotter):
    ran = spotter("config")
    assert ran.code == 0
    assert "spotter config fmt --check" in ran.out


def test_version(spotter):
    assert spotter("--version").out == f"spotter {__version__}\n"


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["trian"], "there is no command 'trian'; did you mean 'train'?"),
        (["zzz"], "there is no command 'zzz' (see spotter --help)"),
        (["A-v1:ppo"], "there is no command 'A-v1:ppo'; did you mean `spotter train A-v1:ppo`?"),
        (["--vresion"], "there is no option --vresion; did you mean '--version'? (see `spotter"),
        (["train"], "say what to train, e.g. spotter train CartPole-v1:ppo (see spotter list)"),
        (["train", "X", "--sed", "1"], "there is no option --sed; did you mean '--seed'? (see"),
        (["train", "X", "--algo"], "option '--algo' requires an argument"),
        (
            ["train", "CartPole-v1", "--learning-rate", "3e-4"],
            "there is no option --learning-rate; did you mean algo.lr=0.0003? (see",
        ),
        (
            ["train", "CartPole-v1", "--num-minibatches=8"],
            "there is no option --num-minibatches; did you mean algo.minibatch=0.125? (a frac",
        ),
        (
            ["train", "CartPole-v1", "--clip", "0.1"],
            "there is no option --clip; settings are written without dashes: algo.clip=0.1",
        ),
        (
            ["train", "--env", "CartPole-v1"],
            "there is no option --env; the environment comes first: spotter train CartPole-v1",
        ),
        (["train", "X", "--zzzz"], "there is no option --zzzz; known: --algo, --demo, "),
        (["config", "chek"], "there is no command 'config chek'; did you mean 'check'?"),
        (["config", "--orign"], "there is no option --orign; did you mean '--origin'? (see"),
        (
            ["config", "schema", "x"],
            "got unexpected extra argument(s) (x) (see `spotter config sch",
        ),
    ],
)
def test_mistakes_are_one_sentence_and_exit_2(spotter, args, sentence):
    ran = spotter(*args)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith(f"spotter: {sentence}")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    "args",
    [
        ["train", "CartPole-v1:ppo", "--why", "caf\udce9"],
        ["train", "CartPole-v1:ppo", "seed=\udcff"],
        ["show", "\udcff"],
    ],
)
def test_bytes_that_are_no_text_are_one_sentence(spotter, args):
    ran = spotter(*args)
    assert (ran.code, ran.out) == (2, "")
    assert "is not valid UTF-8; type it again" in ran.err
    assert ran.err.count("\n") == 1


def test_out_of_memory_is_one_sentence(spotter, monkeypatch):
    def large(text: str) -> None:
        raise MemoryError("Unable to allocate 3 TiB")

    monkeypatch.setattr("spotter.config.catalogue.find", large)
    ran = spotter("list")
    assert ran.code == 2
    assert ran.err.startswith("spotter: not enough memory: Unable to allocate 3 TiB; lower what ")


def test_a_bug_keeps_its_traceback(spotter, monkeypatch):
    def broken(text: str) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("spotter.config.catalogue.find", broken)
    with pytest.raises(ZeroDivisionError):
        spotter("list")


def test_an_interrupt_is_130(spotter, monkeypatch):
    def interrupted(text: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("spotter.config.catalogue.find", interrupted)
    ran = spotter("list")
    assert (ran.code, ran.err) == (130, "spotter: interrupted\n")
