"""What may be started: a config that is wrong is refused before there is a process."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from spotter.config import Resolved, RunConfig, changed, resolve, validate
from spotter.config.diff import difference, fixed
from spotter.types import UserError

# Recipe files are for the command line: a stranger names nothing that is a path.
_ADDRESS: Final = re.compile(
    r"[A-Za-z0-9_][A-Za-z0-9_.+-]*(?:[/:][A-Za-z0-9_][A-Za-z0-9_.+-]*){0,3}"
)
_FILE: Final = re.compile(r"\.ya?ml(:|$)", re.IGNORECASE)


def checked(address: str, overrides: Sequence[str] = ()) -> Resolved:
    """What would be trained; `UserError` for an address or a setting that does not exist."""
    address = address.strip()
    if not _ADDRESS.fullmatch(address) or _FILE.search(address):
        raise UserError(
            f"{address[:80]!r} cannot be started from here; write EnvId:variant, "
            "or use `spotter train` for recipe files"
        )
    return resolve(address, overrides)


def checked_resume(settings: Mapping[str, object], overrides: Sequence[str]) -> RunConfig:
    """The config a run would resume with; `UserError` for one that is unknown or fixed."""
    before = validate(settings)
    after = changed(before, overrides)
    if setting := fixed(difference(before.as_data(), after.as_data())):
        raise UserError(
            f"{setting} cannot change in a resumed run; a fork of it begins with its weights "
            "and may have another"
        )
    return after
