"""The other side of a console: the only code that touches an emulator, in a process of its own.

It answers pickled questions from its input on what used to be its output, until the input ends:
when the parent is gone, for whatever reason, so is this process. An emulator that never returns
from a question is ended by the system's alarm clock, where there is one.
"""

import contextlib
import gzip
import importlib
import os
import pickle
import signal
import sys
import traceback
from dataclasses import dataclass
from operator import methodcaller
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from spotter.envs.games.emulator.levels import play_to
from spotter.envs.games.emulator.picture import Look, Pixels, scaled
from spotter.system import children


@dataclass(frozen=True, kw_only=True)
class Cartridge:
    """All that is needed to start a game."""

    rom: Path
    system: str
    data: Path
    scenario: Path
    state: Path | None
    """A saved state to begin from."""
    level: str
    """Where to play to, without one; empty: the console has just been switched on."""
    combos: tuple[tuple[str, ...], ...]
    turbo: tuple[str, ...]
    pool: bool
    look: Look
    timeout_s: int
    """Longest time for a question; 0: for ever."""


class Machine:
    """An emulator with a game in it."""

    def __init__(self, cartridge: Cartridge) -> None:
        stable_retro: Any = importlib.import_module("stable_retro")
        importlib.import_module("cv2").setNumThreads(1)  # other consoles have the other cores

        self._look, self._pools = cartridge.look, cartridge.pool
        self._emulator: Any = stable_retro.RetroEmulator(str(cartridge.rom))
        self._data: Any = stable_retro.data.GameData()
        self._emulator.configure_data(self._data)
        self._emulator.step()
        if not self._data.load(str(cartridge.data), str(cartridge.scenario)):
            raise RuntimeError(f"{cartridge.data} or {cartridge.scenario} cannot be used")
        buttons = stable_retro.get_system_info(cartridge.system)["buttons"]
        self._pressed = [_mask(combo, buttons) for combo in cartridge.combos]
        held = [tuple(b for b in combo if b not in cartridge.turbo) for combo in cartridge.combos]
        self._let_go = [_mask(combo, buttons) for combo in held]
        self._nothing = _mask((), buttons)
        self._start = self._first_state(cartridge, buttons)
        self._size: tuple[int, ...] = ()  # of the game: title screens may differ
        self._begin(0)
        self._size = self._newest.shape[:2]

    def _first_state(self, cartridge: Cartridge, buttons: list[str | None]) -> bytes:
        if cartridge.state is not None:
            with gzip.open(cartridge.state, "rb") as file:
                return file.read()
        if cartridge.level:
            return play_to(cartridge.level, self._emulator, self._data, buttons)
        return bytes(self._emulator.get_state())

    def reset(self, idle: int) -> tuple[bytes, dict[str, Any]]:
        """Begin where the state says, and let some frames go by."""
        self._begin(idle)
        return self._picture(), self._data.lookup_all()

    def _begin(self, idle: int) -> None:
        self._emulator.set_state(self._start)
        self._emulator.set_button_mask(self._nothing, 0)
        self._emulator.step()
        self._data.reset()
        self._data.update_ram()
        for _ in range(idle):
            self._emulator.step()
            self._data.update_ram()
        self._older = self._newest = self.screen()

    def step(
        self, before: int, late: int, combo: int, frames: int
    ) -> tuple[bytes, float, bool, dict[str, Any], int]:
        """Press `combo` for some frames, in the first `late` of which `before` is still held."""
        reward, is_over, played = 0.0, False, 0
        let_go_from = frames - frames // 2
        while played < frames and not is_over:
            held = before if played < late else combo
            masks = self._pressed if played < let_go_from else self._let_go
            self._emulator.set_button_mask(masks[held], 0)
            self._emulator.step()
            self._data.update_ram()
            reward += self._data.current_reward()
            is_over = self._data.is_done()
            played += 1
            if self._pools:
                self._older, self._newest = self._newest, self.screen()
        if not self._pools:
            self._newest = self.screen()
        return self._picture(), reward, bool(is_over), self._data.lookup_all(), played

    def _picture(self) -> bytes:
        shown = np.maximum(self._older, self._newest) if self._pools else self._newest
        return self._look.take(shown).tobytes()

    def screen(self) -> Pixels:
        """[H, W, 3], as the scenario cuts it, the right way up, and always of one size."""
        screen: Pixels = self._emulator.get_screen()
        x, y, width, height = self._data.crop_info(0)
        right = x + width if width and x + width <= screen.shape[1] else screen.shape[1]
        bottom = y + height if height and y + height <= screen.shape[0] else screen.shape[0]
        turned: Pixels = np.rot90(screen[y:bottom, x:right], self._emulator.get_rotation())
        if self._size and turned.shape[:2] != self._size:  # some consoles change it as they go
            turned = scaled(turned, self._size)
        return np.ascontiguousarray(turned)

    def shown(self) -> Pixels:
        return self._newest

    def memory(self) -> bytes:
        blocks = self._data.memory.blocks
        return b"".join(bytes(blocks[offset]) for offset in sorted(blocks))

    def save(self) -> tuple[bytes, Pixels, Pixels]:
        """A restored emulator shows an old screen until its next frame, so ours is kept."""
        return bytes(self._emulator.get_state()), self._older, self._newest

    def restore(self, saved: tuple[bytes, Pixels, Pixels]) -> None:
        state, self._older, self._newest = saved
        self._emulator.set_state(state)
        self._data.reset()
        self._data.update_ram()  # the next reward counts from here, not from before


def _mask(combo: tuple[str, ...], buttons: list[str | None]) -> object:
    return np.array([button in combo for button in buttons], np.uint8)


def main(parent_pid: int, in_main_thread: bool) -> None:
    children.leave_signals_to_parent()
    children.end_with_parent(children.Parent(parent_pid, in_main_thread))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # emulators print what they like to what was our output
    questions = sys.stdin.buffer
    # until the parent closes the pipe
    with contextlib.suppress(EOFError, BrokenPipeError, pickle.UnpicklingError):
        _serve(questions, answers)
    os._exit(0)  # at once: there is nothing to put away


def _serve(questions: BinaryIO, answers: BinaryIO) -> None:
    machine: Machine | None = None
    timeout_s = 0
    while True:
        name, arguments = pickle.load(questions)
        _alarm(timeout_s)
        try:
            if machine is None:
                timeout_s = arguments[0].timeout_s
                machine = Machine(*arguments)
                answer: Any = machine.shown().shape[:2]
            else:
                answer = methodcaller(name, *arguments)(machine)
            message = (True, answer)
        except Exception:
            message = (False, traceback.format_exc())
        _alarm(0)
        pickle.dump(message, answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()


def _alarm(seconds: int) -> None:
    """End this process in so many seconds, even from within an emulator; 0: call it off."""
    if sys.platform != "win32":
        signal.alarm(seconds)
