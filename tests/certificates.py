"""Runs that tests train keep scores that hold: the weights are played again, episode by episode.

Every run that finishes in the process of the tests is copied as it ends and, once its test is over,
its kept weights are evaluated as `spotter eval` does it. By default that happens for the tests
whose id falls into one of `SHARES` parts; `SPOTTER_CERTIFICATES=all` and `SPOTTER_SOAK=1` do it
for every run.
"""

import itertools
import os
import shutil
import tempfile
import zlib
from pathlib import Path

from spotter.rundir.run import Run
from spotter.rundir.trust import trusting
from spotter.training import checkpoint, run
from spotter.training.evaluate import play_again
from spotter.types import UserError

EVERY = bool(os.environ.get("SPOTTER_SOAK") or os.environ.get("SPOTTER_CERTIFICATES"))
SHARES = 6
_MOST_STEPS = 20_000
"""Env steps of all certificates of a run that are played again by default."""
_waiting: list[tuple[str, Path]] = []
_place = tempfile.TemporaryDirectory(prefix="spotter-certificates-")
_confirmed: list[str] = []
_left_out: list[str] = []
"""Of runs whose environment cannot be made once their test is over."""
_numbers = itertools.count()


def watch() -> None:
    """Note every run that ends from now on; the report is the last that is written of it."""
    write_report = run.write_report

    def written(run: Run) -> object:
        found = write_report(run)
        _keep(run)
        return found

    run.write_report = written


def lines() -> list[str]:
    """For the end of a run of the tests; empty in the process that only collects from workers."""
    if not _confirmed and not _left_out:
        return []
    return [
        f"certificates: {len(_confirmed)} runs played again as written, "
        f"{len(_left_out)} whose environment is gone",
        *(_left_out if EVERY else ()),
    ]


def _keep(run: Run) -> None:
    """A copy, as tests change and delete what they trained."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    is_chosen = EVERY or zlib.crc32(test.encode()) % SHARES == 0
    if not is_chosen or run.info()["status"] != "finished":
        return
    step = checkpoint.find_in(run, "")
    if _steps(step) > (_MOST_STEPS if not EVERY else float("inf")) or not _steps(step):
        return
    copy = Path(_place.name) / str(next(_numbers)) / run.id
    checkpoints = copy / "checkpoints"
    shutil.copytree(step, checkpoints / step.name)
    for name in ("run.json", "config.yaml"):
        shutil.copy(run.folder / name, copy / name)
    shutil.copy(step.parent / "latest.json", checkpoints / "latest.json")
    (checkpoints / "best.json").write_text(f'{{"step": "{step.name}"}}')
    _waiting.append((test, copy))


def _steps(step: Path) -> int:
    """How long all episodes of its certificates are together."""
    scores = checkpoint.read_scores(step).values()
    return sum(sum(one["lengths"]) for one in scores if one.get("format", 1) > 1)


def confirm(is_repeatable: bool) -> None:
    """Play every run that was kept again; what differs fails the test."""
    waiting, _waiting[:] = list(_waiting), []
    for test, copy in waiting if is_repeatable else ():
        try:
            with trusting():
                played = play_again(str(copy))
        except UserError as error:
            _left_out.append(f"{test}: {error}")
            continue
        finally:
            written = checkpoint.read_scores(checkpoint.find_in(Run(copy), "@best"))
            shutil.rmtree(copy.parent)
        for one in played:
            certificate = written[one.evaluation.seeds]
            assert one.as_written is not False, f"{test}: {one.differs}"
            assert list(one.evaluation.lengths) == certificate["lengths"], test
        _confirmed.append(test)
