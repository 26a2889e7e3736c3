"""Launchers that a config names, one file each: `make(config) -> Launcher`, and a `Config` for
settings.

They start commands and end them. What a run is and which may be started is none of their business.
"""
