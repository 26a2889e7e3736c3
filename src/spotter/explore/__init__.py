"""Intrinsic rewards that are learnt: for what a run has not seen, or cannot predict, yet.

Rewards that follow from single steps of an environment, visit counts among them, are signals
(envs/rewards/) and are mixed into the learner's reward. Those here need a network, and have a
critic of their own; their advantage is added to that of the environment's reward.
"""
