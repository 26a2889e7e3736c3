"""The audit over all stored episodes: what it mixes is said, and copies count once."""

import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from spotter.episodes import format as traces
from spotter.studio.viewer import Shelf
from spotter.studio.viewer_audit import audited
from tests.episodes.making import trace
from tests.rundir.making import maker


@pytest.fixture
def run(make_config):
    return maker(make_config)("CartPole-v1", config={"env": {"family": "classic"}})


def stored(run, reward=(1.0, 2.0), **fields):
    made = trace(reward=reward, run=run.id, **fields)
    return traces.save(made, traces.place(run, made.meta))


def test_copies_count_once_and_what_is_mixed_is_said(run):
    first = stored(run, checkpoint="step-000020224")
    shutil.copytree(first, first.with_name(f"{first.name}-2"))  # as earlier versions left them
    stored(run, checkpoint="step-000020224", seed=4)
    stored(run, checkpoint="step-000000512", mode="sampled")
    stored(run, checkpoint="", mode="untrained", reward=np.ones(4))
    people = [stored(run, checkpoint="", mode="human") for _ in range(2)]
    assert len(set(people)) == 2
    shelf, context = Shelf(lambda _: run), SimpleNamespace(run_of=lambda _: run)
    found = audited(shelf, context, run.id, first.name, everything=True)
    assert len(found.names) == 6
    assert found.parts[0].steps == 5 * 2 + 4
    assert found.mixture == (
        "2 greedy of step 20,224, 1 sampled of step 512, 1 untrained, 2 human"
        "; left out as copies: 1"
    )
    alone = audited(shelf, context, run.id, first.name, everything=False)
    assert (alone.names, alone.mixture, alone.parts[0].steps) == ([first.name], "", 2)
