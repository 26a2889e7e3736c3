"""Playing: a person, the agent or an untrained policy in exactly the environment evaluation uses.

A `Session` is one player in one env; a `Game` steps several of them together, such as a person and
the agent on the same seed. What was played can be kept as a trace beside the agent's own episodes.
No window and no clock here: the caller shows the images and decides when the next step comes.
"""

import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, Self

import numpy as np

from spotter.envs.meter import GAME_GOES_ON
from spotter.envs.spaces import encode_mask
from spotter.episodes.between import watch
from spotter.episodes.keys import keyboard
from spotter.episodes.labels import of_parts
from spotter.episodes.pictures import Screen
from spotter.episodes.pilot import Opening, Source, Thought, find_pilot, opening_of, source_of
from spotter.policy.actor import PolicyState
from spotter.rundir.run import Run
from spotter.types import ActionSpec, Array, Obs, UserError
from spotter.video.actions import label, names_of
from spotter.video.overlay import Image
from spotter.video.picture import fps_of, perhaps_rendering

Mode = Literal["human", "agent", "untrained"]
MODES: Final[tuple[Mode, ...]] = ("human", "agent", "untrained")
SEEDS: Final = 2**31
_ROOM: Final = 2**20  # seeds left above a drawn one, for the episodes that follow


@dataclass(frozen=True, slots=True)
class Shot:
    """One step: the image, and the decision that led to it."""

    frame: Image | None
    """[height, width, 3]; None where the environment cannot draw."""
    obs: Obs
    """What the policy sees now, a row per leaf."""
    action: Array | None
    """None before the first step."""
    action_name: str
    probabilities: tuple[float, ...]
    """Of every choice, by the policy there is; empty without one, or for continuous actions."""
    mask: tuple[bool, ...]
    """Which choices were valid; empty where all were."""
    value: float | None
    reward: float
    score: float
    episode: int
    """Counted from 1."""
    step: int
    over: str
    """terminated or truncated; empty while the episode continues."""
    between: tuple[Image, ...] = ()
    """Frames before this one that no decision belongs to; only where the game holds actions."""


class Session:
    """One player in one instance of the environment.

    Episode k is reset with `seed` + k − 1; without a seed, one is drawn. `greedy`: whether the
    agent always takes what is most likely; by default as in evaluation. `smooth`: shots bring the
    frames between decisions along. `opening`: every episode begins where that one leads.
    """

    def __init__(
        self,
        source: str | Source,
        mode: Mode = "human",
        seed: int | None = None,
        *,
        greedy: bool | None = None,
        keys: Mapping[str, str | int] | None = None,
        smooth: bool = False,
        opening: Opening | None = None,
    ) -> None:
        if mode not in MODES:
            raise UserError(f"there is no mode '{mode}'; they are {', '.join(MODES)}")
        if seed is not None and not 0 <= seed < SEEDS:
            raise UserError(f"a seed is a whole number from 0 to {SEEDS - 1}, not {seed}")
        self.source = source_of(source) if isinstance(source, str) else source
        self.mode: Mode = mode
        self.seed = secrets.randbelow(SEEDS - _ROOM) if seed is None else seed
        config = self.source.config
        self.greedy = config.eval.deterministic if greedy is None else greedy
        if mode == "agent" and self.source.step is None:
            raise UserError(f"no agent can play: {self.source.why_no_agent}")
        self._copy, dark = perhaps_rendering(config.env)
        self._screen = Screen(self._copy.env, dark)
        self._frames = watch(self._copy, config.env) if smooth and not dark else []
        self.spec: ActionSpec = self._copy.spaces.action
        try:
            fresh = self._copy.spaces if mode == "untrained" else None
            self._pilot = find_pilot(self.source, self.seed, self.greedy, fresh)
            self.action_names = names_of(config.env, self._copy)
            bare, space = self._copy.meter.action_space, self._copy.env.action_space
            self.keyboard = keyboard(config.env, bare, space, self.spec, keys)
        except BaseException:
            self.close()
            raise
        self.waits = mode == "human" and self._stands_still()
        """Whether nothing happens until a person presses something."""
        self.fps = float(fps_of(self._copy.env))
        self.shot: Shot | None = None
        self.actions: list[Array] = []
        """Of the present episode, as they stand in buffers."""
        self.opening = opening
        self._episode = 0
        self._mask: Array | None = None
        self._initial_state = self._pilot.initial_state if self._pilot else ()
        self._state: PolicyState = self._initial_state

    @property
    def cannot_draw(self) -> str:
        """Why there are no images; empty where there are."""
        problem = self._screen.problem
        return f"{self.source.config.env.id} cannot be drawn: {problem}" if problem else ""

    @property
    def episode_seed(self) -> int:
        if self.opening is not None:
            return self.opening.seed
        return (self.seed + self._episode - 1) % SEEDS

    @property
    def trace_mode(self) -> str:
        """What a trace calls this player."""
        if self.mode == "agent":
            return "greedy" if self.greedy else "sampled"
        return self.mode

    @property
    def choices(self) -> tuple[str, ...]:
        """Names of what `Shot.probabilities` holds."""
        names, spec = self.action_names, self.spec
        if spec.kind == "multi_discrete":
            return of_parts(names, spec.nvec)
        fits = len(names) == spec.mask_size
        return names if fits else tuple(str(index) for index in range(spec.mask_size))

    def reset(self) -> Shot:
        """Begin the next episode."""
        self._episode += 1
        self.actions = []
        self._state = self._initial_state
        obs, info = self._copy.env.reset(seed=self.episode_seed)
        if self.opening is not None:
            obs, info = self._replay(self.opening, obs, info)
        self.shot = self._shoot(obs, info)
        return self.shot

    def _replay(self, opening: Opening, obs: object, info: Mapping[str, object]) -> Any:
        """The opening's actions once more; everything must look the same."""
        for step, action in enumerate(opening.actions):
            seen = self._seen(obs)
            opening.check(step, seen)
            if self._pilot and self._state:  # what it remembers comes from what it has seen
                self._state = self._pilot.think(seen, None, self._state).state
            obs, _, over, info = self._do(np.asarray(action, self.spec.dtype))
            if over:
                raise opening.led_elsewhere
        opening.check(len(opening.actions), self._seen(obs))
        return obs, info

    def step(self, pressed: frozenset[str] = frozenset()) -> Shot:
        """One decision; the present shot again where the game waits for a key."""
        assert self.shot is not None and not self.shot.over, "reset first"
        mask = self._mask
        thought = self._pilot.think(self.shot.obs, mask, self._state) if self._pilot else None
        action = self._decide(pressed, thought)
        if action is None:
            return self.shot
        self._state = thought.state if thought else ()
        obs, reward, over, info = self._do(action)
        between = tuple(frame for frame in self._frames[:-1] if frame is not None)
        self.shot = replace(
            self._shoot(obs, info),
            action=action,
            action_name=label(self._copy, self.action_names, action),
            probabilities=thought.probabilities if thought else (),
            mask=() if mask is None else tuple(mask.tolist()),
            value=thought.value if thought else None,
            reward=reward,
            over=over,
            between=between,
        )
        return self.shot

    def _do(self, action: Array) -> tuple[object, float, str, Mapping[str, object]]:
        """The next observation, the reward, how the episode ended if it did, and its info."""
        self._frames.clear()
        obs, reward, terminated, truncated, info = self._copy.env.step(self._copy.decode(action))
        self.actions.append(action)
        over = "terminated" if terminated else "truncated" if truncated else ""
        if over and info.get(GAME_GOES_ON):
            before = len(self._frames)
            obs, info = self._copy.env.reset()
            self._state = self._initial_state
            del self._frames[before:]
            over = ""
        return obs, float(reward), over, info

    def _decide(self, pressed: frozenset[str], thought: Thought | None) -> Array | None:
        if self.mode != "human":
            assert thought is not None
            return thought.action
        action = self.keyboard.action(pressed)
        if action is None and not self.waits:
            # doing nothing is no choice here, but time runs: whatever was done last continues
            zero = np.zeros(self.spec.shape, dtype=self.spec.dtype)
            action = self.actions[-1] if self.actions else zero
        return self._allowed(action)

    def _allowed(self, action: Array | None) -> Array | None:
        """People meet the same masks: what is not valid becomes nothing, or the first that is."""
        if action is None or self._mask is None or self.spec.kind != "discrete":
            return action
        if self._mask[int(action)]:
            return action
        idle = self.keyboard.action(frozenset())
        if idle is not None and self._mask[int(idle)]:
            return idle
        return None if self.waits else np.asarray(np.flatnonzero(self._mask)[0])

    def _stands_still(self) -> bool:
        """So do games that show one state out of a few, unless doing nothing is a choice."""
        leaves = self._copy.spaces.observation.values()
        turns = all(leaf.kind in ("discrete", "multi_discrete") for leaf in leaves)
        return turns and self.keyboard.action(frozenset()) is None

    def _shoot(self, obs: object, info: Mapping[str, object]) -> Shot:
        """What there is to see now."""
        seen = self._seen(obs)
        is_masked = self._copy.use_mask and "action_mask" in info
        self._mask = encode_mask(info["action_mask"]) if is_masked else None
        frame, score = self._screen.image(), self._copy.meter.score
        return Shot(
            frame, seen, None, "", (), (), None, 0.0, score, self._episode, len(self.actions), ""
        )

    def _seen(self, obs: Any) -> Obs:
        leaves = self._copy.spaces.observation.items()
        seen: Obs = {path: np.zeros((1, *leaf.shape), dtype=leaf.dtype) for path, leaf in leaves}
        self._copy.obs_codec.write(obs, seen, 0)
        return seen

    # --- keeping ---------------------------------------------------------------------------------

    def recording(self) -> dict[str, Any]:
        """Arguments of `keep` for the present episode, as far as it is; plain data."""
        run, step = self.source.run, self.source.step
        if run is None:
            raise UserError("an episode is kept with a run, and a recipe is none: play a run")
        if self.shot is None or self.shot.action is None:
            raise UserError("there is nothing to keep: no step was played in this episode")
        return {
            "run": str(run.folder),
            # an untrained policy acts with fresh weights, whatever the run has learnt
            "which": f"step={int(step.name.removeprefix('step-'))}"
            if step and self.mode != "untrained"
            else "",
            "seed": self.episode_seed,
            "mode": self.trace_mode,
            "actions": [action.tolist() for action in self.actions],
            "score": self.shot.score,
            "is_over": bool(self.shot.over),
            "changes": list(self.source.changes),
            "notes": [self.opening.note] if self.opening else [],
        }

    def save(self) -> Path:
        """Keep the present episode as a trace of the run."""
        return Path(keep(**self.recording()))

    def close(self) -> None:
        with suppress(Exception):  # whatever an environment does when it ends, play is over
            self._copy.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class Game:
    """Sessions stepped in lockstep: one player alone, or several on the same seed."""

    def __init__(self, *sessions: Session) -> None:
        self.sessions = sessions

    @property
    def shots(self) -> tuple[Shot, ...]:
        return tuple(session.shot for session in self.sessions if session.shot is not None)

    @property
    def over(self) -> bool:
        return all(shot.over for shot in self.shots)

    @property
    def waits(self) -> bool:
        return any(s.waits and s.shot is not None and not s.shot.over for s in self.sessions)

    def reset(self) -> tuple[Shot, ...]:
        return tuple(session.reset() for session in self.sessions)

    def step(self, pressed: frozenset[str] = frozenset()) -> tuple[Shot, ...]:
        """Everybody once; who has finished waits for the others, and all wait for a person."""
        playing = [s for s in self.sessions if s.shot is not None and not s.shot.over]
        for session in sorted(playing, key=lambda session: session.mode != "human"):
            before = len(session.actions)
            session.step(pressed)
            if len(session.actions) == before:
                break
        return self.shots

    def close(self) -> None:
        for session in self.sessions:
            session.close()


def race(source: str, seed: int | None = None, smooth: bool = False) -> Game:
    """A person and the agent, each in an instance of their own, from the same seed."""
    agent = Session(source, "agent", seed, smooth=smooth)
    try:
        return Game(Session(agent.source, "human", agent.seed, smooth=smooth), agent)
    except BaseException:
        agent.close()
        raise


def take_over(folder: str, step: int, smooth: bool = False) -> Game:
    """A person takes over at a step of the episode stored in `folder`."""
    opening = opening_of(folder, step)
    return Game(Session(opening.source, "human", opening.seed, smooth=smooth, opening=opening))


def keep(
    run: str,
    which: str,
    seed: int,
    mode: str,
    actions: Sequence[object],
    score: float,
    is_over: bool,
    changes: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> str:
    """Play an episode again, step by step as it was, and keep it as a trace; returns the folder.

    Playing again is how everything about each step is known without slowing down the game.
    """
    from spotter.episodes.capture import capture
    from spotter.episodes.format import place, save

    trace = capture(
        f"{run}/{which}" if which else run,
        seed=seed,
        most_steps=len(actions),
        first_actions=[np.asarray(action) for action in actions],
        untrained=not which,
        overrides=list(changes),
    )
    if trace.meta.score != score:
        raise UserError(
            f"the episode cannot be kept: played again it scores {trace.meta.score:g} and not "
            f"{score:g}, so {trace.meta.env_id} does not repeat itself"
        )
    end = trace.meta.end if is_over else "stopped"
    meta = replace(trace.meta, mode=mode, end=end, warnings=(*trace.meta.warnings, *notes))
    return str(save(replace(trace, meta=meta), place(Run(Path(run)), meta)))
