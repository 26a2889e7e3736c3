"""One episode, step by step: its format, how it is captured, and what can be read from it."""
