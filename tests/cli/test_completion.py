"""Shells complete commands, options, recipes, settings and runs."""

import os
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from spotter.cli.completion import SCRIPTS, VARIABLE
from tests.rundir.making import maker

FOLDER = Path(sys.executable).parent
LINES = {
    "spotter tra": ["train"],
    "spotter train LunarLander-v3:p": ["LunarLander-v3:ppo"],
    "spotter train CartPole-v1 algo.value_w": ["algo.value_weight="],
    "spotter train CartPole-v1 policy.activation=re": ["policy.activation=relu"],
    "spotter train CartPole-v1 --algo a": ["a2c"],
    "spotter train CartPole-v1 --fresh": ["--fresh-optimizer"],
    "spotter show @la": ["@last"],
    "spotter list enc": ["encoders"],
    "spotter config Taxi": ["Taxi-v4", "Taxi-v4:ppo"],
    "spotter config ch": ["check"],
}


@pytest.mark.parametrize("line", LINES)
def test_what_a_line_may_become(spotter, line, monkeypatch, tmp_path):
    monkeypatch.setenv("SPOTTER_RUNS", str(tmp_path))
    monkeypatch.setenv(VARIABLE, "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
    found = spotter()
    assert found.code == 0
    words = found.out.split()
    assert set(LINES[line]) <= set(words)
    assert all(word.startswith(line.split()[-1]) for word in words)


@pytest.mark.parametrize(("command", "found"), [("plot", ["both"]), ("show", [])])
def test_groups_where_they_may_be_named(spotter, make_config, monkeypatch, command, found):
    maker(make_config)(group="both")
    monkeypatch.setenv(VARIABLE, "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"spotter {command} bo")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert spotter().out.split() == found


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_replaces_only_what_comes_after_a_colon():
    line = "spotter train LunarLander-v3:p"
    code = f"""{SCRIPTS["bash"]}
    COMP_LINE="{line}"; COMP_POINT={len(line)}; COMP_TYPE=9
    _spotter_completion spotter; printf '%s\\n' "${{COMPREPLY[@]}}" """
    path = f"{FOLDER}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", code], capture_output=True, text=True, env={**os.environ, "PATH": path}
    )
    assert done.stdout.split()[0] == "ppo", done.stderr


COMPLETED = {
    "spotter train Acrobot-v1:p": "Acrobot-v1:ppo",
    "spotter config check pyproj": "pyproject.toml",
    "spotter train CartPole-v1 policy.activation=re": "policy.activation=relu",
}


@pytest.fixture
def around(tmp_path):
    """The variables of a shell without a configuration of its user."""
    path = f"{FOLDER}{os.pathsep}{os.environ['PATH']}"
    own = {"HOME": str(tmp_path), "ZDOTDIR": str(tmp_path), "TERM": "dumb"}
    return {**os.environ, **own, "PATH": path, "SPOTTER_RUNS": str(tmp_path)}


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish: apt-get install fish")
@pytest.mark.parametrize("line", COMPLETED)
def test_fish_completes_a_word(line, around):
    code = f"{SCRIPTS['fish']}\ncomplete --do-complete '{line}'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", code], capture_output=True, text=True, env=around
    )
    assert done.stdout.split() == [COMPLETED[line]], done.stderr


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh: apt-get install zsh")
@pytest.mark.parametrize("line", COMPLETED)
def test_zsh_completes_a_word(line, around, tmp_path):
    """zsh completes on a terminal only: it gets one, the line, and the key for completion."""
    import pty

    (tmp_path / ".zshrc").write_text(
        f"""autoload -Uz compinit && compinit -u
        {SCRIPTS["zsh"]}
        show-line() {{ print -r -- "<$BUFFER>"; exit }}
        zle -N show-line
        bindkey '^I' expand-or-complete '^X' show-line
        PS1=READY """
    )
    ours, theirs = pty.openpty()
    shell = subprocess.Popen(
        ["zsh", "-d", "-i"], stdin=theirs, stdout=theirs, stderr=theirs, env=around, close_fds=True,
        start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    try:
        _read_until(ours, b"READY")
        os.write(ours, line.encode() + b"\t\x18")
        shown = _read_until(ours, b">").decode()
    finally:
        shell.kill()
        shell.wait()
        os.close(ours)
    assert f"<{line.rpartition(' ')[0]} {COMPLETED[line]} >" in shown


def _read_until(terminal: int, wanted: bytes) -> bytes:
    shown = b""
    while wanted not in shown:
        ready, _, _ = select.select([terminal], [], [], 60)
        assert ready, shown
        shown += os.read(terminal, 4096)
    return shown


@pytest.mark.parametrize("shell", SCRIPTS)
def test_a_script_for_each_shell(spotter, shell):
    ran = spotter("completion", shell)
    assert ran.code == 0
    assert "_SPOTTER_COMPLETE=complete_bash" in ran.out
    found = shutil.which(shell)
    if found:
        check = subprocess.run([found, "-n"], input=ran.out, text=True, capture_output=True)
        assert check.returncode == 0, check.stderr


def test_the_shell_of_the_user(spotter, monkeypatch):
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert "complete --command spotter" in spotter("completion").out


def test_another_shell_is_one_sentence(spotter):
    ran = spotter("completion", "zhs")
    assert ran.code == 2
    assert ran.err == "spotter: there is no completion for 'zhs'; did you mean 'zsh'?\n"
