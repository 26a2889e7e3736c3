"""Named extra rewards, one file each. See base.py for what a signal file holds."""
