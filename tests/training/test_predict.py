"""`policy.predict` in a plain Gymnasium loop gives what was scored, in every kind of space."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces as gs

import spotter
from spotter.config import EnvConfig, PolicyConfig
from spotter.envs.spaces import describe
from spotter.policy.actor_critic import Policy
from spotter.rundir.files import read_json, write_json
from spotter.training.predict import TrainedPolicy
from spotter.types import UserError
from tests.policy.counting import Counting

OBSERVATIONS = {
    "box": gs.Box(-1, 1, (3,)),
    "box of one number": gs.Box(-1, 1, ()),
    "box of two axes": gs.Box(-1, 1, (2, 3), np.float64),
    "channels last": gs.Box(0, 255, (40, 44, 3), np.uint8),
    "channels first": gs.Box(0, 255, (3, 40, 44), np.uint8),
    "gray": gs.Box(0, 255, (40, 44), np.uint8),
    "discrete": gs.Discrete(4),
    "discrete with start": gs.Discrete(4, start=-2),
    "multi_discrete": gs.MultiDiscrete([2, 3]),
    "multi_discrete with start": gs.MultiDiscrete([[2, 3], [4, 5]], start=[[1, 2], [3, 4]]),
    "multi_binary": gs.MultiBinary((2, 2)),
    "tuple": gs.Tuple((gs.Discrete(3, start=1), gs.Box(0, 1, (2,)))),
    "nested": gs.Dict(
        {
            "camera": gs.Box(0, 255, (36, 38, 3), np.uint8),
            "body": gs.Tuple((gs.Discrete(5, start=2), gs.MultiBinary(3))),
            "inner": gs.Dict({"dial": gs.MultiDiscrete([2, 4])}),
        }
    ),
}
ACTIONS = {
    "discrete": gs.Discrete(3),
    "discrete with start": gs.Discrete(3, start=5),
    "multi_discrete": gs.MultiDiscrete([2, 3], dtype=np.int32),
    "multi_discrete with start": gs.MultiDiscrete([[2, 3]], start=[[7, 8]]),
    "multi_binary": gs.MultiBinary((2, 2)),
    "box": gs.Box(np.array([-2, 0], np.float32), np.array([2, 10], np.float32)),
    "box of one number": gs.Box(-3, 3, (), np.float64),
    "unbounded": gs.Box(-np.inf, np.inf, (2, 2)),
    "half bounded": gs.Box(0.5, np.inf, (2,)),
}


def untrained(observation: gs.Space, action: gs.Space, engine: str = "auto") -> TrainedPolicy:
    torch.manual_seed(0)  # some weights want actions beyond the bounds, which are all the same
    network = Policy(describe(observation, action), PolicyConfig(engine=engine, policy_gain=1.0))
    return TrainedPolicy(network, EnvConfig(id="Made-v0"))


def samples(space: gs.Space, count: int) -> list:
    space.seed(1)
    return [space.sample() for _ in range(count)]


def batched(space: gs.Space, singles: list):
    """As a vector environment would return them."""
    out = gym.vector.utils.create_empty_array(space, len(singles))
    return gym.vector.utils.concatenate(space, singles, out)


@pytest.mark.parametrize("kind", OBSERVATIONS)
def test_every_observation_alone_and_in_a_batch(kind):
    space = OBSERVATIONS[kind]
    policy = untrained(space, gs.Box(-4, 4, (2,)), engine="torch")
    singles = samples(space, 3)
    one_by_one = np.stack([policy.predict(obs)[0] for obs in singles])
    together, state = policy.predict(batched(space, singles))
    assert state is None
    assert together.shape == (3, 2)
    np.testing.assert_allclose(together, one_by_one, atol=1e-5)
    assert np.ptp(together, axis=0).all(), "other observations, other actions"


@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize("kind", ACTIONS)
def test_every_action_is_legal(kind, deterministic):
    space = ACTIONS[kind]
    policy = untrained(gs.Box(-1, 1, (3,)), space)
    seen = np.random.default_rng(0).normal(size=(50, 3)) * 20
    for obs in seen:
        action, _ = policy.predict(obs, deterministic=deterministic)
        assert space.contains(action), action
    many = gym.vector.utils.batch_space(space, 50)
    together, _ = policy.predict(seen, deterministic=deterministic)
    assert together.dtype == many.dtype
    assert many.contains(together)


def test_sampled_actions_repeat_with_their_seed():
    policy = untrained(gs.Box(-1, 1, (3,)), gs.Box(-1, 1, (2,)))
    obs = np.zeros((4, 3))
    first, second = (policy.predict(obs, deterministic=False)[0] for _ in range(2))
    assert (first != second).any()
    policy.seed(0)
    assert (policy.predict(obs, deterministic=False)[0] == first).all()


def test_masks_as_the_environment_gives_them():
    discrete = untrained(gs.Discrete(4), gs.Discrete(3, start=5))
    for action in range(3):
        mask = np.arange(3) == action
        assert discrete.predict(1, mask=mask)[0] == 5 + action
        assert discrete.predict([1, 2], mask=np.stack([mask, mask]))[0].tolist() == [5 + action] * 2
    several = untrained(gs.Discrete(4), gs.MultiDiscrete([2, 3]))
    mask = (np.array([0, 1], np.int8), np.array([0, 0, 1], np.int8))
    assert several.predict(1, mask=mask)[0].tolist() == [1, 2]
    batch = tuple(np.stack([part] * 2) for part in mask)
    assert several.predict([1, 2], mask=batch)[0].tolist() == [[1, 2], [1, 2]]
    with pytest.raises(UserError, match="mask should have 3 entries, not shape"):
        discrete.predict(1, mask=[1, 1])
    with pytest.raises(UserError, match="mask leaves no valid action"):
        discrete.predict(1, mask=[0, 0, 0])
    with pytest.raises(UserError, match="Box actions have no masks"):
        untrained(gs.Discrete(4), gs.Box(-1, 1, (2,))).predict(1, mask=[1])


@pytest.mark.parametrize(
    ("kind", "obs", "sentence"),
    [
        (
            "box",
            np.ones(4),
            r"obs should have shape \[3\], or one axis more for a batch, not \[4\]",
        ),
        ("box", [[1, 2, 3], [1, 2]], r"obs should have shape \[3\]"),
        ("box", ["a", "b", "c"], "obs should hold numbers"),
        ("discrete", 4, r"obs should be in Discrete\(4\), not 4"),
        ("discrete", 0.5, r"obs should be in Discrete\(4\), not 0.5"),
        ("nested", {"camera": 0}, "the observation has no body/0; it has camera"),
        ("tuple", 3, "the observation has no 0"),
        ("tuple", ([1, 2], [[1, 1]]), "the leaves of this observation are not one batch: 0 2, 1 1"),
    ],
)
def test_what_is_no_observation_is_refused_in_a_sentence(kind, obs, sentence):
    if kind == "nested":
        obs = {"camera": np.zeros((36, 38, 3), np.uint8)}
    with pytest.raises(UserError, match=sentence):
        untrained(OBSERVATIONS[kind], gs.Discrete(2)).predict(obs)


# --- the certificate -----------------------------------------------------------------------------


BY_TORCH = ("tests.envs.spoken:Dict-v0",)
"""Images with Box actions."""


def played(policy: TrainedPolicy, env_id: str, seed: int) -> float:
    """Ten lines over plain Gymnasium."""
    env = gym.make(env_id)
    obs, info = env.reset(seed=seed)
    score, done = 0.0, False
    while not done:
        action, _ = policy.predict(obs, mask=info.get("action_mask"))
        obs, reward, terminated, truncated, info = env.step(action)
        score += float(reward)
        done = terminated or truncated
    env.close()
    return score


@pytest.mark.parametrize(
    ("env_id", "steps"),
    [
        ("Pendulum-v1", 256),
        ("CartPole-v1", 256),
        ("Blackjack-v1", 256),
        ("Taxi-v4", 256),
        (*BY_TORCH, 128),
        ("tests.envs.spoken:Tuple-v0", 128),
        ("tests.envs.spoken:MultiDiscrete-v0", 128),
        ("tests.envs.spoken:Shifted-v0", 128),
        ("tests.envs.spoken:Binary-v0", 128),
    ],
)
def test_a_plain_loop_reproduces_the_certificate(env_id, steps):
    result = spotter.train(
        env_id,
        quiet=True,
        budget={"env_steps": steps},
        env={"count": 4, "threshold": 1e9},
        algo={"name": "ppo", "steps": 16, "minibatch": 32},
        eval={"episodes": 4, "deterministic": True},  # boards are sampled unless one says so
        video={"when": None},
    )
    test = result.test
    loaded = spotter.load(f"{result.run.id}/step={test.env_steps}")
    for policy in (result.policy, loaded):
        scores = [played(policy, env_id, seed) for seed in test.env_seeds]
        if env_id in BY_TORCH:  # its rounding depends on the size of a batch
            assert scores == pytest.approx(test.scores, rel=1e-6)
        else:
            assert scores == list(test.scores)


@pytest.mark.parametrize("deterministic", [True, False])
def test_unless_one_says_so_it_plays_as_it_was_scored(deterministic):
    result = spotter.train(
        "CartPole-v1",
        quiet=True,
        budget={"env_steps": 128},
        algo={"name": "ppo", "steps": 16, "minibatch": 32},
        eval={"episodes": 1, "deterministic": deterministic},
        video={"when": None},
    )
    obs = np.zeros(4, np.float32)
    for policy in (result.policy, spotter.load(result.run.id)):
        actions = {int(policy.predict(obs)[0]) for _ in range(40)}
        assert len(actions) == (1 if deterministic else 2)
        assert len({int(policy.predict(obs, deterministic=True)[0]) for _ in range(40)}) == 1


def test_old_checkpoints_learn_their_spaces_from_the_environment(tmp_path):
    result = spotter.train(
        "Pendulum-v1",
        quiet=True,
        budget={"env_steps": 64},
        env={"count": 2},
        eval={"episodes": 1},
        video={"when": None},
    )
    state = next((result.run.folder / "checkpoints").glob("step-*/state.json"))
    data = read_json(state)
    assert data.pop("spaces")["action"] == {
        "type": "Box", "shape": [1], "dtype": "float32", "low": -2.0, "high": 2.0,
    }  # fmt: skip
    write_json(state, data)
    obs = np.array([1, 0, 4], np.float32)
    new, _ = result.policy.predict(obs)
    old, _ = spotter.load(result.run.id).predict(obs)
    assert old == new
    assert abs(float(new[0])) <= 2


def test_wrappers_are_named_when_a_plain_observation_does_not_fit():
    torch.manual_seed(0)  # some weights want actions beyond the bounds, which are all the same
    network = Policy(describe(gs.Box(-1, 1, (6,)), gs.Discrete(2)), PolicyConfig())
    env = EnvConfig(id="Made-v0", wrappers=[{"name": "frame_stack", "count": 2}])
    with pytest.raises(UserError, match=r"not \[3\]; its run changes Made-v0 by frame_stack"):
        TrainedPolicy(network, env).predict(np.zeros(3))


def counting(choices: int) -> TrainedPolicy:
    network = Counting(describe(gs.Box(-1, 1, (3,)), gs.Discrete(choices)), PolicyConfig())
    return TrainedPolicy(network, EnvConfig(id="Made-v0"))


def test_a_memory_goes_from_call_to_call_and_is_cleared_where_an_episode_starts():
    policy, obs, state, actions = counting(4), np.zeros(3), None, []
    for step in range(7):
        action, state = policy.predict(obs, state=state, episode_start=step == 5)
        actions.append(action)
    assert actions == [0, 1, 2, 3, 0, 0, 1]
    many, state, actions = np.zeros((2, 3)), None, []
    for start in ([True, True], [False, False], [True, False]):
        action, state = policy.predict(many, state, episode_start=np.array(start))
        actions.append(action.tolist())
    assert actions == [[0, 0], [1, 1], [0, 2]]


def test_a_state_of_other_rows_is_refused():
    policy = counting(4)
    _, state = policy.predict(np.zeros((2, 3)))
    for wrong in (state, "mine", (1.0,)):
        with pytest.raises(UserError, match="state is not that of 1 observations; begin with st"):
            policy.predict(np.zeros(3), wrong)
    with pytest.raises(UserError, match=r"episode_start should have 2 entries, not shape \(3,\)"):
        policy.predict(np.zeros((2, 3)), state, episode_start=[True, False, True])


def test_without_memory_a_state_is_returned_as_it_was():
    policy = untrained(gs.Box(-1, 1, (3,)), gs.Discrete(2))
    for state in (None, "mine"):
        assert policy.predict(np.zeros(3), state, episode_start=True)[1] is state
