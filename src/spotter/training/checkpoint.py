"""Checkpoints on disk: a folder each that appears whole, no pickle, best and latest by pointer.

`checkpoints/step-000020224/` holds policy.safetensors (weights and statistics),
trainer.safetensors and state.json (all that is needed to resume), metrics.json (the row of this
very update), rollout.csv (the steps it learnt from) and, once the weights were scored, score.json.
`best.json` and `latest.json` point at two of them; which is best: selection.py. What is in each
format, and which are still read: docs/run-directory.md.
"""

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import safetensors.numpy
import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor

from spotter.config import CheckpointConfig, PolicyConfig, RunConfig
from spotter.envs import space_data
from spotter.packing import pack, unpack
from spotter.policy.actor_critic import Policy
from spotter.rundir.checkpoints import MOST_STATE
from spotter.rundir.files import (
    UNREADABLE,
    cannot_write,
    read_json,
    replace,
    write_atomic,
    write_json,
)
from spotter.rundir.run import Run, select
from spotter.training import estimate
from spotter.types import ActionSpec, Evaluation, Leaf, Spaces, UserError

FORMAT: Final = 2
_POINTERS: Final = ("best", "latest")
_GAME: Final = ("fingerprint", "protocol", "facts", "actions")
_STEP: Final = re.compile(r"step-(\d{9,})")


@dataclass(frozen=True, slots=True)
class Contents:
    """What one checkpoint holds."""

    env_steps: int
    policy: Policy
    trainer: Mapping[str, Any]
    """Everything but the weights, as a tree of plain values and arrays."""
    row: Mapping[str, Any]
    table: str


class Keeper:
    """Writes the checkpoints of one run, and keeps the best, the latest and what was asked for."""

    def __init__(self, run: Run, config: CheckpointConfig) -> None:
        self._folder = run.folder / "checkpoints"
        self._keep = config.keep
        info = run.info()
        self._game = {key: info[key] for key in _GAME}
        self._clear_leftovers()
        self._awaited: set[str] = set()

    def _clear_leftovers(self) -> None:
        """What a kill left half-done: drafts, and a step that `latest` does not know of yet.

        A resumed run will come to that step again, perhaps with other weights.
        """
        latest = _pointed(self._folder, "latest")
        for path in self._folder.glob(".step-*"):
            shutil.rmtree(path, ignore_errors=True)
        for step in _steps(self._folder):
            if latest is None or _number(step.name) > _number(latest):
                shutil.rmtree(step, ignore_errors=True)

    def save(self, contents: Contents, awaits_score: bool = False, pin: str = "") -> float:
        """Write a checkpoint and call it the latest; returns the seconds it took.

        `awaits_score` keeps it until `release` was called; `pin` keeps it for good and says why.
        """
        began = perf_counter()
        step = self._step(contents.env_steps)
        if not step.exists():
            _write(step, contents, self._game)
        if pin:
            write_json(step / "pinned.json", {"why": pin})
        if awaits_score:
            self._awaited.add(step.name)
        latest = _pointed(self._folder, "latest")
        if latest is None or _number(latest) <= contents.env_steps:  # never back
            write_json(self._folder / "latest.json", {"step": step.name})
        self._prune()
        return perf_counter() - began

    def await_score(self, env_steps: int) -> None:
        """Keep a checkpoint that is about to be scored."""
        self._awaited.add(self._step(env_steps).name)

    def write_scores(self, env_steps: int, evaluations: Iterable[Evaluation]) -> None:
        """Write scores beside the weights they belong to, if those are still there."""
        step = self._step(env_steps)
        if step.is_dir():
            path = step / "score.json"
            written = read_json(path) if path.exists() else {}
            new = {str(one.seeds): one.certificate() for one in evaluations}
            write_json(path, written | new)

    def add_metrics(self, env_steps: int, metrics: Mapping[str, float]) -> None:
        """Numbers that were not known yet when the checkpoint was written."""
        path = self._step(env_steps) / "metrics.json"
        if path.exists():
            write_json(path, {**read_json(path), **metrics})

    def set_best(self, env_steps: int, about: Mapping[str, object]) -> None:
        """Point `best` at a checkpoint, with what it scored."""
        step = self._step(env_steps)
        if step.is_dir():
            write_json(self._folder / "best.json", {"step": step.name, **about})

    def release(self, env_steps: int) -> None:
        """A checkpoint was scored and ranked: it stays only if it is one of those to keep."""
        self._awaited.discard(self._step(env_steps).name)
        self._prune()

    def best_step(self) -> Path | None:
        """The checkpoint a resumed run has to beat, if it is still there."""
        name = _pointed(self._folder, "best")
        step = None if name is None else self._folder / name
        return step if step and step.is_dir() else None

    def step(self, env_steps: int) -> Path | None:
        """The checkpoint of a point in training, if there is one."""
        step = self._step(env_steps)
        return step if step.is_dir() else None

    def _step(self, env_steps: int) -> Path:
        return self._folder / f"step-{env_steps:09d}"

    def _prune(self) -> None:
        if self._keep is None:
            return
        kept = {_pointed(self._folder, name) for name in _POINTERS} | self._awaited
        others = [
            step
            for step in reversed(_steps(self._folder))
            if step.name not in kept and not (step / "pinned.json").exists()
        ]
        for step in others[self._keep :]:
            # out of sight first: a kill half-way must not leave half a checkpoint under its name
            rubbish = step.with_name(f".{step.name}.old")
            with suppress(OSError):  # another process is reading it: next time
                replace(step, rubbish)
                shutil.rmtree(rubbish, ignore_errors=True)


def _steps(folder: Path) -> list[Path]:
    """Every checkpoint, in order."""
    found = [path for path in folder.glob("step-*") if _STEP.fullmatch(path.name)]
    return sorted(found, key=lambda path: _number(path.name))


def _number(name: str) -> int:
    """The env steps in the name of a step; as text, a billion would sort before a million."""
    return int(name.removeprefix("step-"))


def _write(step: Path, contents: Contents, game: Mapping[str, Any]) -> None:
    """All files under another name first: the folder appears complete or not at all."""
    draft = step.with_name(f".{step.name}.tmp")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        draft.mkdir(parents=True)
    except OSError as error:
        raise cannot_write(draft, error) from error
    # Parameters are views of one vector; safetensors wants each tensor to own its memory.
    weights = {k: v.detach().cpu().clone() for k, v in contents.policy.state_dict().items()}
    write_atomic(draft / "policy.safetensors", safetensors.torch.save(weights))
    trainer, arrays = pack(contents.trainer)
    write_atomic(draft / "trainer.safetensors", safetensors.numpy.save(arrays))
    spaces = contents.policy.spaces
    write_json(
        draft / "state.json",
        {
            "format": FORMAT,
            "env_steps": contents.env_steps,
            "observation": {path: asdict(leaf) for path, leaf in spaces.observation.items()},
            "action": asdict(spaces.action),
            "spaces": space_data.pack(spaces.env) if spaces.env else None,
            "game": game,
            "trainer": trainer,
        },
    )
    write_json(draft / "metrics.json", contents.row)
    write_atomic(draft / "rollout.csv", contents.table)
    try:
        replace(draft, step)
    except OSError as error:
        raise cannot_write(step, error) from error


def _pointed(folder: Path, name: str) -> str | None:
    path = folder / f"{name}.json"
    if not path.exists():
        return None
    with reading(path):
        step = str(read_json(path)["step"])
    if not _STEP.fullmatch(step):
        raise UserError(f"{path} points at '{step}', which is no checkpoint")
    return step


def find(selector: str) -> Path:
    """The checkpoint folder of `RUN`, `RUN/@best`, `RUN/@latest` or `RUN/step=N`."""
    run_part, which = split(selector)
    return find_in(select(run_part), which)


def find_in(run: Run, which: str) -> Path:
    """The checkpoint `@best`, `@latest`, `step=N` or, as the empty word, the best there is."""
    folder = run.folder / "checkpoints"
    if which.startswith("step="):
        number = which.removeprefix("step=")
        step = folder / f"step-{number:>09}"
        if not number.isdecimal() or not step.is_dir():
            raise UserError(f"run {run.id} has no checkpoint {which}; {_instead(run)}")
        return step
    names = {"": _POINTERS, "@best": ("best",), "@latest": ("latest",)}[which]
    for name in names:
        step_name = _pointed(folder, name)
        if step_name and (folder / step_name).is_dir():
            return folder / step_name
    raise UserError(f"run {run.id} has no {' or '.join(names)} checkpoint; {_instead(run)}")


def _instead(run: Run) -> str:
    """What there is instead of a checkpoint that is missing, and how it is named."""
    there = [_number(path.name) for path in _steps(run.folder / "checkpoints")]
    if there:
        numbers = ", ".join(map(str, there))
        return f"it has {numbers}, so write {run.id}/step={there[-1]}"
    address = run.info()["address"]
    return (
        "it has none: it ended before its first save, or they were deleted; "
        f"train it again with: spotter train {address}"
    )


def split(selector: str) -> tuple[str, str]:
    """Run and checkpoint; environments (`@last:ALE/Pong-v5`) and paths may hold slashes too."""
    run_part, slash, which = selector.rpartition("/")
    if slash and (which in ("@best", "@latest") or which.startswith("step=")):
        return run_part, which
    if slash and which.startswith("@"):
        raise UserError(f"unknown checkpoint '{which}'; write @best, @latest or step=N")
    return selector, ""


@dataclass(frozen=True, slots=True)
class Saved:
    """A checkpoint that was read."""

    folder: Path
    env_steps: int
    spaces: Spaces
    weights: Mapping[str, Tensor]
    trainer: Any
    """None in format 1, which held policies only."""
    game: Mapping[str, Any] = field(default_factory=dict)
    """Fingerprint, protocol, facts and actions, as in run.json; empty in older checkpoints."""

    @property
    def run(self) -> Run:
        return Run(self.folder.parents[1])

    def policy(self, config: PolicyConfig) -> Policy:
        """A policy with these weights."""
        estimate.check_network(config, self.spaces)
        self._refuse_broken()
        # overwritten at once, and orthogonal weights of an Atari network take three seconds
        policy = Policy(self.spaces, config.model_copy(update={"orthogonal": False}))
        policy.load_state_dict(dict(self.weights))
        return policy

    def _refuse_broken(self) -> None:
        """A policy that computes with nan can choose no action."""
        tensors = self.weights.items()
        broken = [k for k, v in tensors if v.is_floating_point() and bool(v.isnan().any())]
        if broken:
            raise UserError(
                f"{self.folder} cannot be played: {len(broken)} of its {len(self.weights)} tensors "
                f"hold nan, {broken[0]} first; training broke before it was saved, so choose an "
                "older checkpoint"
            )


def read(step: Path) -> Saved:
    """Everything in a checkpoint folder; one that is damaged is a `UserError`."""
    with reading(step):
        state = read_json(step / "state.json", MOST_STATE)
        if state["format"] > FORMAT:
            raise ValueError(f"format {state['format']} is newer than {FORMAT}; update Spotter")
        weights = safetensors.torch.load_file(step / "policy.safetensors")
        trainer = None
        if state["format"] > 1:
            arrays = safetensors.numpy.load_file(step / "trainer.safetensors")
            trainer = unpack(state["trainer"], arrays)
        return Saved(step, int(state["env_steps"]), _spaces(state), weights, trainer, _card(state))


def load(selector: str) -> Policy:
    """The policy of a checkpoint, ready to act; best unless the selector says otherwise."""
    step = find(selector)
    saved = read(step)
    with reading(step):
        return saved.policy(read_config(step).policy)


@contextmanager
def reading(step: Path) -> Iterator[None]:
    """Whatever a damaged or foreign checkpoint makes go wrong is one sentence about it."""
    try:
        yield
    except UserError:
        raise
    except (*UNREADABLE, SafetensorError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = " ".join(lines[:2]) or type(error).__name__
        raise UserError(f"{step} cannot be loaded: {type(error).__name__}: {reason}") from error


def read_config(step: Path) -> RunConfig:
    """The config of the run a checkpoint belongs to."""
    return Run(step.parents[1]).config()


def read_scores(step: Path) -> dict[str, dict[str, Any]]:
    """Certificates of the scores of these weights, by set of seeds (`eval`, `test`)."""
    path = step / "score.json"
    if not path.exists():
        return {}
    with reading(path):
        written = read_json(path)
        # format 1 had just one
        scores = {written["seeds"]: written} if "seeds" in written else written
        for score in scores.values():
            _check_certificate(score)
    return scores


def _check_certificate(score: Any) -> None:
    """What must be there, of the right type, before it is believed or played again."""
    kinds = {"seeds": str, "episodes": int, "deterministic": bool, "scores": list}
    for name, kind in kinds.items():
        if not isinstance(score[name], kind):
            raise ValueError(f"{name} is {score[name]!r:.60}")
    if score["episodes"] < 1 or not isinstance(score.get("parts", 1), int):
        raise ValueError(f"it has {score['episodes']} episodes in {score.get('parts')!r:.60} parts")
    Evaluation.from_certificate(score)


def _spaces(state: dict[str, Any]) -> Spaces:
    leaves = {path: Leaf(**_tuples(leaf)) for path, leaf in state["observation"].items()}
    kept = state.get("spaces")
    env = space_data.unpack(kept) if kept else None
    return Spaces(leaves, ActionSpec(**_tuples(state["action"])), env)


def _card(state: dict[str, Any]) -> dict[str, object]:
    """What the game was; empty in older checkpoints."""
    card = dict(state.get("game", {}))
    for key, kind in {"fingerprint": str, "protocol": str, "facts": dict, "actions": list}.items():
        if not isinstance(card.get(key, kind()), kind):
            raise ValueError(f"{key} of its game is {card[key]!r:.60}")
    if not all(isinstance(name, str) for name in card.get("actions", ())):
        raise ValueError("an action of its game has no name")
    return card


def _tuples(data: Mapping[str, object]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
