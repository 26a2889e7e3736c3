"""Settings of runs as columns: queries and data frames."""

import pytest

from spotter.rundir import frames, query, settings
from spotter.rundir.registry import listing
from spotter.types import UserError


@pytest.fixture
def two(make_run):
    """A run with a constant rate, and one with a schedule."""
    slow = make_run(
        config={"algo": {"name": "ppo", "lr": 1e-4, "gamma": 0.9}, "policy": {"hidden": [8]}}
    )
    fast = make_run(
        config={"algo": {"name": "ppo", "lr": {"start": 1e-2, "end": 0}, "gamma": 0.99}}
    )
    return {slow.id: "slow", fast.id: "fast"}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["algo.lr=1e-4"], ["slow"]),
        (["algo.lr=0.01"], ["fast"]),
        (["algo.lr!=1e-4"], ["fast"]),
        (["algo.gamma>0.98"], ["fast"]),
        (["algo.gamma<=0.99", "algo.lr<1"], ["fast", "slow"]),
        (["policy.hidden=[8]"], ["slow"]),
        (["algo.optimizer=ADA*"], ["fast", "slow"]),
        (["algo.optimizer!=adam"], []),
        (["reward.normalize=false"], ["fast", "slow"]),
        (["reward.clip=null"], ["fast", "slow"]),
        (["reward.clip!="], []),
        (["algo.name=ppo", "cartpole"], ["fast", "slow"]),
        (["device=auto"], ["fast", "slow"]),
    ],
)
def test_queries_by_setting(two, words, found):
    assert [two[info["id"]] for info in query.matching(listing().infos, words)] == found


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("algo.gama=1", "'algo.gama' is no column of a run; did you mean 'algo.gamma'?"),
        ("lr=1", "'lr' is no column of a run; did you mean 'algo.lr'?"),
        ("learning_rate=1", "'learning_rate' is no column of a run; did you mean 'algo.lr'?"),
        ("scoer=1", "'scoer' is no column of a run; did you mean 'score'?"),
        ("algo.lr>fast", "algo.lr> is compared with a number, got 'fast'"),
    ],
)
def test_an_unknown_column_is_an_error_with_the_nearest(two, word, hint):
    with pytest.raises(UserError) as caught:
        query.matching(listing().infos, [word])
    assert str(caught.value) == hint


def test_an_unknown_column_is_an_error_without_runs_too():
    with pytest.raises(UserError, match=r"did you mean 'algo.gamma'"):
        query.matching([], ["algo.gama=1"])
    assert query.matching([], ["algo.gamma=1"]) == []


def test_a_frame_has_settings(two):
    frame = frames.of_runs(listing().infos)
    assert frame["algo.gamma"].tolist() == [0.99, 0.9]
    assert frame["algo.gamma"].dtype == float
    assert frame["algo.lr"].tolist() == ["{shape: linear, start: 0.01, end: 0.0}", 0.0001]
    assert frame["policy.hidden"].tolist()[1] == "[8]"
    assert frame["seed"].tolist() == [1, 1]
    assert len(set(frame.columns)) == len(frame.columns)


def test_what_was_read_is_kept_until_it_changes(two, monkeypatch):
    infos = listing().infos
    first = settings.of_runs(infos)
    read: list[str] = []
    monkeypatch.setattr(settings, "_read", lambda path: read.append(path.parent.name) or {})
    assert settings.of_runs(infos) == first
    assert read == []
    changed = settings.home() / infos[0]["id"] / "config.yaml"
    changed.write_text(f"{changed.read_text(encoding='utf-8')}\n# changed\n", encoding="utf-8")
    settings.of_runs(infos)
    assert read == [infos[0]["id"]]


def test_a_broken_cache_and_a_broken_config_are_passed_over(two):
    infos = listing().infos
    (settings.home() / settings.CACHE).write_text("{]", encoding="utf-8")
    (settings.home() / infos[0]["id"] / "config.yaml").write_text("{]", encoding="utf-8")
    found = settings.of_runs(infos)
    assert found[infos[0]["id"]] == {}
    assert found[infos[1]["id"]]["algo.lr"] == 1e-4
    assert [two[i["id"]] for i in query.matching(infos, ["algo.lr=1e-4"])] == ["slow"]
