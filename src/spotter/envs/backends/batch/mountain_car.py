"""Both mountain cars for many envs at once, as gymnasium/envs/classic_control has them.

They use `math.cos`, which need not agree with NumPy's in the last bit, so it is used here too.
"""

from math import cos
from typing import Any, Final

import numpy as np

from spotter.envs.backends.batch.world import Doubles, Floats, Numbers, Scaled, World
from spotter.envs.backends.buffers import Bools, Buffers

_PULL: Final = 0.0025  # written as a number within Gymnasium's `step` of the continuous car
_POSITION, _VELOCITY, _FRESH = range(3)


class MountainCar(World):
    """State: position, velocity."""

    def __init__(self, game: Any, buffers: Buffers) -> None:
        super().__init__(game, buffers, np.zeros((2, len(buffers.reward))))
        self._obs = buffers.obs["obs"].T
        self._push = np.array([(action - 1) * game.force for action in range(3)])
        self._three = self.constant(3.0)
        self._gravity = self.constant(-game.gravity)
        self._min_speed = self.constant(-game.max_speed)
        self._max_speed = self.constant(game.max_speed)
        self._min_position = self.constant(game.min_position)
        self._max_position = self.constant(game.max_position)
        self._goal_position = self.constant(game.goal_position)
        self._goal_velocity = self.constant(game.goal_velocity)
        self._zero = self.constant(0.0)

    def advance(self, active: Bools | None) -> None:
        position, velocity = self.state
        push = self._push.take(self.buffers.action)
        velocity += push + _cosines(self._three * position) * self._gravity
        np.minimum(np.maximum(velocity, self._min_speed), self._max_speed, out=velocity)
        position += velocity
        np.minimum(np.maximum(position, self._min_position), self._max_position, out=position)
        velocity[(position == self._min_position) & (velocity < self._zero)] = 0.0
        np.logical_and(
            position >= self._goal_position,
            velocity >= self._goal_velocity,
            self.buffers.terminated,
        )
        self._obs[...] = self.state
        self.buffers.reward.fill(-1.0)


class ContinuousMountainCar(World):
    """State: position, velocity, and whether the episode has just begun.

    Gymnasium computes the first step of an episode in double precision, because that is what
    `reset` leaves, and all others in single precision.
    """

    def __init__(self, game: Any, buffers: Buffers) -> None:
        super().__init__(game, buffers, np.zeros((3, len(buffers.reward))))
        self._obs = buffers.obs["obs"].T
        self._force = Scaled(game.action_space, self.count)
        self._any_fresh = True

    def start(self, row: int) -> None:
        self.game.np_random = self._streams[row]
        self.buffers.obs["obs"][row] = self.game.reset()[0]
        self.state[:_FRESH, row] = self.game.state
        self.state[_FRESH, row] = self._any_fresh = True

    def advance(self, active: Bools | None) -> None:
        state, terminated, reward = self.state, self.buffers.terminated, self.buffers.reward
        force = self._force(self.buffers.action)
        moved = self._move(state.astype(np.float32), force)
        if self._any_fresh:
            rows = np.flatnonzero(state[_FRESH])
            exact = self._move(state[:, rows], force[rows])
            for values, better in zip(moved, exact, strict=True):
                values[rows] = better
            state[_FRESH] = 0.0
            self._any_fresh = active is not None
        self._obs[_POSITION] = moved[0]
        self._obs[_VELOCITY] = moved[1]
        state[:_FRESH] = self._obs
        terminated[:] = moved[2]
        energy = force.astype(np.float64)
        reward[:] = np.where(terminated, 100.0, 0.0) - energy * energy * 0.1

    def _move(self, state: Numbers, force: Floats) -> tuple[Numbers, Numbers, Bools]:
        """In the precision of the state; Gymnasium's bare numbers take on either."""
        game, position, velocity = self.game, state[_POSITION], state[_VELOCITY]
        pull = (_PULL * _cosines(3 * position)).astype(np.float32)
        velocity = velocity + (force * game.power - pull)
        velocity = np.maximum(np.minimum(velocity, game.max_speed), -game.max_speed)
        position = position + velocity
        position = np.maximum(np.minimum(position, game.max_position), game.min_position)
        velocity[(position == game.min_position) & (velocity < 0)] = 0
        arrived = (position >= game.goal_position) & (velocity >= game.goal_velocity)
        return position, velocity, arrived


def _cosines(angles: Numbers) -> Doubles:
    return np.array([cos(angle) for angle in angles.tolist()])
