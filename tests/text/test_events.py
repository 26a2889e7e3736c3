"""What happened, in sentences."""

import pytest

from spotter.text.events import evaluation_sentence, sentence
from tests.sinks.terminal.scripted import evaluation


@pytest.mark.parametrize(
    ("kind", "data", "text"),
    [
        (
            "checkpoint",
            {"step": 12_800, "seconds": 0.1, "best": True},
            "new best checkpoint at 12,800 env steps",
        ),
        ("checkpoint", {"step": 12_800, "seconds": 0.1, "best": False}, None),
        ("video", {"path": "videos/a.mp4", "score": 480.0}, "video videos/a.mp4 (score 480.0)"),
        ("video", {"file": "a.mp4", "score": 48.0, "best": True}, "video a.mp4 (score 48.0)"),
        (
            "change",
            {"setting": "algo.lr", "before": 3e-4, "after": 1e-4, "why": "plateau"},
            "algo.lr: 0.0003 -> 0.0001 (plateau)",
        ),
        (
            "fault",
            {"text": "copy 3 raised ValueError", "folder": "faults/1"},
            "copy 3 raised ValueError; kept in faults/1",
        ),
        ("save_failed", {"error": "disk full"}, "a checkpoint could not be saved (disk full)"),
        ("evaluation", {"score": 1.0}, None),
        ("something new", {}, None),
    ],
)
def test_sentences(kind, data, text):
    assert sentence(kind, data) == text


@pytest.mark.parametrize("kind", ["video", "change", "fault", "save_failed", "checkpoint"])
def test_an_event_with_nothing_in_it_is_no_crash(kind):
    sentence(kind, {})
    sentence(kind, dict.fromkeys(("path", "score", "env_steps", "step", "text", "best")))


def test_an_evaluation_in_a_sentence():
    said = evaluation_sentence(evaluation(12.345, seeds="eval"))
    assert said == "eval score 12.3 ± 0.0 over 2 held-out episodes (solved at 475)"
    assert evaluation_sentence(evaluation(1.0, None)).endswith("2 held-out episodes")
