"""Which runs a query means."""

import pytest

from spotter.rundir import query
from spotter.rundir.identity import defaults
from spotter.types import UserError


def info(name, **fields):
    data = {
        **defaults(), "id": name, "address": "CartPole-v1:ppo", "env": "CartPole-v1", "algo": "ppo",
        "seed": 1, "status": "finished", "reason": "budget", "score": None, "solved": None,
        "env_steps": 100, "created": "2026-11-15T12:00:00.000+00:00", "ended": None,
        "heartbeat": "2026-11-15T12:00:09.000+00:00", "by": "ann", "host": "h", "tags": [],
        "foreign": False,
    }  # fmt: skip
    return data | fields


INFOS = [
    info("a", score=475.5, solved=True, tags=["baseline", "good"], seed=2),
    info("b", score=20.0, solved=False, by="Bob", created="2026-11-14T09:00:00.000+00:00"),
    info("c", env="ALE/Pong-v5", address="ALE/Pong-v5:ppo_fast", status="failed", why="a try"),
    info("d", algo="a2c", env_steps=50_000, parent={"run": "a"}, resumes=[{
        "time": "2026-11-15T13:00:00+00:00", "stopped": "2026-11-15T12:00:01+00:00"}]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([], "abcd"),
        (["cartpole"], "abd"),
        (["POnG", "failed"], "c"),
        (["baseline"], "a"),
        (["env=CartPole-v1"], "abd"),
        (["env=cartpole*", "algo=ppo"], "ab"),
        (["env!=CartPole-v1"], "c"),
        (["env=ALE/Pong-v5"], "c"),
        (["status=failed"], "c"),
        (["solved=true"], "a"),
        (["solved=no"], "b"),
        (["solved="], "cd"),
        (["tag=good"], "a"),
        (["tags=goo*"], "a"),
        (["tag!=good"], "bcd"),
        (["tag="], "bcd"),
        (["score>100"], "a"),
        (["score>=20", "score<475.5"], "b"),
        (["score!=20"], "a"),
        (["seed=2"], "a"),
        (["env_steps>=5e4"], "d"),
        (["by=bob"], "b"),
        (["created<2026-11-15"], "b"),
        (["created=2026-11-15"], "acd"),
        (["created>2026-11-14"], "acd"),
        (["parent=a"], "d"),
        (["parent="], "abc"),
        (["parent!="], "d"),
        (["resumes>0"], "d"),
        (["why=*try*"], "c"),
        (["recipe=*:ppo_fast"], "c"),
        (["nothing like it"], ""),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)  # fmt: skip
def test_words_and_columns(words, found):
    assert "".join(run["id"] for run in query.matching(INFOS, words)) == found


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("scor>3", "'scor' is no column of a run; did you mean 'score'?"),
        ("statsu=failed", "'statsu' is no column of a run; did you mean 'status'?"),
        ("score>high", "score is compared with a number, got 'high'"),
        ("solved=maybe", "solved is true or false, got 'maybe'"),
        ("env>3", "env has no order; write env=3 or env!=3"),
        ("score>", "'score>' needs something to compare with"),
    ],
)
def test_mistakes_are_one_sentence(word, sentence):
    with pytest.raises(UserError) as caught:
        query.matching(INFOS, [word])
    assert str(caught.value) == sentence


def test_a_row_is_plain():
    row = query.row(INFOS[3])
    assert list(row) == list(query.COLUMNS)
    assert (row["parent"], row["resumes"], row["grade"]) == ("a", 1, None)
    assert row["seconds"] == 1, "a clock that went backwards in the second session counts as 0"
