"""Episodes that begin within a demonstration, and move back in it."""

import numpy as np
import pytest

from spotter.config import EnvConfig, RewardConfig, resolve
from spotter.config.demo import DemoConfig, read, written
from spotter.envs import demo
from spotter.envs.base import family
from spotter.envs.fingerprint import facts, fingerprint
from spotter.envs.make import EnvBuilder, choose_backend, make_vector, resume_grade
from spotter.envs.wrapping import layers
from spotter.types import UserError
from tests.envs import chain
from tests.envs.chain import LENGTH, WAY

GAME = "ALE/MontezumaRevenge-v5"
# found by `spotter explore`: the first key
KEY = "11*7 9*6 11*1 14*5 13*9 4*2 7*8 17*4 2*2 12*1 9*13 10*14 7*2 16*1"


def config(kwargs=None, **rule):
    return EnvConfig(id=chain.ID, kwargs=kwargs or {}, demo=DemoConfig(**chain.demo(**rule)))


def made(env):
    return demo.wrapped(family(env).make(env), env)


def play(env, actions):
    for action in actions:
        last = env.step(action)
    return last


def test_actions_are_written_as_runs():
    actions = [3] * 16 + [0, 0, 5]
    assert written(actions) == "3*16 0*2 5*1" and read("3*16 0*2  5*1") == actions


@pytest.mark.parametrize("text", ["", "3", "3x16", "3*0", "-1*2", "a*2", "1*999999 1*2"])
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match=r"demonstration has|ACTION"):
        read(text)


def test_episodes_begin_near_the_end_and_move_back():
    env = made(config(back=0.1))
    starts = []
    for _ in range(12):
        obs, _ = env.reset(seed=1 if not starts else None)
        starts.append(obs)
        obs, reward, terminated, truncated, info = play(env, WAY[obs:])
        assert (obs, reward, terminated, truncated) == (LENGTH, 10.0, True, False)
        assert info["demo_start"] == starts[-1] / LENGTH and info["demo_success"]
    assert starts == [27, 24, 21, 18, 15, 12, 9, 6, 3, 0, 0, 0]


def test_failures_move_the_start_on_so_that_a_share_succeeds():
    env = made(config(back=0.1, success=0.5))
    env.reset(seed=1)
    env.point = 12.0
    for wanted in (12, 15, 18):
        obs, _ = env.reset()
        assert obs == wanted
        *_, terminated, _, info = env.step((WAY[obs] + 1) % 4)
        assert terminated and not info["demo_success"]
    for _ in range(9):
        obs, _ = env.reset()
        env.step((WAY[obs] + 1) % 4)
    assert obs == LENGTH - 1, "the last action is left to do"


def test_a_lost_life_and_too_many_actions_end_what_began_within():
    env = made(config({"lives": 3}, back=0.1, extra=2))
    env.reset(seed=1)
    *_, terminated, truncated, info = env.step((WAY[27] + 1) % 4)
    assert (terminated, truncated, info["lives"]) == (True, False, 2)
    still = made(config({"lives": 100}, back=0.1, extra=2))
    still.reset(seed=1)
    ends = []
    for _ in range(5):
        still.unwrapped.lives = 100  # none is lost
        still._lives = 99
        ends.append(still.step((WAY[27] + 1) % 4)[2:4])
    assert ends == [(False, False)] * 4 + [(False, True)]


def test_episodes_from_the_start_of_the_game_end_alike():
    env = made(config({"lives": 3}, back=0.1, extra=0))
    env.reset(seed=1)
    env.point = 0.0
    obs, _ = env.reset()
    assert obs == 0
    *_, terminated, truncated, info = env.step((WAY[0] + 1) % 4)
    assert terminated and not truncated and (info["demo_start"], info["lives"]) == (0.0, 2)


def test_only_what_was_won_since_the_start_is_scored():
    with make_vector(config(back=0.1), RewardConfig(), count=1, backend="sync") as vector:
        vector.reset([1])
        assert vector.buffers.obs["obs"].item() == 27
        episodes = [vector.step(np.array([action])) for action in WAY[27:]]
        (episode,) = episodes[-1]
        assert (episode.score, episode.length) == (10.0, 3)
        assert episode.info["demo_start/last"] == 0.9 and episode.info["demo_success/last"] == 1.0


def test_evaluation_knows_nothing_of_it():
    played = EnvBuilder(config(), training=False).build()
    assert played.env.reset(seed=1)[0] == 0
    assert not any(isinstance(layer, demo.FromDemo) for layer in layers(played.env))
    assert config().as_played().demo is None


def test_chance_after_the_start_is_another_every_time():
    env = made(config({"lives": 1000}, back=0.5))
    env.reset(seed=1)
    drawn = []
    for _ in range(4):
        env.point = 15.0
        env.reset()
        drawn.append(env.unwrapped.np_random.random())
    assert len(set(drawn)) == 4
    env.reset(seed=1)
    env.point = 15.0
    env.reset()
    again = made(config({"lives": 1000}, back=0.5))
    again.reset(seed=1)
    again.point = 15.0
    again.reset()
    assert again.unwrapped.np_random.random() == env.unwrapped.np_random.random()


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (config({"turned": True}), r"scores 0 after 1 of 30 actions .* not 10"),
        (config(score=9.0), "scores 10 after 30 of 30 actions"),
        (config(actions="3*1"), r"scores 0 after 1 of 1"),
        (config(actions="0*1 7*1"), "takes action 7, and .* has 4 actions"),
    ],
)
def test_a_way_through_another_game_is_refused(env, message):
    with pytest.raises(UserError, match=message):
        made(env)


def test_envs_resume_exactly():
    for backend in ("sync", "process"):
        assert resume_grade(config(back=0.3), RewardConfig(), backend).grade == "exact"


def test_workers_do_the_same():
    env = config(back=0.1)
    draw, seen = np.random.default_rng(0), []
    actions = draw.integers(0, 4, (300, 4))
    actions[::2] = 0
    for backend in ("sync", "process"):
        changed = env.model_copy(update={"workers": 2 if backend == "process" else None})
        with make_vector(changed, RewardConfig(), count=4, backend=backend) as vector:
            vector.reset([1, 2, 3, 4])
            steps = []
            for row in actions:
                place = vector.buffers.obs["obs"].ravel()
                right = np.array(WAY)[np.minimum(place, LENGTH - 1)]
                vector.step(np.where(row == 0, right, row))
                steps.append(vector.buffers.obs["obs"].copy())
            seen.append(np.array(steps))
    assert (seen[0] == seen[1]).all() and len(np.unique(seen[0])) > 10


def test_fingerprints_know_it_as_training_only():
    plain, with_demo = EnvConfig(id=chain.ID), config()
    assert facts(plain, RewardConfig())["game"] == facts(with_demo, RewardConfig())["game"]
    assert "demo" not in facts(plain, RewardConfig())["training"]
    known = facts(with_demo, RewardConfig())["training"]["demo"]
    assert known["score"] == 10 and len(known["actions"]) == 16
    assert fingerprint(plain, RewardConfig()) != fingerprint(with_demo, RewardConfig())


def atari(*settings, **rule):
    pytest.importorskip("ale_py")
    given = {"actions": KEY, "score": 100.0, "seed": 3, **rule}
    return resolve(GAME, ["env.observe=ram", {"env.demo": given}, *settings]).config.env


@pytest.mark.parametrize("settings", [["env.stack=2"], ["env.observe=rgb"]])
def test_a_console_is_put_where_the_demonstration_was(settings):
    config = atari(*settings, back=0.5)
    env = made(config)
    obs, info = env.reset(seed=5)
    still = family(config).make(config.as_explored())
    shown, _ = still.reset(seed=3)
    for action in read(KEY)[: env.start]:
        shown, *_ = still.step(action)
    assert env.start == 37 and (obs == shown).all() and info["lives"] == 6


def test_the_key_is_reached_from_within_even_with_sticky_actions():
    env = made(atari(back=0.1))
    env.reset(seed=1)
    reached = []
    for _ in range(20):
        env.point = 67.0
        env.reset()
        reached.append(any(env.step(action)[1] for action in read(KEY)[67:]))
    assert any(reached)


def test_other_settings_of_the_game_are_refused():
    with pytest.raises(UserError, match=r"\(env\.demo\) scores 0 .* with other settings"):
        made(atari("env.frame_skip=3"))
    made(atari("env.sticky=0.5", "env.noops=30"))


def test_a_console_s_chance_goes_on_and_is_replayed():
    env = atari(back=0.3, extra=30)
    draw = np.random.default_rng(0)
    with (
        make_vector(env, RewardConfig(), count=2, backend="sync") as first,
        make_vector(env, RewardConfig(), count=2, backend="sync") as second,
    ):
        first.reset([1, 2])
        ended = sum(len(first.step(draw.integers(0, 18, 2))) for _ in range(1200))
        logs = first.replay_logs()
        assert ended > 10 and all(log.seed is None for log in logs), "not the first episodes"
        second.reset([3, 4])
        assert second.replay(logs).all()
        for _ in range(150):
            action = draw.integers(0, 18, 2)
            assert first.step(action) == second.step(action)
            assert (first.buffers.obs["obs"] == second.buffers.obs["obs"]).all()


def test_back_ends_of_all_envs_at_once_do_not_have_it():
    env = atari()
    images = env.model_copy(update={"observe": "rgb"})
    assert choose_backend(images, RewardConfig()).name in ("sync", "process")
    with pytest.raises(UserError, match=r"env\.demo begins episodes of single envs"):
        make_vector(images, RewardConfig(), count=2, backend="native")
    cart = EnvConfig(id="CartPole-v1", family="classic", demo=DemoConfig(**chain.demo()))
    for backend in ("batch", "envpool"):
        with pytest.raises(UserError, match=r"env\.demo|EnvPool is not installed"):
            make_vector(cart, RewardConfig(), count=2, backend=backend)
