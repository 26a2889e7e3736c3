"""Every algorithm with a policy that remembers."""

import numpy as np
import pytest
import torch

from spotter.engines import functional, objectives
from spotter.envs.grade import Grade
from spotter.testing.scripted import FAULTY_ID, ID
from spotter.training import summary
from spotter.training.training import Training
from spotter.types import UserError

CORES = ["gru", "lstm", {"name": "gru", "size": 5, "layers": 2}]
ALGOS = {
    "ppo": {"name": "ppo", "steps": 12, "minibatch": 24, "epochs": 3},
    "a2c": {"name": "a2c", "steps": 12},
    "reinforce": {"name": "reinforce", "episodes": 2, "baseline": "value"},
}
SCRIPT = {"id": ID, "kwargs": {"lengths": [1, 2, 7, 30], "ends": ["terminated", "truncated"]}}
ENVS = {
    "ends of all kinds": SCRIPT,
    "masks": {**SCRIPT, "kwargs": {**SCRIPT["kwargs"], "masks": True}},
    "nested": {**SCRIPT, "kwargs": {**SCRIPT["kwargs"], "nested": True}},
    "box": {"id": "Pendulum-v1", "time_limit": 9},
    "lost": {"id": FAULTY_ID, "restarts": 99,
             "kwargs": {"episode": 1, "step": 2, "lengths": [3, 4]}},
}  # fmt: skip


GRADE = Grade("exact", "")
ENGINES = {"numpy": objectives, "torch": functional}


def training(make_config, env, algo="ppo", core="gru", **policy):
    env = dict(ENVS[env])
    return Training(make_config(env["id"], ALGOS[algo], env=env, policy={"core": core, **policy}))


def differences(one):
    """How far what is said about the latest rollout, before learning, is from what was recorded."""
    rollout = one.source.worker.gather(one.progress).rollout
    batch = rollout.flatten(rollout.reward, rollout.reward)
    with torch.no_grad():
        said = one.policy.evaluate(batch.obs, batch.action, batch.mask, batch.recalled())
    return rollout, batch, said


@pytest.mark.parametrize("engine", ["auto", "torch"])
@pytest.mark.parametrize("algo", ALGOS)
@pytest.mark.parametrize("env", ENVS)
def test_what_is_learnt_from_is_what_was_acted(make_config, env, algo, engine):
    """Wherever episodes end and envs fail, and after the weights have changed."""
    with training(make_config, env, algo, engine=engine) as one:
        for _ in range(3):
            one.step()
            rollout, batch, said = differences(one)
            assert (said.log_prob - batch.log_prob).abs().max() < 1e-5
            assert torch.allclose(said.value, batch.value, rtol=1e-4, atol=1e-4)
    if env == "lost":
        assert rollout.lost and len(batch) < rollout.steps * rollout.count


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("core", CORES, ids=str)
@pytest.mark.parametrize("shared", [False, True])
def test_the_first_epoch_of_ppo_has_ratio_one(make_config, monkeypatch, core, shared, engine):
    """Weights stay as they are without a learning rate, so every minibatch must say 1."""
    seen, maths = [], ENGINES[engine]
    original = maths.policy_shift
    monkeypatch.setattr(
        maths, "policy_shift", lambda x, *rest: seen.append(x) or original(x, *rest)
    )
    env = dict(ENVS["ends of all kinds"])
    algo = {**ALGOS["ppo"], "lr": 0.0, "minibatch": 12}
    policy = {"core": core, "shared": shared, "normalize_obs": "running", "policy_gain": 1.0,
              "engine": engine}  # fmt: skip
    with Training(make_config(env["id"], algo, env=env, policy=policy)) as one:
        for _ in range(3):
            one.step()
    assert len(seen) == 3 * 3 * 4
    assert max(float(abs(x).max()) for x in seen) < 1e-5


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("core", CORES, ids=str)
def test_a_truncated_episode_is_valued_with_its_own_state(make_config, core, engine):
    """By hand: the env's steps since its episode began, then its last observation."""
    env, policy = {"id": "Pendulum-v1", "time_limit": 5}, {"core": core, "engine": engine}
    config = make_config("Pendulum-v1", ALGOS["ppo"], env=env, policy=policy)
    with Training(config) as one:
        finals = []
        collector = one.source.worker.collector
        original = collector.actor.value
        collector.actor.value = lambda obs, state: (
            finals.append((obs, state)) or original(obs, state)
        )
        rollout = one.source.worker.gather(one.progress).rollout
        (last, state), (final, _) = finals
        policy = one.policy
        for k, (t, env) in enumerate(np.argwhere(rollout.episode_end.numpy())):
            memory = policy.initial_state(1)
            for step in range(t - 4, t + 1):
                memory = policy({"obs": rollout.obs["obs"][step, env][None]}, None, memory)[2]
            seen = {"obs": torch.from_numpy(final["obs"][k][None])}
            expected = policy.value(seen, memory)
            assert rollout.next_value[t, env] == pytest.approx(float(expected), abs=1e-6)
            forgotten = policy.value(seen, policy.initial_state(1))
            assert abs(float(expected - forgotten)) > 1e-4
        bootstrap = policy.value({"obs": torch.from_numpy(last["obs"])}, state)
        torch.testing.assert_close(rollout.next_value[-1], bootstrap, rtol=1e-5, atol=1e-6)
        assert all(bool(part.any()) for part in state), "the last episodes have begun before"


def test_a_rollout_begins_with_the_state_the_last_one_ended_with(make_config):
    with training(make_config, "box") as one:
        assert not any(part.any() for part in one.source.worker.gather(one.progress).rollout.state)
        ended = one.source.worker.collector._state
        rollout = one.source.worker.gather(one.progress).rollout
        assert all(map(torch.equal, rollout.state, ended))
        assert all(bool(part.any()) for part in rollout.state)


@pytest.mark.parametrize("algo", ["ppo", "a2c"])
def test_the_critic_has_a_rate_of_its_own(make_config, algo):
    env = dict(ENVS["box"])
    settings = {**ALGOS[algo], "lr": 0.0, "critic_lr": 1e-3}
    with Training(make_config(env["id"], settings, env=env, policy={"core": "gru"})) as one:
        before = {name: x.clone() for name, x in one.policy.state_dict().items()}
        one.step()
        moved = {name for name, x in one.policy.state_dict().items() if not x.equal(before[name])}
    assert moved and all("critic" in name or "value_head" in name for name in moved)
    assert any(name.startswith("memory.critic") for name in moved)


@pytest.mark.parametrize(
    ("minibatch", "nearest"), [(16, 12), (0.125, 12), (0.34, 12), (40, 48), (5000, 48)]
)
def test_minibatches_that_cut_sequences_are_refused(make_config, minibatch, nearest):
    algo = {**ALGOS["ppo"], "minibatch": minibatch}
    with pytest.raises(UserError, match=rf"algo.minibatch=.* nearest: {nearest}$"):
        make_config("CartPole-v1", algo, policy={"core": "gru"})


@pytest.mark.parametrize("engine", ["auto", "numpy", "torch"])
def test_the_header_says_what_computes_it(make_config, engine):
    with training(make_config, "box", engine=engine) as one:
        header = summary.blocks(one, None, None, GRADE)["Training"]
    expected = "torch (as configured)" if engine == "torch" else "numpy (small, so gradients"
    assert header["engine"].startswith(expected)
    assert header["policy"].endswith("parameters on cpu, core gru [64]")
