"""The side-by-side benchmark's arithmetic and its page; nothing is installed or trained here."""

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "peers"


@pytest.fixture(autouse=True)
def modules(monkeypatch):
    """The scripts import each other by bare names, as scripts in one folder do."""
    names = ("works", "meter", "contestants", "report", "run", "peer_spotter")
    monkeypatch.syspath_prepend(str(FOLDER))
    yield
    for name in names:
        sys.modules.pop(name, None)


def runs_of(speeds):
    from report import Run

    return [
        Run("W2", name, index, index + 1, {"work": "W2", "steps_per_s": speed, "to_score_s": None})
        for name, values in speeds.items()
        for index, speed in enumerate(values)
    ]


def test_a_ratio_is_taken_within_rounds():
    from report import ratio

    # a machine that slows down threefold over the rounds slows both sides
    assert ratio({0: 900, 1: 600, 2: 300}, {0: 300, 1: 200, 2: 100}) == 3
    assert ratio({0: 900}, {1: 300}) is None


def test_cpu_time_is_shown_where_one_process_does_everything():
    from report import Run, table

    def run(name, cpu):
        result = {"work": "W9", "steps_per_s": 50, "to_score_s": None, "env_steps": 600}
        return Run("W9", name, 0, 1, {**result, "seconds": 7, "cpu_seconds": cpu})

    rows = table([run("spotter", 5), run("sb3", 6), run("tianshou", None)], "W9").splitlines()
    assert rows[2].startswith("| Spotter | 50 |") and rows[2].endswith("| 120 | 1.20 |")
    assert rows[-1].endswith("|  |  |")
    busy = table([run("spotter", 2), run("sb3", 6)], "W9").splitlines()
    assert busy[2].startswith("| Spotter |  |  |  |"), "wall time says nothing then"
    assert busy[2].endswith("| 300 | 3.00 |")


def test_the_best_peer_is_the_fastest_other_one():
    from report import best_peer, speeds, table

    runs = runs_of({"spotter": [80, 80], "sb3": [10, 10], "tianshou": [20, 20]})
    assert best_peer(speeds(runs, "W2")) == "tianshou"
    row = next(line for line in table(runs, "W2").splitlines() if line.startswith("| Spotter"))
    assert "| 8.00 | 4.00 |" in row


def test_runs_that_never_score_count_against_the_median():
    from report import _to_score

    def results(*times):
        return [{"work": "W1", "to_score_s": time} for time in times]

    assert _to_score(results(1.0, 2.0, None)) == "2.0 (1.0 – 2.0, 2/3 runs)"
    assert _to_score(results(1.0, None, None)) == "no median (1.0 – 1.0, 1/3 runs)"
    assert _to_score(results(None)) == "never (0/1)"
    assert _to_score([{"work": "W2", "to_score_s": None}]) == ""


def test_a_section_is_replaced_and_the_rest_is_kept():
    from report import replace_section

    page = "# P\n<!-- W1:start -->\nold\n<!-- W1:end -->\ntail\n"
    assert replace_section(page, "W1", "new") == (
        "# P\n<!-- W1:start -->\nnew\n<!-- W1:end -->\ntail\n"
    )
    assert replace_section(page, "W9", "x").endswith("<!-- W9:start -->\nx\n<!-- W9:end -->\n")


def test_the_page_has_a_place_for_every_work():
    from works import WORKS

    page = (FOLDER.parents[1] / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    for name in WORKS:
        assert page.count(f"<!-- {name}:start -->") == page.count(f"<!-- {name}:end -->") == 1


def test_p38_the_meter_leaves_warm_up_and_evaluation_out(monkeypatch, capsys):
    import json

    import meter
    from works import WORKS

    clock = [0.0]
    monkeypatch.setattr(meter.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(meter.time, "process_time", lambda: clock[0] / 2)
    monkeypatch.setattr(meter.time, "time", lambda: 100 + clock[0])
    monkeypatch.setenv(meter.STARTED, "95")

    def play(env_id, act):
        clock[0] += 50
        return 480.0

    monkeypatch.setattr(meter, "play", play)
    watch = meter.Meter(WORKS["W1"])
    for seconds, env_steps in ((30, 5_120), (1, 6_120), (1, 7_120)):
        clock[0] += seconds
        watch.tick(env_steps, lambda obs: obs)
    watch.finish()
    result = json.loads(capsys.readouterr().out)
    assert result["steps_per_s"] == 1_000
    assert result["cpu_seconds"] == result["seconds"] / 2 == 1
    assert result["start_s"] == 35
    assert (result["to_score_s"], result["to_score_env_steps"]) == (85, 5_120)


def test_playing_scores_whole_episodes():
    import meter
    import numpy as np

    # always pushing to one side topples the pole in about nine steps
    assert 7 < meter.play("CartPole-v1", lambda obs: np.zeros(len(obs), dtype=int)) < 12


@pytest.mark.parametrize("name", ["W1", "W2", "W4", "W5", "W6", "W7", "W8"])
def test_spotter_gets_the_works_settings(name):
    from peer_spotter import configure
    from works import WORKS

    work = WORKS[name]
    config = configure(work, 3)
    assert (config.seed, config.env.id, config.env.count) == (3, work.env, work.count)
    assert (config.algo.name, config.threads) == (work.algo, 1)
    assert not config.env.mask
    if work.algo != "reinforce":
        assert config.algo.steps == work.steps
    if work.algo == "ppo":
        assert (config.algo.minibatch, config.algo.lambda_.start) == (
            work.minibatch,
            work.gae_lambda,
        )


def test_a_shortened_work_keeps_whole_updates_after_a_warm_up():
    from works import WORKS

    for work in WORKS.values():
        short = work.shortened(0.001)
        assert short.env_steps % work.rollout == 0
        assert 0 < short.warm_up < short.env_steps


def test_a_peer_that_fails_is_left_out_with_its_last_words(tmp_path, monkeypatch):
    import contestants
    import run
    from works import WORKS

    (tmp_path / "peer_broken.py").write_text("raise SystemExit('no such thing')")
    monkeypatch.setattr(contestants, "HERE", tmp_path)
    broken = contestants.Contestant(name="broken", title="Broken", works=("W1",))
    runs, skipped = run.take_turns(WORKS["W1"], [broken], 2, 1.0, 60.0)
    assert runs == []
    assert skipped == {"broken": "failed: no such thing"}


def test_rounds_alternate(tmp_path, monkeypatch):
    import contestants
    import run
    from works import WORKS

    order = []

    def measure(contestant, *rest):
        order.append(contestant.name)
        return {"work": "W1", "steps_per_s": 1.0, "to_score_s": None}

    monkeypatch.setattr(run, "measure", measure)
    pair = [contestants.Contestant(name=n, title=n, works=("W1",)) for n in ("a", "b")]
    run.take_turns(WORKS["W1"], pair, 3, 1.0, 60.0)
    assert order == ["a", "b", "b", "a", "a", "b"]
