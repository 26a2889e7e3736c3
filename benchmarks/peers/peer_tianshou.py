"""Tianshou's side: its trainer, collector and vector environment in one process."""

from typing import Any

import gymnasium
import numpy as np
import torch
from meter import Meter, arguments
from tianshou.algorithm import A2C, PPO
from tianshou.algorithm.modelfree.reinforce import ProbabilisticActorPolicy
from tianshou.algorithm.optim import (
    AdamOptimizerFactory,
    LRSchedulerFactoryLinear,
    RMSpropOptimizerFactory,
)
from tianshou.data import Batch, Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OnPolicyTrainerParams
from tianshou.utils.net.common import Net
from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic
from works import Work


def make_env(work: Work) -> gymnasium.Env[Any, Any]:
    env = gymnasium.make(work.env)
    discrete = isinstance(env.observation_space, gymnasium.spaces.Discrete)
    return gymnasium.wrappers.FlattenObservation(env) if discrete else env  # one-hot


def make_algorithm(work: Work) -> Any:
    env = make_env(work)
    shape: Any = env.observation_space.shape
    action_space: Any = env.action_space
    towers = [
        Net(state_shape=shape, hidden_sizes=(64, 64), activation=torch.nn.Tanh) for _ in range(2)
    ]
    actor = DiscreteActor(
        preprocess_net=towers[0], action_shape=int(action_space.n), softmax_output=False
    )
    policy = ProbabilisticActorPolicy(
        actor=actor,
        dist_fn=lambda logits: torch.distributions.Categorical(logits=logits),
        action_space=action_space,
        observation_space=env.observation_space,
        action_scaling=False,
    )
    shared = {
        "policy": policy,
        "critic": DiscreteCritic(preprocess_net=towers[1]),
        "vf_coef": work.value_weight,
        "ent_coef": work.entropy,
        "max_grad_norm": work.max_grad_norm,
        "gae_lambda": work.gae_lambda,
        "gamma": work.gamma,
    }
    if work.algo != "ppo":
        return A2C(optim=RMSpropOptimizerFactory(lr=work.lr, eps=1e-5), **shared)
    optimizer = AdamOptimizerFactory(lr=work.lr, eps=1e-5)
    if work.decays:
        schedule = LRSchedulerFactoryLinear(1, work.env_steps, work.rollout)
        optimizer.with_lr_scheduler_factory(schedule)
    return PPO(optim=optimizer, eps_clip=work.clip, **shared)


def main() -> None:
    work, seed = arguments()
    torch.set_num_threads(work.threads)
    torch.manual_seed(seed)
    np.random.seed(seed)
    meter = Meter(work, "tianshou", "gymnasium", "torch", "numpy")
    algorithm = make_algorithm(work)
    envs = DummyVectorEnv([lambda: make_env(work) for _ in range(work.count)])
    envs.seed(seed)

    def act(obs: np.ndarray) -> Any:
        with torch.no_grad():
            return algorithm.policy(Batch(obs=obs, info={})).logits.argmax(-1)

    def before_rollout(epoch: int, env_steps: int) -> None:
        meter.tick(env_steps, act)
        if work.algo == "ppo" and work.decays:
            algorithm.eps_clip = work.clip * (1 - env_steps / work.env_steps)

    algorithm.run_training(
        OnPolicyTrainerParams(
            training_collector=Collector(
                algorithm, envs, VectorReplayBuffer(work.rollout, work.count)
            ),
            max_epochs=1,
            epoch_num_steps=work.env_steps,
            collection_step_num_env_steps=work.rollout,
            batch_size=work.minibatch,
            update_step_num_repetitions=work.epochs,
            training_fn=before_rollout,
            verbose=False,
            show_progress=False,
        )
    )
    meter.tick(work.env_steps, act)
    meter.finish()


if __name__ == "__main__":
    main()
