"""Checks that plug-ins keep their promises, for ours and for third parties' own test suites.

Plain functions that assert; nothing here needs pytest, and nothing here is used in training.
"""
