"""Wrappers, one file each. A file holds `Config(WrapperConfig)` and `wrap(config, env)`."""
