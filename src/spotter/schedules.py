"""Numbers that change while training: a schedule is a value in the config, not a callback.

A bare number is a constant. Otherwise a map:

    {shape: linear, start: 1e-3, end: 0}                   over the whole budget
    {shape: cosine, start: 0.2, end: 0.05, from: 0.5}      holds `start`, decays in the second half
    {shape: linear, start: 3e-4, end: 0, warmup: 0.1, floor: 1e-5}
    {points: [[0, 0.01], [0.5, 0.01], [1, 0]]}             straight lines between break points

`from`, `to`, `warmup` and the first number of a point are fractions of the budget up to 1 and
env steps above 1.
"""

import math
from typing import Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from spotter.types import Progress


class Schedule(BaseModel):
    """A hyper-parameter over time."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    shape: Literal["constant", "linear", "cosine", "exponential", "piecewise"] = "linear"
    start: float = 0.0
    end: float = 0.0
    from_: float = Field(0.0, alias="from", ge=0)
    to: float = Field(1.0, gt=0)
    warmup: float = Field(0.0, ge=0)
    floor: float | None = None
    points: tuple[tuple[float, float], ...] = ()

    @model_validator(mode="wrap")
    @classmethod
    def _accept_number(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if isinstance(data, int | float) and not isinstance(data, bool):
            return handler({"shape": "constant", "start": data, "end": data})
        if not isinstance(data, dict | Schedule):
            raise ValueError("expected a number or a schedule such as {shape: linear, start: 1, end: 0}")
        if isinstance(data, dict) and "points" in data:
            data = {"shape": "piecewise", **data}
        elif isinstance(data, dict) and "start" not in data:
            raise ValueError("a schedule needs `start` (and usually `end`), or `points`")
        return handler(data)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not all(math.isfinite(value) for value in self.values()):
            raise ValueError("a schedule's values must be finite")
        if self.shape == "exponential" and min(self.start, self.end) <= 0:
            raise ValueError("an exponential schedule needs start and end above 0; use `floor` to stop early")
        if (self.shape == "piecewise") != bool(self.points):
            raise ValueError("`points` and `shape: piecewise` go together")
        if list(self.points) != sorted(self.points, key=lambda point: point[0]):
            raise ValueError("the points of a schedule must be in ascending order")
        mixed = (self.from_ > 1) == (self.to > 1)
        if mixed and self.from_ >= self.to:
            raise ValueError(f"`from` ({self.from_:g}) must come before `to` ({self.to:g})")
        return self

    @model_serializer(mode="wrap")
    def _as_written(self, handler: SerializerFunctionWrapHandler) -> Any:
        if self.shape == "constant":
            return self.start
        if self.points:
            return {"points": [list(point) for point in self.points]}
        data: dict[str, Any] = {"shape": self.shape, "start": self.start, "end": self.end}
        defaults = {"from": 0.0, "to": 1.0, "warmup": 0.0, "floor": None}
        written = {"from": self.from_, "to": self.to, "warmup": self.warmup, "floor": self.floor}
        return data | {key: value for key, value in written.items() if value != defaults[key]}

    def values(self) -> tuple[float, ...]:
        """The extremes it can take, for range checks."""
        ends = tuple(value for _, value in self.points) or (self.start, self.end)
        return ends if self.floor is None else (*ends, self.floor)

    @property
    def needs_budget(self) -> bool:
        """Whether it cannot be evaluated without knowing when training ends."""
        if self.shape == "constant":
            return False
        if self.points:
            return any(0 < at <= 1 for at, _ in self.points)
        return 0 < self.from_ <= 1 or self.to <= 1 or 0 < self.warmup <= 1

    def at(self, progress: Progress) -> float:
        """The value now."""
        if self.shape == "constant":
            return self.start
        if self.points:
            return self._between_points(progress)
        begin, end = _in_steps(self.from_, progress), _in_steps(self.to, progress)
        warm = _in_steps(self.warmup, progress)
        since = progress.env_steps - begin
        low = self.floor or 0.0
        if since < warm:
            return low + (self.start - low) * max(0.0, since) / warm
        span = max(1.0, end - begin - warm)
        value = self._shaped(min(1.0, max(0.0, (since - warm) / span)))
        return value if self.floor is None else max(self.floor, value)

    def _shaped(self, p: float) -> float:
        if self.shape == "cosine":
            return self.end + (self.start - self.end) * 0.5 * (1 + math.cos(math.pi * p))
        if self.shape == "exponential":
            return self.start * (self.end / self.start) ** p
        return self.start + (self.end - self.start) * p

    def _between_points(self, progress: Progress) -> float:
        now = float(progress.env_steps)
        placed = [(_in_steps(at, progress), value) for at, value in self.points]
        if now <= placed[0][0]:
            return placed[0][1]
        for (x0, y0), (x1, y1) in zip(placed, placed[1:], strict=False):
            if now < x1:
                return y0 + (y1 - y0) * (now - x0) / (x1 - x0)
        return placed[-1][1]


def _in_steps(at: float, progress: Progress) -> float:
    return at * (progress.budget or 0) if at <= 1 else at


def constant(value: float) -> Schedule:
    return Schedule(shape="constant", start=value, end=value)


def within(low: float, high: float = math.inf, *, open_low: bool = False) -> AfterValidator:
    """A range check on everything a schedule can become; use as `Annotated[Schedule, within(0, 1)]`."""

    def check(schedule: Schedule) -> Schedule:
        ok = all((low < v if open_low else low <= v) and v <= high for v in schedule.values())
        if not ok:
            bracket = "(" if open_low else "["
            raise ValueError(f"must stay in {bracket}{low:g}, {high:g}]")
        return schedule

    return AfterValidator(check)
