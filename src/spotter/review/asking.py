"""Show what a review would send, or send it and keep the answer with the run."""

from spotter.pages.digest.page import TOKENS
from spotter.review import client, shelf
from spotter.review.client import Client
from spotter.review.message import Message, message
from spotter.review.shelf import Review
from spotter.rundir import identity
from spotter.rundir.run import Run
from spotter.text.numbers import count, plural
from spotter.types import UserError


def preview(
    run: Run, *, question: str = "", frames: int = 0, episode: str = "", tokens: int = TOKENS
) -> str:
    """Every word that `ask` would send, to whom, and how many tokens it is; sends nothing."""
    made = message(run, question=question, frames=frames, episode=episode, budget=tokens)
    return f"{summary(made)}\n\n{made.shown()}"


def ask(
    run: Run,
    *,
    question: str = "",
    frames: int = 0,
    episode: str = "",
    tokens: int = TOKENS,
    timeout_s: float = 180.0,
) -> Review:
    """Send the digest and the question, with `frames` images; the answer is kept with the run.

    `UserError` if no model is set up, or it cannot be asked.
    """
    endpoint = client.needed()
    made = message(run, question=question, frames=frames, episode=episode, budget=tokens)
    answer = Client(endpoint, timeout_s).ask(made.data())
    return shelf.keep(
        run,
        {
            "by": identity.user(),
            "model": answer.model,
            "question": made.question,
            "answer": answer.text,
            "is_cut": answer.is_cut,
            "tokens": made.tokens,
            "frames": tuple(frame.step for frame in made.frames),
            "episode": made.episode,
            "sent": made.shown(),
        },
    )


def summary(made: Message) -> str:
    """How much would go where."""
    pictures = f" and {plural(len(made.frames), 'frame')}" if made.frames else ""
    return f"About {count(made.tokens)} tokens{pictures}, to {receiver()}."


def receiver() -> str:
    """`llama3 at localhost:11434`, or why there is none."""
    try:
        endpoint = client.configured()
    except UserError as error:
        return f"no model: {error}"
    if endpoint is None:
        return f"no model: {client.URL_VARIABLE} and {client.MODEL_VARIABLE} are not set"
    return f"{endpoint.model} at {endpoint.host}"
