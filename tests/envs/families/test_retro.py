"""Console games: any number of copies side by side, each shown and played as configured."""

import os
import signal

import gymnasium as gym
import numpy as np
import pytest

from spotter.config import EnvConfig, RewardConfig, recipes, resolve
from spotter.envs.base import family
from spotter.envs.families import retro
from spotter.envs.make import EnvBuilder, make_vector, resume_grade
from spotter.testing.families import check_family
from spotter.types import UserError
from spotter.video.replay import film

pytest.importorskip("stable_retro")
AIRSTRIKER = "Retro/Airstriker-Genesis"
LEFT, RIGHT, FIRE = 1, 2, 3


def airstriker(**settings):
    return retro.Config.from_data({"id": AIRSTRIKER, "family": "retro", "count": 2, **settings})


@pytest.fixture(scope="module")
def game():
    """One console for whoever only plays."""
    game = retro.make(airstriker(noops=30), render=True)
    yield game
    game.close()


def test_family():
    check_family(airstriker(noops=30), steps=8)


def test_a_plain_config_will_do():
    plain = EnvConfig(id=AIRSTRIKER, family="retro")
    assert family(plain).describe(plain) == retro.describe(airstriker())
    assert retro.settings(plain)["state"] == "Level1"


def test_description():
    info = retro.describe(airstriker())
    assert info.action_names == ("nothing", "left", "right", "b", "left+b", "right+b")
    assert info.keys == {"left": 1, "right": 2, "b": 3, "space": 3}
    own = retro.describe(airstriker(actions=[["right", "a"], ["c"]], stack=1))
    assert own.action_names == ("right+a", "c") and own.observation_names == ("frame",)
    assert own.keys == {"c": 1, "space": 1}


def test_gymnasium_knows_the_ids():
    assert gym.spec("Retro/SuperMarioBros-Nes").entry_point.startswith(
        "spotter.envs.families.retro:"
    )
    game = gym.make(AIRSTRIKER, stack=1, render_mode="rgb_array")
    assert game.observation_space.shape == (1, 84, 84)
    game.reset(seed=1)
    assert game.render().shape == (224, 320, 3)
    game.close()


# --- P27: one emulator per process ---------------------------------------------------------------


@pytest.mark.parametrize("backend", ["sync", "process"])
def test_p27_two_copies_train_while_another_is_evaluated(backend):
    env = airstriker(noops=8, backend=backend, workers=1 if backend == "process" else None)
    with make_vector(env, RewardConfig()) as training, make_vector(env, count=1) as evaluation:
        seen = training.reset([1, 2]).obs["obs"].copy()
        other = evaluation.reset([1]).obs["obs"].copy()
        assert (seen[0] == other[0]).all(), "the same seed, the same game"
        for _ in range(3):
            training.step(np.array([LEFT, RIGHT]))
            evaluation.step(np.array([LEFT]))
        assert (training.buffers.obs["obs"][0] == evaluation.buffers.obs["obs"][0]).all()
        assert (training.buffers.obs["obs"][0] != training.buffers.obs["obs"][1]).any()


def test_p27_a_film_is_made_while_others_play(game, tmp_path):
    game.reset(seed=1)
    made = film(airstriker(), 1, [np.array(LEFT)] * 5, tmp_path / "film.mp4")
    assert made.path.stat().st_size > 0 and made.frames > 5 and made.fps == 15
    game.step(LEFT)


@pytest.mark.skipif(os.name != "posix", reason="kills by signal")
def test_p27_a_copy_whose_emulator_crashes_is_replaced():
    with make_vector(airstriker(), RewardConfig(), backend="sync") as vector:
        vector.reset([1, 2])
        os.kill(vector._slices[0].instances[1].env.unwrapped.console.pid, signal.SIGKILL)
        vector.step(np.array([0, 0]))
        assert vector.buffers.lost.tolist() == [False, True]
        (fault,) = vector.take_faults()
        assert fault.env == 1 and "the emulator's process died" in fault.text
        vector.step(np.array([0, 0]))
        assert not vector.buffers.lost.any() and vector.buffers.obs["obs"].any()


def test_resuming_is_exact():
    env = airstriker(noops=30, frame_skip=[1, 3], sticky=0.2)
    assert resume_grade(env, RewardConfig()).grade == "exact"


# --- what is seen ---------------------------------------------------------------------------------


def test_p24_the_first_stack_is_the_first_picture_and_the_newest_comes_last(game):
    first, _ = game.reset(seed=3)
    assert (first == first[-1]).all()
    stacks = [game.step(LEFT)[0] for _ in range(5)]
    for before, after in zip([first, *stacks], stacks, strict=False):
        assert (after[:-1] == before[1:]).all()
    assert (stacks[-1][-1] != first[-1]).any()
    game.reset()
    assert (stacks[-1][0] != stacks[-1][-1]).any(), "what was handed out stays as it was"


def test_the_picture_for_people_is_the_whole_screen(game):
    game.reset(seed=1)
    picture = game.render()
    assert picture.shape == (224, 320, 3) and picture.dtype == np.uint8
    assert (picture[:40] == picture[:40].max()).any(), "HUD and all"


def test_pictures_as_configured():
    """Colour, unsized and alone (`stack: 1`), without the HUD."""
    game = retro.make(airstriker(grey=False, size=None, stack=1, crop=[32, 0, 0, 0]))
    obs, _ = game.reset(seed=1)
    assert obs.shape == game.observation_space.shape == (3, 192, 320)
    assert {tuple(pixel) for pixel in obs.reshape(3, -1).T} >= {(0, 0, 0)}
    assert len(np.unique(obs.reshape(3, -1), axis=1).T) > 4, "in colours"
    game.close()


# --- what is done ---------------------------------------------------------------------------------


def test_buttons_do_what_they_are_called(game):
    """The ship moves to the side that is pressed."""

    def ship(action):
        game.reset(seed=0)
        for _ in range(10):
            game.step(action)
        rows = game.render()[180:210].max(axis=2) > 100
        return np.argwhere(rows).mean(axis=0)[1]

    left, stays, right = ship(LEFT), ship(0), ship(RIGHT)
    assert left < stays - 20 and right > stays + 20


def test_seeds_decide_the_start_and_later_episodes_differ(game):
    def starts(seed):
        return [game.reset(seed=seed)[0].tobytes(), *(game.reset()[0].tobytes() for _ in range(4))]

    assert starts(1) == starts(1) != starts(2)
    assert len(set(starts(1))) > 1


def test_the_game_ends_when_all_lives_are_lost_and_numbers_are_info(game):
    _, info = game.reset(seed=0)
    assert info == {"lives": 3, "score": 0, "gameover": 9}
    lives, steps, terminated = [], 0, False
    while not terminated:
        *_, terminated, truncated, info = game.step(0)
        assert not truncated
        lives.append(info["lives"])
        steps += 1
    assert sorted(set(lives)) == [0, 1, 2, 3] and 250 < steps < 350


# --- sentences ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"id": "Retro/Airstriker-Gensis"}, "unknown environment 'Retro/Airstriker-Gensis'"),
        ({"id": "Retro/SuperMarioBros-Nes"}, "needs its ROM"),
        ({"state": "Level11"}, "has no state 'Level11'; did you mean 'Level1'?"),
        ({"actions": [["FIRE"]]}, "Genesis has no button 'FIRE'"),
        ({"turbo": ["BB"]}, "env.turbo: Genesis has no button 'BB'"),
        ({"ends": ["level"]}, "env.level: Retro/Airstriker-Genesis has no number 'level'"),
        ({"ends": ["death"], "lives": "live"}, "env.lives: .* 'live'; did you mean 'lives'?"),
        ({"kwargs": {"game": "x"}}, "takes no env.kwargs; its settings are env.state"),
        ({"crop": [200, 24, 0, 0]}, r"env.crop: \[200, 24, 0, 0\] leaves nothing"),
        ({"size": [4, 4]}, "env.size: 4 frames and colours need a width above that"),
    ],
)
def test_mistakes_are_one_sentence(settings, says):
    with pytest.raises(UserError, match=says):
        retro.make(airstriker(**settings))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"frame_skip": 0}, "`frame_skip` is at least 1"),
        ({"frame_skip": [4, 2]}, r"or \[min, max\] with min up to max"),
        ({"size": [0, 84]}, "`size`"),
        ({"hide": [-1, 0, 0, 0]}, "`hide`"),
        ({"actions": []}, "at least one"),
        ({"ends": ["deth"]}, "death"),
        ({"sticky": 1.0}, "less than 1"),
    ],
)
def test_settings_are_checked(settings, says):
    with pytest.raises(ValueError, match=says):
        airstriker(**settings)


# --- recipes --------------------------------------------------------------------------------------


def test_recipes():
    assert recipes.family_of("Retro/Contra-Nes") == "retro"
    config = resolve(f"{AIRSTRIKER}:ppo").config
    assert config.env.turbo == ("B",) and config.reward.clip == 1.0


def test_games_without_a_recipe_are_known():
    config = resolve("Retro/Contra-Nes:ppo").config
    assert config.env.id == "Retro/Contra-Nes" and config.env.noops == 30
    with pytest.raises(UserError, match="did you mean 'Retro/Contra-Nes'"):
        resolve("Retro/Contrra-Nes:ppo")


def test_a_level_on_the_command_line():
    env = resolve("Retro/SuperMarioBros-Nes:ppo", ["env.state=Level1-2"]).config.env
    assert env.state == "Level1-2" and env.ends == ("death", "level") and env.stall == 300
    with pytest.raises(UserError, match=r"env.stat is not a setting; did you mean env.state"):
        resolve("Retro/SuperMarioBros-Nes:ppo", ["env.stat=Level1-2"])
    own = resolve(f"{AIRSTRIKER}:ppo", ["env.actions=[[], [left, b]]"]).config.env
    assert own.actions == ((), ("LEFT", "B"))


def test_what_decides_a_score_is_in_the_settings():
    settings = retro.settings(airstriker(actions=[["LEFT"], ["B"]]))
    assert settings["actions"] == ["left", "b"] and settings["state"] == "Level1"
    assert retro.settings(airstriker(frame_skip=3)) != retro.settings(airstriker())
    assert retro.settings(airstriker(state="Level1")) == retro.settings(airstriker())


def test_buttons_stick_in_training_only():
    env = airstriker(sticky=0.9)
    for training, chance in ((True, 0.9), (False, 0.0)):
        instance = EnvBuilder(env, training=training).build()
        assert instance.env.unwrapped.config.sticky == chance
        instance.close()
