"""What `envs/families/vizdoom.py` is made of: scenarios, WAD files, buttons, the game process,
threads."""
