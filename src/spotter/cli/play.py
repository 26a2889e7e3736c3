"""`spotter play`: a person, the agent or an untrained policy, in a window or without one."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from spotter.cli.options import whole
from spotter.cli.trust import Trust, trusting
from spotter.plugins import did_you_mean
from spotter.text.echo import echo
from spotter.text.numbers import number
from spotter.types import UserError

if TYPE_CHECKING:
    from spotter.episodes.keys import Keyboard
    from spotter.episodes.play import Game, Mode, Session

EXAMPLES: Final = """\
  spotter play CartPole-v1                     you, at the keyboard
  spotter play @last                           watch the best policy of the newest run
  spotter play @last --mode human --record     keep your episodes beside the agent's
  spotter play @last --race                    you and the agent on the same seed
  spotter play ALE/Pong-v5 --mode random --headless --episodes 5
"""
_MODES: Final = {
    "human": "human",
    "agent": "agent",
    "random": "untrained",
    "untrained": "untrained",
}
_FASTEST: Final = 240.0


def run(
    source: Annotated[
        str, typer.Argument(metavar="RUN|ADDRESS", help="@last, a run, RUN/step=N, or a recipe.")
    ],
    mode: Annotated[
        str | None,
        typer.Option(
            "--mode",
            metavar="MODE",
            help="human, agent, untrained or random (the same). Runs: agent; recipes: human.",
        ),
    ] = None,
    headless: Annotated[
        bool, typer.Option("--headless", help="No window; print the score of each episode.")
    ] = False,
    episodes: Annotated[
        str | None,
        typer.Option("--episodes", metavar="N", help="Stop after so many; headless: 1."),
    ] = None,
    seed: Annotated[
        str | None, typer.Option("--seed", metavar="N", help="Of the first episode, then N + 1, …")
    ] = None,
    fps: Annotated[
        str | None,
        typer.Option("--fps", metavar="F", help="Decisions per second; default: the game's own."),
    ] = None,
    step_by_step: Annotated[
        bool, typer.Option("--step-by-step", help="Every step waits for a key.")
    ] = False,
    race: Annotated[
        bool, typer.Option("--race", help="You and the agent side by side on the same seed.")
    ] = False,
    record: Annotated[
        bool, typer.Option("--record", help="Keep every episode, yours or the agent's.")
    ] = False,
    trust: Trust = False,
) -> None:
    """Play in exactly the environment the agent is evaluated in.

    Esc ends, F1 pauses. Without a window a person's keys are read from lines of standard input,
    one line per step: `left space`.
    """
    most = None if episodes is None else whole("--episodes", episodes)
    first = None if seed is None else whole("--seed", seed, least=0)
    pace = None if fps is None else _pace(fps)
    if headless:
        _go_without_window({"--step-by-step": step_by_step, "--fps": pace})
    game = _game(source, mode, first, race, trust)
    try:
        _refuse(game, record)
        rounds = _Rounds(game, record, most or (1 if headless else None))
        if headless:
            _without_window(rounds)
        else:
            from spotter.episodes.window import play_in_window

            play_in_window(game, rounds.ended, source, pace, step_by_step)
        rounds.say_end()
    finally:
        game.close()


def _game(source: str, mode: str | None, seed: int | None, is_race: bool, trust: bool) -> "Game":
    from spotter.episodes import play
    from spotter.episodes.pilot import source_of

    if mode is not None and mode not in _MODES:
        raise UserError(f"there is no --mode '{mode}'{did_you_mean(mode, _MODES)}")
    if is_race:
        if mode is not None:
            raise UserError("--race has a human and an agent; leave --mode out")
        with trusting(trust):
            return play.race(source, seed)
    with trusting(trust):
        found = source_of(source)
    chosen: Mode = "human" if found.run is None else "agent"
    for known in play.MODES:
        chosen = known if _MODES.get(mode or "") == known else chosen
    return play.Game(play.Session(found, chosen, seed))


def _go_without_window(given: Mapping[str, object]) -> None:
    for option, value in given.items():
        if value:
            raise UserError(f"{option} is about the window; leave it or --headless out")
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # pygame complains without a display


def _refuse(game: "Game", record: bool) -> None:
    if record and game.sessions[0].source.run is None:
        raise UserError("--record keeps episodes with a run, and a recipe is none; play a run")


class _Rounds:
    """What is said and kept when an episode ends, and when it is enough."""

    def __init__(self, game: "Game", record: bool, most: int | None) -> None:
        self.game = game
        self._record = record
        self._most = most
        self._scores: list[float] = []

    def ended(self) -> bool:
        """An episode is over; whether another one shall begin."""
        for session in self.game.sessions:
            assert session.shot is not None
            shot, who = session.shot, self._who(session)
            echo(
                f"episode {shot.episode}{who}: score {number(shot.score)} in {shot.step} steps, "
                f"{shot.over or 'stopped'} (seed {session.episode_seed})"
            )
            if self._record and session.actions:
                echo(f"kept in {session.save()}")
        first = self.game.sessions[0].shot
        assert first is not None
        self._scores.append(first.score)
        return self._most is None or len(self._scores) < self._most

    @property
    def played(self) -> bool:
        """Whether an episode has ended."""
        return bool(self._scores)

    def _who(self, session: "Session") -> str:
        return f", {session.mode}" if len(self.game.sessions) > 1 else ""

    def say_end(self) -> None:
        if len(self._scores) > 1:
            mean = sum(self._scores) / len(self._scores)
            echo(f"mean score {number(mean)} over {len(self._scores)} episodes")


def _without_window(rounds: _Rounds) -> None:
    game = rounds.game
    is_human = any(session.mode == "human" for session in game.sessions)
    lines = _lines(game) if is_human else None
    while True:
        game.reset()
        while not game.over:
            pressed = next(lines, None) if lines is not None else frozenset[str]()
            if pressed is None:
                _keys_ended(rounds)
                return
            game.step(pressed)
        if not rounds.ended():
            return


def _keys_ended(rounds: _Rounds) -> None:
    """Standard input is at its end: so is the episode, if one had begun."""
    if rounds.game.sessions[0].actions:
        rounds.ended()
    elif not rounds.played:
        raise UserError(
            "no key of this game came on standard input; write them there, a line per step such "
            "as `left space`, or use --mode agent or random"
        )


def _lines(game: "Game") -> Iterator[frozenset[str]]:
    """Keys that are held, a line per step."""
    stream: Any = sys.stdin
    if stream is None or stream.isatty():
        raise UserError(
            "a person needs a window, or keys on standard input, one line per step such as "
            "`left space`; leave --headless out, or use --mode agent or random"
        )
    (person,) = (session for session in game.sessions if session.mode == "human")
    return _known_keys(stream, person.keyboard)


def _known_keys(lines: Iterable[str], keyboard: "Keyboard") -> Iterator[frozenset[str]]:
    """Lines with a key that the game has not are named, once, and skipped."""
    from spotter.episodes.keys import key_name

    reported = set[str]()
    for line in lines:
        words = {key_name(word): word for word in line.split()}
        unknown = {word for key, word in words.items() if key not in keyboard.presses}
        if not unknown:
            yield frozenset(words)
        elif not unknown <= reported:
            reported |= unknown
            there = ", ".join(f"{keys} ({what})" for keys, what in keyboard.legend())
            names = ", ".join(f"'{word}'" for word in sorted(unknown))
            echo(f"no step: {names} is no key of this game; keys: {there}", err=True)


def _pace(text: str) -> float:
    try:
        pace = float(text)
    except ValueError:
        pace = 0.0
    if not 0 < pace <= _FASTEST:
        raise UserError(f"--fps should be a number above 0 and up to {_FASTEST:.0f}, got '{text}'")
    return pace
