"""Whether a saved state can be restored: tried for each game.

Emulators restore most games exactly, some almost, a few not at all. Code that wants to go back (to
search, or to resume within an episode) asks here first.
"""

from typing import Any, Final, Protocol

import numpy as np

_LEAD_IN: Final = 100  # decisions before the state that is saved
_COMPARED: Final = 50


class Restorable(Protocol):
    """A game with a console that can be asked for its memory."""

    console: Any
    action_space: Any

    def reset(self, *, seed: int | None = None) -> object: ...

    def step(self, action: object) -> Any: ...

    def save(self) -> object: ...

    def restore(self, saved: object) -> None: ...


def fault(game: Restorable, seed: int = 0) -> str | None:
    """What differs when the same steps are played again from a saved state; None: nothing."""
    draw = np.random.default_rng(seed)
    actions = draw.integers(game.action_space.n, size=_LEAD_IN + _COMPARED).tolist()
    game.reset(seed=seed)
    for action in actions[:_LEAD_IN]:
        if _is_over(game.step(action)):
            game.reset()
    saved = game.save()
    first = _play(game, actions[_LEAD_IN:])
    game.restore(saved)
    second = _play(game, actions[_LEAD_IN:])
    for number, (one, other) in enumerate(zip(first, second, strict=True), 1):
        for name, value in one.items():
            if value != other[name]:
                return f"{name} differs in step {number} after going back"
    return None


def _play(game: Restorable, actions: list[int]) -> list[dict[str, object]]:
    seen = []
    for action in actions:
        stepped = game.step(action)
        obs, reward, _, _, info = stepped
        seen.append(
            {
                "memory": game.console.memory(),
                "screen": game.console.screen().tobytes(),
                "observation": obs.tobytes(),
                "reward": reward,
                "info": info,
            }
        )
        if _is_over(stepped):
            game.reset()
    return seen


def _is_over(stepped: Any) -> bool:
    return bool(stepped[2] or stepped[3])
