"""What do different seeds of parallel envs bring? `python benchmarks/env_seeds.py`

Every recipe is trained with the seeds a run gives its envs, one each, and with the same seed for
all of them; actions are sampled apart either way. Reported: how different samples of a rollout are
(`rollout/effective`, first rollout and mean over training) and the training score at the end of
so many env steps, means over five run seeds.
"""

import argparse
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from unittest import mock

from spotter import seeding
from spotter.config import resolve
from spotter.training.training import Training

WORKS: Final = {
    "FrozenLake-v1:ppo": 60_000,
    "CartPole-v1:ppo": 10_000,
    "Taxi-v4:ppo": 60_000,
}


@contextmanager
def seeds(same: bool) -> Iterator[None]:
    """Where `same`, all training envs get the seed of the first."""
    integers = seeding.integers

    def first(seed: int, stream: str, count: int) -> list[int]:
        found = integers(seed, stream, count)
        return [found[0]] * count if stream.startswith("train envs") else found

    with mock.patch.object(seeding, "integers", first if same else integers):
        yield


def train(address: str, env_steps: int, seed: int, same: bool) -> tuple[float, float, float]:
    """How different the first rollout is, all are on the mean, and the last episodes' score."""
    config = resolve(address, {"seed": seed, "budget.env_steps": env_steps, "threads": 1}).config
    shares, scores = [], []
    with seeds(same), Training(config) as training:
        while training.env_steps < env_steps:
            update = training.step()
            shares.append(update.metrics["rollout/effective"])
            scores += [episode.score for episode in update.episodes]
    return shares[0], statistics.fmean(shares), statistics.fmean(scores[-100:])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("works", nargs="*", default=list(WORKS))
    options = parser.parse_args()
    print("| recipe | env steps | seeds | first rollout | all | train score |")
    print("|---|---:|---|---:|---:|---:|")
    for address in options.works:
        for same in (False, True):
            found = [train(address, WORKS[address], seed, same) for seed in options.seeds]
            first, mean, score = (statistics.fmean(column) for column in zip(*found, strict=True))
            spread = statistics.stdev(row[2] for row in found) / len(found) ** 0.5
            words = "the same" if same else "different"
            print(
                f"| {address} | {WORKS[address]:,} | {words} | {first:.2f} | {mean:.2f} "
                f"| {score:.3g} ± {spread:.2g} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
