"""What the families of games are made of: consoles, emulators, the Doom process.

Not for families themselves: see envs/families.
"""
