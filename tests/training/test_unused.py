"""Every setting has an effect where it is accepted, or is refused in a sentence."""

import hashlib

import pytest

from spotter.api import train as api_train
from spotter.config import resolve
from spotter.config.base import Settings
from spotter.config.models import EnvConfig, RunConfig
from spotter.training.summary import blocks
from spotter.training.training import Training
from spotter.training.unused import refuse, settings
from spotter.types import UserError

SITUATIONS = {
    "numbers, choices": "CartPole-v1:ppo",
    "numbers, amounts": "Pendulum-v1:ppo",
    "one number": "Taxi-v4:ppo",
    "a2c": "CartPole-v1:a2c",
    "reinforce": "CartPole-v1:reinforce",
    "leaves": "tests.learning.leaves:Leaves-v0:ppo",
}
SMALL = {
    "ppo": {"algo.steps": 8, "algo.minibatch": 8, "algo.epochs": 2},
    "a2c": {"algo.steps": 8},
    "reinforce": {},
}
CHANGES = {
    "policy.encoder": "impala_cnn",
    "policy.hidden": [16],
    "policy.activation": "elu",
    "policy.core": "gru",
    "policy.predict_obs": 0.5,
    "policy.predict_reward": 0.5,
    "policy.norm": "layer",
    "policy.shared": True,
    "policy.discrete": "binary",
    "policy.embedding": 8,
    "policy.join": "concat",
    "policy.normalize_obs": "bounds",
    "policy.normalize_values": True,
    "policy.squash": True,
    "policy.log_std": -0.5,
    "policy.orthogonal": False,
    "policy.policy_gain": 0.5,
    "algo.lr": 0.02,
    "algo.critic_lr": 0.03,
    "algo.gamma": 0.5,
    "algo.entropy": 0.3,
    "algo.max_grad_norm": 0.01,
    "algo.optimizer": "sgd",
    "algo.steps": 16,
    "algo.lambda": 0.3,
    "algo.value_weight": 3.0,
    "algo.value_loss": "huber",
    "algo.huber_delta": 0.01,
    "algo.minibatch": 16,
    "algo.epochs": 1,
    "algo.clip": 0.0001,
    "algo.value_clip": 0.0001,
    "algo.normalize_advantage": None,
    "algo.target_kl": 1e-9,
    "algo.lr_target_kl": 1e-9,
    "algo.episodes": 2,
    "algo.returns": "episode",
    "algo.baseline": "none",
    "algo.normalize_returns": False,
    "reward.weight": 0.3,
    "reward.normalize": True,
    "reward.scale": 0.1,
    "reward.clip": 0.01,
    "env.count": 3,
    "env.time_limit": 3,
    "seed": 5,
}
ELSEWHERE = {
    **dict.fromkeys(
        ("algo.name", "env.id", "env.family", "env.kwargs", "env.wrappers", "env.protocol"),
        "what is trained, and in what",
    ),
    **dict.fromkeys(("env.previous_action", "env.previous_reward"), "tests/envs/test_previous.py"),
    "env.demo": "tests/envs/test_demo.py, tests/training/test_imitation.py",
    "env.drop": "leaves of a Dict observation; tests/envs",
    "algo.overlap": "what is learnt, one update late: tests/training/test_sources.py",
    "env.backend": "tests/conformance: every back-end gives the same numbers",
    "env.workers": "the same, and refused without processes; tests/config",
    "env.restarts": "faults; tests/envs/backends/test_faults.py, and refused below",
    "env.timeout_s": "the same",
    "env.mask": "where there are masks; tests/conformance",
    "env.threshold": "what counts as solved; tests/training/test_training.py",
    "reward.signals": "tests/envs/signals",
    "reward.intrinsic": "tests/explore; refused where it would have none",
    "policy.engine": "equal up to rounding; tests/fast",
    "policy.precision": "refused without an NVIDIA GPU; tests/training/test_devices.py",
    **dict.fromkeys(("eval", "budget", "checkpoint", "video", "alerts", "plateau"),
                    "not what is learnt: tests/training/test_loop.py, test_checkpoint.py"),
    "sinks": "where numbers go; tests/sinks/test_named.py",
    "launch": "where it is trained; tests/launch",
    **dict.fromkeys(("device", "threads"), "how fast; tests/training/test_devices.py"),
}  # fmt: skip


def config_of(address, **changes):
    small = dict(SMALL[address.rpartition(":")[2]])
    if "Leaves" in address:
        small["env.kwargs"] = {"leaves": ["vector", "number"]}
        small["reward.normalize"] = False  # else a weight would be divided out again
    return resolve(address, {"env.count": 2, "env.time_limit": 6, **small, **changes}).config


def outcome(config):
    """What two updates leave behind, and which settings had no part in it."""
    with Training(config) as training:
        for _ in range(2):
            training.step()
        digest = hashlib.sha256()
        learns_value = getattr(config.algo, "baseline", "value") == "value"
        for name, tensor in training.policy.state_dict().items():
            if name.startswith("value_") and not learns_value:
                continue  # nobody asks it
            digest.update(name.encode() + tensor.numpy().tobytes())
        return digest.hexdigest(), dict(settings(training))


def names(section, model):
    return {f"{section}{info.alias or name}" for name, info in model.model_fields.items()}


@pytest.mark.parametrize("address", SITUATIONS.values(), ids=SITUATIONS)
def test_every_setting_changes_what_is_learnt_or_is_refused(address):
    base = config_of(address)
    algo = type(base.algo)
    usual, unused = outcome(base)
    assert not unused
    silent = []
    for setting, value in CHANGES.items():
        section, _, name = setting.partition(".")
        if section == "algo" and setting not in names("algo.", algo):
            continue
        same = base.as_data()[section] if not name else base.as_data()[section][name]
        if same == value or (setting, algo.__module__) == _A_SWITCH:
            value = _another(value)
        # errors this small need a small delta to be seen
        more = {"algo.huber_delta": 1e-4} if value == "huber" else {}
        learnt, unused = outcome(config_of(address, **{setting: value}, **more))
        if learnt == usual and setting not in unused:
            silent.append(setting)
        elif learnt != usual:
            assert setting not in unused, "refused, though it has an effect"
    assert silent == []


_A_SWITCH = ("algo.normalize_advantage", "spotter.algos.a2c")


def _another(value):
    return {True: False, "layer": None, "sgd": "adam", "huber": "mse", "bounds": None, None: True}[
        value
    ]


def test_the_sweep_leaves_out_no_setting():
    known = {*CHANGES, *ELSEWHERE}
    every = {name for name in RunConfig.model_fields if name not in ("env", "reward", "policy",
             "algo")}  # fmt: skip
    every |= names("env.", EnvConfig)
    for section in ("reward", "policy"):
        model = RunConfig.model_fields[section].annotation
        assert issubclass(model, Settings)
        every |= names(f"{section}.", model)
    for address in SITUATIONS.values():
        every |= names("algo.", type(resolve(address).config.algo))
    assert every - known == set()


@pytest.mark.parametrize(
    ("address", "override", "sentence"),
    [
        ("CartPole-v1:ppo", "policy.encoder=impala_cnn", "it is for images, and CartPole-v1 shows"),
        ("CartPole-v1:ppo", "policy.norm=batch", "use policy.norm=layer"),
        ("CartPole-v1:ppo", "policy.squash=true", "CartPole-v1 takes discrete"),
        ("CartPole-v1:ppo", "env.restarts=7", "cannot replace one"),
        ("CartPole-v1:ppo", "env.timeout_s=7", "cannot replace one"),
        ("CartPole-v1:ppo", "algo.huber_delta=7", "algo.value_loss is mse"),
        ("CartPole-v1:ppo", "threads=2", "NumPy computes this network"),
        ("CartPole-v1:reinforce", "algo.critic_lr=1e-3", "algo.baseline is mean"),
        ("CartPole-v1:reinforce", "algo.value_weight={start: 1, end: 0}", "algo.baseline is mean"),
        ("FrozenLake-v1:ppo", "policy.normalize_obs=running", "it is for vectors"),
        ("FrozenLake-v1:ppo", "policy.embedding=3", "policy.discrete is onehot"),
    ],
)
def test_what_has_no_effect_is_refused_in_a_sentence(address, override, sentence):
    with pytest.raises(UserError, match=sentence) as refused:
        api_train(address, override, quiet=True, save=False)
    assert "\n" not in str(refused.value)


def test_what_a_recipe_or_an_older_run_holds_is_not_refused():
    config = resolve("CartPole-v1:ppo", {"policy.encoder": "impala_cnn"}).config
    with Training(config) as training:
        refuse(training, ())
        with pytest.raises(UserError):
            refuse(training, {"policy.encoder"})


def test_evaluation_settings_need_evaluations():
    changes = {
        "eval.after_steps": 5, "eval.after_score": 0.5, "video.when": "eval",
    }  # fmt: skip
    for setting, value in changes.items():
        config = config_of("CartPole-v1:ppo", **{"eval.every_steps": None, setting: value})
        with Training(config) as training:
            assert setting in dict(settings(training))


def test_the_header_says_who_computes_the_gradients():
    with Training(resolve("CartPole-v1:ppo").config) as training:
        said = blocks(training, None, None, _grade())["Training"]["engine"]
        assert said.startswith("numpy (small, so gradients derived by hand")
        training.algorithm.learner = None  # as in an algorithm of another package
        said = blocks(training, None, None, _grade())["Training"]["engine"]
        assert said == "numpy for acting, torch for learning (ppo computes its own gradients)"


def _grade():
    from spotter.envs.grade import Grade

    return Grade("exact", "a test")
