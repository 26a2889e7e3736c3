"""The wrapper stack, what is left out in evaluation, and refusals in one sentence."""

import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces as gs

from spotter.config import EnvConfig, RewardConfig
from spotter.envs import make
from spotter.envs.base import registered_info, threshold
from spotter.envs.make import check_envs_differ, choose_backend, make_vector, resume_grade
from spotter.types import UserError
from tests.envs.helpers import config, vector, zeros


def test_wrappers_are_applied_from_the_innermost_outwards():
    env = config(
        "Picture-v0",
        kwargs={"shape": [20, 16, 3]},
        wrappers=[
            {"name": "grayscale"},
            {"name": "resize", "height": 10, "width": 8},
            {"name": "frame_stack", "count": 4},
        ],
    )
    with vector(env, count=1) as vec:
        assert vec.spaces.observation["obs"].shape == (4, 10, 8)


@pytest.mark.parametrize(("reward", "length"), [(RewardConfig(), 2), (None, 5)])
def test_train_only_wrappers_are_left_out_in_evaluation(reward, length):
    limit = {"name": "time_limit", "steps": 2, "train_only": True}
    env = config("Constant-v0", kwargs={"length": 5}, wrappers=[limit])
    with make_vector(env, reward, count=1) as vec:
        vec.reset([1])
        episodes = [e for _ in range(5) for e in vec.step(zeros(vec))]
    assert episodes[0].length == length


def test_evaluation_copies_have_no_signals():
    signal = {"source": "step_penalty"}
    env = config("Constant-v0")
    with make_vector(env, RewardConfig(signals=[signal]), count=1) as training:
        assert training.signal_kinds == ("sum",)
    with make_vector(env, count=1) as evaluation:
        assert evaluation.signal_kinds == ()


def test_count_and_backend_come_from_the_config():
    env = config("CartPole-v1", count=2, backend="process", workers=2)
    with make_vector(env, RewardConfig()) as vec:
        assert vec.count == 2 and len(vec.threads()) == 2


def test_copies_that_differ_give_no_warning():
    assert check_envs_differ(config("CartPole-v1"), [1, 2]) is None
    assert check_envs_differ(config("FrozenLake-v1"), [1, 2]) is None


def test_copies_that_are_all_alike_give_a_warning():
    warning = check_envs_differ(config("CliffWalking-v1", "toy_text"), [1, 2, 3])
    assert warning is not None
    assert "CliffWalking-v1 behaves the same under every seed" in warning
    assert "3 envs" in warning


def test_one_copy_is_never_warned_about():
    assert check_envs_differ(config("CliffWalking-v1", "toy_text"), [1]) is None


def test_copies_that_differ_only_in_later_episodes_are_noticed():
    """Bandit arms pay at random from the first pull on; a noiseless one never differs."""
    noisy = config("Bandit-v0", "bandit", kwargs={"arms": 2})
    still = config("Bandit-v0", "bandit", kwargs={"arms": 2, "std": 0})
    assert check_envs_differ(noisy, [1, 2]) is None
    assert check_envs_differ(still, [1, 2]) is not None


@pytest.mark.parametrize(
    ("env", "sentence"),
    [
        (config("CartPoll-v1"), "unknown environment 'CartPoll-v1'"),
        (config("CartPole-v1", kwargs={"wheels": 4}), "with env.kwargs {'wheels': 4}"),
        (config("no_such_package:Game-v0"), "no_such_package"),
    ],
)
def test_an_environment_that_cannot_be_made_is_one_sentence(env, sentence):
    with pytest.raises(UserError) as caught:
        make_vector(env)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


class Strange(gym.Env):
    def __init__(self, observation, action):
        self.observation_space = observation
        self.action_space = action

    def reset(self, *, seed=None, options=None):
        return self.observation_space.sample(), {}


@pytest.mark.parametrize(
    ("observation", "action", "sentence"),
    [
        (gs.Sequence(gs.Discrete(2)), gs.Discrete(2), "observation space Sequence"),
        (gs.Discrete(2), gs.Text(5), "action space Text"),
        (gs.Discrete(2), gs.Box(0, 9, (2,), np.int64), "action space Box"),
        (gs.Discrete(2), gs.Tuple((gs.Discrete(2),)), "action space Tuple"),
    ],
)
def test_an_unsupported_space_is_one_sentence(monkeypatch, observation, action, sentence):
    spec = {"entry_point": lambda: Strange(observation, action), "id": "Strange-v0"}
    monkeypatch.setitem(gym.registry, "Strange-v0", gym.envs.registration.EnvSpec(**spec))
    with pytest.raises(UserError) as caught:
        make_vector(config("Strange-v0"))
    assert sentence in str(caught.value) and "is not supported; " in str(caught.value)


def test_a_mask_of_the_wrong_size_is_one_sentence():
    env = config("Buttons-v0", kwargs={"mask": [1, 1]})
    with pytest.raises(UserError, match="has 2 entries, but 5 actions exist"):
        vector(env)


def test_masks_can_be_switched_off():
    with vector(config("Taxi-v4", mask=False)) as vec:
        assert vec.buffers.mask is None


def test_the_configs_threshold_beats_the_familys():
    assert threshold(config("CartPole-v1", "classic")) == 475
    assert threshold(config("CartPole-v1", "classic", threshold=100.0)) == 100


def test_registered_info_finds_ids_behind_a_package():
    assert registered_info(config("gymnasium.envs:CartPole-v1")).threshold == 475
    assert registered_info(config("no_such_package:CartPole-v1")).threshold is None
    assert registered_info(config("Unheard-v0")).threshold is None


EXACT = {
    "CartPole": config("CartPole-v1", "classic"),
    "Pendulum": config("Pendulum-v1", "classic"),
    "FrozenLake": config("FrozenLake-v1", "toy_text"),
    "Taxi": config("Taxi-v4", "toy_text"),
    "Blackjack": config("Blackjack-v1", "toy_text"),
    "LunarLander": config("LunarLander-v3", "box2d"),
    "BipedalWalker": config("BipedalWalker-v3", "box2d"),
    "Bandit": config("Bandit-v0", "bandit"),
    "nested": config("Scripted-v0", kwargs={"nested": True, "reuses_array": True}),
    "buttons": config("Buttons-v0", kwargs={"kind": "multi_binary"}),
    "noise below stacks": config(
        "CartPole-v1",
        wrappers=[
            {"name": "randomize", "attributes": {"gravity": [9, 10]}},
            {"name": "sticky_actions"},
            {"name": "action_noise", "probability": 0.2},
            {"name": "frame_skip", "skip": [1, 3], "pool": True},
            {"name": "observation_noise", "std": 0.1},
            {"name": "previous_action"},
            {"name": "frame_stack", "count": 3},
            {"name": "time_limit", "steps": 9},
        ],
    ),
    "lunar physics": config(
        "LunarLander-v3",
        "box2d",
        wrappers=[{"name": "lunar_physics", "wind_power": [0, 20], "main_engine": [0.8, 1.2]}],
    ),
}


@pytest.mark.parametrize("name", EXACT)
def test_our_environments_and_wrappers_resume_exactly(name):
    grade = resume_grade(EXACT[name], RewardConfig())
    assert grade.grade == "exact", grade.why
    assert grade.why.endswith("steps to the same observation")


def test_signals_resume_exactly():
    signals = [
        {"source": "cartpole_centre"},
        {"source": "step_penalty", "after": 3},
        {"source": "action_reward", "values": [0, 1]},
    ]
    grade = resume_grade(config("CartPole-v1"), RewardConfig(signals=signals))
    assert grade.grade == "exact", grade.why


class Secretive(gym.Env):
    """Keeps what matters where nobody can see it."""

    def __init__(self, hides):
        self.observation_space = gs.Box(-np.inf, np.inf, (1,), np.float32)
        self.action_space = gs.Discrete(2)
        self.hides = hides
        self.total = iter(range(10**9)).__next__
        self.step_count = 0

    def observe(self):
        value = self.total() if self.hides == "closure" else np.random.random()
        return np.array([value], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.step_count = 0
        return self.observe(), {}

    def step(self, action):
        self.step_count += 1
        return self.observe(), 0.0, self.step_count == 5, False, {}


@pytest.mark.parametrize("hides", ["closure", "global stream"])
def test_a_hidden_state_is_found_out(monkeypatch, hides):
    monkeypatch.setattr("spotter.envs.grade._PATIENCE_S", 60.0)  # on a busy machine, too
    spec = {"entry_point": lambda: Secretive(hides), "id": "Secretive-v0"}
    monkeypatch.setitem(gym.registry, "Secretive-v0", gym.envs.registration.EnvSpec(**spec))
    grade = resume_grade(config("Secretive-v0"), RewardConfig())
    assert grade.grade == "episode boundary"
    assert grade.why == "replaying 60 steps of Secretive-v0 gave another observation"


def test_a_map_drawn_by_the_constructor_is_found_out():
    env = config("FrozenLake-v1", "toy_text", kwargs={"map_name": None})
    assert resume_grade(env, RewardConfig()).grade == "episode boundary"


def test_an_environment_that_fails_has_no_exact_grade():
    env = config("Faulty-v0", kwargs={"step": 2, "lengths": [3]})
    grade = resume_grade(env, RewardConfig())
    assert grade.grade == "episode boundary"
    assert "could not be tried out: EnvError: " in grade.why
    assert "\n" not in grade.why


PLAIN = RewardConfig()


class TestChoosingABackEnd:
    """`auto` takes the fastest that changes no number."""

    CARTPOLE = EnvConfig(id="CartPole-v1", family="classic", count=8)
    WALKER = EnvConfig(id="BipedalWalker-v3", family="box2d", count=64)

    def chosen(self, env, reward=PLAIN, **changes):
        return choose_backend(env.model_copy(update=changes), reward).name

    def test_simple_environments_step_together(self):
        assert self.chosen(self.CARTPOLE) == "batch"
        assert self.chosen(self.CARTPOLE, None) == "batch"

    def test_one_copy_gains_nothing_by_that(self):
        assert self.chosen(self.CARTPOLE, count=1) == "sync"

    def test_signals_look_at_single_copies(self):
        reward = RewardConfig(signals=[{"source": "step_penalty"}])
        assert self.chosen(self.CARTPOLE, reward) == "sync"

    def test_what_was_asked_for_is_taken(self):
        assert self.chosen(self.CARTPOLE, backend="sync") == "sync"
        assert self.chosen(self.CARTPOLE, backend="process") == "process"

    @pytest.mark.parametrize("backend", ["envpool", "native"])
    def test_scores_come_from_gymnasiums_own_environments(self, backend):
        assert self.chosen(self.CARTPOLE, None, backend=backend) == "batch"

    def test_what_batch_computes_is_checked_against_a_real_copy(self, monkeypatch):
        env = self.CARTPOLE.model_copy(update={"kwargs": {"sutton_barto_reward": True}})
        monkeypatch.setattr(make, "_same_steps", lambda ours, theirs: iter([True, False]))
        assert self.chosen(env) == "sync"

    def test_copies_that_must_rest_do_not_run_natively(self):
        pong = EnvConfig(id="ALE/Pong-v5", family="atari", count=2)
        assert choose_backend(pong, PLAIN).name == "native"
        assert choose_backend(pong, PLAIN, needs_whole_episodes=True).name == "sync"

    def test_what_only_this_process_knows_gets_no_workers(self, monkeypatch):
        monkeypatch.setattr(make, "_step_cost_s", lambda env, reward: 1.0)
        monkeypatch.setattr(make.machine, "cores", lambda: 2)
        importable = config("Constant-v0", count=8)
        assert choose_backend(importable, PLAIN).name == "process"
        importable_only_here = importable.model_copy(update={"id": importable.id.split(":")[1]})
        assert choose_backend(importable_only_here, PLAIN).name == "sync"

    def test_envpool_is_never_taken_unasked(self):
        assert self.chosen(self.WALKER) in ("sync", "process")

    @pytest.mark.parametrize(("cost_s", "expected"), [(1e-3, "process"), (1e-6, "sync")])
    def test_workers_are_for_slow_steps(self, monkeypatch, cost_s, expected):
        monkeypatch.setattr(make, "_step_cost_s", lambda env, reward: cost_s)
        monkeypatch.setattr(make.machine, "cores", lambda: 2)
        assert self.chosen(self.WALKER) == expected
        monkeypatch.setattr(make.machine, "cores", lambda: 1)
        assert self.chosen(self.WALKER) == "sync"

    def test_a_machine_with_more_cores_than_copies_uses_those_it_can(self, monkeypatch):
        monkeypatch.setattr(make, "_step_cost_s", lambda env, reward: 1e-3)
        monkeypatch.setattr(make.machine, "cores", lambda: 16)
        assert self.chosen(self.WALKER, None, count=20) == "process"
        assert self.chosen(self.WALKER, None, count=2) == "sync"

    @pytest.mark.parametrize(
        ("text", "expected"),
        [("train()", "sync"), ("if __name__ == '__main__':\n    train()", "process")],
    )
    def test_a_script_that_workers_would_run_again_gets_none(
        self, monkeypatch, tmp_path, text, expected
    ):
        script = tmp_path / "script.py"
        script.write_text(text)
        monkeypatch.setattr(sys.modules["__main__"], "__file__", str(script), raising=False)
        monkeypatch.setattr(make, "_step_cost_s", lambda env, reward: 1e-3)
        monkeypatch.setattr(make.machine, "cores", lambda: 2)
        assert self.chosen(self.WALKER) == expected

    def test_a_back_end_that_cannot_do_it_says_why(self):
        env = self.CARTPOLE.model_copy(update={"backend": "native"})
        with pytest.raises(UserError, match="native"):
            make.make_vector(env, RewardConfig())

    def test_copies_of_other_back_ends_resume_at_episode_boundaries(self):
        grade = make.resume_grade(self.CARTPOLE, RewardConfig(), "envpool")
        assert grade.grade == "episode boundary"
        assert make.resume_grade(self.CARTPOLE, RewardConfig(), "batch").grade == "exact"
