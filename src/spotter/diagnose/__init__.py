"""What goes wrong in a run: the table of rules, alerts while training, the doctor after.

Not for declaring metrics (metrics/) nor for showing them.
"""
