"""One game: a process of ViZDoom's that draws, and answers to buttons.

It starts when the first episode does. Its own time limit is off, because the game shows nothing
any more once it is over (P25): an episode is truncated from outside, which keeps the last frame.
"""

import atexit
import contextlib
import itertools
import os
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from spotter.envs.games.doom import orphan_killer
from spotter.envs.games.doom.scenarios import Place, vizdoom
from spotter.system import children

Pixels = npt.NDArray[np.uint8]
_SETTLING: Final = 20  # frames


@dataclass(frozen=True, kw_only=True)
class Setup:
    """All that a game is started with."""

    config: str
    """File in ViZDoom's folder `scenarios`, without its ending."""
    place: Place
    skill: int
    buttons: tuple[str, ...]
    variables: tuple[Any, ...]
    """ViZDoom's, in the order in which they are read; it forgets those that are named twice."""
    resolution: str
    screen: str
    """ViZDoom's format of frames."""


def load(config: str) -> Any:
    """A game with the settings of a scenario's file, not started."""
    package = vizdoom()
    game = package.DoomGame()
    game.load_config(str(Path(package.__file__).parent / "scenarios" / f"{config}.cfg"))
    return game


class Engine:
    """A game that has been set up; `begin` starts it."""

    def __init__(self, setup: Setup) -> None:
        self.game = _configured(setup)
        """ViZDoom's own object."""
        self._nothing = [0] * len(setup.buttons)
        self._variables = setup.variables
        self._settings_file = ""

    def begin(self, seed: int, forget: bool) -> None:
        """An episode under a seed; `forget` what is left of earlier ones."""
        if not self.game.is_running():
            self.game.set_seed(seed)
            self._start()
        elif forget:
            self._settle()
        self.game.set_seed(seed)
        self.game.new_episode()

    def _settle(self) -> None:
        """The weapon sways with every step, and the next episode's first frames show it still."""
        self.game.new_episode()
        for _ in range(_SETTLING):
            if not self.game.is_episode_finished():
                self.game.make_action(self._nothing, 1)

    def _start(self) -> None:
        home = _home_of_games()
        self._settings_file = home.new_file()
        self.game.set_doom_config_path(self._settings_file)
        if home.starter:
            self.game.set_vizdoom_path(home.starter)
        with children.signals_blocked():
            self.game.init()

    def act(self, buttons: Sequence[int], tics: int) -> float:
        """Hold buttons for so many tics, or until the game is over; returns the reward."""
        reward: float = self.game.make_action(buttons, tics)
        return reward

    def is_over(self) -> bool:
        over: bool = self.game.is_episode_finished()
        return over

    def time(self) -> int:
        """Tics of this episode, from the scenario's own beginning on."""
        tics: int = self.game.get_episode_time()
        return tics

    def look(self) -> tuple[Pixels, list[float]]:
        """The frame and the variables, while the game is on."""
        state = self.game.get_state()
        return state.screen_buffer, state.game_variables.tolist()

    def read(self) -> list[float]:
        """The variables, also when the game is over."""
        return [self.game.get_game_variable(variable) for variable in self._variables]

    def close(self) -> None:
        self.game.close()
        if self._settings_file:
            Path(self._settings_file).unlink(missing_ok=True)


def _configured(setup: Setup) -> Any:
    package, game = vizdoom(), load(setup.config)
    game.set_doom_game_path(str(setup.place.game))
    if setup.place.extra is not None:
        game.set_doom_scenario_path(str(setup.place.extra))
    game.set_doom_map(setup.place.map)
    game.set_doom_skill(setup.skill)
    game.set_episode_timeout(0)
    game.set_mode(package.Mode.PLAYER)
    game.set_window_visible(False)
    game.set_sound_enabled(False)
    game.set_automap_buffer_enabled(False)
    game.set_audio_buffer_enabled(False)
    game.set_depth_buffer_enabled(False)
    game.set_labels_buffer_enabled(False)
    game.set_screen_resolution(
        package.ScreenResolution.__members__[f"RES_{setup.resolution.upper()}"]
    )
    game.set_screen_format(package.ScreenFormat.__members__[setup.screen])
    game.set_available_buttons([package.Button.__members__[name] for name in setup.buttons])
    game.set_available_game_variables(list(setup.variables))
    return game


class _Home:
    """The folder of this process's games, and the clean-up process that finds them by it."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.folder = tempfile.mkdtemp(prefix="spotter-doom-")
        self._numbers = itertools.count()
        self._warden: subprocess.Popen[bytes] | None = None
        self.starter = ""
        if os.name == "posix":
            self.starter = self._write_starter()
            began = repr(time.time())
            with children.signals_blocked():
                self._warden = subprocess.Popen(
                    [sys.executable, "-I", "-S", orphan_killer.__file__, self.folder, began],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
        atexit.register(self.leave)

    def _write_starter(self) -> str:
        """A script that starts a game in this folder.

        Every game makes a folder where it is started. Where it cannot (no right to write, or
        another game is just making it) it gives up, and ViZDoom takes the whole process along.
        """
        if os.statvfs(self.folder).f_flag & getattr(os, "ST_NOEXEC", 0):
            return ""  # no script may run from here
        path = Path(self.folder) / "start"
        words = (self.folder, vizdoom().exe_path_unix)
        place, game = (shlex.quote(str(Path(word).resolve())) for word in words)
        (path.parent / "_vizdoom").mkdir()  # what games would make, all at once
        # no other command: a shell that waits for one unblocks the signals games shall not hear
        path.write_text(f'#!/bin/sh\ncd {place} && exec {game} "$@"\n')
        path.chmod(0o700)
        return str(path)

    def new_file(self) -> str:
        """Never one that exists: a game writes its settings there, and would read them again."""
        return str(Path(self.folder) / f"{next(self._numbers)}.ini")

    def leave(self) -> None:
        """At the end of the process: the clean-up process takes over."""
        if self._warden is not None and self.pid == os.getpid():
            assert self._warden.stdin is not None
            self._warden.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._warden.wait(5)


_home: _Home | None = None
_home_lock = threading.Lock()


def _home_of_games() -> _Home:
    global _home
    with _home_lock:
        if _home is None or _home.pid != os.getpid():
            _home = _Home()
        return _home
