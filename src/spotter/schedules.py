"""Numbers that change while training: a schedule is a value in the config, not a callback.

A bare number is a constant. Otherwise a map:

    {shape: linear, start: 1e-3, end: 0}                   over the whole budget
    {shape: cosine, start: 0.2, end: 0.05, from: 0.5}      holds `start`, decays in the second half
    {shape: linear, start: 3e-4, end: 0, warmup: 0.1, floor: 1e-5}
    {shape: constant, start: 3e-4, warmup: 10_000}         rises to `start` and stays there
    {points: [[0, 0.01], [0.5, 0.01], [1, 0]]}             straight lines between break points

`from`, `to`, `warmup` and the first number of a point are fractions of the budget up to 1 and
env steps above 1. A warm-up rises from `floor` (else 0) at the very beginning of training.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    SerializerFunctionWrapHandler,
    Strict,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from spotter.types import Progress

_EXAMPLE: Final = "{shape: linear, start: 1, end: 0}"
_AT: Final = "Up to 1: a fraction of the budget; above: env steps."


_ALIASES: Final = {"from_": "from"}
_CURVE: Final = {"shape", "start", "end", "from", "to", "warmup", "floor"}
_USED: Final = {
    "constant": {"shape", "start", "warmup", "floor"},
    "linear": _CURVE,
    "cosine": _CURVE,
    "exponential": _CURVE,
    "piecewise": {"shape", "points"},
}

Point = Annotated[tuple[float, float], Strict(False)]  # YAML has lists, strict mode wants tuples


class Schedule(BaseModel):
    """A hyper-parameter over time."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, populate_by_name=True, allow_inf_nan=False
    )

    shape: Literal["constant", "linear", "cosine", "exponential", "piecewise"] = Field(
        "linear", description="How it gets from `start` to `end`; piecewise: through `points`."
    )
    start: float = Field(0.0, description="Value at the beginning.")
    end: float = Field(0.0, description="Value from `to` on.")
    from_: float = Field(0.0, alias="from", ge=0, description=f"When the change begins. {_AT}")
    to: float = Field(1.0, gt=0, description=f"When `end` is reached. {_AT}")
    warmup: float = Field(0.0, ge=0, description=f"How long it first rises to `start`. {_AT}")
    floor: float | None = Field(None, description="Never below this; a warm-up starts from it.")
    points: tuple[Point, ...] = Field(
        (), strict=False, description="[when, value] pairs joined by straight lines."
    )

    @model_validator(mode="wrap")
    @classmethod
    def _accept_number(cls, data: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if isinstance(data, int | float) and not isinstance(data, bool):
            if not math.isfinite(data):
                raise ValueError("should be a finite number")
            return handler({"shape": "constant", "start": data})
        if isinstance(data, dict):
            data = {"shape": "piecewise", **data} if "points" in data else data
        elif not isinstance(data, Schedule):
            raise ValueError(f"should be a number or a schedule such as {_EXAMPLE}")
        return handler(data)

    @model_validator(mode="after")
    def _check(self) -> Self:
        self._check_keys()
        if self.shape == "piecewise":
            self._check_points()
            return self
        if self.shape == "exponential" and min(self.start, self.end) <= 0:
            raise ValueError("needs `start` and `end` above 0 to be exponential")
        if self.floor is not None and self.floor > max(self.start, self.end):
            raise ValueError(f"needs a `floor` ({self.floor:g}) below its largest value")
        for name, begin in (("from", self.from_), ("warmup", self.warmup)):
            same_unit = (begin > 1) == (self.to > 1)
            if self.shape != "constant" and begin and same_unit and begin >= self.to:
                raise ValueError(f"needs `{name}` ({begin:g}) to be before `to` ({self.to:g})")
        return self

    def _check_keys(self) -> None:
        """Refuse what the shape would ignore."""
        written = {_ALIASES.get(name, name) for name in self.model_fields_set}
        if self.shape != "piecewise" and "start" not in written:
            raise ValueError(f"needs `start`, such as {_EXAMPLE}, or `points`")
        extra = written - _USED[self.shape]
        if self.shape == "constant" and not self.warmup:
            extra |= written & {"floor"}
        if extra:
            keys = " and ".join(f"`{key}`" for key in sorted(extra))
            raise ValueError(f"cannot use {keys} with shape {self.shape}")

    def _check_points(self) -> None:
        if len(self.points) < 2:
            raise ValueError("needs at least two `points`, such as [[0, 1], [1, 0]]")
        places = [at for at, _ in self.points]
        if places[0] < 0 or any(a > b for a, b in pairwise(places)):
            raise ValueError("needs its `points` in ascending order, from 0 on")
        if places[-1] > 1 and any(0 < at <= 1 for at in places):
            raise ValueError("needs its `points` all as fractions or all as env steps")

    @model_serializer(mode="wrap")
    def _as_written(self, handler: SerializerFunctionWrapHandler) -> Any:
        if self.shape == "constant" and not self.warmup:
            return self.start
        if self.points:
            return {"points": [list(point) for point in self.points]}
        data: dict[str, object] = {"shape": self.shape, "start": self.start}
        if self.shape != "constant":
            data["end"] = self.end
        optional = {"from": self.from_, "to": self.to, "warmup": self.warmup, "floor": self.floor}
        unset = {"from": 0.0, "to": 1.0, "warmup": 0.0, "floor": None}
        return data | {key: value for key, value in optional.items() if value != unset[key]}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        as_map = handler.resolve_ref_schema(handler(core_schema))
        description = "A number, or a schedule: a number that changes while training."
        return {"description": description, "anyOf": [{"type": "number"}, as_map]}

    def values(self) -> tuple[float, ...]:
        """The extremes it can take, for range checks."""
        if self.points:
            return tuple(value for _, value in self.points)
        ends = (self.start,) if self.shape == "constant" else (self.start, self.end)
        if self.floor is not None:
            return tuple(max(self.floor, value) for value in ends) + (self.floor,) * self._warms
        return ends + (0.0,) * self._warms

    @property
    def _warms(self) -> bool:
        return self.warmup > 0

    @property
    def needs_budget(self) -> bool:
        """Whether it cannot be evaluated without knowing when training ends."""
        if self.points:
            return any(0 < at <= 1 for at, _ in self.points)
        if self.shape == "constant":
            return 0 < self.warmup <= 1
        return 0 < self.from_ <= 1 or self.to <= 1 or 0 < self.warmup <= 1

    def changed(self, change: Callable[[float], float]) -> "Schedule":
        """The same shape with every value changed."""
        if self.points:
            return Schedule(points=tuple((at, change(value)) for at, value in self.points))
        data: object = self.model_dump()
        if not isinstance(data, dict):
            return constant(change(self.start))
        values = {key: change(data[key]) for key in ("start", "end", "floor") if key in data}
        return Schedule.model_validate(data | values)

    def at(self, progress: Progress) -> float:
        """The value now."""
        if self.points:
            return self._between_points(progress)
        now, warm = progress.env_steps, _in_steps(self.warmup, progress)
        if now < warm:
            low = self.floor or 0.0
            return self._floored(low + (self.start - low) * now / warm)
        if self.shape == "constant":
            return self.start
        begin = max(warm, _in_steps(self.from_, progress))
        span = max(1.0, _in_steps(self.to, progress) - begin)
        return self._floored(self._shaped(min(1.0, max(0.0, (now - begin) / span))))

    def _floored(self, value: float) -> float:
        return value if self.floor is None else max(self.floor, value)

    def _shaped(self, p: float) -> float:
        if p == 1.0:
            return self.end  # exactly: 1 - (1 - x) is not x in floating point
        if self.shape == "cosine":
            return self.end + (self.start - self.end) * 0.5 * (1 + math.cos(math.pi * p))
        if self.shape == "exponential":
            return float(self.start * (self.end / self.start) ** p)
        return self.start + (self.end - self.start) * p

    def _between_points(self, progress: Progress) -> float:
        now = float(progress.env_steps)
        placed = [(_in_steps(at, progress), value) for at, value in self.points]
        if now < placed[0][0]:
            return placed[0][1]
        for (x0, y0), (x1, y1) in pairwise(placed):
            if now < x1:
                return y0 + (y1 - y0) * (now - x0) / (x1 - x0)
        return placed[-1][1]


def _in_steps(at: float, progress: Progress) -> float:
    return at * (progress.budget or 0) if at <= 1 else at


def scheduled(settings: BaseModel) -> Iterator[tuple[str, Schedule]]:
    """Fields that hold a schedule, by the name they have in a config file."""
    for name, info in type(settings).model_fields.items():
        value = vars(settings)[name]
        if isinstance(value, Schedule):
            yield info.alias or name, value


def values_at(settings: BaseModel, names: Sequence[str], progress: Progress) -> dict[str, float]:
    """Some scheduled settings at one point of training, by name; without those that are null."""
    return {
        name: schedule.at(progress)
        for name in names
        if (schedule := vars(settings)[name]) is not None
    }


def constant(value: float) -> Schedule:
    return Schedule(shape="constant", start=value)


def within(low: float, high: float = math.inf, *, open_low: bool = False) -> AfterValidator:
    """A range check on everything a schedule can become: `Annotated[Schedule, within(0, 1)]`."""
    if high < math.inf:
        wish = f"between {low:g} and {high:g}" + (f", {low:g} excluded" if open_low else "")
    else:
        wish = f"above {low:g}" if open_low else f"at {low:g} or above"

    def check(schedule: Schedule) -> Schedule:
        for value in schedule.values():
            if value > high or value < low or (open_low and value == low):
                raise ValueError(f"should stay {wish}")
        return schedule

    # for the page of settings; functions may carry attributes, validators may not
    least = f"{'>' if open_low else '≥'} {low:g}"
    vars(check)["range"] = f"{low:g} … {high:g}" if high < math.inf else least
    return AfterValidator(check)
