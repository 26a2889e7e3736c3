"""What the worker process does for the tools: functions of plain data that need torch."""

from typing import Any


def evaluate(selector: str, episodes: int | None) -> list[dict[str, Any]]:
    """Play a saved policy again, on test seeds where `episodes` is given."""
    from spotter.evaluate import play_again

    return [
        {
            "held_out_seeds": played.evaluation.seeds,
            "score": played.evaluation.score,
            "episodes": len(played.evaluation.scores),
            "least": min(played.evaluation.scores, default=None),
            "greatest": max(played.evaluation.scores, default=None),
            "solved": played.evaluation.solved,
            "as_written_down": played.as_written,
        }
        for played in play_again(selector, episodes)
    ]
