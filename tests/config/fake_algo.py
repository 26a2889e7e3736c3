"""Somebody else's algorithm: found by `package.module`, with settings of its own."""

from spotter.config import AlgoConfig, RunConfig, Whole


class Config(AlgoConfig):
    size: Whole = 3

    def check(self, run: RunConfig) -> None:
        if self.size > run.env.count:
            raise ValueError("algo.size must not be above env.count")
