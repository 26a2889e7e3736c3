"""Numbers for people, as the commands print them; made in display/words.py."""

from spotter.display.words import count, duration, number, plural, score, speed, to_threshold

__all__ = ["count", "duration", "number", "plural", "score", "speed", "to_threshold"]
