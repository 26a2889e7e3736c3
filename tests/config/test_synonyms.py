"""Names of Stable-Baselines3, CleanRL and RLlib lead to the setting that means the same."""

import ast
import re
import shlex
from pathlib import Path

import pytest

import spotter
from spotter.config import RunConfig, resolve, tree
from spotter.config.synonyms import SYNONYMS, proposal
from spotter.plugins import mistakes
from spotter.types import UserError

PAGE = Path(__file__).parents[2] / "docs/coming-from-sb3.md"
ADDRESS = "CartPole-v1:ppo"
RECIPE = """\
variants:
  ppo:
    algo:
      {text}
"""
# name, value as written -> the override to write instead
MEANT = {
    "n_envs=4": "env.count=4",
    "num_envs=4": "env.count=4",
    "learning_rate=2.5e-4": "algo.lr=0.00025",
    "learning_rate=lin_3e-4": "'algo.lr={start: 0.0003, end: 0}'",
    "n_steps=2048": "algo.steps=2048",
    "num_steps=128": "algo.steps=128",
    "rollout_fragment_length=200": "algo.steps=200",
    "total_timesteps=1e6": "budget.env_steps=1000000",
    "n_timesteps=1e6": "budget.env_steps=1000000",
    "net_arch=[64, 64]": "'policy.hidden=[64, 64]'",
    "net_arch={pi: [32, 8], vf: [32, 8]}": "'policy.hidden=[32, 8]' policy.shared=false",
    "vf_coef=0.5": "algo.value_weight=0.5",
    "vf_loss_coeff=0.5": "algo.value_weight=0.5",
    "batch_size=64": "algo.minibatch=64",
    "num_minibatches=4": "algo.minibatch=0.25",
    "ent_coef=0.01": "algo.entropy=0.01",
    "entropy_coeff=0.01": "algo.entropy=0.01",
    "gae_lambda=0.9": "algo.lambda=0.9",
    "clip_range=0.1": "algo.clip=0.1",
    "clip_coef=0.1": "algo.clip=0.1",
    "clip_param=0.1": "algo.clip=0.1",
    "clip_range_vf=0.1": "algo.value_clip=0.1",
    "n_epochs=10": "algo.epochs=10",
    "update_epochs=10": "algo.epochs=10",
    "max_grad_norm=0.5": "algo.max_grad_norm=0.5",
    "grad_clip=0.5": "algo.max_grad_norm=0.5",
    "target_kl=0.01": "algo.target_kl=0.01",
    "gamma=0.9": "algo.gamma=0.9",
    "policy_kwargs={net_arch: [8], activation_fn: ReLU}": (
        "'policy.hidden=[8]' policy.activation=relu"
    ),
    "model={fcnet_hiddens: [256, 256]}": "'policy.hidden=[256, 256]'",
    "anneal_lr=true": "'algo.lr={start: 0.001, end: 0}'",
    "anneal_lr=false": "algo.lr=0.001",
    "norm_adv=false": "algo.normalize_advantage=null",
    "norm_adv=true": "algo.normalize_advantage=minibatch",
    "normalize_advantage=true": "algo.normalize_advantage=minibatch",
    "normalize=true": "policy.normalize_obs=running reward.normalize=true",
    "train_batch_size=4000": "algo.steps=500",
    "eval_freq=1000": "eval.every_steps=8000",
    "n_eval_episodes=5": "eval.episodes=5",
    "frame_stack=4": "'env.wrappers=[{name: frame_stack, count: 4}]'",
    "vec_env_cls=SubprocVecEnv": "env.backend=process",
    "use_rms_prop=true": "algo.optimizer=rmsprop",
    "ortho_init=false": "policy.orthogonal=false",
    "cuda=true": "device=cuda",
    "lstm_hidden_size=64": "'policy.core={name: lstm, size: 64}'",
    "policy_kwargs={lstm_hidden_size: 64, n_lstm_layers: 2, enable_critic_lstm: false}": (
        "'policy.core={name: lstm, size: 64, layers: 2}' policy.shared=true"
    ),
    "enable_critic_lstm=true": "policy.shared=false",
    "model={use_lstm: true}": "policy.core=lstm",
}


def sentence(*overrides, address=ADDRESS, **settings) -> str:
    with pytest.raises(UserError) as caught:
        resolve(address, [*overrides, settings])
    return str(caught.value)


@pytest.mark.parametrize("text", MEANT)
def test_the_override_to_write(text):
    said = sentence("env.count=8", text)
    name = text.partition("=")[0]
    assert said.startswith(f"command line: {name} is not a setting; did you mean {MEANT[text]}?")


@pytest.mark.parametrize("text", MEANT)
def test_what_is_proposed_is_a_config(text):
    """Every proposal can be typed as it stands."""
    resolve(
        ADDRESS, ["env.count=8", "algo.minibatch=1.0", "algo.steps=256", *shlex.split(MEANT[text])]
    )


@pytest.mark.parametrize("key", ["learning_rate", "algo.learning_rate", "policy.learning_rate"])
def test_in_any_section(key):
    assert f"{key} is not a setting; did you mean algo.lr=0.01?" in sentence(f"{key}=0.01")


def test_where_units_differ_the_sentence_says_so():
    assert "a fraction of the rollout" in sentence("num_minibatches=4")
    assert "env.count × algo.steps" in sentence("n_steps=2048")
    assert "env steps, not calls" in sentence("eval_freq=1000")


def test_values_follow_the_algorithm():
    assert "algo.lr={start: 0.0007, end: 0}" in sentence("anneal_lr=true", address="Acrobot-v1:a2c")
    said = sentence("norm_adv=true", address="CartPole-v1:a2c")
    assert "did you mean algo.normalize_advantage=true?" in said


def test_a_setting_of_another_algorithm_is_no_proposal():
    said = sentence("n_epochs=10", address="CartPole-v1:a2c")
    assert said == (
        "command line: n_epochs is not a setting; it is algo.epochs here, "
        "a setting of ppo, not of a2c"
    )


@pytest.mark.parametrize("name", ["buffer_size", "tau", "learning_starts", "exploration_fraction"])
def test_what_belongs_to_off_policy_algorithms(name):
    said = sentence(f"{name}=1")
    assert "off-policy" in said and "a2c, ppo and reinforce" in said


def test_what_there_is_not():
    assert sentence("use_sde=true").endswith("Spotter has no state-dependent exploration")


def test_in_a_recipe_with_file_and_line(tmp_path):
    path = tmp_path / "CartPole-v1.yaml"
    path.write_text(RECIPE.format(text="learning_rate: 1e-3"), encoding="utf-8")
    said = sentence(address=f"{path}:ppo")
    assert said.endswith(":4: algo.learning_rate is not a setting; did you mean algo.lr=0.001?")


def test_at_the_top_of_a_recipe(tmp_path):
    path = tmp_path / "CartPole-v1.yaml"
    path.write_text(f"n_timesteps: 100\n{RECIPE.format(text='lr: 1')}", encoding="utf-8")
    said = sentence(address=f"{path}:ppo")
    assert "n_timesteps is not a key of this file; did you mean budget.env_steps=100" in said


def test_from_python():
    import torch

    with pytest.raises(UserError, match=r"did you mean budget.env_steps=1000\?"):
        spotter.train("CartPole-v1", total_timesteps=1000)
    with pytest.raises(UserError, match=r"did you mean policy.activation=relu\?"):
        spotter.train("CartPole-v1", policy_kwargs={"activation_fn": torch.nn.ReLU})
    with pytest.raises(UserError, match=r"'MlpPolicy'; leave it out: the network follows"):
        spotter.train("CartPole-v1", policy="MlpPolicy")


@pytest.mark.parametrize("name", ["sac", "td3", "dqn", "trpo"])
def test_an_algorithm_that_there_is_not(name):
    with pytest.raises(UserError) as caught:
        resolve("CartPole-v1", algo=name)
    assert str(caught.value) == f"unknown algorithm '{name}'; known: a2c, ppo, reinforce"


@pytest.mark.parametrize(
    ("name", "core"), [("RecurrentPPO", "lstm"), ("ppo_lstm", "lstm"), ("recurrent_ppo", "lstm")]
)
def test_ppo_with_an_lstm_is_ppo_with_a_core(name, core):
    meant = f"write algo.name=ppo policy.core={core}"
    assert sentence(f"algo.name={name}").endswith(f"unknown algorithm '{name}'; {meant}")
    assert sentence(address=f"CartPole-v1:{name}").endswith(meant)
    assert sentence("policy=MlpLstmPolicy").endswith("and write policy.core=lstm")
    resolve("CartPole-v1", shlex.split(meant)[1:])


def test_every_target_is_a_setting():
    known = {*tree.paths(RunConfig, {"algo": {"name": "ppo"}})}
    for synonym in SYNONYMS:
        assert set(synonym.settings) <= known, synonym.name
    assert len(SYNONYMS) >= 30


def test_no_synonym_is_a_typo_of_a_setting_beside_it():
    """One wrong letter in a key leads to that key, not to another library."""
    names = {synonym.name for synonym in SYNONYMS}
    for path in tree.paths(RunConfig, {"algo": {"name": "ppo"}}):
        key = path.rsplit(".", 1)[-1]
        assert not [name for name in names if mistakes(name, key) == 1]


def test_the_table_on_the_page_is_that_of_the_code():
    rows = re.findall(r"^\| `.*\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [synonym.row() for synonym in SYNONYMS]


def _keywords(script: str, callee: str) -> dict[str, object]:
    """Keywords of one call in a script, as far as they are literals."""
    found: dict[str, object] = {}
    for node in ast.walk(ast.parse(script)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == callee:
            found |= {word.arg: ast.literal_eval(word.value) for word in node.keywords}
    return found


def test_both_scripts_on_the_page_ask_for_the_same():
    theirs, ours = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    calls = ("make_vec_env", "PPO", "model.learn", "evaluate_policy")
    given = {key: value for call in calls for key, value in _keywords(theirs, call).items()}
    meant = {}
    for name, value in given.items():
        meant |= proposal(name, value, {})
    as_written = resolve("CartPole-v1:ppo", [_keywords(ours, "spotter.train")]).config
    assert as_written == resolve("CartPole-v1:ppo", [meant]).config
    assert len(meant) >= 10
