"""The Atari family: what is shown, chosen and described, and what is refused in one sentence."""

import numpy as np
import pytest
from pydantic import ValidationError

from spotter.config import EnvConfig, RewardConfig, recipes, resolve
from spotter.envs.base import family, threshold
from spotter.envs.families import atari
from spotter.envs.families.atari import Config
from spotter.envs.games.ale import chance
from spotter.envs.make import EnvBuilder, check_envs_differ, choose_backend, resume_grade
from spotter.testing.families import check_family, check_picture
from spotter.training.training import Training
from spotter.types import UserError

pytest.importorskip("ale_py")


def pong(**settings):
    return Config(id="ALE/Pong-v5", family="atari", **settings)


def breakout(**settings):
    return Config(id="ALE/Breakout-v5", family="atari", **settings)


VARIANTS = {
    "rgb": pong(frame_cap=40),
    "one picture": pong(stack=1, frame_cap=40),
    "in colour": pong(grey=False, stack=2, frame_cap=40),
    "as the console shows it": pong(size=None, frame_cap=40),
    "ram": pong(observe="ram", frame_cap=40),
    "ram, stacked": pong(observe="ram", stack=2, frame_cap=40),
    "objects": pong(observe="objects", frame_cap=40),
    "objects, stacked": pong(observe="objects", stack=3, frame_cap=40),
    "objects of Breakout": breakout(observe="objects", frame_cap=40),
    "all actions": pong(full_actions=True, frame_cap=40),
    "never idle": pong(noop_action=False, frame_cap=40),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_family(name):
    check_family(VARIANTS[name], steps=18)


def test_picture():
    check_picture(pong(observe="objects"))


@pytest.mark.parametrize(
    ("settings", "shape"),
    [
        ({}, (4, 84, 84)),
        ({"stack": 1}, (1, 84, 84)),
        ({"grey": False}, (12, 84, 84)),
        ({"grey": False, "stack": 1, "size": None}, (3, 210, 160)),
        ({"observe": "ram"}, (128,)),
        ({"observe": "objects"}, (11 + 6,)),
        ({"observe": "objects", "stack": 2, "noop_action": False}, (2 * (11 + 5),)),
    ],
)
def test_what_is_shown(settings, shape):
    instance = EnvBuilder(pong(**settings)).build()
    try:
        obs, info = instance.env.reset(seed=0)
        leaf = instance.spaces.observation["obs"]
        assert obs.shape == leaf.shape == shape and info == {"lives": 0}
        assert leaf.dtype == ("uint8" if len(shape) == 3 else "float32")
    finally:
        instance.close()


@pytest.mark.parametrize(
    ("settings", "backend"),
    [
        ({"stack": 1}, "native"),
        ({"grey": False, "stack": 1}, "sync"),
        ({"grey": False, "stack": 2}, "native"),
        ({"size": None}, "native"),
        ({"observe": "objects", "full_actions": True}, "sync"),
        ({"observe": "ram"}, "sync"),
    ],
)
def test_everything_shown_can_be_learnt_from(make_config, settings, backend):
    env = {"family": "atari", "count": 2, "backend": backend, "frame_cap": 12, **settings}
    config = make_config("ALE/Pong-v5", {"name": "ppo", "steps": 4, "minibatch": 4}, env=env)
    with Training(config) as training:
        assert np.isfinite(list(training.step().metrics.values())).all()
        if config.env.full_actions:
            actions = training.last.action.unique().tolist()
            assert set(actions) <= {0, 1, 3, 4, 11, 12}, "the useless ones are never chosen"


def test_colours_are_those_of_the_screen():
    env = atari.make(pong(grey=False, size=None, stack=2, noops=0, pool=False))
    env.reset(seed=0)
    obs = env.step(0)[0]
    assert (obs[3:] == np.moveaxis(env.ale.getScreenRGB(), -1, 0)).all()
    env.close()


def test_memory_is_the_consoles():
    env = atari.make(pong(observe="ram", stack=2, noops=0))
    first, _ = env.reset(seed=0)
    obs = env.step(2)[0]
    assert not first[:128].any() and (obs[:128] == first[128:]).all()
    assert (obs[128:] == env.ale.getRAM()).all()
    env.close()


def test_ids_with_a_slash_find_family_and_recipe():
    assert recipes.family_of("ALE/Pong-v5") == "atari"
    assert resolve("ALE/Pong-v5:rgb", ["env.sticky=0.1"]).config.env.sticky == 0.1


def test_recipe_is_the_published_setting():
    config = resolve("ALE/Pong-v5:rgb").config
    assert config.env.count * config.algo.steps == 1024 and config.algo.minibatch == 256
    assert config.reward.clip == 1.0
    assert config.env.sticky == 0 and config.env.observe == "rgb"


def test_description():
    info = family(pong()).describe(pong())
    assert info.action_names == ("noop", "fire", "right", "left", "rightfire", "leftfire")
    assert info.observation_names == ("last 4 frames",)
    assert info.score_range == (-21.0, 21.0) and threshold(pong()) == 18.0
    unknown = EnvConfig(id="ALE/MsPacman-v5", family="atari")
    assert family(unknown).describe(unknown).description == "The Atari game Ms Pacman."
    keys = family(pong()).describe(pong(full_actions=True)).keys
    assert keys == {"up": 2, "down": 5, "left": 4, "right": 3, "space": 1}


def test_a_plain_config_has_v5s_own_settings():
    config = atari.own(EnvConfig(id="ALE/Pong-v5", family="atari", time_limit=10))
    assert config.sticky == 0.25 and config.frame_skip == 4 and not config.full_actions
    assert config.frame_cap == 108_000 and config.cap == 40


def test_settings_are_told_as_they_work_out():
    told = atari.settings(pong(time_limit=10, frame_skip=3, noop_action=False))
    assert told["frame_cap"] == 30 and told["stack"] == 4 and told["game"] == "pong"
    assert told["actions"] == ("FIRE", "RIGHT", "LEFT", "RIGHTFIRE", "LEFTFIRE")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"kwargs": {"frameskip": 3}}, "did you mean 'frame_skip'?"),
        ({"kwargs": {"repeat_action_probability": 0}}, "such as env.sticky"),
        ({"wrappers": [{"name": "life_loss"}]}, "is `life_loss: true` in this family"),
        ({"grey": False, "size": (84, 12)}, "wider than the 12 frames"),
        ({"noops": -1}, "greater than or equal to 0"),
        ({"sticky": 2.0}, "less than or equal to 1"),
    ],
)
def test_mistakes_are_found_in_the_config(settings, says):
    with pytest.raises(ValidationError, match=says.replace("?", r"\?")):
        pong(**settings)


@pytest.mark.parametrize(
    ("env", "says"),
    [
        (Config(id="ALE/Pomg-v5", family="atari"), "did you mean 'ALE/Pong-v5'?"),
        (Config(id="PongNoFrameskip-v4", family="atari"), "unknown environment"),
        (pong(mode=7), "ALE/Pong-v5 has no env.mode 7; it has 0, 1"),
        (pong(difficulty=9), "has no env.difficulty 9"),
        (
            Config(id="ALE/Freeway-v5", family="atari", observe="objects"),
            "env.observe: objects knows pong and breakout, not freeway; use ram or rgb",
        ),
    ],
)
def test_mistakes_are_one_sentence(env, says):
    with pytest.raises(UserError) as caught:
        atari.make(env)
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_modes_and_difficulties_change_the_game():
    shown = []
    for settings in ({}, {"difficulty": 1}):
        env = atari.make(pong(observe="ram", noops=0, sticky=0.0, **settings))
        env.reset(seed=0)
        for _ in range(60):
            obs = env.step(0)[0]
        shown.append(obs)
        env.close()
    assert (shown[0] != shown[1]).any()


def test_a_copy_has_its_own_limit_and_picture():
    """Evaluation adds a limit only where a copy has none."""
    instance = EnvBuilder(pong(), training=False, render=True).build()
    try:
        instance.env.reset(seed=3)
        assert instance.env.spec.max_episode_steps == 27_000
        assert instance.env.render().shape == (210, 160, 3)
        assert instance.env.metadata["render_fps"] == 15, "as fast as the console"
    finally:
        instance.close()


@pytest.mark.parametrize("observe", ["rgb", "ram", "objects"])
@pytest.mark.parametrize("stack", [1, 2])
def test_observations_are_not_aliased(observe, stack):
    env = atari.make(pong(observe=observe, stack=stack))
    first, _ = env.reset(seed=1)
    kept = first.copy()
    for _ in range(3):
        env.step(2)
    assert (first == kept).all()
    env.close()


class TestActions:
    def test_useless_ones_are_masked(self):
        env = atari.make(pong(full_actions=True))
        assert env.action_space.n == 18
        _, info = env.reset(seed=0)
        names = atari.actions(pong(full_actions=True)).names
        valid = [name for name, ok in zip(names, info["action_mask"], strict=True) if ok]
        assert valid == ["NOOP", "FIRE", "RIGHT", "LEFT", "RIGHTFIRE", "LEFTFIRE"]
        assert (env.step(0)[4]["action_mask"] == info["action_mask"]).all()
        env.close()

    def test_doing_nothing_can_be_left_out(self):
        assert atari.actions(pong(noop_action=False)).names[0] == "FIRE"
        names, mask = atari.actions(pong(noop_action=False, full_actions=True))
        assert len(names) == 18 and not mask[0] and mask[1]

    def test_a_name_is_what_the_console_does(self):
        """Pong's paddle goes up with RIGHT, wherever RIGHT is in the list."""
        for settings in ({}, {"noop_action": False}, {"full_actions": True}):
            config = pong(observe="objects", sticky=0.0, noops=0, **settings)
            names = [*atari.describe(config).observation_names]
            env = atari.make(config)
            env.reset(seed=0)
            for _ in range(30):
                obs = env.step(atari.actions(config).names.index("RIGHT"))[0]
            assert obs[names.index("player y")] < 60
            assert obs[names.index("last action right")] == 1
            env.close()


class TestDeterminism:
    """No sticky actions and no idle starts: the same game each time, whatever the seed."""

    def test_copies_are_alike_and_told_so(self):
        warning = check_envs_differ(pong(sticky=0.0, noops=0, observe="ram"), [1, 2])
        assert warning is not None and "behaves the same under every seed" in warning

    @pytest.mark.parametrize("settings", [{"sticky": 0.25, "noops": 0}, {"sticky": 0.0}])
    def test_chance_makes_them_differ(self, settings):
        assert check_envs_differ(pong(observe="ram", **settings), [1, 2]) is None


class TestBackEnds:
    def test_pictures_run_natively_and_memory_in_processes(self, monkeypatch):
        monkeypatch.setattr("spotter.system.machine.cores", lambda: 2)
        monkeypatch.setattr("spotter.envs.make._step_cost_s", lambda env, reward: 300e-6)
        reward = RewardConfig()
        assert choose_backend(pong(), reward).name == "native"
        assert choose_backend(breakout(life_loss=True, grey=False), reward).name == "native"
        assert choose_backend(pong(observe="objects"), reward).name == "process"
        assert choose_backend(pong(observe="ram"), reward).name == "process"

    @pytest.mark.parametrize("observe", ["objects", "rgb"])
    def test_single_copies_resume_exactly_with_sticky_actions_too(self, observe):
        env = breakout(sticky=0.25, observe=observe, life_loss=True, frame_cap=160)
        grade = resume_grade(env, RewardConfig())
        assert grade.grade == "exact", grade.why


def test_the_stream_is_the_one_of_the_standard():
    """`std::mt19937(5489)`: the 10 000th number is 4 123 659 995, says the C++ standard."""
    bits = chance.stream(5489).bit_generator
    assert bits.random_raw(10_000)[-1] == 4_123_659_995


def test_draws_are_even():
    draws = [chance.below(stream, 7) for stream in [chance.stream(0)] for _ in range(7000)]
    assert np.ptp(np.bincount(draws, minlength=7)) < 200
