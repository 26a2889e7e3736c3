"""Spotter's side: the public API with the work's settings, none of the recipes' tuned ones."""

from typing import Any

import numpy as np
from meter import Meter, arguments
from works import Work

_FAMILIES = {
    "CartPole-v1": "classic",
    "Acrobot-v1": "classic",
    "LunarLander-v3": "box2d",
    "Taxi-v4": "toy_text",
    "FrozenLake-v1": "toy_text",
}


def configure(work: Work, seed: int, core: str = "lstm", **env: Any) -> Any:
    """A config of the work's settings; a recipe is used for the pixels' wrappers only.

    `core` remembers, where the work has something to remember with.
    """
    from spotter.config import RunConfig, resolve

    given = settings(work, seed)
    given["env"] |= env
    if work.lstm:
        given["policy"]["core"]["name"] = core
    if work.pixels:
        return resolve(f"{work.env}:rgb", [given]).config
    family = _FAMILIES[work.env]
    # the others do not know which actions are valid
    given["env"] |= {"id": work.env, "family": family, "mask": False}
    return RunConfig.from_data(given)


def settings(work: Work, seed: int) -> dict[str, Any]:
    """Everything the work fixes."""
    algo: dict[str, Any] = {"name": work.algo, "gamma": work.gamma}
    if work.algo == "reinforce":
        algo |= {"lr": 1e-2, "episodes": 1, "baseline": "mean"}
    else:
        algo |= {
            "lr": _maybe_decaying(work, work.lr),
            "lambda": work.gae_lambda,
            "entropy": work.entropy,
            "value_weight": work.value_weight,
            "max_grad_norm": work.max_grad_norm,
            "steps": work.steps,
        }
    if work.algo == "ppo":
        algo |= {
            "minibatch": work.minibatch,
            "epochs": work.epochs,
            "clip": _maybe_decaying(work, work.clip),
        }
    policy: dict[str, Any] = {} if work.pixels else {"hidden": [64, 64], "activation": "tanh"}
    if work.lstm:
        policy["core"] = {"name": "lstm", "size": work.lstm}
    return {
        "env": {"count": work.count},
        "policy": policy | {"normalize_obs": None},
        "algo": algo,
        "budget": {"env_steps": work.env_steps},
        "seed": seed,
        "device": "cpu",
        "threads": work.threads,
    }


def _maybe_decaying(work: Work, value: float) -> Any:
    return {"shape": "linear", "start": value, "end": 0.0} if work.decays else value


def main(**changes: Any) -> None:
    """`changes`: settings of the environment that are not the work's, or another core."""
    work, seed = arguments()
    meter = Meter(work, "spotter-rl", "gymnasium", "torch", "numpy")
    from spotter.training.predict import TrainedPolicy
    from spotter.training.training import Training

    with Training(configure(work, seed, **changes)) as training:
        policy = TrainedPolicy(training.policy, training.config.env)

        def act(obs: np.ndarray) -> Any:
            return policy.predict(obs)[0]

        while training.env_steps < work.env_steps:
            meter.tick(training.step().env_steps, act)
    meter.finish()


if __name__ == "__main__":
    main()
