"""Policies on disk: a folder per checkpoint that appears whole, weights as safetensors, no pickle.

`checkpoints/step-000020224/` holds policy.safetensors, state.json (format, env steps, spaces) and,
where the weights were scored, score.json. `best.json` and `latest.json` point at two of them; best
is decided by evaluation score alone. Folders nobody points at are removed.
"""

import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from spotter.config import RunConfig, recipes, validate
from spotter.nets.actor_critic import Policy
from spotter.rundir.files import read_json, write_json
from spotter.rundir.run import Run, select
from spotter.types import ActionSpec, Evaluation, Leaf, Spaces, UserError

FORMAT: Final = 1
_POINTERS: Final = ("best", "latest")


class Keeper:
    """Keeps the best and the latest policy of one run."""

    def __init__(self, run: Run) -> None:
        self._folder = run.folder / "checkpoints"
        self._best: float | None = None

    def save(self, policy: Policy, env_steps: int, evaluation: Evaluation | None) -> None:
        """Write the policy as latest, and as best if this evaluation beats all before."""
        step = self._folder / f"step-{env_steps:09d}"
        if not step.exists():
            _write(step, policy, env_steps)
        if evaluation is not None:
            write_json(step / "score.json", evaluation.certificate())
            # Held-out sets differ in difficulty, so test scores rank only where nothing else does.
            ranks = evaluation.seeds == "eval" or self._best is None
            if ranks and (self._best is None or evaluation.score > self._best):
                self._best = evaluation.score
                write_json(self._folder / "best.json", {"step": step.name})
        write_json(self._folder / "latest.json", {"step": step.name})
        self._prune()

    def _prune(self) -> None:
        kept = {_pointed(self._folder, name) for name in _POINTERS}
        for step in self._folder.glob("step-*"):
            if step.name not in kept:
                shutil.rmtree(step, ignore_errors=True)


def _write(step: Path, policy: Policy, env_steps: int) -> None:
    """All files under another name first: the folder appears complete or not at all."""
    draft = step.with_name(f".{step.name}.tmp")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    # Parameters are views of one vector; safetensors wants each tensor to own its memory.
    tensors = {key: value.detach().cpu().clone() for key, value in policy.state_dict().items()}
    save_file(tensors, draft / "policy.safetensors")
    spaces = policy.spaces
    write_json(
        draft / "state.json",
        {
            "format": FORMAT,
            "env_steps": env_steps,
            "observation": {path: asdict(leaf) for path, leaf in spaces.observation.items()},
            "action": asdict(spaces.action),
        },
    )
    draft.rename(step)


def _pointed(folder: Path, name: str) -> str | None:
    path = folder / f"{name}.json"
    return str(read_json(path)["step"]) if path.exists() else None


def find(selector: str) -> Path:
    """The checkpoint folder of `RUN`, `RUN/@best`, `RUN/@latest` or `RUN/step=N`."""
    run_part, _, which = selector.partition("/")
    run = select(run_part)
    folder = run.folder / "checkpoints"
    if which.startswith("step="):
        step = folder / f"step-{which.removeprefix('step='):>09}"
        if not step.is_dir():
            there = ", ".join(str(int(p.name[5:])) for p in sorted(folder.glob("step-*")))
            raise UserError(f"run {run.id} has no checkpoint {which}; it has {there or 'none'}")
        return step
    names = {"": _POINTERS, "@best": ("best",), "@latest": ("latest",)}.get(which)
    if names is None:
        raise UserError(f"unknown checkpoint '{which}'; write @best, @latest or step=N")
    for name in names:
        step_name = _pointed(folder, name)
        if step_name:
            return folder / step_name
    raise UserError(f"run {run.id} has no {' or '.join(names)} checkpoint")


def load(selector: str) -> Policy:
    """The policy of a checkpoint, ready to act; best unless the selector says otherwise."""
    step = find(selector)
    try:
        state = read_json(step / "state.json")
        policy = Policy(_spaces(state), read_config(step).policy)
        policy.load_state_dict(load_file(step / "policy.safetensors"))
    except (OSError, KeyError, TypeError, ValueError, RuntimeError, SafetensorError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise UserError(f"{step} cannot be loaded: {reason}") from error
    return policy


def read_config(step: Path) -> RunConfig:
    """The config of the run a checkpoint belongs to."""
    return validate(recipes.plain(recipes.read(step.parents[1] / "config.yaml").data))


def read_score(step: Path) -> dict[str, Any] | None:
    """The certificate of the score these weights were saved with, if they were scored."""
    path = step / "score.json"
    return read_json(path) if path.exists() else None


def _spaces(state: dict[str, Any]) -> Spaces:
    if state["format"] > FORMAT:
        raise ValueError(f"format {state['format']} is newer than {FORMAT}; update Spotter")
    leaves = {path: Leaf(**_tuples(leaf)) for path, leaf in state["observation"].items()}
    return Spaces(leaves, ActionSpec(**_tuples(state["action"])))


def _tuples(data: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
