"""The Atari family: one game as ale-py's vector environment shows it, described and checked."""

import numpy as np
import pytest

from spotter.config import EnvConfig, recipes, resolve
from spotter.envs import atari
from spotter.envs.base import family, threshold
from spotter.envs.make import Recipe
from spotter.testing.families import check_family
from spotter.types import UserError

pytest.importorskip("ale_py")


def pong(**kwargs):
    return EnvConfig(id="ALE/Pong-v5", family="atari", kwargs=kwargs)


def test_family():
    check_family(pong(max_num_frames_per_episode=200))


def test_ids_with_a_slash_find_family_and_recipe():
    assert recipes.family_of("ALE/Pong-v5") == "atari"
    assert {"ppo", "ppo_fast"} <= set(
        recipes.variants(recipes.open_source(recipes.files()["ALE/Pong-v5"]))
    )


def test_recipe_is_the_published_setting():
    config = resolve("ALE/Pong-v5:ppo").config
    assert config.env.count * config.algo.steps == 1024 and config.algo.minibatch == 256
    assert config.reward.clip == 1.0
    assert atari.settings(config.env).repeat_action_probability == 0.0


def test_description():
    info = family(pong()).describe(pong())
    assert info.action_names == ("noop", "fire", "right", "left", "rightfire", "leftfire")
    assert info.score_range == (-21.0, 21.0) and threshold(pong()) == 18.0
    unknown = EnvConfig(id="ALE/MsPacman-v5", family="atari")
    assert family(unknown).describe(unknown).description == "The Atari game Ms Pacman."


def test_registered_settings_hold_unless_changed():
    assert atari.settings(pong()).repeat_action_probability == 0.25
    assert atari.settings(pong(noop_max=0)).noop_max == 0
    limited = pong(frameskip=3).model_copy(update={"time_limit": 10})
    assert atari.settings(limited).max_num_frames_per_episode == 30


@pytest.mark.parametrize(
    ("kwargs", "says"),
    [
        ({"noopmax": 3}, "has no setting env.kwargs.noopmax; did you mean 'noop_max'?"),
        ({"noop_max": -1}, "env.kwargs.noop_max must be a whole number from 0 up, not -1"),
        ({"frameskip": (2, 5)}, "env.kwargs.frameskip must be a whole number from 1 up"),
        ({"repeat_action_probability": 2}, "must be from 0 to 1, not 2"),
    ],
)
def test_mistakes_are_one_sentence(kwargs, says):
    with pytest.raises(UserError) as caught:
        atari.make(pong(**kwargs))
    assert says in str(caught.value)


def test_unknown_game_names_the_nearest():
    with pytest.raises(UserError, match="did you mean 'ALE/Pong-v5'"):
        atari.make(EnvConfig(id="ALE/Pomg-v5", family="atari"))


@pytest.mark.parametrize("skip", [1, 4])
def test_p17_p22_frames_are_skipped_once_and_limits_are_in_frames(skip):
    env = atari.make(pong(frameskip=skip, noop_max=0, max_num_frames_per_episode=80))
    env.reset(seed=0)
    console = env.unwrapped.ale
    begun = console.getEpisodeFrameNumber()
    for step in range(1, 80 // skip + 1):
        *_, truncated, _ = env.step(0)
        assert console.getEpisodeFrameNumber() - begun == step * skip
        assert truncated == (step * skip == 80)
    env.close()


def test_p19_sticky_actions_change_the_game_and_are_on_record():
    """The same seed and actions, with and without; v5's own value holds unless changed."""
    shown = []
    for probability in (0.0, 0.25):
        env = atari.make(pong(noop_max=0, repeat_action_probability=probability))
        env.reset(seed=0)
        shown.append([env.step(2 + step % 2)[0] for step in range(20)])
        env.close()
    assert (np.array(shown[0]) != np.array(shown[1])).any()


def test_a_copy_has_its_own_limit_and_picture():
    """Evaluation adds a limit only where a copy has none."""
    copy = Recipe(pong(), training=False, render=True).build()
    try:
        obs, info = copy.env.reset(seed=3)
        assert copy.env.spec.max_episode_steps == 27_000
        assert obs.shape == (4, 84, 84) and info == {"lives": 0}
        assert copy.env.render().shape == (210, 160, 3)
    finally:
        copy.close()


def test_observations_are_not_aliased():
    env = atari.make(pong(noop_max=0))
    first, _ = env.reset(seed=1)
    kept = first.copy()
    env.step(2)
    assert (first == kept).all()
    env.close()


def test_the_stream_is_the_one_of_the_standard():
    """`std::mt19937(5489)`: the 10 000th number is 4 123 659 995, says the C++ standard."""
    bits = atari._stream(5489).bit_generator
    assert bits.random_raw(10_000)[-1] == 4_123_659_995


def test_draws_are_even():
    draws = [atari._below(stream, 7) for stream in [atari._stream(0)] for _ in range(7000)]
    assert np.ptp(np.bincount(draws, minlength=7)) < 200
