"""`spotter doctor`: one line per family, the exact fix, and an exit code that means something."""

import json

import pytest

from spotter.cli.doctor import exit_code
from spotter.diagnose.doctor import environments as doctor
from spotter.diagnose.doctor.environments import Finding
from tests.diagnose.doctor.recordings import FOLDER, unpack

FINE = Finding("bandit", "Bandit-v0", "ok", 7e-6, "discrete 1", "discrete 10", "", True, True)
MISSING = Finding(
    "retro",
    state="not installed",
    problem="stable_retro is not installed: pip install 'spotter-rl[retro]'",
    fix="pip install 'spotter-rl[retro]'",
)
BROKEN = Finding("atari", "ALE/Pong-v5", "broken", problem="it crashed", fix="apt-get install x")


@pytest.fixture
def finds(monkeypatch):
    """Families as they are said to be, and a machine that is known."""
    monkeypatch.setattr(doctor, "machine", lambda: {"python": "3.11", "cores": "2"})
    return lambda *found: monkeypatch.setattr(doctor, "families", lambda: iter(found))


def test_a_line_per_family(spotter, finds):
    finds(FINE, MISSING)
    ran = spotter("doctor")
    facts, _, header, *rows = ran.out.splitlines()
    assert ran.code == 0
    assert facts == "python 3.11 · cores 2"
    assert header.split("\t")[:4] == ["family", "state", "environment", "step"]
    shown = ["bandit", "ok", "Bandit-v0", "7 µs", "discrete 1", "discrete 10"]
    assert rows[0].split("\t") == [*shown, "", "", "yes", "differ", ""]
    assert rows[1].startswith("retro\tnot installed\t")
    assert rows[1].endswith("\tstable_retro is not installed: " + MISSING.fix), "told once"


def test_what_is_broken_comes_with_its_fix(spotter, finds):
    finds(FINE, BROKEN)
    ran = spotter("doctor")
    assert ran.code == 1
    assert ran.out.splitlines()[-1].endswith("\tit crashed: apt-get install x")


def test_a_terminal_gets_advice_where_there_is_room(spotter, finds, monkeypatch):
    finds(FINE, MISSING, BROKEN)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    ran = spotter("doctor")
    assert ran.out.splitlines()[-3:] == [
        "",
        f"retro: {MISSING.problem}",
        "atari: it crashed: apt-get install x",
    ]
    assert "differ" in ran.out and "not installed" in ran.out


def test_json(spotter, finds):
    finds(FINE, MISSING)
    data = json.loads(spotter("doctor", "--json").out)
    assert data["machine"]["cores"] == "2"
    assert [entry["state"] for entry in data["families"]] == ["ok", "not installed"]
    assert data["families"][0]["step_s"] == 7e-6


@pytest.mark.parametrize(
    ("found", "code", "named"),
    [([FINE], 0, 0), ([FINE, MISSING], 0, 2), ([BROKEN], 1, 2), ([MISSING], 0, 2)],
)
def test_exit_codes(found, code, named):
    assert exit_code(found, is_named=False) == code
    assert exit_code(found, is_named=True) == named


def test_one_family(spotter, finds):
    ran = spotter("doctor", "bandit")
    assert ran.code == 0
    assert ran.out.splitlines()[-1].startswith("bandit\tok\tBandit-v0\t")


def test_one_environment_with_settings(spotter, finds):
    ran = spotter("doctor", "CartPole-v1", "env.wrappers=[{name: frame_stack, count: 2}]")
    assert ran.code == 0
    assert "\tvector 8\tdiscrete 2\t" in ran.out


def test_an_environment_that_fails_is_exit_2(spotter, finds):
    ran = spotter("doctor", "CartPole-v1", "env.kwargs={colour: red}")
    assert ran.code == 2
    assert "CartPole-v1 cannot be made with env.kwargs {'colour': 'red'}" in ran.out


def test_an_unknown_environment_is_one_sentence(spotter):
    ran = spotter("doctor", "CartPole-v7")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("spotter: unknown recipe or environment 'CartPole-v7'; did you mean")


def test_the_help_teaches(spotter):
    out = spotter("doctor", "--help").out
    assert "spotter doctor my_package:MyEnv-v0" in out and "exit code 1" in out


@pytest.fixture
def recorded(monkeypatch, tmp_path):
    """A folder of runs with these recordings in it; the ids of the runs."""
    monkeypatch.setenv("SPOTTER_RUNS", str(tmp_path))
    return lambda *names: [unpack(FOLDER / f"{name}.json.gz", tmp_path).id for name in names]


def test_a_run_with_something_wrong(spotter, recorded):
    (name,) = recorded("failed-lr-too-high")
    ran = spotter("doctor", "@last", "--no-environment")
    assert ran.code == 1
    assert ran.out.startswith(f"run {name}\nNot solved, test score 9")
    assert "\n   try: algo.lr={shape: linear, start: 0.001, end: 0.0}\n" in ran.out
    assert "\nfirst: spotter train CartPole-v1:ppo " in ran.out
    assert "not checked: the environment itself" in ran.out


def test_a_healthy_run_and_its_environment(spotter, recorded):
    (name,) = recorded("healthy-cartpole")
    ran = spotter("doctor", name[:15])
    assert ran.code == 0
    assert "over 20 episodes; nothing is wrong with it" in ran.out and "not checked" not in ran.out


def test_a_run_as_json(spotter, recorded):
    (name,) = recorded("failed-reward-too-large")
    ran = spotter("doctor", name, "--no-environment", "--json")
    data = json.loads(ran.out)
    assert (ran.code, data["run"], data["healthy"]) == (1, name, False)
    first = data["problems"][0]
    assert (first["id"], first["overrides"]) == ("reward-too-large", ["reward.scale=1.0"])
    assert first["link"] == "spotter help doctor.reward-too-large"


def test_an_environment_is_not_taken_for_a_run(spotter, finds, recorded, tmp_path):
    (name,) = recorded("failed-lr-too-high")
    (tmp_path / name / "tags").mkdir()
    (tmp_path / name / "tags" / "bandit").touch()
    assert spotter("doctor", "bandit").out.splitlines()[-1].startswith("bandit\tok\t")
    (tmp_path / name / "tags" / "baseline").touch()
    assert spotter("doctor", "baseline", "--no-environment").code == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["@lost"], "unknown selector '@lost'; did you mean '@last'?"),
        (["@last", "algo.lr=1"], "a run is looked at as it is; leave out algo.lr=1"),
        (["20991231-000000-abcd"], "there is no run '20991231-000000-abcd' in "),
    ],
    ids=["selector", "settings", "id"],
)
def test_a_run_that_is_not_there_is_one_sentence(spotter, recorded, words, sentence):
    recorded("failed-lr-too-high")
    ran = spotter("doctor", *words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"spotter: {sentence}")


def test_an_option_for_runs_is_refused_elsewhere(spotter):
    for words in (("CartPole-v1",), ()):
        ran = spotter("doctor", *words, "--no-environment")
        assert (ran.code, ran.err) == (
            2,
            "spotter: --no-environment is for runs, such as @last; leave it out here\n",
        )
