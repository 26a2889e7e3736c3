"""What a review sends: instructions, the digest, the question, and frames if wanted."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from spotter.episodes import format as traces
from spotter.episodes.format import Trace
from spotter.episodes.labels import action_label
from spotter.pages.digest.page import TOKENS, digest
from spotter.pages.digest.private import Discreet
from spotter.pages.digest.tokens import clip, tokens
from spotter.rundir.run import Run
from spotter.text.numbers import count, number, plural, short
from spotter.types import UserError

MOST_FRAMES: Final = 32
_MOST_FRAME_BYTES: Final = 1_000_000
_JPEG: Final = b"\xff\xd8"
_MOST_QUESTION: Final = 2000
USUAL_QUESTION: Final = "What held this run back, and what is the one change to try first?"


@dataclass(frozen=True)
class Frame:
    """One image, and what happened there."""

    step: int
    text: str
    jpeg: bytes


@dataclass(frozen=True)
class Message:
    """Everything that goes out, in the order it does."""

    system: str
    text: str
    question: str
    frames: tuple[Frame, ...]
    episode: str

    @property
    def tokens(self) -> int:
        """Of the texts; what an image costs differs between models."""
        said = (self.system, self.text, *(frame.text for frame in self.frames))
        return sum(map(tokens, said))

    def data(self) -> list[dict[str, Any]]:
        """As the protocol wants it."""
        content: object = self.text
        if self.frames:
            content = [_text(self.text)]
            for frame in self.frames:
                content += [_text(frame.text), _image(frame.jpeg)]
        return [
            {"role": "system", "content": self.system},
            {"role": "user", "content": content},
        ]

    def shown(self) -> str:
        """Every word of it; images by their size."""
        lines = ["--- system ---", self.system, "--- user ---", self.text]
        for frame in self.frames:
            lines += [frame.text, f"[image: JPEG, {count(len(frame.jpeg))} bytes]"]
        return "\n".join(lines)


def message(
    run: Run, *, question: str = "", frames: int = 0, episode: str = "", budget: int = TOKENS
) -> Message:
    """The message about a run; `frames` images of `episode`, else of the newest one captured."""
    discreet = Discreet.about(run.info())
    asked = discreet.hide(question.strip()) or USUAL_QUESTION
    if tokens(asked) > _MOST_QUESTION:
        raise UserError(f"the question is too long; at most about {_MOST_QUESTION} tokens")
    if not 0 <= frames <= MOST_FRAMES:
        raise UserError(f"frames should be 0 to {MOST_FRAMES}, got {frames}")
    text = digest(run, tokens=budget)
    pictures: tuple[Frame, ...] = ()
    name = ""
    if frames:
        folder = traces.find(run, episode) if episode else _newest(run)
        trace, name = traces.load(folder), folder.name
        pictures = tuple(_frames(trace, frames, discreet))
        text += f"\n## Episode\n\n{_episode(trace, discreet)}\n"
    return Message(_system(), f"{text}\n## Question\n\n{asked}\n", asked, pictures, name)


@cache
def _system() -> str:
    return (Path(__file__).parent / "system.txt").read_text(encoding="utf-8").strip()


def _newest(run: Run) -> Path:
    """Of what the run's own policy did in its own game, where there is such a one."""
    there = [one for one in traces.listing(run) if (one / "frames.zip").is_file()]
    if there:
        return next(filter(_is_own, there), there[0])
    raise UserError(
        f"run {run.id} has no episode with images; capture one with `spotter inspect {run.id}`"
    )


def _is_own(folder: Path) -> bool:
    try:
        return traces.load_meta(folder).is_own
    except UserError:
        return False


def _episode(trace: Trace, discreet: Discreet) -> str:
    meta, has_critic = trace.meta, "value" in trace.columns
    who = meta.checkpoint or meta.mode
    changes = discreet.said(" ".join(meta.changes), 200)
    other = f" This was not the run's own game: {changes}." if changes else ""
    paid, critic = "its reward", "what the critic expected"
    expected = f", {paid} and {critic}" if has_critic else f" and {paid}"
    return (
        f"Frames of an episode played by {discreet.said(who, 40)} ({meta.mode}, seed {meta.seed}): "
        f"score {number(meta.score)} in {plural(meta.length, 'step')}, {meta.end}. Each line tells "
        f"the step, what the agent did there{expected}.{other}"
    )


def _frames(trace: Trace, wanted: int, discreet: Discreet) -> list[Frame]:
    """Evenly over the episode, first and last among them."""
    if not len(trace.frames):
        raise UserError("that episode has no images: its environment cannot render")
    steps = np.unique(np.linspace(0, len(trace.frames) - 1, wanted).round().astype(int)).tolist()
    found = [Frame(step, _caption(trace, step, discreet), trace.frames[step]) for step in steps]
    for frame in found:
        if not frame.jpeg.startswith(_JPEG) or len(frame.jpeg) > _MOST_FRAME_BYTES:
            raise UserError(f"the image of step {frame.step} is no JPEG of less than 1 MB")
    return found


def _caption(trace: Trace, step: int, discreet: Discreet) -> str:
    action = clip(discreet.said(action_label(trace, step)), 40)
    parts = [f"Step {step} of {trace.meta.length}", f"does {action}"]
    parts += _numbers(trace, step, {"reward": "reward", "value": "critic expects"})
    return ", ".join(parts)


def _numbers(trace: Trace, step: int, names: dict[str, str]) -> Sequence[str]:
    return [
        f"{word} {short(float(trace.columns[column][step]))}"
        for column, word in names.items()
        if column in trace.columns
    ]


def _text(text: str) -> dict[str, object]:
    return {"type": "text", "text": text}


def _image(jpeg: bytes) -> dict[str, object]:
    data = base64.b64encode(jpeg).decode("ascii")
    return {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{data}"}}
