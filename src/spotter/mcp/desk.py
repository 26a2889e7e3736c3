"""What every tool works at: the door to the runs, their histories, what starts runs, the limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import BoundedSemaphore, Lock
from typing import Any, Final

from spotter.launch.dispatch import Dispatcher
from spotter.launch.ledger import Ledger, Limits
from spotter.launch.worker import Worker
from spotter.rundir import group, selectors
from spotter.rundir.access import Access, is_name
from spotter.rundir.histories import Histories
from spotter.rundir.history import History
from spotter.rundir.run import Run
from spotter.rundir.view import RunView
from spotter.types import UserError

MOST_ANSWER_TOKENS: Final = 8000
_WAITING: Final = 4


@dataclass(frozen=True)
class Terms:
    """What the person decided when the server was started."""

    read_only: bool = False
    trust: bool = False
    """Whether requests may name packages and files."""
    answer_tokens: int = MOST_ANSWER_TOKENS
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True)
class Desk(Access):
    """One per server."""

    terms: Terms = field(default_factory=Terms)
    worker: Worker = field(default_factory=Worker)
    dispatcher: Dispatcher = field(init=False)
    ledger: Ledger = field(init=False)
    _histories: Histories = field(default_factory=Histories)
    _room: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(_WAITING))
    _turn: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dispatcher", Dispatcher(self.runs))
        object.__setattr__(self, "ledger", Ledger(self.runs))

    def select(self, selector: str) -> Run:
        """The run a word means: `@last`, `@best-of:EnvId`, an id or how it begins, a tag."""
        word, _, _ = selector.partition(":")
        if not is_name(selector) and word not in ("@last", "@best-of"):
            raise UserError(
                f"{selector[:60]!r} names no run; write @last, @last:EnvId, @best-of:EnvId, an id "
                "or how it begins, or a tag"
            )
        return self.run_of(selectors.choose(selector, self.infos()))

    def select_all(self, names: Sequence[str]) -> list[Run]:
        """The runs that are meant, each once: of groups by name, or one by one."""
        infos = self.infos()
        found: dict[str, Run] = {}
        for name in names:
            ids = [str(info["id"]) for info in group.members(name, infos)]
            runs = [self.run_of(id) for id in ids] or [self.select(name)]
            found |= {run.id: run for run in runs}
        return list(found.values())

    def history(self, run: Run) -> History:
        """Every metric, as it is now."""
        return self._histories.of(run)

    def view(self, run: Run) -> RunView:
        """Everything there is to say about a run, as it is now."""
        return RunView(run, self.history(run))

    def work(self, function: str, timeout_s: float, /, **arguments: object) -> Any:
        """Have the worker process do something that needs torch; few may wait for it at once."""
        if not self._room.acquire(blocking=False):
            raise UserError(f"{_WAITING} requests are being computed already; ask again later")
        try:
            with self._turn:  # its time does not run while another's is being computed
                return self._computed(function, timeout_s, arguments)
        finally:
            self._room.release()

    def _computed(self, function: str, timeout_s: float, arguments: Mapping[str, object]) -> object:
        try:
            return self.worker.submit(function, **arguments).result(timeout_s)
        except TimeoutError:
            self.worker.close()  # it would keep everybody else waiting
            raise UserError(
                f"this took longer than {timeout_s:g} s and was given up; ask for less"
            ) from None
