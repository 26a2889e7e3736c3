"""A group of runs, one per seed: each is trained by a process of its own, so many at once.

What is finished is not trained again, and what was interrupted is resumed, so the same command
completes a group.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from spotter.launch import launch as launching
from spotter.launch.dispatch import Dispatcher
from spotter.launch.launch import Launch
from spotter.rundir import checkpoints, registry
from spotter.rundir import group as grouping
from spotter.rundir.identity import Info, home
from spotter.system.machine import JOBS_VARIABLE
from spotter.types import UserError

State = Literal["waiting", "training", "finished", "interrupted", "failed"]


@dataclass
class Member:
    """One seed of a group, and what has become of it."""

    seed: int
    state: State = "waiting"
    launch: Launch | None = None
    run: str | None = None
    """What `launch` trains, once that is known."""
    info: Info | None = None
    """run.json; None before there is a run."""
    problem: str = ""
    """Why it failed, in one sentence."""
    code: int | None = None
    """The exit code of its process, once it has ended."""
    was_finished: bool = False
    """Before this command."""
    is_asked: bool = False
    """Whether it was asked to stop."""


class GroupTraining:
    """Starts the runs of a group and follows them; `words` are what `spotter train` is given."""

    def __init__(
        self,
        name: str,
        words: Sequence[str],
        seeds: Sequence[int],
        jobs: int,
        why: str = "",
        *,
        again: bool = False,
        dispatcher: Dispatcher | None = None,
    ) -> None:
        """`again`: a new run for every seed, whatever there is."""
        self.name = name
        self.members = [Member(seed) for seed in seeds]
        self._words, self._jobs, self._why = list(words), jobs, why
        self._dispatcher = dispatcher or Dispatcher(home())
        shares = {JOBS_VARIABLE: str(jobs)} if self._dispatcher.launcher.on_this_machine else {}
        around = {**self._dispatcher.around, **shares}
        self._dispatcher = replace(self._dispatcher, around=around)
        self.is_stopping = False
        there = [] if again else grouping.members(name, registry.listing().infos)
        launched = [] if again else list(launching.every(home()))
        for member in self.members:
            self._find(member, there)
            self._refuse_waiting(member, launched)

    def _find(self, member: Member, there: Sequence[Info]) -> None:
        """What an earlier command has left of this seed."""
        member.info = grouping.of_seed(member.seed, there)
        if member.info is None:
            return
        if member.info["status"] == "running":
            raise UserError(
                f"seed {member.seed} of group {self.name} is being trained already, by process "
                f"{member.info['pid']} on {member.info['host']} (run {member.info['id']})"
            )
        if member.info["status"] == "finished":
            member.state, member.was_finished = "finished", True

    def _refuse_waiting(self, member: Member, launched: Sequence[Launch]) -> None:
        """A job that has not begun yet has no run that would say so."""
        own = self._words_of(member)
        for launch in launched:
            is_same = member.state == "waiting" and list(launch.words) == own
            if is_same and launch.run_id() is None and launch.end() is None:
                raise UserError(
                    f"seed {member.seed} of group {self.name} is started already, as {launch}"
                )

    @property
    def is_over(self) -> bool:
        waiting = any(member.state == "waiting" for member in self.members)
        return not self._training() and (self.is_stopping or not waiting)

    def advance(self) -> None:
        """See who has ended, start who is next, and read how far everyone is."""
        for member in self._training():
            self._look(member)
        for member in self.members:
            free = len(self._training()) < self._jobs
            if member.state == "waiting" and free and not self.is_stopping:
                self._start(member)
        infos = {info["id"]: info for info in registry.listing().infos}
        for member in self._training():
            assert member.launch is not None
            member.run = member.run or member.launch.run_id()
            member.info = infos.get(member.run or "", member.info)
        if self.is_stopping:
            self.stop()  # a run that was being started when the request came

    def stop(self, at_once: bool = False) -> None:
        """Ask every process to save and stop, once: a second request ends it without saving, as
        `at_once` does. Starts no more. May be called from a signal handler."""
        self.is_stopping = True
        for member in self._training():
            assert member.launch is not None
            if at_once or not member.is_asked:
                member.is_asked = True
                member.launch.stop()

    def _training(self) -> list[Member]:
        return [member for member in self.members if member.state == "training"]

    def _start(self, member: Member) -> None:
        member.launch = self._dispatcher.spawn(self._words_of(member), self._why)
        member.state = "training"

    def _words_of(self, member: Member) -> list[str]:
        if member.info is not None and _is_resumable(member.info):
            return ["--resume", str(member.info["id"])]
        return [*self._words, "--seed", str(member.seed), "--group", self.name]

    def _look(self, member: Member) -> None:
        assert member.launch is not None
        end = member.launch.end()
        if end is None:
            return
        member.code = end.code
        member.run = member.run or member.launch.run_id()
        infos = {info["id"]: info for info in registry.listing().infos}
        member.info = infos.get(member.run or "", member.info)
        status = member.info["status"] if member.run and member.info else ""
        if status == "finished":
            member.state = "finished"
        elif status == "interrupted" or self.is_stopping:
            member.state = "interrupted"
        else:
            member.state = "failed"
            member.problem = member.launch.failure() or f"training ended with exit code {end.code}"


def _is_resumable(info: Info) -> bool:
    return bool(checkpoints.read(home() / info["id"], []))
