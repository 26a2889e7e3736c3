"""Families of environments: one file each, named in `env.family` and by its ids.

Not for what a family is made of: see envs/games.
"""
