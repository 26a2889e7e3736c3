"""Stable-Baselines3's side: its algorithms on its own vector environment, in one process."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from meter import Meter, arguments
from stable_baselines3 import A2C, PPO
from stable_baselines3.common.atari_wrappers import AtariWrapper
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecFrameStack
from works import Work


class Ticker(BaseCallback):  # type: ignore[misc]
    """Reads the stopwatch whenever an update is over."""

    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self._meter = meter

    def _act(self, obs: np.ndarray) -> Any:
        return self.model.predict(obs, deterministic=True)[0]

    def _on_rollout_start(self) -> None:
        self._meter.tick(self.num_timesteps, self._act)

    def _on_training_end(self) -> None:
        self._meter.tick(self.num_timesteps, self._act)

    def _on_step(self) -> bool:
        return True


def environments(work: Work, seed: int) -> Any:
    if not work.pixels:
        return make_vec_env(work.env, work.count, seed)
    import ale_py
    import gymnasium

    gymnasium.register_envs(ale_py)
    # frames are skipped by the wrapper; no random repeats of actions
    raw = {"frameskip": 1, "repeat_action_probability": 0.0}
    vector = make_vec_env(work.env, work.count, seed, wrapper_class=AtariWrapper, env_kwargs=raw)
    return VecFrameStack(vector, 4)


def decaying(work: Work, value: float) -> float | Callable[[float], float]:
    return (lambda remaining: remaining * value) if work.decays else value


def make_ppo(kind: Any, work: Work, seed: int, policy: str = "", **more: Any) -> Any:
    return kind(
        policy or ("CnnPolicy" if work.pixels else "MlpPolicy"),
        environments(work, seed),
        **more,
        n_steps=work.steps,
        batch_size=work.minibatch,
        n_epochs=work.epochs,
        gamma=work.gamma,
        gae_lambda=work.gae_lambda,
        learning_rate=decaying(work, work.lr),
        clip_range=decaying(work, work.clip),
        ent_coef=work.entropy,
        vf_coef=work.value_weight,
        max_grad_norm=work.max_grad_norm,
        seed=seed,
        device="cpu",
    )


def make_a2c(work: Work, seed: int) -> Any:
    return A2C(
        "MlpPolicy",
        environments(work, seed),
        n_steps=work.steps,
        gamma=work.gamma,
        gae_lambda=work.gae_lambda,
        learning_rate=work.lr,
        ent_coef=work.entropy,
        vf_coef=work.value_weight,
        max_grad_norm=work.max_grad_norm,
        seed=seed,
        device="cpu",
    )


def make_recurrent(work: Work, seed: int) -> Any:
    from sb3_contrib import RecurrentPPO

    return make_ppo(
        RecurrentPPO, work, seed,
        policy="MlpLstmPolicy", policy_kwargs={"lstm_hidden_size": work.lstm},
    )  # fmt: skip


def main() -> None:
    work, seed = arguments()
    torch.set_num_threads(work.threads)
    meter = Meter(work, "stable-baselines3", "gymnasium", "torch", "numpy")
    if work.lstm:
        model = make_recurrent(work, seed)
    else:
        model = make_ppo(PPO, work, seed) if work.algo == "ppo" else make_a2c(work, seed)
    model.learn(work.env_steps, callback=Ticker(meter))
    meter.finish()


if __name__ == "__main__":
    main()
