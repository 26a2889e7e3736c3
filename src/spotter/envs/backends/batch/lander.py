"""LunarLander for many envs: gymnasium/envs/box2d/lunar_lander.py without what costs time there.

Each env is a game of its own, for its physics is a world in Box2D that cannot be shared. Gymnasium
starts every episode; a step does the same arithmetic in the same order on Python's own numbers,
which takes half the time.
"""

from collections.abc import Iterable, Iterator
from math import cos, sin, sqrt
from typing import Any, Final

import numpy as np
from gymnasium.envs.box2d import lunar_lander as original

from spotter.envs.backends.batch.world import World
from spotter.envs.backends.buffers import Bools, Buffers

Thrust = tuple[float, float, float]
"""Power of the main engine, power of the side engines, and to which side they push."""
_CHOICES: Final[tuple[Thrust, ...]] = (
    (0.0, 0.0, 0.0),
    (0.0, 1.0, -1.0),
    (1.0, 0.0, 0.0),
    (0.0, 1.0, 1.0),
)
_SCALE: Final[float] = original.SCALE
_HALF_WIDTH: Final[float] = original.VIEWPORT_W / _SCALE / 2
_HALF_HEIGHT: Final[float] = original.VIEWPORT_H / _SCALE / 2
_NOZZLE: Final[float] = original.MAIN_ENGINE_Y_LOCATION / _SCALE
_FEET: Final[float] = original.LEG_DOWN / _SCALE
_FPS: Final[int] = original.FPS


class Lander(World):
    """The state of an env is in its game, and resting envs are not touched."""

    def __init__(self, game: Any, buffers: Buffers) -> None:
        count = len(buffers.reward)
        super().__init__(game, buffers, np.zeros((0, count)))
        self._games = [type(game)(**_settings(game)) for _ in range(count)]
        self._everyone = range(count)

    def start(self, row: int) -> None:
        game = self._games[row]
        game.np_random = self._streams[row]
        self.buffers.obs["obs"][row] = game.reset()[0]

    def advance(self, active: Bools | None) -> None:
        buffers = self.buffers
        rows: Iterable[int] = self._everyone if active is None else np.flatnonzero(active).tolist()
        seen: list[list[float]] = []
        paid: list[float] = []
        ended: list[bool] = []
        thrusts = list(self._thrusts())
        for row in rows:
            state, reward, is_over = _step(self._games[row], self._streams[row], thrusts[row])
            seen.append(state)
            paid.append(reward)
            ended.append(is_over)
        chosen = slice(None) if active is None else active
        buffers.obs["obs"][chosen] = seen
        buffers.reward[chosen] = paid
        buffers.terminated[chosen] = ended

    def _thrusts(self) -> Iterator[Thrust]:
        if not self.game.continuous:
            yield from map(_CHOICES.__getitem__, self.buffers.action.tolist())
            return
        kept = np.clip(self.buffers.action, -1.0, 1.0).astype(np.float32)
        for main, side in kept.astype(np.float64).tolist():
            power = max(abs(side), 0.5) if abs(side) > 0.5 else 0.0
            way = 1.0 if side > 0 else -1.0
            yield (main + 1.0) * 0.5 if main > 0.0 else 0.0, power, way


def _settings(game: Any) -> dict[str, object]:
    return {"continuous": game.continuous, "gravity": game.gravity}


def _step(
    game: Any, stream: np.random.Generator, thrust: Thrust
) -> tuple[list[float], float, bool]:
    """Engines, physics, reward: the original's order of operations, for equal last bits."""
    lander = game.lander
    main, side, way = thrust
    first, second = stream.random(2).tolist()  # what `uniform(-1, 1)` draws, twice
    if main or side:
        spread = (-1.0 + 2.0 * first) / _SCALE, (-1.0 + 2.0 * second) / _SCALE
        if main:
            _push(lander, main, spread)
        if side:
            _turn(lander, side, way, spread)
    game.world.Step(1.0 / _FPS, 6 * 30, 2 * 30)

    place, speed, angle = lander.position, lander.linearVelocity, lander.angle
    x = (place.x - _HALF_WIDTH) / _HALF_WIDTH
    y = (place.y - (game.helipad_y + _FEET)) / _HALF_HEIGHT
    x_speed = speed.x * _HALF_WIDTH / _FPS
    y_speed = speed.y * _HALF_HEIGHT / _FPS
    left, right = game.legs
    left_touches = 1.0 if left.ground_contact else 0.0
    right_touches = 1.0 if right.ground_contact else 0.0
    shaping = (
        -100 * sqrt(x * x + y * y)
        - 100 * sqrt(x_speed * x_speed + y_speed * y_speed)
        - 100 * abs(angle)
        + 10 * left_touches
        + 10 * right_touches
    )
    reward = shaping - game.prev_shaping - main * 0.30 - side * 0.03
    game.prev_shaping = shaping
    is_over = False
    if game.game_over or abs(x) >= 1.0:
        is_over, reward = True, -100.0
    if not lander.awake:
        is_over, reward = True, 100.0
    turning = 20.0 * lander.angularVelocity / _FPS
    state = [x, y, x_speed, y_speed, angle, turning, left_touches, right_touches]
    return state, reward, is_over


def _push(lander: Any, power: float, spread: tuple[float, float]) -> None:
    """The main engine."""
    up_x, up_y = sin(lander.angle), cos(lander.angle)
    reach = _NOZZLE + 2 * spread[0]
    ox = up_x * reach + -up_y * spread[1]
    oy = -up_y * reach - up_x * spread[1]
    place = lander.position
    force = original.MAIN_ENGINE_POWER
    lander.ApplyLinearImpulse(
        (-ox * force * power, -oy * force * power), (place.x + ox, place.y + oy), True
    )


def _turn(lander: Any, power: float, way: float, spread: tuple[float, float]) -> None:
    """A side engine. The 17 is the original's own oddity."""
    up_x, up_y = sin(lander.angle), cos(lander.angle)
    reach = 3 * spread[1] + way * original.SIDE_ENGINE_AWAY / _SCALE
    ox = up_x * spread[0] + -up_y * reach
    oy = -up_y * spread[0] - up_x * reach
    place = lander.position
    force = original.SIDE_ENGINE_POWER
    at = (
        place.x + ox - up_x * 17 / _SCALE,
        place.y + oy + up_y * original.SIDE_ENGINE_HEIGHT / _SCALE,
    )
    lander.ApplyLinearImpulse((-ox * force * power, -oy * force * power), at, True)
