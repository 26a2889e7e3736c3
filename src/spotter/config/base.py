"""What every config section is made from."""

import math
import sys
from typing import Annotated, Final, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict

_LARGEST: Final = 2**53
"""What every reader of JSON takes for the same number; no count of ours is larger."""


class Settings(BaseModel):
    """Base of every config section: unknown keys, wrong types and later changes are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @classmethod
    def from_data(cls, data: object) -> Self:
        """Validate what was written in a file or on the command line, where only aliases count."""
        return cls.model_validate(_countable(data), by_alias=True, by_name=False)


def _countable(data: object) -> object:
    """The same with whole numbers that no float can hold as infinite, which every check refuses."""
    if isinstance(data, dict):
        return {key: _countable(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_countable(value) for value in data]
    if isinstance(data, int) and abs(data) > sys.float_info.max:
        return math.inf if data > 0 else -math.inf
    return data


def _whole(value: object) -> object:
    """YAML has `5e4` and `100_000`; both mean a whole number here, 0.5 does not."""
    value = int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(value, int) and abs(value) > _LARGEST:
        raise ValueError(f"should be at most {_LARGEST:,}, got {value:.3g}")
    return value


Whole = Annotated[int, BeforeValidator(_whole)]
"""An integer that may be written as `1e6`."""
