"""Vector back-ends: how parallel envs are stepped. All keep the one transition contract.

Not for what an environment is.
"""
