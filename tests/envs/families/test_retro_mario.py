"""Everything between a NES and the learner, on a cartridge of our own that pays as Mario does.

See emulator/cartridge.py: RIGHT scrolls by 2 pixels a frame, UP finishes a level, DOWN costs a
life, each new press of A pays a point.
"""

import numpy as np
import pytest

from spotter.config import RewardConfig, resolve
from spotter.envs.families import retro
from spotter.envs.make import make_vector
from tests.envs.games.emulator import cartridge

pytest.importorskip("stable_retro")
ACTIONS = [[], ["RIGHT"], ["A"], ["UP"], ["DOWN"], ["LEFT"], ["SELECT"]]
NOTHING, RIGHT, A, UP, DOWN, LEFT, SELECT = range(len(ACTIONS))


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    return str(cartridge.write(tmp_path_factory.mktemp("roms")))


@pytest.fixture(scope="module")
def console(shelf):
    """One console for all: what differs between these tests is on our side of it."""
    game = retro.make(mario(shelf))
    yield game.console
    game.close()


def mario(shelf, **settings):
    return retro.Config.from_data(
        {
            "id": "Retro/SuperMarioBros-Nes",
            "family": "retro",
            "folder": shelf,
            "state": "Level1-2",
            "actions": ACTIONS,
            **settings,
        }
    )


@pytest.fixture
def game(shelf, console, monkeypatch):
    """A game with any settings but those of the console."""
    monkeypatch.setattr(retro, "Console", lambda start: console)
    return lambda **settings: retro.make(mario(shelf, **settings))


def scroll(info):
    return info["xscrollHi"] * 256 + info["xscrollLo"]


def ways(game, actions):
    """How far each decision scrolls."""
    places = [scroll(game.step(action)[4]) for action in actions]
    return np.diff([0, *places]).tolist()


@pytest.mark.parametrize("skip", [1, 3, 8])
def test_p17_a_decision_is_so_many_frames(game, skip):
    game = game(frame_skip=skip)
    game.reset(seed=0)
    assert ways(game, [RIGHT] * 5) == [2 * skip] * 5


def test_every_button_is_the_one_it_is_called(game):
    game = game(frame_skip=1)
    _, start = game.reset(seed=0)
    changed = {}
    for action in (RIGHT, A, UP, DOWN):
        game.reset()
        _, _, _, _, info = game.step(action)
        changed[action] = {name for name in info if info[name] != start[name]} - {"time"}
    assert changed == {RIGHT: {"xscrollLo"}, A: {"score"}, UP: {"levelLo"}, DOWN: {"lives"}}
    game.reset()
    game.step(SELECT)
    assert ways(game, [RIGHT]) == [0], "and this one stops it"


def test_frames_per_decision_drawn_from_a_range(game):
    game = game(frame_skip=[1, 4])
    game.reset(seed=5)
    drawn = ways(game, [RIGHT] * 60)
    assert set(drawn) == {2, 4, 6, 8}
    game.reset(seed=5)
    assert ways(game, [RIGHT] * 60) == drawn, "by the seed"
    game.reset(seed=6)
    assert ways(game, [RIGHT] * 60) != drawn


def test_sticky_buttons_stay_pressed_for_some_frames(game):
    """Each frame with the same chance: 0.5 of 8 frames are 0.996 frames on average."""
    game = game(frame_skip=8, sticky=0.5)
    game.reset(seed=0)
    pressed = ways(game, [RIGHT, NOTHING] * 80)
    assert pressed[0] == 16, "the first buttons of an episode stick to nothing"
    late = np.array(pressed[1::2]) / 2
    assert set(late) >= {0, 1, 2, 3} and late.mean() == pytest.approx(0.996, abs=0.4)
    missed = 8 - np.array(pressed[2::2]) / 2
    assert missed.mean() == pytest.approx(0.996, abs=0.4)


def test_sticky_buttons_are_for_training(shelf):
    config = mario(shelf, sticky=0.5)
    assert config.as_played().sticky == 0 and config.as_played().state == "Level1-2"
    assert retro.Config.training_only == ("sticky",)


def test_a_held_button_is_pressed_once_unless_it_is_turbo(game, shelf):
    held = game()
    held.reset(seed=0)
    assert [held.step(A)[4]["score"] for _ in range(3)] == [1, 1, 1]


def test_turbo_presses_anew_in_each_decision(shelf):
    game = retro.make(mario(shelf, turbo=["a"]))
    game.reset(seed=0)
    assert [game.step(A)[4]["score"] for _ in range(3)] == [1, 2, 3]
    game.close()


def test_idle_frames_before_an_episode(game):
    """The clock's own counter has gone on by as many frames."""
    game = game(noops=20)
    phases = set()
    for seed in range(12):
        game.reset(seed=seed)
        phases.add(game.console.memory()[1])
    assert len(phases) > 4


def test_the_score_is_the_way_and_the_pictures_show_it(game):
    game = game(frame_skip=4)
    first, _ = game.reset(seed=0)
    obs, reward, *_ = game.step(RIGHT)
    assert reward == 8
    game.step(LEFT)  # the colour follows the scroll, one frame later
    obs, *_ = game.step(NOTHING)
    assert (obs[-1] != first[-1]).all() and (obs[0] == first[-1]).all()


def test_an_episode_ends_as_configured(game):
    def played(action, **settings):
        env = game(**settings)
        env.reset(seed=0)
        env.step(RIGHT)
        *_, terminated, truncated, info = env.step(action)
        return terminated, truncated, info

    assert played(DOWN)[:2] == (False, False) == played(UP)[:2]
    terminated, _, info = played(DOWN, ends=["death", "level"])
    assert terminated and info["life_lost"] == 1 and info["level_finished"] == 0
    terminated, _, info = played(UP, ends=["death", "level"])
    assert terminated and info["life_lost"] == 0 and info["level_finished"] == 1
    assert played(DOWN, ends=["level"])[:2] == (False, False)
    assert played(RIGHT, time_limit=2)[:2] == (False, True)
    assert played(RIGHT, frame_cap=8)[:2] == (False, True)
    assert game(frame_cap=10, frame_skip=[1, 4]).spec.max_episode_steps == 10


def test_a_run_that_gets_nowhere_is_cut(game):
    env = game(stall=3)
    env.reset(seed=0)
    actions = [RIGHT, NOTHING, NOTHING, RIGHT, NOTHING, NOTHING, NOTHING]
    cuts = []
    for action in actions:
        *_, terminated, truncated, info = env.step(action)
        cuts.append((truncated, info["stalled"]))
        assert not terminated
    assert cuts == [(False, 0)] * 6 + [(True, 1)]


def test_the_game_itself_ends_when_no_life_is_left(game):
    env = game()
    env.reset(seed=0)
    ends = [env.step(action)[2] for action in (DOWN, NOTHING, DOWN, NOTHING, DOWN)]
    assert ends == [False] * 4 + [True]


def test_the_recipe_pays_what_it_promises(shelf):
    """Each of its signals fires, with its weight, in the level the command line names."""
    overrides = ["env.state=Level1-2", f"env.folder={shelf}", "env.noops=0", "env.count=1"]
    run = resolve("Retro/SuperMarioBros-Nes:ppo", [*overrides, "env.actions=[[RIGHT], [UP]]"])
    with make_vector(run.config.env, run.config.reward, backend="sync") as vector:
        vector.reset([1])
        vector.step(np.array([0]))
        assert vector.buffers.signals[0].tolist() == [8, 0, 0, 0] and vector.buffers.reward[0] == 8
        (won,) = vector.step(np.array([1]))
        assert vector.buffers.signals[0].tolist() == [0, 1, 0, 0]
        assert won.terminated and won.info["level_finished/last"] == 1 and won.score == 8
        ticks = 0
        for _ in range(12):
            vector.step(np.array([0]))
            ticks += vector.buffers.signals[0, 3]
        assert ticks == -2, "48 frames are two ticks of the clock"
    names = [signal.name for signal in RewardConfig(signals=run.config.reward.signals).signals]
    assert names == ["progress", "finish", "death", "time"]
