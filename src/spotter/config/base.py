"""What every config section is made from."""

from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict

_LARGEST: Final = 2**53
"""What every reader of JSON takes for the same number; no count of ours is larger."""


class Settings(BaseModel):
    """Base of every config section: unknown keys, wrong types and later changes are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @classmethod
    def from_data(cls, data: Any) -> Self:
        """Validate what was written in a file or on the command line, where only aliases count."""
        return cls.model_validate(data, by_alias=True, by_name=False)


def _whole(value: Any) -> Any:
    """YAML has `5e4` and `100_000`; both mean a whole number here, 0.5 does not."""
    value = int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(value, int) and abs(value) > _LARGEST:
        shown = f"{value:.3g}" if abs(value) < 10**300 else f"a number of {len(str(value))} digits"
        raise ValueError(f"should be at most {_LARGEST:,}, got {shown}")
    return value


Whole = Annotated[int, BeforeValidator(_whole)]
"""An integer that may be written as `1e6`."""
