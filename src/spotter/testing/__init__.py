"""Checks that plug-ins meet their contracts, for our own and for third-party test suites.

Plain functions that assert; nothing here needs pytest, and nothing here is used in training.
"""
