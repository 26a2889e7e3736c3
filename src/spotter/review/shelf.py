"""Reviews as files of the run: `reviews/<n>.json` holds one, `<n>.md` is the same to read."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from itertools import count
from pathlib import Path
from typing import Any, Final

from spotter.rundir import identity
from spotter.rundir.files import UNREADABLE, cannot_write, read_json, write_atomic, write_json
from spotter.rundir.run import Run

FOLDER: Final = "reviews"


@dataclass(frozen=True)
class Review:
    """One question and its answer."""

    number: int
    time: str
    """UTC, when the answer was there."""
    by: str
    """Who asked."""
    model: str
    question: str
    answer: str
    is_cut: bool
    """Whether the server ended the answer before the model did."""
    tokens: int
    """Of what was sent, by our estimate, without images."""
    frames: tuple[int, ...]
    """Steps whose images were sent."""
    episode: str
    sent: str
    """Every word that was sent; images by their size."""

    def markdown(self) -> str:
        """To read: who was asked what, and what came back."""
        pictures = f", with {len(self.frames)} frames of {self.episode}" if self.frames else ""
        cut = "\n\n(The answer was cut by the server's limit.)" if self.is_cut else ""
        return (
            f"# Review {self.number} by {self.model}\n\n"
            f"{self.time[:19].replace('T', ' ')} UTC{pictures}\n\n"
            f"> {' '.join(self.question.split())}\n\n{self.answer.strip()}{cut}\n"
        )


def keep(run: Run, fields: Mapping[str, Any]) -> Review:
    """Write a review under the next number, and say so in the run's events."""
    folder = run.folder / FOLDER
    number, claim = _claim(folder)
    try:
        review = Review(number=number, time=identity.now(), **fields)
        write_atomic(folder / f"{number}.md", review.markdown())
        write_json(folder / f"{number}.json", asdict(review))  # last: readers look for this one
    finally:
        claim.unlink(missing_ok=True)
    reported = {key: vars(review)[key] for key in ("number", "model", "question", "by")}
    run.event("review", reported)
    return review


def _claim(folder: Path) -> tuple[int, Path]:
    """A unique number, also if two ask at once."""
    try:
        folder.mkdir(exist_ok=True)
        for number in count(1):
            claim = folder / f".{number}.claim"
            try:
                claim.open("x").close()
            except FileExistsError:
                continue
            if not any((folder / f"{number}.{kind}").exists() for kind in ("json", "md")):
                return number, claim
            claim.unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
    raise AssertionError("unreachable")


def stored(run: Run) -> list[Review]:
    """Every review of a run, oldest first; one that cannot be read is passed over."""
    found = []
    for path in (run.folder / FOLDER).glob("*.json"):
        try:
            data = read_json(path)
            known = {field.name: data[field.name] for field in fields(Review)}
            known["frames"] = tuple(int(step) for step in known["frames"])
            found.append(Review(**{**known, "number": int(path.stem)}))
        except UNREADABLE:
            continue
    return sorted(found, key=lambda review: review.number)
