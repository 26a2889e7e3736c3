"""P17 to P24 and P28 on the real console."""

import ale_py
import cv2
import numpy as np
import pytest
from ale_py import roms

from spotter.config import EnvConfig, RewardConfig
from spotter.envs.backends.local import LocalVector
from spotter.envs.backends.native import NativeVector
from spotter.envs.families import atari
from spotter.envs.families.atari import Config
from spotter.envs.fingerprint import fingerprint, unlike_actions
from spotter.envs.games.ale.cartridge import console
from spotter.envs.make import EnvBuilder, make_vector


def game(name, **settings):
    return Config(id=f"ALE/{name}-v5", family="atari", **settings)


def bare(name, seed=0):
    """A console of one's own, played frame by frame."""
    ale = console(ale_py)
    ale.setFloat("repeat_action_probability", 0.0)
    ale.setInt("random_seed", seed)
    ale.loadROM(roms.get_rom_path(name))
    ale.reset_game()
    return ale


@pytest.mark.parametrize("skip", [1, 4])
@pytest.mark.parametrize("observe", ["rgb", "objects"])
def test_p17_p22_frames_are_skipped_once_and_limits_are_in_frames(skip, observe):
    env = atari.make(game("Pong", observe=observe, frame_skip=skip, noops=0, frame_cap=80))
    env.reset(seed=0)
    ale = env.ale
    begun = ale.getEpisodeFrameNumber()
    for step in range(1, 80 // skip + 1):
        *_, truncated, _ = env.step(0)
        assert ale.getEpisodeFrameNumber() - begun == step * skip
        assert truncated == (step * skip == 80)
    assert env.spec.max_episode_steps == 80 // skip
    env.close()


def test_p18_the_last_two_raw_frames_are_pooled():
    """A shot of Space Invaders is drawn in every other frame; it never vanishes."""
    env = atari.make(game("SpaceInvaders", sticky=0.0, noops=0, fire=False, size=None))
    ale = bare("space_invaders")
    ale.reset_game()
    env.reset(seed=0)
    flickers = 0
    draw = np.random.default_rng(0)
    for _ in range(40):
        action = int(draw.integers(env.action_space.n))
        frames = []
        for _ in range(4):
            ale.act(ale.getMinimalActionSet()[action])
            frames.append(ale.getScreenGrayscale())
        picture = env.step(action)[0][-1]
        assert (picture == np.maximum(frames[2], frames[3])).all()
        flickers += bool((picture != frames[3]).any())
    assert flickers, "nothing is proven otherwise"
    env.close()


def test_p18_pooling_comes_before_resizing():
    env = atari.make(game("SpaceInvaders", sticky=0.0, noops=0, fire=False))
    full = atari.make(game("SpaceInvaders", sticky=0.0, noops=0, fire=False, size=None))
    env.reset(seed=0)
    full.reset(seed=0)
    for _ in range(10):
        small, large = env.step(1)[0][-1], full.step(1)[0][-1]
        assert (small == cv2.resize(large, (84, 84), interpolation=cv2.INTER_AREA)).all()
    env.close()
    full.close()


def test_p19_sticky_actions_change_the_game_and_its_fingerprint():
    shown, prints = [], []
    for probability in (0.0, 0.25):
        config = game("Pong", observe="ram", noops=0, sticky=probability)
        prints.append(fingerprint(config, RewardConfig()))
        env = atari.make(config)
        env.reset(seed=0)
        shown.append([env.step(2 + step % 2)[0] for step in range(20)])
        env.close()
    assert (np.array(shown[0]) != np.array(shown[1])).any()
    assert prints[0] != prints[1]


def test_p19_actions_that_always_stick_are_never_taken():
    """The paddle stays where the idle frames left it."""
    env = atari.make(game("Breakout", sticky=1.0, noops=0, frame_skip=1, observe="objects"))
    names = [*atari.describe(game("Breakout", observe="objects")).observation_names]
    env.reset(seed=0)
    ways = {env.step(2)[0][names.index("paddle dx")] for _ in range(20)}
    assert ways == {0}
    env.close()


@pytest.mark.parametrize("backend", ["sync", "native"])
def test_p20_lives_are_episodes_for_the_learner_and_none_for_the_score(backend):
    """Breakout without a hand on the paddle: five lives, one game."""
    env = game("Breakout", sticky=0.0, life_loss=True, size=(16, 16), stack=1)
    ends = {}
    for reward in (RewardConfig(), None):
        with make_vector(env, reward, count=1, backend=backend) as vector:
            vector.reset([4])
            ended, episodes = 0, []
            while not episodes:
                episodes = vector.step(np.ones(1, np.int64))  # only the button
                ended += int(vector.buffers.terminated[0])
        ends[reward is not None] = ended, episodes[0].score, episodes[0].length
    training, evaluation = ends[True], ends[False]
    assert training[0] == 5 and evaluation[0] == 1
    assert training[1:] == evaluation[1:], "the same game"


def test_p20_a_lost_life_is_not_part_of_what_is_evaluated():
    """Fingerprints of protocols hold it, but as something of the learner's."""
    from spotter.envs.fingerprint import facts

    known = facts(game("Breakout", life_loss=True), RewardConfig())
    assert known["training"]["life_loss"] and "life_loss" not in known["game"]


class TestP21:
    """Idle policies."""

    def test_the_frame_cap_ends_a_game_nobody_plays(self):
        env = game("Breakout", fire=False, frame_cap=400, observe="ram")
        with LocalVector(EnvBuilder(env, training=False).build, 1) as vector:
            vector.reset([0])
            episodes = [e for _ in range(100) for e in vector.step(np.zeros(1, np.int64))]
        assert [(e.length, e.terminated, e.score) for e in episodes] == [(100, False, 0.0)]

    def test_the_button_can_be_pressed_after_each_life(self):
        """Then a policy that never presses it comes to the end of the game."""
        ends = {}
        for fire in (True, "lives"):
            env = game("Breakout", fire=fire, sticky=0.0, frame_cap=3000, observe="ram")
            with LocalVector(EnvBuilder(env, training=False).build, 1) as vector:
                vector.reset([0])
                episodes = []
                while not episodes:
                    episodes = vector.step(np.zeros(1, np.int64))
            ends[fire] = episodes[0].terminated
        assert ends == {True: False, "lives": True}


def test_p22_the_cap_is_at_the_same_game_time_for_every_skip():
    lengths = {}
    for skip in (1, 3, 4):
        env = atari.make(game("Pong", frame_skip=skip, frame_cap=90, observe="ram"))
        env.reset(seed=0)
        steps, truncated = 0, False
        while not truncated:
            *_, truncated, _ = env.step(0)
            steps += 1
        lengths[skip] = steps
        assert env.spec.max_episode_steps == steps
        env.close()
    assert lengths == {1: 90, 3: 30, 4: 23}, "the last decision of four is cut short"


class TestP23:
    """Six actions and eighteen are not the same game."""

    def test_their_meanings_are_on_record(self):
        six, eighteen = game("Pong"), game("Pong", full_actions=True)
        assert fingerprint(six, RewardConfig()) != fingerprint(eighteen, RewardConfig())
        assert atari.settings(six)["actions"] != atari.settings(eighteen)["actions"]

    def test_a_policy_is_not_let_loose_on_others(self):
        card = {"actions": list(atari.describe(game("Pong")).action_names)}
        assert not unlike_actions(card, game("Pong", observe="ram"))
        assert "here they are fire, right" in unlike_actions(card, game("Pong", noop_action=False))

    def test_both_back_ends_do_what_the_name_says(self):
        """The native one always has an idle action; ours may not."""
        for settings in ({}, {"noop_action": False}, {"full_actions": True}):
            env = game("Pong", sticky=0.0, noops=0, size=None, stack=1, **settings)
            up = atari.actions(env).names.index("RIGHT")
            with NativeVector(env, None, 1) as vector:
                vector.reset([0])
                for _ in range(30):
                    vector.step(np.array([up]))
                paddle = vector.buffers.obs["obs"][0, 0, 34:194, 140:144]
            rows = np.flatnonzero((paddle != paddle[-1, 0]).any(axis=1))
            assert rows.mean() < 40, "at the top"


class TestP24:
    """Stacks at both ends of an episode."""

    @pytest.mark.parametrize("settings", [{}, {"grey": False, "stack": 2}, {"observe": "objects"}])
    def test_the_last_stack_holds_the_last_moments(self, settings):
        config = game("Pong", frame_cap=32, stack=3, size=(20, 20))
        config = config.model_copy(update=settings)
        single = config.model_copy(update={"stack": 1})
        with (
            LocalVector(EnvBuilder(config).build, 1) as stacked,
            LocalVector(EnvBuilder(single).build, 1) as plain,
        ):
            moments = [plain.reset([5]).obs["obs"][0].copy()]
            first = stacked.reset([5]).obs["obs"][0].copy()
            size = len(moments[0])
            assert (first[-size:] == moments[0]).all() and not first[:-size].any()
            for _ in range(8):
                plain.step(np.array([2]))
                ended = plain.buffers.truncated[0]
                shown = plain.buffers.final_obs if ended else plain.buffers.obs
                moments.append(shown["obs"][0].copy())
                stacked.step(np.array([2]))
            assert stacked.buffers.truncated[0]
            last = stacked.buffers.final_obs["obs"][0]
            assert (last == np.concatenate(moments[-config.depth :])).all()
            again = stacked.buffers.obs["obs"][0]
            assert not again[:-size].any(), "the next episode begins with an empty stack"


class TestP28:
    """Save, 50 steps, restore, the same 50 steps: memory, screen and reward are equal."""

    @pytest.mark.parametrize("name", ["Pong", "Breakout", "MontezumaRevenge", "SpaceInvaders"])
    @pytest.mark.parametrize("observe", ["rgb", "ram"])
    def test_a_saved_moment_comes_back(self, name, observe):
        env = atari.make(game(name, observe=observe, sticky=0.25))
        env.action_space.seed(0)
        env.reset(seed=1)
        for _ in range(30):
            env.step(env.action_space.sample())
        moment = env.save()
        actions = [env.action_space.sample() for _ in range(50)]
        first = self.play(env, actions)
        env.load(moment)
        second = self.play(env, actions)
        fresh = atari.make(game(name, observe=observe, sticky=0.25))
        fresh.reset(seed=2)
        fresh.load(moment)
        assert first == second == self.play(fresh, actions)
        env.close()
        fresh.close()

    @staticmethod
    def play(env, actions):
        told = []
        for action in actions:
            obs, *paid, _ = env.step(action)
            ale = env.ale
            told.append((obs.tobytes(), paid, ale.getRAM().tobytes(), ale.getScreen().tobytes()))
        return told

    def test_objects_keep_their_velocities(self):
        env = atari.make(game("Pong", observe="objects", sticky=0.0, noops=0))
        env.reset(seed=1)
        for _ in range(90):
            env.step(2)
        moment = env.save()
        after = env.step(3)[0]
        env.step(2)
        env.load(moment)
        assert (env.step(3)[0] == after).all() and after[env.observation_space.shape[0] - 9 :].any()
        env.close()


def test_plain_configs_of_the_family_are_understood():
    env = EnvConfig(id="ALE/Pong-v5", family="atari", time_limit=3)
    with make_vector(env, RewardConfig(), count=1, backend="sync") as vector:
        assert vector.spaces.observation["obs"].shape == (4, 84, 84)
