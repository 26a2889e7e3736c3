"""Runs as processes of their own: `dispatch` starts and stops them through a launcher.

Not for training: what a launcher starts is `spotter train`.
"""
