"""Where a run's numbers go, one file each; see `Sink` in recorder.py."""
