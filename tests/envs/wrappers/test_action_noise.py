import numpy as np
import pytest
from pydantic import ValidationError

from spotter.types import UserError
from tests.envs.helpers import wrapped


def noisy(kind, *, mask=None, **fields):
    return wrapped(
        "Buttons-v0", {"name": "action_noise", **fields}, kwargs={"kind": kind, "mask": mask}
    )


def test_gaussian_noise_on_box_actions_is_clipped_to_the_space():
    env = noisy("box", std=1.0)

    def seen():
        env.reset(seed=1)
        return np.array([env.step(np.array([1, 1], np.float32))[0][:2] for _ in range(1000)])

    first = seen()
    assert abs(first.mean() - 1) < 0.1 and abs(first.std() - 1) < 0.1
    assert first.min() >= -2 and first.max() <= 4
    assert (seen() == first).all()


def test_the_given_action_is_not_changed_in_place():
    env = noisy("box", std=1.0)
    env.reset(seed=1)
    action = np.array([1, 1], np.float32)
    env.step(action)
    assert action.tolist() == [1, 1]


def test_discrete_actions_are_replaced_now_and_then_by_any_of_them():
    env = noisy("discrete", probability=0.5)
    env.reset(seed=1)
    seen = [env.step(0)[0][0] for _ in range(2000)]
    assert set(seen) == {0, 1, 2, 3, 4}
    assert abs(np.mean(np.array(seen) != 0) - 0.5 * 4 / 5) < 0.04


@pytest.mark.parametrize("kind", ["shifted", "multi_discrete", "multi_binary"])
def test_every_kind_of_discrete_action_gets_valid_random_ones(kind):
    env = noisy(kind, probability=1.0)
    env.reset(seed=1)
    chosen = env.action_space.sample()
    assert len({tuple(env.step(chosen)[0]) for _ in range(200)}) > 4


@pytest.mark.parametrize(
    ("kind", "mask", "allowed"),
    [
        ("discrete", [0, 1, 0, 1, 0], {(1, 0, 0), (3, 0, 0)}),
        ("multi_discrete", [0, 1, 1, 0, 1], {(1, 0, 0), (1, 2, 0)}),
        ("multi_binary", [1, 0, 0], {(0, 0, 0), (1, 0, 0)}),
    ],
)
def test_random_actions_respect_the_mask(kind, mask, allowed):
    env = noisy(kind, probability=1.0, mask=mask)
    env.reset(seed=1)
    chosen = env.action_space.sample()
    assert {tuple(env.step(chosen)[0]) for _ in range(50)} == allowed


@pytest.mark.parametrize("fields", [{}, {"std": 1.0, "probability": 0.1}])
def test_exactly_one_field_is_needed(fields):
    with pytest.raises(ValidationError, match="set one"):
        noisy("box", **fields)


def test_the_field_must_fit_the_action_space():
    with pytest.raises(UserError, match="use `probability`"):
        noisy("discrete", std=1.0)
    with pytest.raises(UserError, match="use `std`"):
        noisy("box", probability=0.5)
