"""Spotter Studio: one local page in the browser over the folder of runs. No torch in here."""
