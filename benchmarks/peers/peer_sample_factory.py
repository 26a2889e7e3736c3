"""Sample Factory's side: synchronous PPO with its own sampler, inference and learner processes.

The score is the mean of the last twenty training episodes: the policy lives in another process.
"""

import sys
import tempfile
from importlib import import_module
from typing import Any

import gymnasium
from meter import Meter, arguments
from sample_factory.algo.runners.runner import AlgoObserver
from sample_factory.algo.utils.misc import ExperimentStatus
from sample_factory.cfg.arguments import parse_full_cfg, parse_sf_args
from sample_factory.envs.env_utils import register_env
from sample_factory.train import make_runner
from works import Work

_WORKERS = 2
_EPISODES = 20


def make_env(name: str, cfg: Any = None, env_config: Any = None, render_mode: Any = None) -> Any:
    """Called in the sampler's processes."""
    if not name.startswith("ALE/"):
        env: Any = gymnasium.make(name)
        discrete = isinstance(env.observation_space, gymnasium.spaces.Discrete)
        return gymnasium.wrappers.FlattenObservation(env) if discrete else env  # one-hot
    from sample_factory.envs.env_wrappers import NumpyObsWrapper

    if name not in gymnasium.registry:
        import_module("ale_py.registration").register_v5_envs()
    env = gymnasium.make(name, frameskip=1, repeat_action_probability=0.0)
    env = gymnasium.wrappers.AtariPreprocessing(env)
    return NumpyObsWrapper(gymnasium.wrappers.FrameStack(env, 4))


class Ticker(AlgoObserver):  # type: ignore[misc]
    """Reads the stopwatch after each training iteration."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._scored = False

    def on_training_step(self, runner: Any, training_iteration_since_resume: int) -> None:
        env_steps = runner.env_steps.get(0, 0)
        self._meter.tick(env_steps)
        scores = list(runner.policy_avg_stats.get("reward", [[]])[0])[-_EPISODES:]
        wanted = self._meter.work.score
        if wanted is None or self._scored or len(scores) < _EPISODES:
            return
        if sum(scores) / len(scores) >= wanted:
            self._scored = True
            self._meter.scored(env_steps)


def settings(work: Work, seed: int, folder: str) -> list[str]:
    given: dict[str, Any] = {
        "algo": "APPO",
        "env": work.env,
        "experiment": work.name,
        "train_dir": folder,
        "seed": seed,
        "device": "cpu",
        "async_rl": False,
        "serial_mode": False,
        "batched_sampling": False,
        "num_workers": _WORKERS,
        "num_envs_per_worker": work.count // _WORKERS,
        "worker_num_splits": 1,
        "rollout": work.steps,
        "recurrence": 1,
        "use_rnn": False,
        "batch_size": work.minibatch,
        "num_batches_per_epoch": work.rollout // work.minibatch,
        "num_epochs": work.epochs,
        "shuffle_minibatches": True,
        "gamma": work.gamma,
        "gae_lambda": work.gae_lambda,
        "learning_rate": work.lr,
        "lr_schedule": "constant",
        "ppo_clip_ratio": work.clip,
        "exploration_loss_coeff": work.entropy,
        "value_loss_coeff": work.value_weight,
        "max_grad_norm": work.max_grad_norm,
        "adam_eps": 1e-5,
        "kl_loss_coeff": 0.0,
        "with_vtrace": False,
        "normalize_input": False,
        "normalize_returns": False,
        "obs_scale": 255.0 if work.pixels else 1.0,
        "nonlinearity": "relu" if work.pixels else "tanh",
        "actor_critic_share_weights": work.pixels,
        "encoder_conv_architecture": "convnet_atari",
        "stats_avg": _EPISODES,
        "train_for_env_steps": work.env_steps - 1,
        "save_every_sec": 10**6,
    }
    flags = [f"--{name}={value}" for name, value in given.items()]
    return [*flags, "--encoder_mlp_layers", "64", "64"]


def main() -> None:
    work, seed = arguments()
    meter = Meter(work, "sample-factory", "gymnasium", "torch", "numpy")
    register_env(work.env, make_env)
    with tempfile.TemporaryDirectory() as folder:
        flags = settings(work, seed, folder)
        parser, _ = parse_sf_args(argv=flags)
        config = parse_full_cfg(parser, flags)
        if work.decays:  # which the command line refuses and the learner knows
            config.lr_schedule = "linear_decay"
        _, runner = make_runner(config)
        runner.register_observer(Ticker(meter))
        if runner.init() != ExperimentStatus.SUCCESS or runner.run() != ExperimentStatus.SUCCESS:
            sys.exit("Sample Factory did not finish")
    meter.finish(peak_mb=None, cpu_seconds=None)  # spread over several processes


if __name__ == "__main__":
    main()
