"""What is about to be trained: one run, or a group of several seeds with one verdict.

Not for starting single processes: see launch/.
"""
