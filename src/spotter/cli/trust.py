"""`--trust`: let a run from elsewhere import and open what it names."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from spotter.types import UserError

Trust = Annotated[
    bool,
    typer.Option("--trust", help="Import and open what a run from elsewhere names."),
]


@contextmanager
def trusting(trust: bool) -> Iterator[None]:
    """A refusal inside says how to allow it."""
    from spotter.rundir import trust as foreign

    try:
        with foreign.trusting(trust):
            yield
    except foreign.UntrustedError as error:
        raise UserError(f"{error}; if you know what that is, add --trust") from error
