"""A language model's opinion of a run: requested explicitly, and kept with the run.

Which model is decided by environment variables alone; without them nothing is ever sent.
"""

from spotter.review.asking import ask, preview
from spotter.review.shelf import Review, stored

__all__ = ["Review", "ask", "preview", "stored"]
