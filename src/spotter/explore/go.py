"""Go-Explore (Ecoffet et al., 2021), its first phase: return to a cell, explore from there.

A cell is chosen, the more likely the less it was visited; the game is put back into the state in
which the cell was reached by the best way so far; random actions go on from there, and every cell
they come through is kept if it is new or the way is better. The game must not be random: what is
found is a list of actions, not yet a policy.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, process_time
from typing import Any, Final, NamedTuple

import numpy as np

from spotter.config import EnvConfig
from spotter.envs.base import Env, family
from spotter.explore import cells
from spotter.explore.archive import ROOT, Actions, Archive, Node, load
from spotter.explore.cells import Cell
from spotter.system.interrupts import Interrupts
from spotter.types import UserError

REPEAT: Final = 0.95
"""How likely the last action is taken again: single random actions lead nowhere."""
_STATES: Final = 20_000
"""Kept in memory, some 15 kB each; others are come by again by playing their actions."""
_SAVE_EVERY_S: Final = 30.0


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What an exploration was begun with; kept in its archive."""

    env: dict[str, Any]
    cells: str
    seed: int = 1
    steps: int = 100
    """Actions tried from each start."""


class Progress(NamedTuple):
    """How far an exploration is."""

    cells: int
    score: float
    frames: int
    starts: int
    seconds: float
    """Of this process's computing."""


class Game:
    """A game that can be put back into an earlier state."""

    def __init__(self, settings: Settings) -> None:
        config = EnvConfig.chosen(settings.env).from_data(settings.env)
        assert isinstance(config, EnvConfig)
        needs_frames = settings.cells == cells.FRAMES
        self.env: Env = family(config).make(config, render=needs_frames)
        self.seed = settings.seed
        self.look = cells.make(settings.cells, self.env)
        self.frames_per_action = int(getattr(config, "frame_skip", 1))
        self.actions = int(getattr(self.env.action_space, "n", 0))
        if not self.actions:
            raise UserError(
                f"exploring takes games with a list of actions, and {config.id} takes "
                f"{self.env.action_space}"
            )
        self.can_save = callable(getattr(self.env, "save", None)) and callable(
            getattr(self.env, "load", None)
        )
        self.lives = 0

    def begin(self) -> None:
        _, info = self.env.reset(seed=self.seed)
        self.lives = int(info.get("lives", 0))

    def step(self, action: int) -> tuple[float, bool]:
        """The reward, and whether this way is over: the game is, or a life is lost."""
        _, reward, terminated, truncated, info = self.env.step(action)
        lives, self.lives = self.lives, int(info.get("lives", 0))
        return float(reward), terminated or truncated or self.lives < lives

    def save(self) -> object:
        game: Any = self.env
        return game.save(), self.lives

    def load(self, state: Any) -> None:
        game: Any = self.env
        saved, self.lives = state
        game.load(saved)


class Exploration:
    """One exploration, in a folder that it can be resumed from."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder, self.settings = folder, settings
        self.game = Game(settings)
        self.archive = Archive()
        self.rng = np.random.default_rng(settings.seed)
        self.frames = self.starts = 0
        self._seconds_before, self._began = 0.0, process_time()
        self._states: OrderedDict[int, object] = OrderedDict()
        self.game.begin()
        if not (folder / "archive.npz").exists():
            self.archive.begin(self.game.look())
            return
        self.archive, about = load(folder)
        if about["settings"] != vars(settings):
            raise UserError(
                f"{folder} holds an exploration with other settings; name another folder with --out"
            )
        self.rng.bit_generator.state = about["rng"]
        self.frames, self.starts = about["frames"], about["starts"]
        self._seconds_before = about["seconds"]

    @property
    def progress(self) -> Progress:
        best = self.archive.nodes[self.archive.best].score
        seconds = self._seconds_before + process_time() - self._began
        return Progress(len(self.archive.entries), best, self.frames, self.starts, seconds)

    def run(
        self,
        is_done: Callable[[Progress], bool],
        interrupts: Interrupts,
        say: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        """Explore until done or interrupted; what was found is saved in any case."""
        saved = said = monotonic()
        try:
            while not is_done(self.progress) and not interrupts.stopping():
                self.start()
                if monotonic() - said > 1:
                    said = monotonic()
                    say(self.progress)
                if monotonic() - saved > _SAVE_EVERY_S:
                    self.save()
                    saved = monotonic()
        finally:
            self.save()

    def start(self) -> None:
        """Return to a cell and try some actions from there."""
        entries = list(self.archive.entries.values())
        entry = entries[int(self.rng.choice(len(entries), p=self.archive.weights()))]
        entry.chosen += 1
        self.starts += 1
        self._return_to(entry.node)
        self._explore(entry.node)

    def _explore(self, start: int) -> None:
        game, archive, node = self.game, self.archive, self.archive.nodes[start]
        score, length = node.score, node.length
        tried: list[int] = []
        seen: set[Cell] = set()
        action = int(self.rng.integers(game.actions))
        for _ in range(self.settings.steps):
            if self.rng.random() >= REPEAT:
                action = int(self.rng.integers(game.actions))
            reward, is_over = game.step(action)
            self.frames += game.frames_per_action
            if is_over:
                return
            tried.append(action)
            score, length = score + reward, length + 1
            cell = game.look()
            if cell not in seen:
                seen.add(cell)
                if cell in archive.entries:
                    archive.entries[cell].visits += 1
            if archive.is_better(cell, score, length):
                made = Node(start, np.array(tried, np.int16), score, length)
                start = archive.keep(cell, made)
                tried = []
                self._remember(start)

    def _return_to(self, number: int) -> None:
        """By the state kept nearest to it, and the actions from there."""
        pieces: list[Actions] = []
        while number != ROOT and number not in self._states:
            node = self.archive.nodes[number]
            pieces.append(node.actions)
            number = node.parent
        if number == ROOT:
            self.game.begin()
        else:
            self.game.load(self._states[number])
        for piece in reversed(pieces):
            for action in piece:
                self.game.step(int(action))
            self.frames += len(piece) * self.game.frames_per_action

    def _remember(self, number: int) -> None:
        if self.game.can_save:
            self._states[number] = self.game.save()
            if len(self._states) > _STATES:
                self._states.popitem(last=False)

    def save(self) -> None:
        now = self.progress
        about = {
            "settings": vars(self.settings),
            "rng": self.rng.bit_generator.state,
            "frames": self.frames,
            "starts": self.starts,
            "seconds": now.seconds,
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        self.archive.save(self.folder, about)

    def close(self) -> None:
        self.game.env.close()
