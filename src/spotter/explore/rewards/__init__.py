"""Intrinsic rewards, one file each: `make` builds what measures novelty and learns from steps."""
