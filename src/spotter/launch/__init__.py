"""Where runs are started: `local` is this machine."""
