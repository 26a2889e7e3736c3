"""What happened during a run, as sentences; events that are not worth one give none."""

from collections.abc import Mapping

from spotter.text.numbers import count, plural, plus_minus, score
from spotter.types import Evaluation


def sentence(kind: str, data: Mapping[str, object]) -> str | None:
    """For a reader; tolerant of missing entries, since a sentence is never worth a crash."""
    match kind:
        case "checkpoint":
            return f"new best checkpoint{_at(data)}" if data.get("best") else None
        case "video":
            points = data.get("score")
            earned = f" (score {score(points)})" if isinstance(points, int | float) else ""
            return f"video {data.get('file') or data.get('path', '')}{earned}"
        case "change":
            before, after = _setting(data.get("before")), _setting(data.get("after"))
            return f"{data.get('setting', 'a setting')}: {before} -> {after}{_why(data, 'why')}"
        case "fault":
            kept = f"; kept in {data['folder']}" if data.get("folder") else ""
            return f"{data.get('text', 'an environment copy failed')}{kept}"
        case "save_failed":
            return f"a checkpoint could not be saved{_why(data, 'text', 'error', 'why')}"
    return None


def resumed(env_steps: int) -> str:
    return f"resumes from {count(env_steps)} env steps"


def evaluation_sentence(evaluation: Evaluation) -> str:
    wanted = "" if evaluation.threshold is None else f" (solved at {evaluation.threshold:g})"
    found = evaluation.interval
    return (
        f"{evaluation.seeds} score {plus_minus(found.mean, found.half)} over "
        f"{plural(found.count, 'held-out episode')}{wanted}"
    )


def _at(data: Mapping[str, object]) -> str:
    env_steps = data.get("env_steps", data.get("step"))
    return f" at {count(env_steps)} env steps" if isinstance(env_steps, int) else ""


def _setting(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _why(data: Mapping[str, object], *keys: str) -> str:
    found = next((data[key] for key in keys if data.get(key)), None)
    return f" ({found})" if found else ""
