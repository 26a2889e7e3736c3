"""What an address and its overrides come to is called what it is."""

import pytest

import spotter
from spotter.config import changed, resolve
from spotter.types import UserError


@pytest.mark.parametrize(
    ("address", "override", "called"),
    [
        ("CartPole-v1:ppo", "env.id=Pendulum-v1", "Pendulum-v1:ppo"),
        ("CartPole-v1:ppo_centre", "env.id=Acrobot-v1", "Acrobot-v1:ppo"),
        ("CartPole-v1", "env.id=Pendulum-v1", "Pendulum-v1:ppo"),
        ("CartPole-v1:ppo", "env.id=CartPole-v1", "CartPole-v1:ppo"),
    ],
)
def test_another_environment_does_not_carry_the_name_of_the_recipe(address, override, called):
    overrides = [override, "reward.signals=[]"]
    resolved = resolve(address, overrides)
    assert resolved.address == called
    assert resolved.config.env.id == override.removeprefix("env.id=")
    is_other = override.removeprefix("env.id=") not in address
    assert (resolved.expect is None) == is_other, "what the recipe reaches is for its own env"


def test_a_file_keeps_its_name(folder):
    text = "family: classic\nbase: {env: {id: CartPole-v1}}\nvariants: {quick: {seed: 3}}\n"
    folder("mine.yaml", text)
    named = resolve("mine.yaml:quick").address
    assert resolve("mine.yaml:quick", ["env.id=Pendulum-v1"]).address == named


@pytest.mark.parametrize("address", ["CartPole-v1:ppo", "LunarLander-v3:ppo", "ALE/Pong-v5:rgb"])
@pytest.mark.parametrize("budget", [64, 500, 777, 3000])
def test_rollouts_shrink_to_a_small_budget(address, budget):
    resolved = resolve(address, [f"budget.env_steps={budget}"])
    config, whole = resolved.config, resolve(address).config
    rollout = config.env.count * config.algo.steps
    assert rollout <= budget or config.env.count > budget
    shrunk = config.algo.steps < whole.algo.steps
    assert shrunk == (whole.env.count * whole.algo.steps > budget)
    assert (resolved.origin(("algo", "steps")) == "fits budget.env_steps") == shrunk
    assert not shrunk or rollout > budget / 2, "not smaller than it must be"


def test_a_rollout_that_was_asked_for_stays():
    config = resolve("CartPole-v1:ppo", ["budget.env_steps=100", "algo.steps=64"]).config
    assert config.algo.steps == 64


def test_a_whole_config_follows_another_id_to_its_family():
    """`spotter eval RUN env.id=…`, `--resume`, `spotter.make_env(run, env={"id": …})`."""
    config = changed(resolve("CartPole-v1:ppo").config, ["env.id=ALE/Pong-v5"])
    assert config.env.family == "atari"
    assert config.env.sticky == 0.25, "with the settings of that family"
    back = changed(config, ["env.id=CartPole-v1"])
    assert back.env.family == "classic"
    assert "sticky" not in back.as_data()["env"]


def test_a_family_that_was_named_stays():
    named = resolve("CartPole-v1:ppo", ["env.family=gymnasium"]).config
    assert changed(named, ["env.id=FrozenLake-v1"]).env.family == "gymnasium"
    both = changed(named, ["env.id=FrozenLake-v1", "env.family=toy_text"])
    assert both.env.family == "toy_text"


def test_another_family_leaves_the_protocol_behind():
    config = resolve("ALE/Pong-v5:rgb", ["env.protocol=machado2018"]).config
    assert changed(config, ["env.id=CartPole-v1"]).env.protocol is None


@pytest.mark.parametrize(
    ("call", "begins"),
    [
        (lambda: spotter.train("CartPole-v1:ppo", algo={"clp": 1}), "spotter.train(): algo.clp "),
        (lambda: spotter.train("CartPole-v1:ppo", "algo.lr"), "spotter.train(): 'algo.lr' is "),
        (lambda: spotter.train("CartPole-v1:ppo", seeds=[1], seeed=1), "spotter.train(): seeed "),
        (lambda: spotter.resolve("CartPole-v1:ppo", "algo.lr=x"), "spotter.resolve(): algo.lr "),
        (
            lambda: spotter.resolve("CartPole-v1:ppo", env={"count": 7}),
            "spotter.resolve(): algo.minibatch=256 must divide",
        ),
        (lambda: spotter.make_env("CartPole-v1", env={"x": 1}), "spotter.make_env(): env.x is "),
    ],
)
def test_mistakes_in_a_call_name_the_call(call, begins):
    with pytest.raises(UserError) as caught:
        call()
    assert str(caught.value).startswith(begins)
