"""One environment as evaluation plays it, for loops outside of Spotter.

Frame stacks, resizing and the other wrappers are those of the config; what is for training only is
left out. The rewards are the game's own, whose sum is the score.
"""

from dataclasses import replace
from functools import partial
from typing import Any, Final

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import DependencyNotInstalled
from gymnasium.wrappers import HumanRendering

from spotter.config import EnvConfig
from spotter.envs.backends.slices import EnvInstance
from spotter.envs.base import Env
from spotter.envs.make import EnvBuilder
from spotter.envs.wrapping import Start, Step
from spotter.types import UserError

_RENDER_MODES: Final = (None, "rgb_array", "human")
_FPS: Final = 30
"""For a window, where the environment does not say."""


def make(config: EnvConfig, render_mode: str | None = None) -> Env:
    """A single environment; `human` opens a window."""
    if render_mode not in _RENDER_MODES:
        raise UserError(f"render_mode should be 'rgb_array', 'human' or None, got {render_mode!r}")
    env = ScoredEnv(
        EnvBuilder(config, training=False, render=render_mode is not None).build(), config
    )
    if render_mode and env.render_mode != "rgb_array":
        env.close()
        raise UserError(
            f"{config.id} renders no images: its render_mode is {env.render_mode!r} where "
            "'rgb_array' was asked for; let its constructor take render_mode and keep it in "
            "self.render_mode"
        )
    if render_mode != "human":
        return env
    try:
        return HumanRendering(env)  # every family draws arrays; not every one has a window
    except DependencyNotInstalled as error:
        env.close()
        raise UserError(f"render_mode 'human' needs pygame: pip install pygame ({error})") from None


class ScoredEnv(gym.Wrapper[Any, Any, Any, Any]):
    """The wrapper stack of evaluation; `spec` builds it again."""

    def __init__(self, instance: EnvInstance, config: EnvConfig) -> None:
        super().__init__(instance.env)
        self._meter = instance.meter
        self._hides_mask = not config.mask
        # a wrapper may clip or scale them; without one, what `step` returns is exact
        self._changes_rewards = any(not wrapper.train_only for wrapper in config.wrappers)
        drawn = "rgb_array" in self.env.metadata.get("render_modes", ())
        self.metadata = {
            "render_fps": _FPS,
            **self.env.metadata,
            "render_modes": ["human", "rgb_array"] if drawn else [],
        }
        spec = self.env.unwrapped.spec
        self._spec = spec and replace(
            spec,
            entry_point=partial(make, config),
            kwargs={},
            additional_wrappers=(),
            vector_entry_point=None,
            order_enforce=False,
            disable_env_checker=True,
        )

    @property
    def spec(self) -> EnvSpec | None:  # type: ignore[override]  # as Gymnasium's wrappers do
        return self._spec

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> Start:
        obs, info = self.env.reset(seed=seed, options=options)
        return obs, self._shown(info)

    def step(self, action: Any) -> Step:
        before = self._meter.score
        obs, reward, terminated, truncated, info = self.env.step(action)
        paid = self._meter.score - before if self._changes_rewards else float(reward)
        return obs, paid, terminated, truncated, self._shown(info)

    def _shown(self, info: dict[str, object]) -> dict[str, Any]:
        """Without the mask that the policy was not given either."""
        if self._hides_mask and "action_mask" in info:
            return {key: value for key, value in info.items() if key != "action_mask"}
        return info
