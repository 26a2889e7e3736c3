"""Algorithms, one file each: `Config`, `METRICS` and a class that learns from a rollout."""
