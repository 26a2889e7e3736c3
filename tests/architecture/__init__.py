"""The shape of the code, read with `ast`."""
