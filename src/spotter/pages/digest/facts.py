"""What a digest is made of: one run, its neighbours, and what is not said about either."""

from collections.abc import Sequence
from dataclasses import dataclass

from spotter.pages.digest.private import Discreet
from spotter.rundir import identity, registry
from spotter.rundir.identity import Info
from spotter.rundir.view import RunView


@dataclass(frozen=True)
class Facts:
    """One run, and its neighbours in the folder of runs."""

    view: RunView
    infos: Sequence[Info]
    """Every run of the folder, newest first; this one among them."""
    discreet: Discreet


def gather(view: RunView) -> Facts:
    return Facts(view, _neighbours(view), Discreet.about(view.info))


def _neighbours(view: RunView) -> Sequence[Info]:
    """The runs beside it; none where it lies outside the folder of runs."""
    if view.run.folder.resolve().parent != identity.home().resolve():
        return ()
    return registry.listing().infos
