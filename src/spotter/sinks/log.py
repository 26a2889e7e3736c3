"""run.log: the plain lines a terminal would have shown, kept with the run."""

from spotter.rundir.files import cannot_write
from spotter.rundir.run import Run
from spotter.sinks.base import Ending
from spotter.sinks.console import Console, Output

_WIDTH = 200


class Log(Console):
    """Appends to run.log; a resumed run continues in the same file."""

    def __init__(self, run: Run) -> None:
        path = run.folder / "run.log"
        try:
            self._file = path.open("a", encoding="utf-8", buffering=1)
        except OSError as error:
            raise cannot_write(path, error) from error
        plain = Output(
            file=self._file,
            width=_WIDTH,
            force_terminal=False,
            force_jupyter=False,  # or rich would show the log in the notebook, and write none
            color_system=None,
        )
        super().__init__(plain)

    def close(self, ending: Ending | None) -> None:
        super().close(ending)
        self._file.close()
