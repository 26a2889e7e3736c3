"""Tools that look and watch: what they say of real folders, and that it stays affordable."""

import asyncio
import json

import anyio
import pytest
from mcp.client.client import Client

from spotter.mcp.answers import mistake
from spotter.mcp.desk import Terms
from spotter.mcp.look import row
from spotter.mcp.server import build
from spotter.pages.digest.tokens import tokens
from spotter.rundir.run import Run
from tests.mcp.conftest import SPIKE_AT
from tests.mcp.making import ask, at_desk, refused
from tests.studio.making import ALERT, make_run


def asked(folder, tool, terms=None, **arguments):
    async def scenario():
        async with at_desk(folder, terms) as client:
            return await ask(client, tool, **arguments)

    return asyncio.run(scenario())


def wrong(folder, tool, terms=None, **arguments):
    async def scenario():
        async with at_desk(folder, terms) as client:
            return await refused(client, tool, **arguments)

    return asyncio.run(scenario())


def test_what_can_be_trained(shelf):
    found = asked(shelf, "envs", find="cartpole ppo")
    assert "CartPole-v1:ppo" in [recipe["address"] for recipe in found["recipes"]]
    assert {"ppo", "a2c"} <= set(found["algos"])


def test_a_config_says_where_settings_come_from(shelf):
    found = asked(shelf, "config", address="CartPole-v1:ppo", overrides=["algo.lr=1e-3"])
    settings = {one["name"]: one for one in found["settings"]}
    assert settings["algo.lr"] == {"name": "algo.lr", "value": "0.001", "from": "overrides"}
    assert all(one["from"] != "default" for one in found["settings"])
    full = asked(shelf, "config", address="CartPole-v1:ppo", full=True)
    assert len(full["settings"]) > 2 * len(settings)
    matched = asked(shelf, "config", address="CartPole-v1:ppo", match="critic_lr")
    assert matched["settings"][0]["about"].startswith("Own rate")


def test_a_config_without_a_recipe_says_which_defaults_it_has(shelf):
    found = asked(shelf, "config", address="Blackjack-v1")
    assert found["notes"] == [
        "no recipe for Blackjack-v1: defaults for tabular states (kind `tabular`)"
    ]


def test_the_config_of_a_run(shelf):
    found = asked(shelf, "config", run="baseline")
    assert found["command"].startswith("spotter train CartPole-v1")
    assert any(one["name"] == "algo.lr" for one in found["settings"])


def test_runs_are_found_sorted_and_named(shelf):
    everything = asked(shelf, "runs")
    assert everything["matching"] == 3
    assert everything["runs"][0]["recipe"] == "Acrobot-v1:ppo"
    best = asked(shelf, "runs", query="cartpole", best=True)["runs"]
    assert [run["score"] for run in best] == [450, 300]
    assert asked(shelf, "runs", query="score>400")["runs"][0]["tags"] == ["baseline"]
    assert asked(shelf, "status", run="@best-of:CartPole-v1")["id"] == best[0]["id"]


def test_compare_and_diff(shelf):
    ids = [run["id"] for run in asked(shelf, "runs", query="cartpole")["runs"]]
    sides = asked(shelf, "compare", runs=ids)
    assert {"name": "algo.lr", "values": ["0.001", "0.0003"]} in sides["settings"]
    lines = asked(shelf, "diff", run=ids[0], other=ids[1])
    assert [one["name"] for one in lines["settings"]] == ["algo.lr"]


def test_compare_takes_groups(runs):
    for group, level in (("base", 100.0), ("fast", 200.0)):
        for seed in (1, 2, 3):
            make_run(runs, group=group, seed=seed, level=level + seed, lr=level / 1e6)
    alone = make_run(runs, seed=7, lr=0.5)
    found = asked(runs, "compare", runs=["base", "fast", alone.id])
    assert [one["seed"] for one in found["runs"]] == [1, 2, 3, 1, 2, 3, 7]
    base, fast = found["over_seeds"]
    assert (base["group"], base["seeds"], base["score"]) == ("base", [1, 2, 3], 102)
    assert "lr 0.0001" in base["differs"] and "probability_of_improvement" not in base
    assert fast["probability_of_improvement"] == {"over": "base", "value": 1, "low": 1, "high": 1}
    assert found["settings_of"] == ["base", "fast", alone.id]
    assert {"name": "algo.lr", "values": ["0.0001", "0.0002", "0.5"]} in found["settings"]
    assert len(asked(runs, "compare", runs=["base"])["runs"]) == 3
    one = make_run(runs, group="one", seed=1)
    assert "compare needs two different runs" in wrong(runs, "compare", runs=["one", one.id])
    pair = asked(runs, "compare", runs=["one", "base"])
    assert [side["group"] for side in pair["over_seeds"]] == ["base"], "one seed has no interval"
    assert pair["over_seeds"][0]["plus_minus"] and "note" not in pair["over_seeds"][0]
    make_run(runs, group="one", seed=2)
    (two,) = asked(runs, "compare", runs=["one"])["over_seeds"]
    assert two["plus_minus"] is None and two["note"] == "an interval needs 3 seeds"


def test_alerts_since_a_cursor(runs):
    first = make_run(runs, alerts=(ALERT,))
    found = asked(runs, "alerts")
    assert [(a["run"], a["id"]) for a in found["alerts"]] == [(first.id, "entropy_collapse")]
    assert found["alerts"][0]["advice"] == "Raise algo.entropy."
    assert asked(runs, "alerts", since=found["cursor"])["alerts"] == []
    second = make_run(runs, alerts=({**ALERT, "id": "kl_high"},))
    news = asked(runs, "alerts", since=found["cursor"])
    assert [a["run"] for a in news["alerts"]] == [second.id]


def test_the_log_is_tailed_and_filtered(long_shelf):
    found = asked(long_shelf, "log", lines=3)
    assert found["lines"][-1].startswith("line 19999 ")
    assert len(found["lines"]) == 3
    assert all("1999" in line for line in asked(long_shelf, "log", match="1999")["lines"])


def test_metrics_say_what_they_mean(shelf):
    found = asked(shelf, "metrics", run="baseline", match="train/score")
    assert found["metrics"][0]["about"] == "mean raw return of the last 100 training episodes"
    assert found["metrics"][0]["better"] == "high"


@pytest.mark.parametrize("budget", [400, 6000])
def test_history_keeps_the_spike_within_any_budget(long_shelf, budget):
    found = asked(long_shelf, "history", metrics=["train/score"], tokens=budget)
    assert tokens(json.dumps(found, separators=(",", ":"))) <= budget
    curve = found["curves"][0]
    assert [SPIKE_AT * 256, 9999.5] in curve["points"]
    assert curve["trend"]["greatest"] == 9999.5 and curve["trend"]["points"] == 20_000
    assert "of 20000 points" in curve["left_out"]


def test_five_first_looks_at_once_see_the_same(long_shelf):
    async def scenario():
        found = []

        async def look(client):
            found.append(await ask(client, "history", metrics=["train/score"], tokens=400))

        async with at_desk(long_shelf) as client:
            async with anyio.create_task_group() as group:
                for _ in range(5):
                    group.start_soon(look, client)
            await look(client)  # nor was anything broken for later
        return [one["curves"][0]["trend"]["points"] for one in found]

    assert asyncio.run(scenario()) == [20_000] * 6


def test_few_environments_are_tried_at_once(shelf):
    server, desk = build(shelf)
    for _ in range(4):
        assert desk._room.acquire(blocking=False)

    async def scenario():
        async with Client(server) as client:
            text = await refused(client, "diagnose", environment=True)
            assert "being computed already" in text
            assert (await ask(client, "diagnose"))["run"]

    asyncio.run(scenario())


def test_history_between_two_env_steps(long_shelf):
    found = asked(long_shelf, "history", metrics=["loss/value"], since=256_000, until=258_560)
    points = found["curves"][0]["points"]
    assert points[0][0] == 256_000 and points[-1][0] == 258_560 and len(points) == 11
    assert "left_out" not in found["curves"][0]


EVERY = [
    ("runs", {}), ("status", {}), ("metrics", {}), ("alerts", {}), ("log", {"lines": 500}),
    ("checkpoints", {}), ("diagnose", {}), ("digest", {"tokens": 20_000}), ("envs", {"limit": 500}),
    ("config", {"run": "@last", "full": True}), ("actions", {}),
    ("history", {"metrics": [f"info/key{n}/mean" for n in range(20)], "tokens": 50_000}),
    ("chart", {"metrics": ["train/score", "loss/value"]}),
    ("config", {"address": "CartPole-v1:ppo", "full": True}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("limit", "which"),
    [(1000, EVERY), (8000, [each for each in EVERY if each[0] in ("log", "history", "digest")])],
    ids=["little", "usual"],
)
def test_no_answer_about_a_long_run_is_longer_than_allowed(long_shelf, limit, which):
    async def scenario():
        async with at_desk(long_shelf, Terms(answer_tokens=limit)) as client:
            for tool, arguments in which:
                result = await client.call_tool(tool, arguments)
                text = result.content[0].text
                assert not result.is_error, (tool, text)
                assert tokens(text) <= limit, (tool, tokens(text))
                assert json.loads(text) == result.structured_content

    asyncio.run(scenario())


def test_what_was_cut_is_said(long_shelf):
    found = asked(long_shelf, "metrics", Terms(answer_tokens=1000))
    assert "metrics: " in found["cut"] and "use match" in found["cut"]


def test_wrong_names_get_near_ones(shelf):
    assert "did you mean 'train/score'" in wrong(shelf, "history", metrics=["train/scoer"])
    assert "did you mean" in wrong(shelf, "runs", sort="scroe")
    assert "did you mean 'algo.lr'" in wrong(
        shelf, "config", address="CartPole-v1:ppo", overrides=["algo.lrr=1"]
    ).replace("algo.lr?", "'algo.lr'?")
    assert "did you mean 'CartPole-v1" in wrong(shelf, "config", address="CartPol-v1:ppo")
    assert wrong(shelf, "satus") == "there is no tool 'satus'; did you mean 'status'?"
    assert "did you mean 'limit'" in wrong(shelf, "runs", limt=3)
    assert wrong(shelf, "runs", limit=0).startswith("runs: `limit`:")
    assert "no run" in wrong(shelf, "status", run="20990101")


def test_a_word_that_no_name_holds_is_refused(shelf):
    nothing = "no setting has 'zzz' in its name; ask without match"
    assert nothing in wrong(shelf, "config", address="CartPole-v1:ppo", match="zzz")
    assert nothing in wrong(shelf, "config", run="baseline", match="zzz")
    assert "did you mean 'env.threshold'" in wrong(
        shelf, "config", address="CartPole-v1:ppo", match="env.treshold"
    )
    assert "did you mean 'env.threshold'" in wrong(
        shelf, "config", run="baseline", match="treshold"
    )
    assert "did you mean 'train/score'" in wrong(shelf, "metrics", match="train/scoer")


def test_mistakes_speak_of_tools_not_of_the_command_line():
    said = mistake("run x cannot be resumed: y; start a new one with --from x").content[0].text
    assert said == "run x cannot be resumed: y; `fork` begins a new one with it"
    assert mistake("command line: algo.lrr is none").content[0].text.startswith("overrides: algo")


def test_history_of_no_stretch_is_refused(shelf):
    assert wrong(shelf, "history", since=20_000, until=10_000) == (
        "since=20000 comes after until=10000; swap them"
    )
    assert "no point from 1e+09 to the end; there are some from env step 256 to 25600" in wrong(
        shelf, "history", run="baseline", since=1e9
    )


def forget(run: Run, *names: str) -> None:
    path = run.folder / "run.json"
    info = json.loads(path.read_text())
    path.write_text(json.dumps({key: info[key] for key in info if key not in names}))


def test_the_threshold_is_told(runs):
    young = make_run(runs, updates=1, status="running")
    scored = make_run(runs, updates=1)
    event = {"score": 50.0, "scores": [49.0, 51.0], "seeds": "eval", "env_steps": 256,
             "threshold": 123.5, "solved": False}  # fmt: skip
    scored.event("evaluation", event)
    forget(scored, "threshold", "train_steps_to_threshold")  # as an older version left it
    assert asked(runs, "status", run=young.id)["score"]["threshold"] == 475  # Gymnasium's own
    assert asked(runs, "status", run=scored.id)["score"]["threshold"] == 123.5
    rows = {row["id"]: row.get("threshold") for row in asked(runs, "runs")["runs"]}
    assert rows == {scored.id: 123.5, young.id: 475}
    assert asked(runs, "runs", best=True)["runs"][0]["threshold"] == 123.5
    sides = asked(runs, "compare", runs=[young.id, scored.id])["runs"]
    assert [side["threshold"] for side in sides] == [475, 123.5]


def test_a_live_run_tells_its_best_evaluation(runs):
    run = make_run(runs, updates=1, status="running")
    assert asked(runs, "status", run=run.id)["score"]["best_eval"] is None
    (run.folder / "checkpoints").mkdir(exist_ok=True)
    pointer = {"step": "step-000000256", "score": 253.0, "seeds": "eval"}
    (run.folder / "checkpoints" / "best.json").write_text(json.dumps(pointer))
    assert asked(runs, "status", run=run.id)["score"]["best_eval"] == 253


def test_a_dead_run_is_dead(runs):
    run = make_run(runs, status="running")
    path = run.folder / "run.json"
    info = json.loads(path.read_text())
    path.write_text(json.dumps(info | {"pid": 2**22 + 1}))  # more than Linux ever gives out
    next(run.folder.glob("trainer-*.lock")).unlink()
    status = asked(runs, "status", run=run.id)
    assert status["status"] == "dead" and "is gone" in status["why_dead"]
    assert asked(runs, "runs")["runs"][0]["status"] == "dead"


def test_runs_made_by_hand_are_seen_at_once(runs):
    async def scenario():
        async with at_desk(runs) as client:
            assert (await ask(client, "runs"))["runs"] == []
            run = make_run(runs)
            assert (await ask(client, "status"))["id"] == run.id
            with (Run(run.folder).metrics_path).open("ab") as file:
                file.write(b'{"update": 101, "env_steps": 99999, "train/score": 7.0}\n')
            assert (await ask(client, "status"))["score"]["train/score"] == 7

    asyncio.run(scenario())


def test_a_row_names_the_group(tmp_path):
    grouped, alone = (make_run(tmp_path, updates=1, group=name).info() for name in ("both", ""))
    assert row(grouped)["group"] == "both"
    assert "group" not in row(alone)
