"""Back-end `batch`: all instances of a simple environment stepped in one NumPy computation.

A world holds the states of N envs side by side and does what Gymnasium's `step` does, the same
operations in the same order and precision, on arrays. Every number equals `LocalVector`'s, bit for
bit; `tests/envs/backends/batch` compares them step by step. `catalogue` says what can be run this
way.
"""
