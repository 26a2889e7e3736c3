"""Named extra rewards, one file each. See envs/signals.py for what a signal file holds."""
