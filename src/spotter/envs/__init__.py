"""Environments: families, wrappers, reward signals, and the vector back-ends that step them."""
