"""Consoles that run in processes of their own: stable-retro allows one emulator per process.

games    what there is to play, read from stable-retro's files
buttons  combinations of buttons as actions
picture  from a console's screen to what a policy sees
console  our side of a console: starts its process, asks it, ends it
child    the other side, the only code that touches an emulator
rules    what ends an episode besides the game itself
levels   starting points of Super Mario Bros. that stable-retro has no file for
faithful whether a saved state can be restored, by trying
"""
