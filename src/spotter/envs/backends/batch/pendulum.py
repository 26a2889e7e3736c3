"""Pendulum for many envs at once: gymnasium/envs/classic_control/pendulum.py on arrays."""

from typing import Any

import numpy as np

from spotter.envs.backends.batch.world import Scaled, World
from spotter.envs.backends.buffers import Bools, Buffers


class Pendulum(World):
    """State: angle, angular velocity. It never terminates."""

    def __init__(self, game: Any, buffers: Buffers) -> None:
        super().__init__(game, buffers, np.zeros((2, len(buffers.reward))))
        self._obs = buffers.obs["obs"].T
        self._torque = Scaled(game.action_space, self.count)
        self._pi, self._circle = self.constant(np.pi), self.constant(2 * np.pi)
        self._two = self.constant(2.0)
        self._speed_cost = self.constant(0.1)
        self._torque_cost = self.constant(0.001, np.float32)
        self._gravity = self.constant(3 * game.g / (2 * game.l))
        self._gain = self.constant(3.0 / (game.m * game.l**2), np.float32)
        self._dt = self.constant(game.dt)
        self._min_speed = self.constant(-game.max_speed)
        self._max_speed = self.constant(game.max_speed)

    def advance(self, active: Bools | None) -> None:
        angle, speed = self.state
        torque = self._torque(self.buffers.action)
        # Gymnasium squares numbers, not arrays: that is `pow`, which rounds unlike x·x. Arrays get
        # the same `pow` from float_power in double precision, and in single from none.
        squared = np.array([number**2 for number in torque])
        upright = (angle + self._pi) % self._circle - self._pi
        costs = (
            np.float_power(upright, self._two)
            + self._speed_cost * np.float_power(speed, self._two)
            + self._torque_cost * squared
        )
        speed += (self._gravity * np.sin(angle) + self._gain * torque) * self._dt
        np.minimum(np.maximum(speed, self._min_speed), self._max_speed, out=speed)
        angle += speed * self._dt
        np.negative(costs, self.buffers.reward)
        self._obs[0] = np.cos(angle)
        self._obs[1] = np.sin(angle)
        self._obs[2] = speed
        self.buffers.terminated.fill(False)
