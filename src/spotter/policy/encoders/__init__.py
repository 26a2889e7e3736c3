"""Image encoders, one file each: `build(shape, policy)`; see policy/encoding.py."""
