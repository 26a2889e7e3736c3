"""Settings that a training would accept and not use: each with the reason, in half a sentence.

Asked when a run starts, and only about what was written for it: a recipe may hold settings that
one of its variants has no use for, and older runs stay readable whatever they hold.
"""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from spotter.config import RunConfig
from spotter.engines.learner import learns_in_numpy
from spotter.engines.network import choose_engine
from spotter.envs.games.doom import threads
from spotter.types import Leaf, UserError

if TYPE_CHECKING:
    from spotter.training.training import Training

_BATCH_NORM = (
    "policy.norm: batch does not learn here: the policy acts with running statistics and learns "
    "with those of a minibatch, which are other policies (on CartPole-v1: PPO 27 and 52, A2C 13 to "
    "500, REINFORCE 197 to 500, where layer reaches 500); use policy.norm=layer"
)


def refuse(training: "Training", written: Collection[str]) -> None:
    """`UserError` for a setting in `written` that has no effect; `written` holds dotted names."""

    def is_written(setting: str) -> bool:
        return any(name == setting or name.startswith(f"{setting}.") for name in written)

    if training.config.policy.norm == "batch" and is_written("policy.norm"):
        raise UserError(_BATCH_NORM)
    for setting, reason in settings(training):
        if is_written(setting):
            raise UserError(f"{setting} has no effect here: {reason}; leave it out")


def settings(training: "Training") -> Iterator[tuple[str, str]]:
    """Settings that differ from their default and that this training does not use, and why."""
    for setting, reason in (
        *_policy(training),
        *_algorithm(training.config),
        *_environment(training),
        *_reward(training.config),
        *_watching(training.config),
    ):
        if _is_changed(training.config, setting):
            yield setting, reason


def _is_changed(config: RunConfig, setting: str) -> bool:
    section, _, name = setting.rpartition(".")
    owner: Any = vars(config)[section] if section else config
    by_alias = {info.alias or key: key for key, info in type(owner).model_fields.items()}
    if name not in by_alias:
        return False
    default = type(owner).model_fields[by_alias[name]].default
    return bool(vars(owner)[by_alias[name]] != default)


def _policy(training: "Training") -> Iterator[tuple[str, str]]:
    config, spaces = training.config.policy, training.spaces
    leaves = list(spaces.observation.values())
    seen = f"{training.config.env.id} shows {_listed(leaves)}"
    kinds = {leaf.kind for leaf in leaves}
    if "image" not in kinds:
        yield "policy.encoder", f"it is for images, and {seen}"
    if not any(leaf.nvec for leaf in leaves):
        yield "policy.discrete", f"it is for whole numbers, and {seen}"
        yield "policy.embedding", f"it is for whole numbers, and {seen}"
    elif config.discrete != "embedding":
        yield "policy.embedding", f"policy.discrete is {config.discrete}"
    if "vector" not in kinds:
        yield "policy.normalize_obs", f"it is for vectors, and {seen}"
    elif config.normalize_obs == "bounds" and not any(map(_has_bounds, leaves)):
        yield "policy.normalize_obs", "no observation has finite bounds; use running"
    if config.join == "concat" and len(leaves) == 1:
        yield "policy.join", "there is one observation leaf, and nothing to join"
    if config.hidden == ():
        yield "policy.norm", "policy.hidden is empty, and it follows trunk layers"
        if "image" not in kinds and not training.policy.actor.layers:
            yield "policy.activation", "policy.hidden is empty, and it follows trunk layers"
    if spaces.action.kind != "box":
        acts = f"it is for Box actions, and {training.config.env.id} takes {spaces.action.kind}"
        yield "policy.squash", acts
        yield "policy.log_std", acts
    in_numpy = choose_engine(training.policy).name == "numpy" and learns_in_numpy(
        training.algorithm
    )
    if in_numpy and training.config.threads != 1:
        yield "threads", "NumPy computes this network, in one thread"


def _listed(leaves: list[Leaf]) -> str:
    return " and ".join(dict.fromkeys(leaf.kind.replace("_", "-") for leaf in leaves))


def _has_bounds(leaf: Leaf) -> bool:
    return any(
        low > float("-inf") and high < float("inf") and high > low
        for low, high in zip(leaf.low, leaf.high, strict=True)
    )


def _algorithm(config: RunConfig) -> Iterator[tuple[str, str]]:
    loss = config.algo.own("value_loss", "huber")
    if loss != "huber":
        yield "algo.huber_delta", f"algo.value_loss is {loss}"
    baseline = config.algo.baseline_used
    if baseline != "value":
        reason = f"algo.baseline is {baseline}, so no value is learnt"
        for setting in ("algo.value_weight", "algo.critic_lr", "policy.normalize_values"):
            yield setting, reason


def _reward(config: RunConfig) -> Iterator[tuple[str, str]]:
    reward, weight = config.reward, config.reward.weight
    is_one_size = len(set(weight.values())) == 1 and min(weight.values()) > 0
    if reward.normalize and not reward.signals and is_one_size:
        yield "reward.weight", "reward.normalize divides it out again, and there is no other part"


def _environment(training: "Training") -> Iterator[tuple[str, str]]:
    backend = training.backend.name
    is_native = backend == "native" and threads.reason_against(training.config.env)
    if is_native or backend in ("batch", "envpool"):
        reason = f"the {backend} back-end steps all envs in one call and cannot replace one"
        yield "env.restarts", reason
        yield "env.timeout_s", reason
    if training.spaces.action.mask_size == 0:
        yield "env.mask", f"{training.config.env.id} has no choices to mask"


def _watching(config: RunConfig) -> Iterator[tuple[str, str]]:
    is_sized = config.eval.episodes != "auto" or config.eval.env_steps is not None
    if config.eval.every_steps != "auto" and is_sized:
        yield "eval.share", "eval.every_steps says when and how much is evaluated"
    if config.eval.every_steps is None:
        reason = "eval.every_steps is null, so nothing is evaluated before the end"
        yield "eval.after_steps", reason
        yield "eval.after_score", reason
        if config.video.when == "eval":
            yield "video.when", f"{reason}; use end"
