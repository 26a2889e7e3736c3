"""The run directory as an API: what training writes and everything else reads. No torch here."""
