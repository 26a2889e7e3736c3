import numpy as np
import pytest

from spotter.types import UserError
from tests.envs.helpers import wrapped


def noisy(env_id, *, std, **kwargs):
    return wrapped(env_id, {"name": "observation_noise", "std": std}, kwargs=kwargs)


def test_noise_has_the_given_spread_and_repeats_with_the_seed():
    env = noisy("Scripted-v0", std=0.5, lengths=[2000])

    def errors():
        env.reset(seed=7)
        return np.array([env.step(1)[0][0] - 7 for _ in range(1000)])

    first = errors()
    assert abs(first.mean()) < 0.1 and abs(first.std() - 0.5) < 0.05
    assert (errors() == first).all()


def test_the_first_observation_is_noisy_too():
    assert noisy("Scripted-v0", std=0.5).reset(seed=7)[0][0] != 7


def test_observations_stay_inside_their_space_and_keep_their_type():
    env = noisy("MountainCar-v0", std=100.0)
    obs, _ = env.reset(seed=1)
    assert env.observation_space.contains(obs) and obs.dtype == np.float32


def test_it_does_not_shift_the_environments_own_stream():
    plain, other = wrapped("CartPole-v1"), noisy("CartPole-v1", std=1e-9)
    for seed in (3, None):
        np.testing.assert_allclose(plain.reset(seed=seed)[0], other.reset(seed=seed)[0], atol=1e-6)


def test_two_of_them_draw_different_noise():
    twice = {"name": "observation_noise", "std": 1.0}
    once = wrapped("Scripted-v0", twice).reset(seed=7)[0][0] - 7
    both = wrapped("Scripted-v0", twice, twice).reset(seed=7)[0][0] - 7
    assert abs(both - 2 * once) > 1e-3


@pytest.mark.parametrize("env_id", ["Taxi-v4", "Picture-v0"])
def test_whole_numbers_are_refused(env_id):
    with pytest.raises(UserError, match="needs a Box of floats"):
        noisy(env_id, std=0.1)
