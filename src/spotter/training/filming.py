"""Films of a run under way: what waits to be filmed; the last film gives way to a resume."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

from spotter.config import RunConfig
from spotter.rundir.lock import TakenOverError
from spotter.rundir.run import Run
from spotter.sinks.recorder import Recorder
from spotter.system.interrupts import Interrupts
from spotter.text.numbers import duration
from spotter.training.phases import Phases
from spotter.training.selection import Scored
from spotter.types import Evaluation

_FILM_S: Final = 2.0
_FILM_SHARE: Final = 0.02
"""How long making the film at the end may take: the larger of seconds and share of the run …"""
_FEWEST_S: Final = 0.5
"""… as far as evaluations left so much of `eval.share`, and at least so many seconds."""


@dataclass
class Films:
    """Episodes that wait to be filmed; without a run nothing is."""

    run: Run | None
    config: RunConfig
    recorder: Recorder
    phases: Phases
    interrupts: Interrupts
    _waiting: list[tuple[Evaluation, bool]] = field(default_factory=list)
    _can_film: bool = True
    _is_over: bool = False

    def add_if_due(self, scored: Scored) -> None:
        when, evaluation = self.config.video.when, scored.candidate.evaluation
        if evaluation and (when == "eval" or (when == "best" and scored.is_best)):
            self._waiting.append((evaluation, scored.is_best))

    def make(self) -> None:
        """Everything that waits, unless a stop was requested."""
        for evaluation, is_best in self._waiting:
            if not self.interrupts.stopping():
                self._film(evaluation, is_best)
        self._waiting.clear()

    def make_last(self, best: Evaluation | None) -> None:
        """What is left at the end; the run is saved and its files are complete before.

        A resume does not wait for it: it takes the run, and the film is dropped.
        """
        if self.config.video.when == "end" and best:
            self._waiting.append((best, True))
        self.phases.current = ""
        if self.run is None or not self._waiting:
            return
        self._is_over = True
        self.run.yield_to_others()
        try:
            self.make()
        except TakenOverError:
            self.recorder.note("the last video was not made: another process resumes the run")

    def _film(self, evaluation: Evaluation, is_best: bool) -> None:
        if self.run is None or not self._can_film:
            return
        until = monotonic() + self._within_s()
        # the encoder is loaded when needed
        from spotter.video import CannotRender, FilmStopped, save_video

        stop = self._stop_of(self.run)
        try:
            with self.phases.during("filming", "filming an episode"):
                film = save_video(
                    self.run.folder, self.config, evaluation, best=is_best, stop=stop,
                    within_s=until - monotonic(),
                )  # fmt: skip
        except CannotRender as error:
            self._can_film = False
            self._note(f"no videos: {error}")
            return
        except FilmStopped:
            self._note("the video was not finished: asked to stop")
            return
        if film.is_cut:
            shown = duration(film.seconds)
            self._note(f"the video shows the first {shown}; `spotter film` makes a longer one")
        elif film.score not in evaluation.scores:
            self._note(
                f"the video shows a score of {film.score:g}, which is none of the evaluation's: "
                "this environment does not repeat itself under one seed"
            )
        score = None if film.is_cut else film.score  # of a part it would be taken for the whole
        data = {"file": film.path.name, "score": score, "best": is_best}
        self.recorder.event("video", data | {"env_steps": evaluation.env_steps})
        if self._is_over:
            self.run.event("video", data | {"env_steps": evaluation.env_steps})

    def _within_s(self) -> float:
        """A film that was not requested must take little time compared with the run."""
        if self.config.video.when != "end":
            return math.inf
        elapsed_s = self.recorder.elapsed_s
        left_s = self.config.eval.share * elapsed_s - self.recorder.evaluating_s
        return max(_FEWEST_S, min(left_s, max(_FILM_S, _FILM_SHARE * elapsed_s)))

    def _stop_of(self, run: Run) -> Callable[[], bool]:
        def stop() -> bool:
            run.check_mine()
            return self.interrupts.stopping()

        return stop

    def _note(self, text: str) -> None:
        self.recorder.note(text)
        if self._is_over and self.run:  # the recorder no longer writes into the run
            self.run.event("note", {"text": text})
