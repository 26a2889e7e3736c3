"""What breaks Gymnasium's contract is told in one sentence that says what to change."""

import numpy as np
import pytest
from gymnasium import spaces as gs

import spotter
from spotter.cli.main import run as command
from spotter.config import EnvConfig, RewardConfig
from spotter.envs.backends.slices import EnvError
from spotter.envs.checkup import examine
from spotter.envs.fingerprint import facts, fingerprint
from spotter.envs.spaces import ObsCodec, describe
from spotter.types import UserError
from tests.envs.helpers import both_backends, config, vector, zeros

SENTENCES = {
    "VectorReward": r"step\(\) of VectorReward-v0 returned an array of shape \[2\] as reward; a "
    "reward is one number: sum its parts",
    "NoReward": "returned None as reward; a reward is one number, such as 0.0",
    "TextReward": "returned str 'much' as reward",
    "NoInfo": r"reset\(\) of NoInfo-v0 returned an array of shape \[2\], not an observation and an "
    "info dict; end it with",
    "NoSeed": r"reset\(\) of NoSeed-v0 takes no seed or no options; write `def reset",
    "FourValues": r"step\(\) of FourValues-v0 returned four values, not five: .*; `done` of the",
    "ListInfo": r"returned list \['nothing'\] as info; return a dict",
    "Flags": r"returned an array of shape \[2\] as terminated; return True or False",
    "NoObservationSpace": "NoObservationSpace-v0 has no observation_space; set self.observation_sp",
    "NoActionSpace": "action_space of NoActionSpace-v0 is a builtins.str, not a space of Gymnasium",
    "Empty": r"Box\(\[\], \[\], \(0,\), float32\) has shape \[0\]: no numbers; give it at least",
    "NoAction": "the action space .* has no numbers; give it at least one",
    "WrongShape": r"the first observation does not fit its space: obs should have shape \[2\]",
}


def broken(name: str, **fields) -> EnvConfig:
    return config(f"tests.envs.broken:{name}-v0", **fields)


@pytest.mark.parametrize("name", SENTENCES)
def test_a_broken_contract_is_one_sentence(name):
    with pytest.raises(UserError, match=SENTENCES[name]) as told, vector(broken(name)) as vec:
        vec.reset([1, 2, 3])
        vec.step(zeros(vec))
    assert "\n" not in str(told.value)


def test_workers_say_the_same():
    with (
        pytest.raises(UserError, match=SENTENCES["FourValues"]),
        vector(broken("FourValues"), "process") as vec,
    ):
        vec.reset([1, 2, 3])
        vec.step(zeros(vec))


@pytest.mark.parametrize("name", ["VectorReward", "NoInfo", "FourValues", "NoObservationSpace"])
def test_training_refuses_it_without_a_traceback(name, capsys):
    code = command(["train", f"tests.envs.broken:{name}-v0", "--algo", "ppo", "--no-save"])
    said = capsys.readouterr()
    assert code == 2
    lines = [line for line in (said.out + said.err).splitlines() if line.strip()]
    assert "Traceback" not in said.err + said.out
    assert lines[-1].startswith("spotter: ")


def test_the_doctor_says_it_too():
    with pytest.raises(UserError, match=SENTENCES["NoReward"]):
        examine(broken("NoReward"))


def test_an_array_of_one_number_is_a_reward():
    with vector(broken("ShortReward"), count=1) as vec:
        vec.reset([1])
        vec.step(zeros(vec))
        assert vec.buffers.reward[0] == 1.0


def test_what_breaks_it_later_is_a_fault_like_any_other():
    with vector(broken("LateReward", restarts=1), count=1) as vec:
        vec.reset([1])
        for _ in range(3):
            vec.step(zeros(vec))
        fault = vec.take_faults()[0]
        assert "raised ValueError: step() of LateReward-v0 returned None as reward" in fault.text
        for _ in range(2):
            vec.step(zeros(vec))
        with pytest.raises(EnvError, match="returned None as reward"):
            vec.step(zeros(vec))


# --- leaves that no network takes ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("kwargs", "sentence"),
    [
        ({"kind": "graph"}, r"mission of the observation is Graph\(.*, which is not supported; "
         r"leave it out by env.drop: \[mission\], or make it"),
        ({"kind": "sequence", "inside": "deep"}, r"env.drop: \[said/mission\]"),
        ({"kind": "graph", "inside": "tuple"}, r"0 of the observation is Graph.*ed; make it"),
        ({"kind": "empty"}, r"mission of the observation has shape \[0\]: no numbers; leave it"),
        ({"kind": "novel"}, r"Text of up to 100000 of 62 characters: 6,300,000 inputs are too"),
    ],
)  # fmt: skip
def test_what_is_not_supported_can_be_left_out(kwargs, sentence):
    with pytest.raises(UserError, match=sentence):
        vector(broken("Strange", kwargs=kwargs))


@both_backends
@pytest.mark.parametrize("inside", ["dict", "deep"])
def test_dropped_leaves_are_not_shown(inside, backend):
    path = {"dict": "mission", "deep": "said/mission"}[inside]
    env = broken("Strange", kwargs={"kind": "graph", "inside": inside}, drop=[path])
    with vector(env, backend, count=1) as vec:
        vec.reset([1])
        vec.step(zeros(vec))
        assert list(vec.buffers.obs) == [{"dict": "x", "deep": "said/also"}[inside]]


@pytest.mark.parametrize(
    ("name", "drop", "sentence"),
    [
        ("Strange", "missiom", "env.drop: the observation has no missiom; it has mission, x"),
        ("Kept", "x", "env.drop: x is not there; only parts of a Dict can be left out"),
        ("Strange", "x/y", "env.drop: x/y is not there; only parts of a Dict"),
    ],
)
def test_what_cannot_be_dropped_is_refused(name, drop, sentence):
    with pytest.raises(UserError, match=sentence):
        vector(broken(name, drop=[drop]))
    with pytest.raises(UserError, match="is all there is in its Dict"):
        env = broken("Strange", kwargs={"inside": "deep"}, drop=["said/mission", "said/also"])
        vector(env)


def test_dropping_is_part_of_the_game_and_nothing_else_changes_its_fingerprint():
    env = broken("Said")
    assert "drop" not in facts(env, RewardConfig())["game"]
    dropped = env.model_copy(update={"drop": ("mission",)})
    assert fingerprint(dropped, RewardConfig()) != fingerprint(env, RewardConfig())


# --- text ----------------------------------------------------------------------------------------


def test_text_becomes_codes_in_the_order_of_the_alphabet():
    space = gs.Text(4, charset=frozenset("cab"))
    leaf = describe(space, gs.Discrete(2)).observation["obs"]
    assert (leaf.kind, leaf.shape, leaf.nvec) == ("multi_discrete", (4,), (4, 4, 4, 4))
    codec = ObsCodec(space)
    buffers = {"obs": np.full((1, 4), 9)}
    codec.write("cab", buffers, 0)
    assert buffers["obs"][0].tolist() == [3, 1, 2, 0]
    assert codec.batch(("cab", "b"))[0]["obs"].tolist() == [[3, 1, 2, 0], [2, 0, 0, 0]]
    assert codec.batch("b")[1]
    with pytest.raises(UserError, match="obs holds 'x', which is not in the charset"):
        codec.batch("x")
    with pytest.raises(UserError, match=r"obs is 5 characters long, .* max_length of 4"):
        codec.batch("aaaaa")
    for value in (5, [5], None):
        with pytest.raises(UserError, match="obs should be text, not "):
            codec.batch(value)


def test_a_policy_learns_what_words_mean():
    result = spotter.train(
        "tests.envs.broken:Said-v0",
        quiet=True,
        save=False,
        seed=1,
        env={"count": 8},
        algo={"name": "ppo", "steps": 64, "minibatch": 128, "lr": 3e-3},
        budget={"env_steps": 6000},
        eval={"episodes": 20},
    )
    assert result.score > 4.5, "of 5, where one who cannot read gets 1.25"
    action, _ = result.policy.predict({"mission": "down", "x": np.zeros(2)})
    assert action == 3


def test_without_its_words_it_cannot_know():
    result = spotter.train(
        "tests.envs.broken:Said-v0",
        quiet=True,
        save=False,
        env={"count": 8, "drop": ["mission"]},
        algo={"name": "ppo", "steps": 16, "minibatch": 32},
        budget={"env_steps": 128},
        eval={"episodes": 4},
    )
    action, _ = result.policy.predict({"mission": "down", "x": np.zeros(2)})
    assert action in range(4), "what is dropped may be there"
