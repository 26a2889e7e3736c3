"""A policy that remembers, from the command line."""

import pytest

HIDDEN = "env.wrappers=[{name: hide, indices: [1, 3]}]"
SMALL = ("budget.env_steps=1024", "eval.episodes=2", "eval.every_steps=null", "video.when=null")
TRAIN = ("train", "CartPole-v1:ppo", "policy.core=gru")


def test_a_run_says_what_it_is_and_is_continued(spotter, folder):
    ran = spotter(*TRAIN, HIDDEN, "policy.core.size=8", *SMALL)
    assert ran.code == 0, ran.err
    assert "core gru [8]" in ran.out and "numpy (small" in ran.out
    assert spotter("train", "--resume", "@last", "budget.env_steps=1536").code == 0
    assert spotter("eval", "@last", "--episodes", "2").code == 0


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("algo.minibatch=100", "must hold whole sequences of 32 steps"),
        ("policy.core.size=1e9", "more weights than can be counted"),
        ("policy.core.layers=0", "policy.core.layers should be at least 1"),
        ("policy.core=rnn", "unknown core 'rnn'"),
        ("env.wrappers=[{name: hide, indices: [7]}]", "has no number 7; it has 0 to 3"),
    ],
)
def test_what_cannot_work_is_one_sentence(spotter, override, sentence):
    ran = spotter(*TRAIN, override)
    assert ran.code == 2
    assert sentence in ran.err and ran.err.strip().count("\n") == 0


def test_it_is_listed_and_its_origin_is_known(spotter):
    assert {"gru", "lstm"} <= set(spotter("list", "cores").out.split())
    origins = spotter("config", "CartPole-v1:ppo", "policy.core=gru", "--origin").out
    (line,) = [line for line in origins.splitlines() if " core:" in line]
    assert line.split("#")[0].strip() == "core: {name: gru, size: 64, layers: 1}"
    assert "command line" in line
