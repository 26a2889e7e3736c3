"""Environments: families that make and describe them, wrappers, reward signals, vector back-ends."""
