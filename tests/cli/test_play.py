"""`spotter play` on the command line."""

import io
import re
import sys

import pytest

from spotter.config import resolve
from spotter.episodes import format as traces
from spotter.rundir.run import Run
from spotter.training.run import train


@pytest.fixture
def run(monkeypatch) -> Run:
    resolved = resolve("CartPole-v1:ppo", ["budget.env_steps=1024", "eval.episodes=2"])
    made: list[Run] = []

    def new_run() -> Run:
        made.append(Run.create(resolved.config, resolved.address))
        return made[0]

    train(resolved.config, new_run=new_run)
    return made[0]


def keys(monkeypatch, *lines: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def test_play_03_random_is_an_untrained_policy(spotter):
    ran = spotter(
        *("play", "CartPole-v1", "--mode", "random", "--headless"),
        *("--episodes", "2", "--seed", "3"),
    )
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert re.fullmatch(
        r"episode 1: score \d+ in \d+ steps, terminated \(seed 3\)", lines[0].replace(".0 ", " ")
    )
    assert lines[1].startswith("episode 2") and lines[1].endswith("(seed 4)")
    assert lines[2].startswith("mean score")


def test_a_run_is_played_by_its_agent(spotter, run):
    once = spotter("play", "@last", "--headless", "--seed", "5")
    again = spotter("play", run.id, "--mode", "agent", "--headless", "--seed", "5")
    assert once.code == 0 and once.out == again.out
    assert once.out.startswith("episode 1: score ")


def test_a_person_without_a_window_writes_keys(spotter, run, monkeypatch):
    keys(monkeypatch, *["right"] * 600)
    ran = spotter("play", "@last", "--mode", "human", "--headless", "--record", "--seed", "2")
    assert ran.code == 0
    assert "terminated" in ran.out
    kept = traces.load(traces.listing(run)[0])
    assert (kept.meta.mode, kept.meta.seed) == ("human", 2)
    assert set(kept.columns["action"].tolist()) == {1}


def test_keys_that_run_out_stop_the_episode(spotter, monkeypatch):
    keys(monkeypatch, "left", "", "right")
    ran = spotter("play", "CartPole-v1", "--headless")
    assert "in 3 steps, stopped" in ran.out


@pytest.mark.parametrize(
    ("game", "lines"), [("CartPole-v1", ()), ("FrozenLake-v1", ("q", ""))], ids=["none", "unknown"]
)
def test_no_keys_at_all_is_a_sentence(spotter, monkeypatch, game, lines):
    keys(monkeypatch, *lines)
    ran = spotter("play", game, "--mode", "human", "--headless")
    assert (ran.code, ran.out) == (2, "")
    assert "no key of this game came on standard input" in ran.err.splitlines()[-1]


def test_a_line_with_an_unknown_key_is_no_step(spotter, monkeypatch):
    keys(monkeypatch, "left", "banana", "right banana", "ArrowRight")
    ran = spotter("play", "CartPole-v1", "--headless")
    assert "in 2 steps, stopped" in ran.out
    assert ran.err == (
        "no step: 'banana' is no key of this game; keys: left (push left), right (push right)\n"
    )


def test_what_is_recorded_is_whoever_played(spotter, run):
    assert spotter("play", "@last", "--headless", "--record", "--seed", "5").code == 0
    assert [traces.load_meta(folder).mode for folder in traces.listing(run)] == ["greedy"]


def test_keys_that_end_with_an_episode_begin_no_other(spotter, monkeypatch):
    game = ("play", "CartPole-v1", "--mode", "human", "--headless", "--seed", "2")
    keys(monkeypatch, *["right"] * 600)
    steps = int(re.search(r"in (\d+) steps", spotter(*game).out)[1])
    keys(monkeypatch, *["right"] * steps)
    ran = spotter(*game, "--episodes", "3")
    assert ran.code == 0
    assert ran.out.splitlines()[0].startswith("episode 1: ")
    assert "episode 2" not in ran.out


def test_a_race_without_a_window(spotter, run, monkeypatch):
    keys(monkeypatch, *["right"] * 600)
    ran = spotter("play", "@last", "--race", "--headless", "--seed", "2")
    assert [line.split(":")[0] for line in ran.out.splitlines()] == [
        "episode 1, human", "episode 1, agent",
    ]  # fmt: skip


def test_it_plays_in_a_window(spotter, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pressed = lambda self: (frozenset({"left"}), frozenset({"left"}))  # noqa: E731
    monkeypatch.setattr("spotter.episodes.window.Window.keys", pressed)
    ran = spotter("play", "CartPole-v1", "--episodes", "1", "--fps", "240", "--seed", "1")
    assert ran.code == 0 and ran.out.startswith("episode 1: score ")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("CartPole-v1", "--mode", "agnt"), "there is no --mode 'agnt'; did you mean 'agent'?"),
        (
            ("CartPole-v1", "--mode", "robot"),
            "no --mode 'robot'; known: agent, human, random, untrained",
        ),
        (("CartPole-v1", "--headless", "--step-by-step"), "--step-by-step is about the window"),
        (("CartPole-v1", "--headless", "--fps", "3"), "--fps is about the window"),
        (("CartPole-v1", "--mode", "agent"), "a recipe has no policy"),
        (("CartPole-v1", "--record"), "--record keeps episodes with a run"),
        (("CartPole-v1", "--episodes", "0"), "--episodes should be a whole number"),
        (("CartPole-v1", "--seed", "x"), "--seed should be a whole number"),
        (("CartPole-v1", "--fps", "0"), "--fps should be a number above 0"),
        (("CartPole-v1", "--race", "--mode", "human"), "leave --mode out"),
        (("CartPol-v1",), "CartPole-v1"),
        (("@last",), "there is no run"),
    ],
)
def test_mistakes_are_one_sentence(spotter, args, said):
    ran = spotter("play", *args)
    assert ran.code == 2
    assert said in ran.err and ran.err.count("\n") == 1


def test_a_person_at_a_terminal_needs_a_window(spotter, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    ran = spotter("play", "CartPole-v1", "--headless")
    assert ran.code == 2 and "a person needs a window" in ran.err
