"""Returns and advantages: the same numbers the algorithms learn from."""

import numpy as np
import pytest
import torch

from spotter import functional
from spotter.traces.advantages import judged, notable
from spotter.types import UserError
from tests.traces.making import trace

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
    np.testing.assert_allclose(found.gae, gae, atol=1e-12)
    np.testing.assert_allclose(found.returns, to_go, atol=1e-12)
    np.testing.assert_allclose(found.baseline, to_go - VALUE, atol=1e-12)


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
    assert found.cumulative.tolist() == [5, 10]
    assert list(found.columns()) == ["cumulative", "return", "gae", "baseline"]


def test_a_person_has_no_critic():
    made = trace(mode="human")
    without = {k: v for k, v in made.columns.items() if k not in ("value", "training_reward")}
    found = judged(type(made)(made.meta, without))
    assert found.baseline.tolist() == found.returns.tolist()


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


def test_a_dull_episode_has_nothing_that_stands_out():
    made = trace(reward=np.ones(50), gamma=0.0)
    assert notable(made, judged(made)) == {}
