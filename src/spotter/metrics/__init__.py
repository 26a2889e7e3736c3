"""What is measured, declared: meaning, unit, bounds. Pure data; no torch, no files."""
