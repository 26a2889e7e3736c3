"""Sinks that a config names, one file each: `make(config) -> Sink`, and a `Config` for settings.

They mirror what the run's folder holds; nothing reads their output back.
"""
