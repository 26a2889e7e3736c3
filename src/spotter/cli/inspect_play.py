"""Which episodes `spotter inspect` looks at: saved or new ones; and what it refuses."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spotter.text.numbers import plural
from spotter.types import UserError

if TYPE_CHECKING:
    from spotter.episodes.format import Trace


def refuse(step: int | None, csv_file: Path | None, episodes: int, as_json: bool) -> None:
    """What can be known to go wrong before anything is played."""
    if step is not None and step < 0:
        raise UserError(f"--step should be 0 or more, got {step}")
    if step is not None and episodes > 1:
        raise UserError("--step is about one episode; leave --episodes out")
    if step is not None and as_json:
        raise UserError("--step does not go with --json, which has every step")
    if csv_file is None:
        return
    if csv_file.is_dir():
        raise UserError(f"cannot write {csv_file}: it is a folder; name a file")
    if not csv_file.parent.is_dir():
        raise UserError(f"cannot write {csv_file}: there is no folder {csv_file.parent}")


def refuse_lambda(lam: float | None, traces: "list[Trace]") -> None:
    """Where nothing depends on it."""
    if lam is not None and any(trace.meta.baseline != "value" for trace in traces):
        raise UserError(
            "--lambda weighs what a critic expects, and this run has none "
            f"(algo.baseline is {traces[0].meta.baseline}); leave it out"
        )


@dataclass(frozen=True)
class How:
    """How an episode shall be played."""

    overrides: list[str]
    seed: int | None
    sampled: bool
    untrained: bool
    episodes: int

    def refuse_played(self, selector: str) -> None:
        for option, given in {
            "settings": self.overrides,
            "--seed": self.seed is not None,
            "--sampled": self.sampled,
            "--untrained": self.untrained,
            "--episodes": self.episodes > 1,
        }.items():
            if given:
                raise UserError(
                    f"{selector} was played already and takes no {option}; "
                    "name its run to play it otherwise"
                )


def _is_played(selector: str) -> bool:
    return (Path(selector) / "trace.json").is_file()


def episodes_of(selector: str, how: How) -> "list[Trace]":
    """A saved episode, or new ones that are not saved yet."""
    if _is_played(selector):
        from spotter.episodes.format import load

        how.refuse_played(selector)
        return [load(Path(selector))]
    from spotter.episodes.capture import capture, eval_seeds, run_of
    from spotter.training.checkpoint import split

    if how.untrained and (which := split(selector)[1]):
        raise UserError(f"an untrained policy has no {which}; leave it or --untrained out")
    if how.untrained and how.sampled:
        raise UserError("--untrained always draws its actions; leave --sampled out")
    run = run_of(selector)
    first, count = how.seed, how.episodes
    seeds = eval_seeds(run, count) if first is None else range(first, first + count)
    mode = "sampled" if how.sampled else "greedy"
    return [
        capture(selector, seed=seed, mode=mode, overrides=how.overrides, untrained=how.untrained)
        for seed in seeds
    ]


def check_step(trace: "Trace", step: int | None) -> None:
    length = trace.meta.length
    if step is not None and step >= length:
        raise UserError(
            f"--step should be from 0 to {length - 1}, got {step}: "
            f"the episode has {plural(length, 'step')}"
        )


def kept(selector: str, traces: "list[Trace]") -> "list[tuple[Trace, Path]]":
    if _is_played(selector):
        return [(traces[0], Path(selector))]
    from spotter.episodes.capture import run_of
    from spotter.episodes.format import place, save

    run = run_of(selector)
    return [(trace, save(trace, place(run, trace.meta))) for trace in traces]
