"""What settings are called in Stable-Baselines3 (with its Zoo), CleanRL and RLlib.

A name of theirs is no setting here: it is an error whose sentence holds the override to write
instead, converted where units differ. docs/coming-from-sb3.md has the same table.
"""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from spotter.config.models import AlgoConfig, EnvConfig
from spotter.config.overrides import merge
from spotter.config.words import listed

Proposal = dict[str, Any]
"""Dotted names and values to write; empty where a value says nothing."""
Convert = Callable[[Any, Mapping[str, Any]], Proposal]
"""The value as written, and the config around it."""

SB3: Final = "SB3"
CLEANRL: Final = "CleanRL"
RLLIB: Final = "RLlib"
_ACTIVATIONS: Final = ("tanh", "relu", "elu", "gelu", "silu")
_GROUPS: Final = ("policy_kwargs", "model", "training", "env_runners")
"""Maps whose keys are settings themselves."""


@dataclass(frozen=True)
class Synonym:
    """One name of another library."""

    name: str
    library: str
    settings: tuple[str, ...]
    note: str = ""
    """What differs, in a clause."""
    convert: Convert | None = None
    """None: the value as it is."""
    missing: str = ""
    """What there is instead of a setting, as a clause."""

    def proposal(self, value: object, data: Mapping[str, object]) -> Proposal:
        if self.convert is None:
            return {self.settings[0]: _whole(value)} if self.settings else {}
        return self.convert(value, data)

    def row(self) -> str:
        """Its line in the table of docs/coming-from-sb3.md."""
        here = ", ".join(f"`{setting}`" for setting in self.settings) or "none"
        return f"| `{self.name}` | {self.library} | {here} | {self.note or self.missing} |"


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None


def _envs(data: Mapping[str, object]) -> int:
    """How many there are; 0 if that is not known yet."""
    count = _inside(data, "env", "count")
    count = EnvConfig.model_fields["count"].default if count is None else count
    return count if isinstance(count, int) and count > 0 else 0


def _inside(data: Mapping[str, object], *path: str) -> object:
    node: object = data
    for key in path:
        node = node.get(key) if isinstance(node, Mapping) else None
    return node


def _rate(value: object, data: Mapping[str, object]) -> Proposal:
    """`lin_3e-4` of the Zoo decays to zero."""
    if isinstance(value, str) and value.startswith("lin_"):
        return {"algo.lr": {"start": float(value.removeprefix("lin_")), "end": 0}}
    return {"algo.lr": value} if _number(value) is not None else {}


def _annealed(value: object, data: Mapping[str, object]) -> Proposal:
    rate = _inside(data, "algo", "lr")
    rate = rate.get("start") if isinstance(rate, Mapping) else rate
    if _number(rate) is None:
        name = _inside(data, "algo", "name") or "ppo"
        rate = AlgoConfig.chosen({"name": name}).model_fields["lr"].default.start
    return {"algo.lr": {"start": rate, "end": 0} if value else rate}


def _layers(value: object, data: Mapping[str, object]) -> Proposal:
    """One list, or one for the policy and one for the critic."""
    if isinstance(value, Mapping):
        actor = value.get("pi", value.get("vf"))
        return {"policy.hidden": actor, "policy.shared": False} if actor else {}
    return {"policy.hidden": list(value)} if isinstance(value, list | tuple) else {}


def _activation(value: object, data: Mapping[str, object]) -> Proposal:
    """`ReLU`, `nn.ReLU`, or the class itself from Python."""
    name = _name(value).rpartition(".")[2]
    return {"policy.activation": name} if name in _ACTIVATIONS else {}


def _name(value: object) -> str:
    """Of a class, or as text."""
    return str(getattr(value, "__name__", value)).lower()


def _fraction(value: object, data: Mapping[str, object]) -> Proposal:
    number = _number(value)
    return {"algo.minibatch": round(1 / number, 6)} if number and number >= 1 else {}


def _steps_of_batch(value: object, data: Mapping[str, object]) -> Proposal:
    number = _number(value)
    envs = _envs(data)
    return {"algo.steps": max(1, round(number / envs))} if number and envs else {}


def _env_steps(setting: str) -> Convert:
    """What counts calls of a vectorised environment there counts env steps here."""

    def convert(value: object, data: Mapping[str, object]) -> Proposal:
        number = _number(value)
        return {setting: int(number * _envs(data))} if number and _envs(data) else {}

    return convert


def _either(true: Proposal, false: Proposal) -> Convert:
    return lambda value, data: true if value and value != "false" else false


def _stack(value: object, data: Mapping[str, object]) -> Proposal:
    return {"env.wrappers": [{"name": "frame_stack", "count": value}]}


def _backend(value: object, data: Mapping[str, object]) -> Proposal:
    return {"env.backend": "process" if "subproc" in _name(value) else "sync"}


def _workers(value: object, data: Mapping[str, object]) -> Proposal:
    return {"env.backend": "process", "env.workers": value} if _number(value) else {}


def _nothing(value: object, data: Mapping[str, object]) -> Proposal:
    """What cannot be converted: only the setting is named."""
    return {}


def _advantage(value: object, data: Mapping[str, object]) -> Proposal:
    """PPO says over which samples; A2C has but one minibatch."""
    wanted = bool(value) and value != "false"
    if _inside(data, "algo", "name") == "a2c":
        return {"algo.normalize_advantage": wanted}
    return {"algo.normalize_advantage": "minibatch" if wanted else None}


def _core(setting: str) -> Convert:
    """A number of SB3-contrib's or RLlib's LSTM, as a setting of the core."""
    return lambda value, data: {"policy.core": {"name": "lstm", setting: value}}


def _value_clip(value: object, data: Mapping[str, object]) -> Proposal:
    clip = _inside(data, "algo", "clip")
    return {"algo.value_clip": (clip if _number(clip) is not None else 0.2) if value else None}


_LSTM: Final = _either({"policy.core": "lstm"}, {"policy.core": None})
_APART: Final = _either({"policy.shared": False}, {"policy.shared": True})
_ADVANTAGE: Final = "PPO: minibatch, rollout or null; A2C: true or false"
_ROLLOUT: Final = "per env in both; a rollout is env.count × algo.steps samples"
_OFF_POLICY: Final = "a setting of off-policy algorithms; Spotter has a2c, ppo and reinforce"
_KEPT: Final = "every run keeps its metrics, config and checkpoints in runs/; nothing to switch on"


def _off(name: str) -> Synonym:
    return Synonym(name, SB3, (), missing=_OFF_POLICY)


SYNONYMS: Final = (
    Synonym("n_envs", SB3, ("env.count",)),
    Synonym("num_envs", CLEANRL, ("env.count",)),
    Synonym("num_envs_per_env_runner", RLLIB, ("env.count",)),
    Synonym("total_timesteps", "SB3, CleanRL", ("budget.env_steps",), "over all envs, as there"),
    Synonym("n_timesteps", "SB3 Zoo", ("budget.env_steps",), "over all envs, as there"),
    Synonym("learning_rate", "SB3, CleanRL", ("algo.lr",), "", _rate),
    Synonym("anneal_lr", CLEANRL, ("algo.lr",), "a schedule that ends at 0", _annealed),
    Synonym("n_steps", SB3, ("algo.steps",), _ROLLOUT),
    Synonym("num_steps", CLEANRL, ("algo.steps",), _ROLLOUT),
    Synonym("rollout_fragment_length", RLLIB, ("algo.steps",), _ROLLOUT),
    Synonym(
        "train_batch_size",
        RLLIB,
        ("algo.steps",),
        "samples of a rollout there, steps of each env here: divide by env.count",
        _steps_of_batch,
    ),
    Synonym(
        "batch_size",
        SB3,
        ("algo.minibatch",),
        "samples, or a fraction of the rollout; it must divide env.count × algo.steps",
    ),
    Synonym(
        "num_minibatches",
        CLEANRL,
        ("algo.minibatch",),
        "a fraction of the rollout here, a number of minibatches there: 4 is 0.25",
        _fraction,
    ),
    Synonym("minibatch_size", RLLIB, ("algo.minibatch",), "samples, as there"),
    Synonym("sgd_minibatch_size", RLLIB, ("algo.minibatch",), "samples, as there"),
    Synonym("n_epochs", SB3, ("algo.epochs",)),
    Synonym("update_epochs", CLEANRL, ("algo.epochs",)),
    Synonym("num_epochs", RLLIB, ("algo.epochs",)),
    Synonym("num_sgd_iter", RLLIB, ("algo.epochs",)),
    Synonym("gamma", "all", ("algo.gamma",)),
    Synonym("gae_lambda", "SB3, CleanRL", ("algo.lambda",)),
    Synonym("clip_range", SB3, ("algo.clip",)),
    Synonym("clip_coef", CLEANRL, ("algo.clip",)),
    Synonym("clip_param", RLLIB, ("algo.clip",)),
    Synonym("clip_range_vf", SB3, ("algo.value_clip",)),
    Synonym("clip_vloss", CLEANRL, ("algo.value_clip",), "a range here, not a switch", _value_clip),
    Synonym("vf_clip_param", RLLIB, ("algo.value_clip",)),
    Synonym("ent_coef", "SB3, CleanRL", ("algo.entropy",)),
    Synonym("entropy_coeff", RLLIB, ("algo.entropy",)),
    Synonym("vf_coef", "SB3, CleanRL", ("algo.value_weight",)),
    Synonym("vf_loss_coeff", RLLIB, ("algo.value_weight",)),
    Synonym("max_grad_norm", "SB3, CleanRL", ("algo.max_grad_norm",)),
    Synonym("grad_clip", RLLIB, ("algo.max_grad_norm",)),
    Synonym("target_kl", "SB3, CleanRL", ("algo.target_kl",), "stops at 1.5 × target, as in SB3"),
    Synonym("kl_target", RLLIB, ("algo.target_kl",), "ends the update; there is no KL penalty"),
    Synonym(
        "norm_adv",
        CLEANRL,
        ("algo.normalize_advantage",),
        _ADVANTAGE,
        _advantage,
    ),
    Synonym("normalize_advantage", SB3, ("algo.normalize_advantage",), _ADVANTAGE, _advantage),
    Synonym(
        "normalize",
        "SB3 Zoo",
        ("policy.normalize_obs", "reward.normalize"),
        "VecNormalize is two settings, one for observations and one for rewards",
        _either(
            {"policy.normalize_obs": "running", "reward.normalize": True},
            {"policy.normalize_obs": None, "reward.normalize": False},
        ),
    ),
    Synonym(
        "norm_obs",
        SB3,
        ("policy.normalize_obs",),
        "running, bounds or auto here",
        _either({"policy.normalize_obs": "running"}, {"policy.normalize_obs": None}),
    ),
    Synonym("norm_reward", SB3, ("reward.normalize",)),
    Synonym("net_arch", SB3, ("policy.hidden", "policy.shared"), "one list of widths", _layers),
    Synonym("fcnet_hiddens", RLLIB, ("policy.hidden",), "", _layers),
    Synonym("activation_fn", SB3, ("policy.activation",), "its name: relu, tanh …", _activation),
    Synonym("fcnet_activation", RLLIB, ("policy.activation",), "", _activation),
    Synonym("lstm_hidden_size", "SB3-contrib", ("policy.core",), "", _core("size")),
    Synonym("n_lstm_layers", "SB3-contrib", ("policy.core",), "", _core("layers")),
    Synonym("enable_critic_lstm", "SB3-contrib", ("policy.shared",), "a core each, or one", _APART),
    Synonym("lstm_cell_size", RLLIB, ("policy.core",), "", _core("size")),
    Synonym("use_lstm", RLLIB, ("policy.core",), "", _LSTM),
    Synonym("max_seq_len", RLLIB, ("algo.steps",), "sequences are cut at the rollout", _nothing),
    Synonym("ortho_init", SB3, ("policy.orthogonal",)),
    Synonym("log_std_init", SB3, ("policy.log_std",)),
    Synonym("squash_output", SB3, ("policy.squash",)),
    Synonym("features_extractor_class", SB3, ("policy.encoder",), "a name", _nothing),
    Synonym("optimizer_class", SB3, ("algo.optimizer",), "a name", _nothing),
    Synonym(
        "use_rms_prop",
        SB3,
        ("algo.optimizer",),
        "a name here, not a switch",
        _either({"algo.optimizer": "rmsprop"}, {"algo.optimizer": "adam"}),
    ),
    Synonym("vec_env_cls", SB3, ("env.backend",), "SubprocVecEnv is process", _backend),
    Synonym("num_env_runners", RLLIB, ("env.workers", "env.backend"), "processes", _workers),
    Synonym("frame_stack", "SB3 Zoo", ("env.wrappers",), "a wrapper", _stack),
    Synonym("env_kwargs", SB3, ("env.kwargs",)),
    Synonym("env_wrapper", "SB3 Zoo", ("env.wrappers",), "`spotter list wrappers`", _nothing),
    Synonym("n_eval_episodes", SB3, ("eval.episodes",)),
    Synonym(
        "eval_freq",
        SB3,
        ("eval.every_steps",),
        "env steps, not calls of a vectorised env: multiply by env.count",
        _env_steps("eval.every_steps"),
    ),
    Synonym(
        "cuda",
        CLEANRL,
        ("device",),
        "auto, cpu, cuda or mps",
        _either({"device": "cuda"}, {"device": "cpu"}),
    ),
    Synonym("seed", "all", ("seed",)),
    Synonym("device", SB3, ("device",), "auto, cpu, cuda or mps"),
    Synonym(
        "policy_kwargs",
        SB3,
        ("policy.hidden", "policy.activation"),
        "each key is a setting of its own",
        _nothing,
    ),
    Synonym("env_id", CLEANRL, ("env.id",), "or the address: spotter train CartPole-v1"),
    Synonym("capture_video", CLEANRL, ("video.when",), "end, best, eval or null", _nothing),
    Synonym(
        "tensorboard_log",
        SB3,
        ("sinks",),
        "into the run's folder",
        lambda value, data: {"sinks": ["tensorboard"]},
    ),
    Synonym("track", CLEANRL, (), missing=_KEPT),
    Synonym("verbose", SB3, (), missing="--quiet prints only the verdict; quiet=True from Python"),
    Synonym("use_sde", SB3, (), missing="Spotter has no state-dependent exploration"),
    _off("buffer_size"),
    _off("learning_starts"),
    _off("train_freq"),
    _off("gradient_steps"),
    _off("tau"),
    _off("target_update_interval"),
    _off("exploration_fraction"),
)
_BY_NAME: Final = {synonym.name: synonym for synonym in SYNONYMS}


def find(name: str) -> Synonym | None:
    return _BY_NAME.get(name)


def names_of(setting: str) -> list[str]:
    """What other libraries call a setting, Stable-Baselines3 first."""
    return [synonym.name for synonym in SYNONYMS if setting in synonym.settings]


def proposal(name: str, value: object, data: Mapping[str, object]) -> Proposal:
    """What to write instead of a name of theirs and its value; empty if nothing is known."""
    if name in _GROUPS and isinstance(value, Mapping):
        found: Proposal = {}
        for key, inner in value.items():
            found = merge(found, proposal(str(key), inner, data))
        return found
    synonym = find(name)
    return synonym.proposal(value, data) if synonym else {}


def hint(name: str, value: object, data: Mapping[str, object]) -> str:
    """What to write instead, as a clause: `did you mean algo.lr=0.001?`; empty if not known."""
    synonym, meant = find(name), proposal(name, value, data)
    if synonym is not None and synonym.missing:
        return synonym.missing
    if meant:
        note = f" ({synonym.note})" if synonym and synonym.note else ""
        return f"did you mean {written(meant)}?{note}"
    if synonym is None:
        return ""
    note = f" ({synonym.note})" if synonym.note else ""
    return f"did you mean {listed(synonym.settings, 'and')}?{note}"


def written(meant: Proposal) -> str:
    """As typed in a shell."""
    return " ".join(shlex.quote(f"{key}={_flow(value)}") for key, value in meant.items())


def _flow(value: object) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_flow(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_flow, value))}]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)
