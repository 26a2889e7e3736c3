"""`spotter inspect`: a table of decisions, a saved trace, and one sentence for mistakes."""

import csv
import json

import pytest

from spotter.episodes.format import listing, load
from tests.episodes.making import saved
from tests.episodes.odd import ID as ODD

CLASSIC = {"family": "classic"}
REWARD = {"signals": [{"source": "step_penalty", "weight": 0.1}]}


@pytest.fixture
def run(make_config):
    return saved(make_config("CartPole-v1", env={**CLASSIC, "time_limit": 60}, reward=REWARD))


def test_an_episode_as_a_table(spotter, run):
    ran = spotter("inspect", "@last", "--seed", "3", "--sampled")
    assert ran.code == 0, ran.err
    folder = listing(run)[0]
    trace = load(folder)
    head, summary, *lines = ran.out.splitlines()
    assert head == f"CartPole-v1: run {run.id}, step-000000000, sampled, seed 3"
    assert summary.startswith(f"score {trace.meta.score:.0f} in {trace.meta.length} steps")
    assert summary.endswith("gamma 0.99, lambda 0.95")
    names, first = lines[0].split("\t"), lines[1].split("\t")
    row = dict(zip(names, first, strict=True))
    assert row["step"] == "0"
    assert row["action"] in ("push left", "push right")
    assert row["p"] == "0.50"
    assert (row["reward"], row["env"], row["step_penalty"]) == ("1", "1", "-0.1")
    assert row["score"] == "1"
    rows = [line.split("\t") for line in lines[1:] if "\t" in line]
    assert len(rows) == trace.meta.length <= 40, "a short episode is shown whole"
    for step, cells in enumerate(rows):
        assert ("not greedy" in cells[-1]) == (not trace.columns["greedy"][step])
    assert "terminated" in rows[-1][-1]
    assert lines[-1] == f"saved: {folder}"


def test_a_long_episode_shows_what_stands_out_and_says_what_was_left_out(spotter, run):
    ran = spotter("inspect", "@last", "env.time_limit=null", "env.kwargs.sutton_barto_reward=true")
    assert ran.code == 0, ran.err
    trace = load(listing(run)[0])
    assert trace.meta.length > 40
    assert "with env.time_limit=null, env.kwargs.sutton_barto_reward=true" in ran.out
    rows = [line.split("\t") for line in ran.out.splitlines() if "\t" in line][1:]
    shown = [cells for cells in rows if not cells[0].startswith("…")]
    left_out = sum(int(cells[0].split()[1]) for cells in rows if cells[0].startswith("…"))
    assert len(shown) + left_out == trace.meta.length
    assert shown[-1][0] == str(trace.meta.length - 1)
    assert "rare reward" in shown[-1][-1], "the fall costs 1, everything before it nothing"
    assert f"shown are {len(shown)} of {trace.meta.length} steps" in ran.out


def test_other_gamma_and_lambda(spotter, run):
    ran = spotter("inspect", "@last", "--gamma", "0", "--lambda", "0.5")
    assert "gamma 0, lambda 0.5" in ran.out
    rows = [line.split("\t") for line in ran.out.splitlines() if "\t" in line]
    row = dict(zip(rows[0], rows[1], strict=True))
    assert row["return"] == "0.9", "this step's pay alone"
    assert load(listing(run)[0]).meta.gamma == 0.99


def test_all_about_one_step(spotter, run):
    ran = spotter("inspect", "@last", "--step", "2")
    assert ran.code == 0, ran.err
    cells = dict(line.split("\t") for line in ran.out.splitlines() if "\t" in line)
    assert cells["step"] == "2"
    assert cells["p push left"].startswith("0.")
    assert cells["part step_penalty"] == "-0.1"
    assert len(cells["sees obs"].split(", ")) == 4
    assert {"value", "reward", "training reward", "score", "return"} <= set(cells)
    assert {"advantage", "return minus value"} <= set(cells)


def test_every_step_as_csv(spotter, run, tmp_path):
    path = tmp_path / "episode.csv"
    ran = spotter("inspect", "@last", "--csv", str(path), "--seed", "9")
    assert f"every step: {path}" in ran.out
    trace = load(listing(run)[0])
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == trace.meta.length
    assert float(rows[-1]["score"]) == trace.meta.score
    assert float(rows[0]["advantage"]) != 0
    assert spotter("inspect", "@last", "--csv", str(tmp_path / "no" / "x.csv")).code == 2


def test_several_episodes_and_the_audit(spotter, run, tmp_path):
    path = tmp_path / "all.csv"
    ran = spotter(
        "inspect", "@last", "--episodes", "3", "--seed", "5", "--audit", "--csv", str(path)
    )
    assert ran.code == 0, ran.err
    assert [load(f).meta.seed for f in reversed(listing(run))] == [5, 6, 7]
    rows = [line.split("\t") for line in ran.out.splitlines() if "\t" in line]
    assert [row[0] for row in rows[1:4]] == ["5", "6", "7"]
    assert "mean score" in ran.out
    audit = {row[0]: row for row in rows[5:]}
    assert audit["env"][1] == "1"
    assert audit["step_penalty"][1] == "-0.1"
    assert audit["step_penalty"][7] == "9%", "0.1 of 1.1"
    assert rows[4][6:8] == ["nonzero", "share"]
    assert "training reward" in audit
    with path.open(newline="", encoding="utf-8") as file:
        seeds = {row["seed"] for row in csv.DictReader(file)}
    assert seeds == {"5", "6", "7"}


def test_json_holds_everything_a_program_wants(spotter, run):
    ran = spotter("inspect", "@last", "--json", "--audit", "--seed", "3")
    data = json.loads(ran.out)
    (episode,) = data["episodes"]
    assert episode["seed"] == 3
    assert len(episode["steps"]) == episode["length"]
    assert {"action", "value", "advantage", "return_minus_value", "part/env"} <= set(
        episode["steps"][0]
    )
    assert load(listing(run)[0]).meta.score == episode["score"]
    assert {part["name"] for part in data["audit"]} == {"env", "step_penalty", "training reward"}


def test_json_has_no_nan(spotter, make_config):
    saved(make_config(ODD))
    text = spotter("inspect", "@last", "--json").out
    assert "NaN" not in text
    assert json.loads(text)["episodes"][0]["steps"][0]["info/bonus"] == "nan"


def test_a_saved_episode_is_shown_again_without_playing(spotter, run):
    first = spotter("inspect", "@last", "--seed", "3")
    folder = listing(run)[0]
    again = spotter("inspect", str(folder))
    assert again.out == first.out
    assert len(listing(run)) == 1
    others = (("--seed", "4"), ("--sampled",), ("--untrained",), ("--episodes", "2"))
    for option, *value in others:
        refused = spotter("inspect", str(folder), option, *value)
        assert refused.code == 2
        assert f"was played already and takes no {option}" in refused.err


def test_an_episode_is_stored_once(spotter, run, tmp_path):
    first = spotter("inspect", "@last", "--seed", "3")
    again = spotter("inspect", "@last", "--seed", "3", "--gamma", "0.5", "--step", "2")
    assert first.out.splitlines()[-1] == again.out.splitlines()[-1]
    assert len(listing(run)) == 1
    spotter("inspect", "@last", "--seed", "3", "env.time_limit=5")
    spotter("inspect", "@last", "--seed", "3", "--sampled")
    assert len(listing(run)) == 3, "under other circumstances it is another one"


def test_what_is_refused_stores_nothing(spotter, run, tmp_path):
    refused = {
        ("--csv", str(tmp_path / "no" / "x.csv")): f"there is no folder {tmp_path / 'no'}",
        ("--csv", str(tmp_path)): "it is a folder",
        ("--step", "9999"): "got 9999: the episode has ",
        ("--step", "-1"): "--step should be 0 or more",
        ("--step", "1", "--episodes", "2"): "--step is about one episode",
        ("--step", "1", "--json"): "--step does not go with --json",
        ("--untrained", "--sampled"): "leave --sampled out",
    }
    for args, sentence in refused.items():
        ran = spotter("inspect", "@last", *args)
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
        assert sentence in ran.err
    ran = spotter("inspect", "@last/step=0", "--untrained")
    assert (ran.code, "an untrained policy has no step=0" in ran.err) == (2, True)
    assert listing(run) == []


def test_an_even_chance_is_no_unlikely_pick(spotter, run):
    ran = spotter("inspect", "@last", "--untrained")
    assert "not greedy" in ran.out
    assert "unlikely pick" not in ran.out


def test_masks_and_fresh_weights(spotter, make_config):
    kwargs = {"masks": True, "lengths": [4]}
    saved(make_config("spotter.testing.scripted:Scripted-v0", env={"kwargs": kwargs}))
    ran = spotter("inspect", "@last", "--untrained")
    assert "fresh weights, untrained" in ran.out
    assert ran.out.count("1 masked") == 4
    assert "note: spotter.testing.scripted:Scripted-v0 gives no images" in ran.out


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["nothing"], "there is no run 'nothing'"),
        (["@last/step=77"], "has no checkpoint step=77; it has 0"),
        (["@last", "--step", "500"], "--step should be from 0 to"),
        (["@last", "--gamma", "2"], "gamma must be from 0 to 1, not 2"),
        (["@last", "env.tiem_limit=3"], "time_limit"),
        (["@last", "--episodes", "0"], "episodes"),
    ],
)
def test_mistakes_are_one_sentence(spotter, run, args, sentence):
    ran = spotter("inspect", *args)
    assert ran.code == 2
    assert sentence in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    assert "--gamma" not in args or not listing(run), "nothing is played for nothing"


def test_without_a_critic_the_baseline_is_told(spotter, make_config):
    run = saved(make_config("CartPole-v1", "reinforce", env={**CLASSIC, "time_limit": 30}))
    ran = spotter("inspect", "@last", "--seed", "3")
    assert ran.code == 0, ran.err
    summary, names = ran.out.splitlines()[1:3]
    assert summary.endswith("the mean return of this episode (no critic)")
    assert "value" not in names.split("\t") and "advantage" in names.split("\t")
    told = json.loads(spotter("inspect", "@last", "--seed", "3", "--json").out)["episodes"][0]
    assert told["judged"]["lambda"] is None and told["judged"]["baseline"] > 0
    assert "value" not in told["steps"][0]
    refused = spotter("inspect", "@last", "--lambda", "0.5")
    assert refused.code == 2
    assert "this run has none (algo.baseline is mean)" in refused.err
    assert len(listing(run)) == 1


def test_a_box_action_is_what_the_environment_received(spotter, make_config):
    run = saved(make_config("Pendulum-v1", env={**CLASSIC, "time_limit": 5}))
    ran = spotter("inspect", "@last", "--sampled", "--step", "2")
    assert ran.code == 0, ran.err
    trace = load(listing(run)[0])
    received = trace.columns["received"][2, 0]
    lines = dict(line.split("\t", 1) for line in ran.out.splitlines() if "\t" in line)
    assert lines["action"] == f"torque {received:+.2f}"
    assert float(lines["std"]) == pytest.approx(2.0, abs=0.01)
    assert lines["policy's output"].startswith(f"{trace.columns['action'][2, 0]:.4g} (in")
    rows = json.loads(spotter("inspect", str(listing(run)[0]), "--json").out)["episodes"][0]
    assert rows["steps"][2]["received/0"] == pytest.approx(received)
    assert rows["action_high"] == [2.0]
