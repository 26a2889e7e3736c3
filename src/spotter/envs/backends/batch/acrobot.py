"""Acrobot for many envs at once: gymnasium/envs/classic_control/acrobot.py on arrays.

Constants that Gymnasium multiplies first are multiplied here once, in the same order.
"""

from math import pi
from typing import Any, Final

import numpy as np

from spotter.envs.backends.batch.world import Doubles, World
from spotter.envs.backends.buffers import Bools, Buffers

_GRAVITY: Final = 9.8  # written as a number within Gymnasium's equations


class Acrobot(World):
    """State: two angles and their velocities."""

    def __init__(self, game: Any, buffers: Buffers) -> None:
        super().__init__(game, buffers, np.zeros((4, len(buffers.reward))))
        assert game.book_or_nips == "book" and game.torque_noise_max == 0
        self._obs = buffers.obs["obs"].T
        self._torques = np.array(game.AVAIL_TORQUE, np.float64)
        self._fastest = np.array([[game.MAX_VEL_1], [game.MAX_VEL_2]]).repeat(self.count, axis=1)
        self._slowest = -self._fastest
        dt = game.dt - 0
        self._half_dt, self._dt, self._sixth_dt = (
            np.full(self.state.shape, value) for value in (dt / 2.0, dt, dt / 6.0)
        )
        self._twos = np.full(self.state.shape, 2.0)
        self._steps = [np.zeros_like(self.state) for _ in range(4)]
        self._two, self._one = self.constant(2.0), self.constant(1.0)
        self._pair_of_twos = np.full((2, self.count), 2.0)
        self._quarter_turn = self.constant(pi / 2.0)
        self._set_coefficients(game)

    def _set_coefficients(self, game: Any) -> None:
        m1, m2 = game.LINK_MASS_1, game.LINK_MASS_2
        l1, lc1, lc2 = game.LINK_LENGTH_1, game.LINK_COM_POS_1, game.LINK_COM_POS_2
        inertia = game.LINK_MOI
        self._inertia = self.constant(inertia)
        self._m2 = self._factor(m2)
        self._d1_offset = self.constant(m1 * lc1**2)
        self._d1_inner = self.constant(l1**2 + lc2**2)
        self._d1_cos = self._factor(2 * l1 * lc2)
        self._d2_inner = self.constant(lc2**2)
        self._d2_cos = self._factor(l1 * lc2)
        self._phi2_cos = self.constant(m2 * lc2 * _GRAVITY)
        self._phi1_square = self.constant(-m2 * l1 * lc2)
        self._phi1_product = self._factor(2 * m2 * l1 * lc2)
        self._phi1_cos = self.constant((m1 * lc1 + m2 * l1) * _GRAVITY)
        self._elbow_square = self.constant(m2 * l1 * lc2)
        self._elbow_mass = self.constant(m2 * lc2**2 + inertia)

    def _factor(self, value: float) -> Doubles | None:
        """None for one: multiplying by it changes no bit and takes time."""
        return None if value == 1.0 else self.constant(value)

    def advance(self, active: Bools | None) -> None:
        state, obs, buffers = self.state, self._obs, self.buffers
        torque = self._torques.take(buffers.action)
        k1, k2, k3, k4 = self._steps
        self._slopes(state, torque, k1)
        self._slopes(state + self._half_dt * k1, torque, k2)
        self._slopes(state + self._half_dt * k2, torque, k3)
        self._slopes(state + self._dt * k3, torque, k4)
        state += self._sixth_dt * (k1 + self._twos * k2 + self._twos * k3 + k4)
        _wrap(state[:2])
        np.minimum(np.maximum(state[2:], self._slowest), self._fastest, out=state[2:])
        shoulder, elbow = state[0], state[1]
        cosine = np.cos(shoulder)
        np.greater(-cosine - np.cos(elbow + shoulder), self._one, buffers.terminated)
        np.subtract(buffers.terminated, self._one, buffers.reward)
        obs[0] = cosine
        obs[1] = np.sin(shoulder)
        obs[2] = np.cos(elbow)
        obs[3] = np.sin(elbow)
        obs[4:] = state[2:]

    def _slopes(self, state: Doubles, torque: Doubles, slopes: Doubles) -> None:
        """Time derivatives. Squares are `pow`, as Gymnasium's are; see pendulum.py."""
        theta1, theta2, dtheta1, dtheta2 = state
        inertia, turn = self._inertia, self._quarter_turn
        square1, square2 = np.float_power(state[2:], self._pair_of_twos)
        cos2, sin2 = np.cos(theta2), np.sin(theta2)
        inner1 = self._d1_inner + _times(self._d1_cos, cos2)
        inner2 = self._d2_inner + _times(self._d2_cos, cos2)
        d1 = self._d1_offset + _times(self._m2, inner1) + inertia + inertia
        d2 = _times(self._m2, inner2) + inertia
        phi2 = self._phi2_cos * np.cos(theta1 + theta2 - turn)
        phi1 = (
            self._phi1_square * square2 * sin2
            - _times(self._phi1_product, dtheta2) * dtheta1 * sin2
            + self._phi1_cos * np.cos(theta1 - turn)
            + phi2
        )
        slopes[:2] = state[2:]
        ddtheta2 = (torque + d2 / d1 * phi1 - self._elbow_square * square1 * sin2 - phi2) / (
            self._elbow_mass - np.float_power(d2, self._two) / d1
        )
        slopes[3] = ddtheta2
        slopes[2] = -(d2 * ddtheta2 + phi1) / d1


def _times(factor: Doubles | None, values: Doubles) -> Doubles:
    return values if factor is None else factor * values


def _wrap(angles: Doubles) -> None:
    """Into [-π, π], turn by turn."""
    largest = np.abs(angles).max()
    while largest > pi:
        high, low = angles > pi, angles < -pi
        angles[high] -= 2 * pi
        angles[low] += 2 * pi
        largest = np.abs(angles).max()
