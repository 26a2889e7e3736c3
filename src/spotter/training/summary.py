"""What a run is about to do, for its reader and for the watcher."""

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from spotter import seeding
from spotter.config import RunConfig
from spotter.config.rewards import CountConfig
from spotter.config.watching import MOST_EPISODES, EvalConfig
from spotter.diagnose.alerts import Facts
from spotter.engines.learner import learns_in_numpy
from spotter.engines.network import choose_engine
from spotter.envs.base import episode_limit, family
from spotter.envs.fingerprint import fingerprint, protocol_name
from spotter.envs.grade import Grade
from spotter.envs.make import UNLIMITED_CUT, check_envs_differ
from spotter.envs.scale import Scale
from spotter.policy.body import has_images
from spotter.rundir.run import Run
from spotter.types import ActionSpec, Leaf, Spaces

if TYPE_CHECKING:
    from spotter.training.training import Training

_CUT: Final = f"none; evaluation cuts episodes at {UNLIMITED_CUT:,} env steps"
Blocks = dict[str, dict[str, str]]


def blocks(training: "Training", run: Run | None, threshold: float | None, grade: Grade) -> Blocks:
    """Run, environment and training, each label -> text."""
    return {
        "Run": _run(training, run, grade),
        "Environment": _environment(training, threshold),
        "Training": _training(training),
    }


def warnings(config: RunConfig) -> Iterator[str]:
    """What is odd about the envs it is about to train in."""
    seeds = seeding.integers(config.seed, "train envs", config.env.count)
    if warning := check_envs_differ(config.env, seeds):
        yield warning


def _run(training: "Training", run: Run | None, grade: Grade) -> dict[str, str]:
    if run is None:
        return {"folder": "none (nothing is saved)", "seed": str(training.config.seed)}
    info = run.info()
    block = {"id": run.id, "folder": str(run.folder), "seed": str(training.config.seed)}
    if info.get("parent"):
        block["starts from"] = f"{info['parent']['run']} {info['parent']['checkpoint']}"
    if info.get("why"):
        block["why"] = info["why"]
    return block | {"resumes": f"{grade.grade} ({grade.why})"}


def _environment(training: "Training", threshold: float | None) -> dict[str, str]:
    config, spaces = training.config.env, training.spaces
    observation = ", ".join(_leaf(path, leaf) for path, leaf in spaces.observation.items())
    action = spaces.action
    size = f" {list(action.nvec)}" if action.nvec else f" {list(action.shape)}"
    block = {
        "id": config.id,
        "protocol": protocol_name(config, training.config.reward),
        "fingerprint": fingerprint(config, training.config.reward),
        "about": family(config).describe(config).description,
        "observes": observation,
        "acts": f"{action.kind}{size}",
        "envs": f"{config.count}, {training.backend.name} ({training.backend.why})",
        "time limit": "" if episode_limit(config) else _CUT,
        "wrappers": ", ".join(wrapper.name for wrapper in config.wrappers),
        "solved at": "" if threshold is None else f"{threshold:g}",
    }
    return {label: text for label, text in block.items() if text}


def _leaf(path: str, leaf: Leaf) -> str:
    shape = list(leaf.nvec) if leaf.nvec else list(leaf.shape)
    return f"{leaf.kind} {shape}" if path == "obs" else f"{path}: {leaf.kind} {shape}"


def _training(training: "Training") -> dict[str, str]:
    config = training.config
    parameters = sum(parameter.numel() for parameter in training.policy.parameters())
    overlap = {"overlap": training.overlap} if training.overlap else {}
    return {
        "algorithm": config.algo.name,
        "policy": f"{parameters:,} parameters on {training.device}{_core(training)}",
        "engine": _engine(training),
        **overlap,
        "budget": str(config.budget),
        "evaluates": _evaluates(config.eval),
    }


def _core(training: "Training") -> str:
    """What a policy with a core remembers through: the width of each of its layers."""
    core: Any = training.config.policy.core
    if core is None:
        return ""
    widths = [getattr(core, "size", 0)] * getattr(core, "layers", 1)
    return f", core {core.name}{f' {widths}' if all(widths) else ''}"


def _evaluates(config: EvalConfig) -> str:
    every, episodes = config.every_steps, str(config.episodes)
    when = f"every {every:,} env steps" if isinstance(every, int) else "at the end"
    if every == "auto":
        when = f"for at most {config.share:.0%} of the time"
    if config.env_steps is not None:
        episodes = f"about {config.env_steps:,} env steps of"
    elif config.episodes == "auto":
        episodes = f"up to {MOST_EPISODES}"
    return f"{when}, {episodes} episodes ({config.mode})"


def _engine(training: "Training") -> str:
    engine = choose_engine(training.policy)
    if engine.name == "numpy" and not learns_in_numpy(training.algorithm):
        algorithm = training.config.algo.name
        return f"numpy for acting, torch for learning ({algorithm} computes its own gradients)"
    return f"{engine.name} ({engine.why})"


def facts(training: "Training", threshold: float | None, fresh: bool) -> Facts:
    """What the watcher's rules depend on; `fresh`: the policy has learnt nothing yet."""
    config, action = training.config, training.spaces.action
    info = family(config.env).describe(config.env)
    target: Any = config.algo.own("target_kl")
    return Facts(
        action_kind=action.kind,
        action_count=_count(action),
        action_choices=(2,) * action.shape[0] if action.kind == "binary" else action.nvec,
        action_dims=action.shape[0] if action.kind == "box" else 1,
        action_bounded=_bounded(training.spaces),
        squash=config.policy.squash,
        masked=training.has_mask,
        shaped=bool(config.reward.signals) or set(config.reward.weight.values()) != {1.0},
        intrinsic=tuple(part.name for part in config.reward.intrinsic),
        counted=_counted(config),
        core=config.policy.core is not None,
        threshold=threshold,
        score_range=info.score_range,
        score_is_bounded=info.score_is_bounded,
        episode_limit=episode_limit(config.env),
        obs_range=_range(training.spaces.observation.values()),
        target_kl=target.at(training.progress) if target else None,
        clips=config.algo.own("clip") is not None,
        single_step=_is_single_step(training),
        critic=config.algo.baseline_used == "value",
        fresh=fresh,
        images=has_images(training.spaces),
        lr_peak=max(config.algo.lr.values()),
        reward_clip=config.reward.clip,
        eval_episodes=config.eval.most_episodes,
        greedy=config.eval.deterministic,
    )


def _counted(config: RunConfig) -> tuple[str, ...]:
    """Rewards for rarely visited states; counts of an episode begin at zero and cannot run out."""
    counts = (one for one in config.reward.signals if isinstance(one, CountConfig))
    return tuple(one.name for one in counts if one.scope != "episode")


def _is_single_step(training: "Training") -> bool:
    algo, count = training.config.algo, training.config.env.count
    steps: Any = algo.own("gradient_steps")
    return bool(steps and steps(count, training.progress) == 1)


def _bounded(spaces: Spaces) -> tuple[bool, ...]:
    """Which numbers of a Box action have finite bounds."""
    if spaces.action.kind != "box" or spaces.env is None:
        return ()
    box: Any = spaces.env.action
    return tuple(Scale.between(box.low, box.high).bounded.tolist())


def _range(leaves: Iterable[Leaf]) -> tuple[float, float] | None:
    """Of all numbers the policy sees, before normalisation; None where one has no bound."""
    ends = [end for leaf in leaves for end in _ends(leaf)]
    if not ends or not all(map(math.isfinite, ends)):
        return None
    return min(ends), max(ends)


def _ends(leaf: Leaf) -> tuple[float, ...]:
    if leaf.kind == "image":
        return (0.0, 255.0) if leaf.dtype == "uint8" else (math.inf,)
    if leaf.kind == "binary":
        return (0.0, 1.0)
    return (0.0, max(leaf.nvec) - 1.0) if leaf.nvec else (*leaf.low, *leaf.high)


def _count(action: ActionSpec) -> int | None:
    """Different actions there are, where they can be counted."""
    if action.kind == "box":
        return None
    return 2 ** action.shape[0] if action.kind == "binary" else math.prod(action.nvec)
