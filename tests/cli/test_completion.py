"""Shells complete commands, options, recipes, settings and runs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from spotter.cli.completion import SCRIPTS, VARIABLE

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
