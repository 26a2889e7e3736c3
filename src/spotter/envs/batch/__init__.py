"""Back-end `batch`: all copies of a simple environment stepped in one NumPy computation.

A world holds the states of N copies side by side and does what Gymnasium's `step` does, the same
operations in the same order and precision, on arrays. Every number equals `SyncVector`'s, bit for
bit; `tests/envs/batch` compares them step by step. `catalogue` says what can be run this way.
"""
