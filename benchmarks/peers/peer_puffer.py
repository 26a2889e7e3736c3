"""PufferLib's side: its trainer on its serial vector environment, on the CPU.

Its clip range is constant, its learning rate falls as a cosine, its minibatches are whole segments
drawn by priority, and segments of at most 64 steps stand in for longer rollouts.
"""

import ast
import configparser
import tempfile
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pufferlib
import pufferlib.emulation
import pufferlib.vector
import torch
from meter import Meter, arguments
from pufferlib.pufferl import PuffeRL
from pufferlib.pytorch import layer_init
from torch import Tensor, nn
from works import Work

_LONGEST_SEGMENT = 64


class Policy(nn.Module):
    """The others' network: separate actor and critic for vectors, one CNN for pixels."""

    def __init__(self, work: Work, env: Any) -> None:
        super().__init__()
        actions, shape = env.single_action_space.n, env.single_observation_space.shape
        self.scale = 255.0 if work.pixels else 1.0
        self.actor = _cnn() if work.pixels else _tower(int(np.prod(shape)))
        self.critic = self.actor if work.pixels else _tower(int(np.prod(shape)))
        width = 512 if work.pixels else 64
        self.logits = layer_init(nn.Linear(width, actions), std=0.01)
        self.value = layer_init(nn.Linear(width, 1), std=1.0)

    def forward(self, obs: Tensor, state: Any = None) -> tuple[Tensor, Tensor]:
        obs = obs.float() / self.scale
        seen = self.actor(obs)
        judged = seen if self.critic is self.actor else self.critic(obs)
        return self.logits(seen), self.value(judged)

    def forward_eval(self, obs: Tensor, state: Any = None) -> tuple[Tensor, Tensor]:
        return self(obs)  # type: ignore[no-any-return]


def _tower(width: int) -> nn.Module:
    first, second = layer_init(nn.Linear(width, 64)), layer_init(nn.Linear(64, 64))
    return nn.Sequential(first, nn.Tanh(), second, nn.Tanh())


def _cnn() -> nn.Module:
    return nn.Sequential(
        layer_init(nn.Conv2d(4, 32, 8, 4)),
        nn.ReLU(),
        layer_init(nn.Conv2d(32, 64, 4, 2)),
        nn.ReLU(),
        layer_init(nn.Conv2d(64, 64, 3, 1)),
        nn.ReLU(),
        nn.Flatten(),
        layer_init(nn.Linear(3136, 512)),
        nn.ReLU(),
    )


def make_env(work: Work, buf: Any = None, seed: int = 0) -> Any:
    env: gymnasium.Env[Any, Any]
    if work.pixels:
        import ale_py

        gymnasium.register_envs(ale_py)
        env = gymnasium.make(work.env, frameskip=1, repeat_action_probability=0.0)
        env = gymnasium.wrappers.AtariPreprocessing(env)
        env = gymnasium.wrappers.FrameStackObservation(env, 4)
    else:
        env = gymnasium.make(work.env)
        if isinstance(env.observation_space, gymnasium.spaces.Discrete):
            env = gymnasium.wrappers.FlattenObservation(env)  # one-hot
            env = gymnasium.wrappers.DtypeObservation(env, np.float32)
    return pufferlib.emulation.GymnasiumPufferEnv(env=env, buf=buf, seed=seed)


def settings(work: Work, seed: int, folder: str) -> dict[str, Any]:
    """PufferLib's own defaults but for what the work fixes."""
    parser = configparser.ConfigParser()
    parser.read(Path(pufferlib.__file__).parent / "config" / "default.ini")
    own = {key: _literal(value) for key, value in parser["train"].items()}
    return own | {
        "env": work.env,
        "use_rnn": False,
        "seed": seed,
        "device": "cpu",
        "optimizer": "adam",
        "adam_beta1": 0.9,
        "adam_eps": 1e-5,
        "anneal_lr": work.decays,
        "total_timesteps": work.env_steps,
        "learning_rate": work.lr,
        "gamma": work.gamma,
        "gae_lambda": work.gae_lambda,
        "update_epochs": work.epochs,
        "clip_coef": work.clip,
        "vf_coef": work.value_weight,
        "max_grad_norm": work.max_grad_norm,
        "ent_coef": work.entropy,
        "batch_size": work.rollout,
        "minibatch_size": work.minibatch,
        "bptt_horizon": min(work.steps, _LONGEST_SEGMENT),
        "data_dir": folder,
        "checkpoint_interval": 10**9,
    }


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text.strip()


def main() -> None:
    work, seed = arguments()
    torch.set_num_threads(work.threads)
    torch.manual_seed(seed)
    meter = Meter(work, "pufferlib", "gymnasium", "torch", "numpy")
    PuffeRL.print_dashboard = lambda *args, **kwargs: None
    envs = pufferlib.vector.make(
        make_env, env_args=[work], backend=pufferlib.vector.Serial, num_envs=work.count, seed=seed
    )
    policy = Policy(work, envs.driver_env)

    def act(obs: np.ndarray) -> Any:
        with torch.no_grad():
            return policy(torch.as_tensor(obs))[0].argmax(-1)

    with tempfile.TemporaryDirectory() as folder:
        trainer = PuffeRL(settings(work, seed, folder), envs, policy)
        while trainer.global_step < work.env_steps:
            trainer.evaluate()
            trainer.train()
            meter.tick(trainer.global_step, act)
        trainer.utilization.stop()
    meter.finish()


if __name__ == "__main__":
    main()
