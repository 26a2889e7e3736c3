"""`env.demo`: training episodes that begin within a demonstration, ever closer to its start.

From one demonstration to a policy (Salimans and Chen, 2018): what remains to be done from near its
end is short, and once that succeeds often enough, episodes begin a little earlier. Each env moves
a start of its own, so their starts spread, and an exact resume needs nothing but the env itself.

This is the innermost layer of an env, below meter and wrappers: scores of training episodes hold
what was won from their start on. Evaluation has no such layer.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from spotter.config import NOT_THE_GAME, EnvConfig
from spotter.envs.base import Env, family
from spotter.envs.wrapping import SeededWrapper, Start, Step
from spotter.types import UserError

START, SUCCESS = "demo_start", "demo_success"
"""Keys in `info` where an episode ends."""
_MOST_STATES: Final = 500
"""Kept in memory by each process; a state and its frames may take 100 kB."""


class Moment(NamedTuple):
    """A state of the game, and what it shows."""

    state: Any
    obs: Any
    info: dict[str, Any]


class Demonstration:
    """A way through the game, and how to get to any of its points."""

    def __init__(self, config: EnvConfig) -> None:
        assert config.demo is not None
        self.actions, self.seed = config.demo.sequence, config.demo.seed
        self.every = -(-len(self.actions) // _MOST_STATES)
        self._moments: list[Moment] = []
        env = family(config).make(config.as_explored())
        try:
            _refuse_actions(config, self.actions, env)
            self.can_load = all(callable(getattr(env, name, None)) for name in _LOADING)
            if not self.can_load:
                _refuse_chance(config)
            rewards = list(self._played(env))
        finally:
            env.close()
        self.won = np.concatenate([[0.0], np.cumsum(rewards)])
        """The score before each action, and after the last one."""
        self._refuse_other(config)

    def _played(self, env: Any) -> Any:
        """The reward of every action; keeps states on the way."""
        obs, info = env.reset(seed=self.seed)
        for number, action in enumerate(self.actions):
            if self.can_load and number % self.every == 0:
                self._moments.append(Moment(env.save(chance=False), obs, info))
            obs, reward, terminated, truncated, info = env.step(action)
            yield float(reward)
            if (terminated or truncated) and number + 1 < len(self.actions):
                return  # what follows is another game

    def _refuse_other(self, config: EnvConfig) -> None:
        assert config.demo is not None
        reached, wanted = float(self.won[-1]), config.demo.score
        if len(self.won) <= len(self.actions) or abs(reached - wanted) > 1e-6 * abs(wanted):
            raise UserError(
                f"the demonstration (env.demo) scores {reached:g} after {len(self.won) - 1} of "
                f"{len(self.actions)} actions of {config.id} here, not {wanted:g}: it was found "
                "with other settings of the game; explore with those of this run"
            )

    def go_to(self, env: Any, place: int, draw: np.random.Generator) -> Start:
        """Put a game at one of the points; chance from there on is the env's own."""
        if self.can_load:
            moment = self._moments[place // self.every]
            env.unwrapped.load(moment.state)
            return moment.obs, dict(moment.info)
        obs, info = env.reset(seed=self.seed)
        for action in self.actions[:place]:
            obs, _, _, _, info = env.step(action)
        env.unwrapped.np_random = np.random.default_rng(draw.integers(2**63))
        return obs, info


_LOADING: Final = ("save", "load", "leave")


def _refuse_actions(config: EnvConfig, actions: Sequence[int], env: Env) -> None:
    count = int(getattr(env.action_space, "n", 0))
    if max(actions) >= count:
        choices = f"{count} actions" if count else f"{env.action_space} for actions"
        raise UserError(
            f"the demonstration (env.demo) takes action {max(actions)}, and {config.id} has "
            f"{choices}: it is of another game, or of other settings"
        )


def _refuse_chance(config: EnvConfig) -> None:
    for name, still in config.chance.items():
        if vars(config)[name] != still:
            raise UserError(
                f"env.demo: {config.id} cannot restore a state, so the demonstration is played "
                f"again at every start and nothing may be left to chance: set env.{name}={still}"
            )


@lru_cache(maxsize=4)
def _demonstration(family_name: str, text: str) -> Demonstration:
    config = EnvConfig.chosen({"family": family_name}).model_validate_json(text)
    assert isinstance(config, EnvConfig)
    return Demonstration(config)


def demonstration(config: EnvConfig) -> Demonstration:
    """That of a config; all envs of a process share it."""
    assert config.demo is not None
    plain = config.of_family().model_copy(update={"wrappers": ()})  # those are further out
    text = plain.model_dump_json(by_alias=True, exclude=set(NOT_THE_GAME))
    return _demonstration(config.family, text)


class FromDemo(SeededWrapper):
    """Begins episodes at a point of a demonstration, which moves back with success."""

    def __init__(self, env: Env, config: EnvConfig) -> None:
        super().__init__(env)
        assert config.demo is not None
        self._demo, self._rule = demonstration(config), config.demo
        self.point = float(len(self._demo.actions))
        """Where episodes begin, in actions; `back` earlier at first."""
        self._move_back()
        self.start = self._taken = self._lives = 0
        self._score = 0.0
        self.reseed(0)  # until the first reset; a checkpoint holds it

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> Start:
        self.reseed(seed)
        demo = self._demo
        self.start = int(self.point) // demo.every * demo.every
        self._taken, self._score = 0, 0.0
        if seed is not None or demo.can_load or not self.start:
            obs, info = self.env.reset(seed=seed, options=options)
        if self.start:
            obs, info = demo.go_to(self.env, self.start, self.draw)
        self._lives = int(info.get("lives", 0))
        return obs, info

    def step(self, action: Any) -> Step:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._score += float(reward)
        self._taken += 1
        if not (terminated or truncated):
            terminated, truncated = self._is_over(info)
            if (terminated or truncated) and self._demo.can_load:
                game: Any = self.env.unwrapped
                game.leave()
        if terminated or truncated:
            info = {**info, START: self._share, SUCCESS: self._has_succeeded}
            self._move(self._has_succeeded)
        return obs, float(reward), terminated, truncated, info

    @property
    def _share(self) -> float:
        return self.start / len(self._demo.actions)

    @property
    def _has_succeeded(self) -> bool:
        demo = self._demo
        return bool(self._score >= demo.won[-1] - demo.won[self.start])

    def _is_over(self, info: dict[str, Any]) -> tuple[bool, bool]:
        """Ends by success or a lost life, and by taking too long, at the start of the game as well.

        Else an env that stands still somewhere safe would not end its episode for hours.
        """
        lives, self._lives = self._lives, int(info.get("lives", 0))
        terminated = self._has_succeeded or self._lives < lives
        most = len(self._demo.actions) - self.start + self._rule.extra
        return terminated, not terminated and self._taken >= most

    def _move(self, succeeded: bool) -> None:
        """A weighted staircase (Kaernbach, 1991): it stays where a share of `success` succeeds."""
        if succeeded:
            self._move_back()
        else:
            share = self._rule.success
            forward = self._rule.back * len(self._demo.actions) * share / (1 - share)
            last = len(self._demo.actions) - 1
            self.point = min(self.point + forward, float(last))

    def _move_back(self) -> None:
        step = max(1.0, self._rule.back * len(self._demo.actions))
        self.point = max(0.0, self.point - step)


def wrapped(env: Env, config: EnvConfig) -> Env:
    """The bare env, beginning where `env.demo` says."""
    return FromDemo(env, config) if config.demo is not None else env
