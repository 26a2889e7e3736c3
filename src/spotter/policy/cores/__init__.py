"""Memories between trunk and heads, one file each: `build` makes one for so many features."""
