"""This machine: cores, memory, child processes, signals, who may send requests.

Not for anything that knows what a run or an environment is.
"""
