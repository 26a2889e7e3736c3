"""CartPole for many envs at once: gymnasium/envs/classic_control/cartpole.py on arrays."""

from typing import Any

import numpy as np

from spotter.envs.backends.batch.world import World
from spotter.envs.backends.buffers import Bools, Buffers


class CartPole(World):
    """State: position, angle, then their velocities, so that each pair moves as one array."""

    def __init__(self, game: Any, buffers: Buffers) -> None:
        super().__init__(game, buffers, np.zeros((4, len(buffers.reward))))
        assert game.kinematics_integrator == "euler"
        self._places, self._speeds = self.state[:2], self.state[2:]
        self._theta, self._theta_dot = self.state[1], self.state[3]
        self._pairs = self.state.reshape(2, 2, self.count)
        self._obs = buffers.obs["obs"].reshape(self.count, 2, 2).transpose(2, 1, 0)
        self._force = np.array([-game.force_mag, game.force_mag])
        self._polemass_length = self.constant(game.polemass_length)
        self._total_mass = self.constant(game.total_mass)
        self._gravity = self.constant(game.gravity)
        self._length = self.constant(game.length)
        self._masspole = self.constant(game.masspole)
        self._four_thirds = self.constant(4.0 / 3.0)
        self._tau = np.array([self.constant(game.tau)] * 2)
        self._thresholds = np.array(
            [self.constant(game.x_threshold), self.constant(game.theta_threshold_radians)]
        )
        self._acceleration = np.zeros((2, self.count))
        self._sutton_barto_reward = bool(game._sutton_barto_reward)

    def start(self, row: int) -> None:
        super().start(row)
        self.state[:, row] = self.state[[0, 2, 1, 3], row]

    def advance(self, active: Bools | None) -> None:
        theta, theta_dot, acceleration = self._theta, self._theta_dot, self._acceleration
        mass = self._total_mass
        force = self._force.take(self.buffers.action)
        costheta, sintheta = np.cos(theta), np.sin(theta)
        temp = (force + self._polemass_length * np.square(theta_dot) * sintheta) / mass
        thetaacc = (self._gravity * sintheta - costheta * temp) / (
            self._length * (self._four_thirds - self._masspole * np.square(costheta) / mass)
        )
        acceleration[0] = temp - self._polemass_length * thetaacc * costheta / mass
        acceleration[1] = thetaacc
        self._places += self._tau * self._speeds
        self._speeds += self._tau * acceleration
        self._obs[...] = self._pairs
        beyond = np.abs(self._places) > self._thresholds
        np.logical_or(beyond[0], beyond[1], self.buffers.terminated)
        if self._sutton_barto_reward:
            self.buffers.reward[:] = np.where(self.buffers.terminated, -1.0, 0.0)
        else:
            self.buffers.reward.fill(1.0)
