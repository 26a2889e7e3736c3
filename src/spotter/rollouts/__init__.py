"""Rollouts as data: the [T, N] block one update learns from, and frames stored once.

Not for collecting them (collect/) nor for computing with them (engines/).
"""
