"""`spotter bench`: tables, JSON, writing, mistakes."""

import json
from pathlib import Path

import pytest

from spotter.bench.measure import Ratio
from spotter.bench.trials import Change, Trial
from spotter.config import resolve
from tests.bench.fakes import findings

FREE = Trial(Change("threads", {"threads": 2}, True), Ratio.of([1.5]))
ALTERS = Trial(Change("count", {"env.count": 16}, False), Ratio.of([2.0]))


@pytest.fixture
def measured(monkeypatch):
    """Replaces the measuring; `measured.trials` is what it finds, `measured.calls` what it got."""

    class Measured:
        trials = (FREE, ALTERS)
        calls: list = []  # noqa: RUF012

        @staticmethod
        def bench(config, seconds, tell):
            Measured.calls.append((config, seconds))
            if isinstance(Measured.trials, BaseException):
                raise Measured.trials
            return findings(config, Measured.trials)

    Measured.calls.clear()
    Measured.trials = (FREE, ALTERS)
    monkeypatch.setattr("spotter.bench.run.bench", Measured.bench)
    return Measured


def test_tables_and_sentences(spotter, folder, measured):
    ran = spotter("bench", "Acrobot-v1:ppo")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0].startswith("Acrobot-v1:ppo: 16 envs")
    for line in (
        "learn\t60 %\t600.0",
        "achieved\t1,000\tover 10 updates",
        "env.count=16\t2.00 ± 0.00\tchanges learning",
        "threads=2\t1.50 ± 0.00\tfree",
    ):
        assert line in lines
    assert "--apply writes the change" in ran.out
    assert not Path("recipes").exists(), "nothing is written unless asked"


def test_on_a_terminal(spotter, folder, measured, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    out = spotter("bench").out
    assert "times as fast" in out
    assert "\t" not in out


def test_cartpole_unless_told_otherwise(spotter, folder, measured):
    assert spotter("bench").out.startswith("CartPole-v1:ppo: 8 envs")
    assert spotter("bench", "env.count=16", "seed=9").out.startswith("CartPole-v1:ppo: 16 envs")
    assert [config.seed for config, _ in measured.calls] == [1, 9]
    assert [seconds for _, seconds in measured.calls] == [60, 60]


def test_json_is_all_there_is(spotter, folder, measured):
    data = json.loads(spotter("bench", "--json", "--seconds", "5").out)
    assert data["address"] == "CartPole-v1:ppo"
    assert data["best"] == {"free": {"threads": 2}, "learning": {"env.count": 16}}
    assert data["written"] is None
    assert measured.calls[0][1] == 5


@pytest.mark.parametrize(
    ("option", "threads", "count"), [("--apply", 2, 8), ("--apply-learning", None, 16)]
)
def test_apply_writes_the_best_of_its_kind(spotter, folder, measured, option, threads, count):
    ran = spotter("bench", option)
    written = "Written to recipes/CartPole-v1.yaml (a copy of the recipe that came with Spotter"
    assert written in ran.out.replace("\\", "/")
    config = resolve("CartPole-v1:ppo").config
    assert (config.threads, config.env.count) == (threads, count)


def test_apply_with_json(spotter, folder, measured):
    data = json.loads(spotter("bench", "--apply", "--json").out)
    assert Path(data["written"]) == Path("recipes/CartPole-v1.yaml")
    assert resolve("CartPole-v1:ppo").config.threads == 2


def test_nothing_faster_nothing_written(spotter, folder, measured):
    measured.trials = ()
    assert "Nothing to write." in spotter("bench", "--apply").out
    measured.trials = (ALTERS,)
    assert "Nothing to write." in spotter("bench", "--apply").out, "it was not asked for"
    assert not Path("recipes").exists()


def test_p42_an_interrupt_leaves_nothing(spotter, folder, measured):
    measured.trials = KeyboardInterrupt()
    ran = spotter("bench", "--apply")
    assert (ran.code, ran.out, ran.err) == (130, "", "spotter: interrupted\n")
    assert not Path("recipes").exists()


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["CartPol-v1"], "unknown recipe or environment 'CartPol-v1'; did you mean"),
        (["CartPole-v1:ppo", "env.cuont=4"], "command line: env.cuont is not a setting; did you"),
        (["--seconds", "0"], "--seconds should be between 1 and 86400, got 0"),
        (["--seconds", "nan"], "--seconds should be between 1 and 86400, got nan"),
        (["--seconds", "x"], "invalid value for '--seconds'"),
        (["--aply"], "there is no option --aply; did you mean '--apply'?"),
        (["gymnasium:CartPole-v1", "--apply"], "there is a recipe CartPole-v1 already"),
    ],
)
def test_mistakes_are_found_before_measuring(spotter, folder, measured, args, sentence):
    ran = spotter("bench", *args)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"spotter: {sentence}")
    assert ran.err.count("\n") == 1
    assert measured.calls == []


def test_a_short_one_end_to_end(spotter, folder):
    ran = spotter("bench", "CartPole-v1:ppo", "algo.epochs=1", "--seconds", "1", "--json")
    assert ran.code == 0
    data = json.loads(ran.out)
    assert data["profile"]["rate"] > 0
    assert sum(data["profile"]["share"].values()) == pytest.approx(1.0, abs=0.01)
    assert data["limits"]["env_rate"] > data["profile"]["rate"]
    assert data["trials"] or data["not_tried"]
