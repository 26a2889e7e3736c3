"""Returns and advantages: the same numbers the algorithms learn from."""

import numpy as np
import pytest
import torch

from spotter.engines import functional
from spotter.episodes.advantages import judged, notable
from spotter.types import UserError
from tests.episodes.making import trace

REWARD = [1.0, -0.5, 0.0, 2.0, 0.25]
VALUE = [0.3, 0.9, -0.2, 1.1, 0.6]


def theirs(end: str, final: float, gamma: float, lam: float):
    """What `functional` makes of the same episode: [T, 1] tensors, bootstrap in `next_value`."""
    reward, value = (torch.tensor(x, dtype=torch.float64)[:, None] for x in (REWARD, VALUE))
    last = 0.0 if end == "terminated" else final
    after = torch.cat([value[1:], torch.tensor([[last]], dtype=torch.float64)])
    ends = torch.zeros(5, 1, dtype=torch.bool)
    ends[-1] = True
    gae = functional.gae(reward, value, after, ends, gamma, lam)[:, 0]
    bootstrap = torch.zeros_like(after)
    bootstrap[-1] = last
    to_go = functional.discounted_returns(reward, bootstrap, ends, gamma)[:, 0]
    return gae.numpy(), to_go.numpy()


@pytest.mark.parametrize("end", ["terminated", "truncated", "cut", "stopped"])
@pytest.mark.parametrize(("gamma", "lam"), [(0.99, 0.95), (0.9, 0.0), (1.0, 1.0), (0.0, 0.5)])
def test_they_are_those_of_the_algorithms(end, gamma, lam):
    made = trace(
        reward=REWARD,
        columns={"value": np.array(VALUE)},
        end=end,
        final_value=0.0 if end == "terminated" else 4.0,
        gamma=gamma,
        lam=lam,
    )
    found = judged(made)
    gae, to_go = theirs(end, 4.0, gamma, lam)
    np.testing.assert_allclose(found.advantage, gae, atol=1e-12)
    np.testing.assert_allclose(found.returns, to_go, atol=1e-12)
    np.testing.assert_allclose(found.return_minus_value, to_go - VALUE, atol=1e-12)


def test_p01_a_truncated_episode_goes_on_and_a_terminated_one_does_not():
    told = {"reward": (0.0, 0.0), "gamma": 0.5, "final_value": 8.0}
    assert judged(trace(end="truncated", **told)).returns.tolist() == [2, 4]
    assert judged(trace(end="terminated", **told)).returns.tolist() == [0, 0]


def test_other_gamma_and_lambda_are_recomputed_and_the_trace_stays():
    made = trace(reward=REWARD, value=VALUE)
    found = judged(made, gamma=0.0, lam=1.0)
    assert found.returns.tolist() == REWARD
    assert (found.gamma, found.lam) == (0.0, 1.0)
    assert made.meta.gamma == 0.9
    with pytest.raises(UserError, match=r"gamma must be from 0 to 1, not 1\.5"):
        judged(made, gamma=1.5)
    with pytest.raises(UserError, match="lambda must be"):
        judged(made, lam=-1)


def test_advantages_are_of_the_training_reward_and_the_score_is_the_game_s_own():
    made = trace(reward=(5.0, 5.0), columns={"training_reward": np.array([1.0, 1.0])}, gamma=1.0)
    found = judged(made)
    assert found.returns.tolist() == [2, 1]
    assert found.score.tolist() == [5, 10]
    assert list(found.columns()) == ["score", "return", "advantage", "return_minus_value"]


def test_a_person_has_no_critic():
    made = trace(mode="human")
    without = {k: v for k, v in made.columns.items() if k not in ("value", "training_reward")}
    found = judged(type(made)(made.meta, without))
    assert found.return_minus_value.tolist() == found.returns.tolist()


def test_what_stands_out_is_named_with_its_reason():
    reward = np.zeros(60)
    reward[[20, 41]] = 1.0, -9.0
    greedy = np.ones(60, np.bool_)
    greedy[33] = False
    made = trace(
        reward=reward,
        columns={"greedy": greedy, "log_prob": np.where(greedy, -0.1, -4.0)},
        gamma=0.0,
    )
    why = notable(made, judged(made))
    assert why[41] == "worse than expected, rare reward"
    assert "rare reward" in why[20]
    assert why[33] == "unlikely pick"
    assert len(why) == 3


P = np.float32


@pytest.mark.parametrize(
    ("columns", "fields", "is_unlikely"),
    [
        ({"probability": P([[0.52, 0.48]])}, {}, False),
        ({"probability": P([[0.75, 0.25]])}, {}, False),
        ({"probability": P([[0.85, 0.15]])}, {}, True),
        ({"probability": P([[1 / 18] * 18])}, {"nvec": (18,)}, False),
        ({"probability": P([[0.9, 0.04, 0.06]])}, {"nvec": (3,)}, True),
        (
            {"probability": P([[0.6, 0.4, 0.5, 0.5]]), "action": np.array([[1, 1]])},
            {"nvec": (2, 2), "action_kind": "multi_discrete"},
            False,
        ),
        (
            {"probability": P([[0.02, 0.01]]), "action": np.array([[1, 1]])},
            {"action_kind": "binary", "nvec": ()},
            True,
        ),
        ({"action": P([[0.4]]), "mean": P([[0.0]]), "std": P([[0.4]])}, "box", False),
        ({"action": P([[0.9]]), "mean": P([[0.0]]), "std": P([[0.4]])}, "box", True),
    ],
)
def test_a_pick_is_unlikely_far_behind_the_likeliest_only(columns, fields, is_unlikely):
    """Of two even chances neither is; the second action is done unless something else is said."""
    fields = {"action_kind": "box", "nvec": ()} if fields == "box" else fields
    action = columns.setdefault("action", np.array([1]))
    if "probability" not in columns:
        log_prob = P([-1.0])
    else:
        p = columns["probability"][0]
        picks = {(): [1], (2, 2): [1, 3]}.get(fields.get("nvec", ()), [1])
        picks = range(len(p)) if fields.get("action_kind") == "binary" else picks
        log_prob = P([sum(np.log(p[i]) for i in picks)])
    assert len(action) == 1
    told = {**columns, "greedy": np.array([False]), "log_prob": log_prob}
    made = trace(reward=[1.0], columns=told, **fields)
    if "std" in columns:
        made = type(made)(made.meta, {k: v for k, v in made.columns.items() if k != "probability"})
    assert ("unlikely pick" in notable(made, judged(made)).get(0, "")) is is_unlikely


def test_a_dull_episode_has_nothing_that_stands_out():
    made = trace(reward=np.ones(50), gamma=0.0)
    assert notable(made, judged(made)) == {}
