"""Paths that skip the framework where its overhead costs more than the mathematics.

Each has the plain torch path beside it as the reference, and tests that both give the same numbers.
"""
