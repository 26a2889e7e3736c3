"""Groups of runs: several seeds at once or one after the other, one verdict.

Not for starting single processes: see launch/.
"""
