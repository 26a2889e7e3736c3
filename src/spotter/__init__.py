"""Spotter: a reinforcement-learning workbench that watches every repetition.

    import spotter
    result = spotter.train("CartPole-v1:ppo", seed=1)
    print(result.score)
"""

__version__ = "0.1.0"
