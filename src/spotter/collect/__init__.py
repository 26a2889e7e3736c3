"""Collecting rollouts: act in all envs, mix the reward, say what a rollout looks like.

Not for learning from them, and not for where the envs run.
"""
