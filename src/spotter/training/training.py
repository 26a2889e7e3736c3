"""One training step: `Training.step()` gets a rollout and has the algorithm learn from it.

Not for what happens around a step (loop.py) nor for a whole run (run.py).
"""

from collections.abc import Mapping
from time import perf_counter
from typing import Any, Self

import torch
from torch import Tensor

from spotter import plugins, seeding
from spotter.collect import sources, statistics
from spotter.collect.algorithm import Algorithm, settings_used
from spotter.config import RunConfig
from spotter.engines import devices, rng_state
from spotter.envs.backends.layout import Layout
from spotter.envs.backends.vector import Note, VectorEnv
from spotter.envs.make import choose_backend, layout_of, make_vector
from spotter.explore.intrinsic import Explorer
from spotter.policy.actor_critic import Policy
from spotter.policy.body import has_images
from spotter.rollouts.rollout import Rollout
from spotter.system import machine
from spotter.training import estimate
from spotter.types import Fault, Progress, Update, UserError


class Training:
    """Environments, policy and algorithm; one `step()` is one update."""

    def __init__(self, config: RunConfig, after_env_steps: int = 0) -> None:
        """`after_env_steps`: where a resumed run continues; new episodes get seeds of their own."""
        self.config = config
        self.backend = choose_backend(
            config.env, config.reward, needs_whole_episodes=config.algo.needs_whole_episodes
        )
        estimate.check_envs(config, self.backend.name)
        vector = None
        try:
            vector, layout = self._look()
            self.spaces, self.has_mask = layout.spaces, layout.has_mask
            self.device = devices.choose(config, has_images(self.spaces))
            depths = vector.depths if vector else {}
            estimate.check_learning(config, self.spaces, depths, self.device)
            if config.policy.precision != "float32" and self.device.type != "cuda":
                raise UserError(
                    f"policy.precision: {config.policy.precision} needs an NVIDIA GPU, and this "
                    f"run is on {self.device.type}; leave it out or set device: cuda"
                )
            # before anything is computed: initial weights depend on it in their last bits
            self.threads = config.threads or devices.threads(self.spaces)
            torch.set_num_threads(self.threads)
            if self.device.type == "cpu" and has_images(self.spaces):
                devices.keep_freed_memory()
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seeding.integer(config.seed, "weights"))
                self.policy = Policy(self.spaces, config.policy).to(self.device)
            self.algorithm: Algorithm = plugins.load("algos", config.algo.name).make(
                config.algo, self.policy, seeding.integer(config.seed, "minibatches")
            )
            intrinsic = config.reward.intrinsic
            self.explorer = Explorer(config, self.spaces, self.device) if intrinsic else None
            self.updates = self.env_steps = self.vector_steps = 0
            self.last: Rollout | None = None
            """What the latest update learnt from."""
            self.source = sources.make(config, self.policy, vector, self.device, after_env_steps)
        except BaseException:
            if vector:
                vector.close()
            raise

    def _look(self) -> tuple[VectorEnv | None, Layout]:
        """The envs, and what they look like; none yet if a process of its own may step them."""
        config = self.config
        layout = layout_of(config.env, config.reward) if config.algo.overlaps else None
        if layout is not None and not has_images(layout.spaces):
            return None, layout
        vector = make_vector(config.env, config.reward, backend=self.backend.name)
        has_mask = vector.buffers.mask is not None
        return vector, Layout(vector.spaces, vector.signal_kinds, has_mask)

    @property
    def overlap(self) -> str:
        """How collecting and learning overlap; empty where they take turns."""
        return self.source.description

    @property
    def progress(self) -> Progress:
        return Progress(self.env_steps, self.config.budget.env_steps)

    def step(self) -> Update:
        """Collect one rollout and learn from it."""
        began, before = perf_counter(), self.env_steps
        gathered = self.source.next(self.policy, self.progress)
        self.env_steps, self.vector_steps = gathered.env_steps, gathered.vector_steps
        collected = perf_counter()
        self.last = rollout = gathered.rollout
        explored = self.explorer.learn(rollout, gathered.progress) if self.explorer else {}
        metrics = self.algorithm.update(rollout, gathered.progress) | explored
        # Statistics move only here, so acting and learning on one rollout see the same inputs.
        if self.policy.inputs.is_running:
            self.policy.observe(rollout.flatten(rollout.value, rollout.value).obs)
        metrics |= statistics.statistics(rollout, self.policy)
        metrics |= settings_used(self.algorithm, self.config.algo, gathered.progress)
        if self.config.policy.foresees:
            weights = self.config.policy.foresight_at(gathered.progress)
            metrics |= {f"hp/policy.{name}": weight for name, weight in weights.items()}
        metrics |= {f"hp/reward.{name}": value for name, value in gathered.weights.items()}
        self.updates += 1
        # what another process does meanwhile takes no time here, waiting for it does
        seconds = {"idle": collected - began} if self.config.algo.overlaps else gathered.seconds
        return Update(
            index=self.updates,
            env_steps=self.env_steps,
            new_env_steps=self.env_steps - before,
            vector_steps=self.vector_steps,
            metrics=metrics,
            episodes=gathered.episodes,
            seconds=seconds | {"learn": perf_counter() - collected},
        )

    def retune(self, config: RunConfig) -> None:
        """Use other values of schedulable settings from now on."""
        self.config = config
        self.policy.config = config.policy
        self.algorithm.retune(config.algo)
        self.source.retune(config)
        if self.explorer:
            self.explorer.retune(config)

    def listen(self, note: Note) -> None:
        """Register a callback for events of the envs."""
        self.source.listen(note)

    def take_faults(self) -> list[Fault]:
        """Envs that failed since the last call."""
        return self.source.take_faults()

    def state(self) -> dict[str, Any]:
        """All that another `Training` needs, besides the policy, to continue exactly."""
        return {
            "updates": self.updates,
            "env_steps": self.env_steps,
            "vector_steps": self.vector_steps,
            "threads": self.threads,
            "algorithm": _as_arrays(self.algorithm.state()),
            "explorer": self.explorer.state() if self.explorer else None,
            **self.source.state(),
            "streams": rng_state.state(self.device),
        }

    def restore(self, weights: Mapping[str, Tensor], state: Mapping[str, Any]) -> list[int]:
        """Restore `state()`; returns the envs whose episodes had to restart."""
        self.policy.load_state_dict(dict(weights))
        if self.config.threads is None:  # sums depend on it in their last bits
            self.threads = min(state.get("threads", self.threads), machine.cores())
            torch.set_num_threads(self.threads)
        self.updates = state["updates"]
        self.algorithm.restore(state["algorithm"])
        if self.explorer and state.get("explorer"):
            self.explorer.restore(state["explorer"])
        begun = self.source.restore(state)
        counted = {**state["collector"], **state}  # the same, unless a collector works ahead
        self.env_steps, self.vector_steps = counted["env_steps"], counted["vector_steps"]
        rng_state.restore(state["streams"], self.device)
        return begun

    def close(self) -> None:
        self.source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _as_arrays(tree: object) -> object:
    """Tensors as numpy arrays, wherever they are."""
    if isinstance(tree, Tensor):
        return tree.detach().cpu().numpy().copy()
    if isinstance(tree, dict):
        return {key: _as_arrays(value) for key, value in tree.items()}
    return tree
