"""What the watcher may do: nothing without consent, and what was asked with it."""

import pytest

from spotter.config import resolve
from spotter.diagnose.alerts import Alert
from spotter.metrics import common
from spotter.metrics.spec import Catalogue
from spotter.rundir.run import Run
from spotter.rundir.view import RunView
from spotter.sinks.base import Row
from spotter.studio import run_view
from spotter.training.checkpoint import find_in
from spotter.training.interventions import Interventions, changed
from spotter.training.run import train
from spotter.types import UserError

CATALOGUE = Catalogue(common.METRICS)


def config_with(make_config, **sections):
    sections = {"video": {"when": None}, "eval": {"every_steps": None, "episodes": 2}, **sections}
    return make_config("CartPole-v1", **sections)


def row(update, score=1.0, *alerts):
    fired = tuple(Alert(name, "train/score", "warning", "saw", "advice") for name in alerts)
    return Row(update, update * 100, update * 10, {"train/score": score}, fired)


def test_nothing_is_done_unless_asked(make_config):
    config = config_with(make_config)
    interventions = Interventions(config, CATALOGUE)
    assert interventions.after(row(1, 1.0, "kl-high", "nan"), config) == []


@pytest.mark.parametrize("action", ["stop", "snapshot", "lower_lr"])
def test_an_alert_does_what_the_config_says_when_it_rises(make_config, action):
    config = config_with(make_config, alerts={"actions": {"kl-high": action}})
    interventions = Interventions(config, CATALOGUE)
    assert interventions.after(row(1, 1.0, "nan"), config) == []
    (deed,) = interventions.after(row(2, 1.0, "kl-high"), config)
    assert deed.why == "alert kl-high"
    if action == "lower_lr":
        assert (deed.kind, deed.setting, deed.value) == ("change", "algo.lr", 1.5e-4)
    else:
        assert deed.kind == action
    assert interventions.after(row(3, 1.0, "kl-high"), config) == []


def test_lower_lr_acts_as_often_as_its_alert_comes_back(make_config):
    config = config_with(make_config, alerts={"actions": {"kl-high": "lower_lr"}})
    interventions = Interventions(config, CATALOGUE)
    fired = ["kl-high", "kl-high", "", "kl-high", "", "", "kl-high", "kl-high"]
    rates = []
    for update, name in enumerate(fired, 1):
        for deed in interventions.after(row(update, 1.0, *filter(None, [name])), config):
            config = changed(config, deed.setting, deed.value)
            rates.append(deed.value)
        restored = Interventions(config, CATALOGUE)  # as a resume after every row
        restored.restore(interventions.state())
        interventions = restored
    assert rates == pytest.approx([1.5e-4, 7.5e-5, 3.75e-5])


def test_a_checkpoint_of_before_alerts_could_come_back(make_config):
    config = config_with(make_config, alerts={"actions": {"kl-high": "lower_lr"}})
    interventions = Interventions(config, CATALOGUE)
    state = interventions.state()
    del state["firing"]
    interventions.restore({**state, "done": ["kl-high"]})
    assert interventions.after(row(1, 1.0, "kl-high"), config) == []
    interventions.after(row(2), config)
    assert interventions.after(row(3, 1.0, "kl-high"), config)


def test_what_was_done_survives_a_resume(make_config):
    config = config_with(make_config, alerts={"actions": {"kl-high": "lower_lr"}})
    interventions = Interventions(config, CATALOGUE)
    interventions.after(row(1, 1.0, "kl-high"), config)
    again = Interventions(config, CATALOGUE)
    again.restore(interventions.state())
    assert again.reapply(config, set()).algo.lr.start == 1.5e-4
    assert again.reapply(config, {"algo.lr"}).algo.lr.start == 3e-4, "the user's word is newer"
    assert again.after(row(2, 1.0, "kl-high"), config) == []


PLATEAU = {
    "patience_steps": 300,
    "cooldown_steps": 200,
    "actions": [
        {"setting": "algo.lr", "value": 0.5, "low": 1e-4},
        {"setting": "algo.entropy", "operation": "set", "value": 0.02},
    ],
}


def test_a_plateau_changes_settings_in_turn(make_config):
    config = config_with(make_config, plateau=PLATEAU)
    interventions = Interventions(config, CATALOGUE)
    deeds = []
    for update in range(1, 30):
        deeds += interventions.after(row(update), config)
    settings = [deed.setting for deed in deeds]
    assert settings[:3] == ["algo.lr", "algo.entropy", "algo.lr"]
    assert deeds[0].value == 1.5e-4
    assert deeds[1].value == 0.02
    assert "train/score has not improved on 1" in deeds[0].why


def test_a_real_run_changes_its_rate_and_says_so(make_config):
    plateau = {
        "monitor": "train/score",
        "patience_steps": 128,
        "min_delta": 1e6,
        "actions": [{"setting": "algo.lr", "value": 0.5}],
    }
    config = config_with(make_config, plateau=plateau, budget={"env_steps": 1000})
    result = train(config, new_run=lambda: Run.create(config, "x"))
    changes = [event for event in result.run.events() if event["event"] == "change"]
    assert changes
    assert (changes[0]["before"], changes[0]["after"]) == (3e-4, 1.5e-4)
    assert changes[0]["env_steps"] in [row["env_steps"] for row in result.run.metrics()]
    page = (result.run.folder / "report.html").read_text(encoding="utf-8")
    assert 'class="flag change"' in page
    assert "settings changed" in page
    assert [(each.env_steps, each.text) for each in run_view.changes(RunView(result.run))] == [
        (each["env_steps"], f"algo.lr = {each['after']}") for each in changes
    ]
    rates = [row["hp/algo.lr"] for row in result.run.metrics()]
    assert rates[0] == 3e-4
    assert rates[-1] < 3e-4


def test_a_snapshot_is_kept(make_config):
    config = config_with(
        make_config,
        algo={"name": "ppo", "lr": 0.5},
        alerts={"actions": {"kl-high": "snapshot"}},
        budget={"env_steps": 6000},
    )
    result = train(config, new_run=lambda: Run.create(config, "x"))
    fired = [row for row in result.run.metrics() if "kl-high" in row.get("alerts", ())]
    assert fired, "a learning rate of 0.5 should be noticed"
    step = find_in(result.run, f"step={fired[0]['env_steps']}")
    assert (step / "pinned.json").exists()


def test_an_alert_may_end_a_run(make_config):
    config = config_with(
        make_config,
        algo={"name": "ppo", "lr": 0.5},
        alerts={"actions": {"kl-high": "stop"}},
        budget={"env_steps": 100_000},
    )
    result = train(config, new_run=lambda: Run.create(config, "x"))
    assert result.reason == "alert"
    assert result.env_steps < 100_000
    assert result.score is not None, "it is still scored"


@pytest.mark.parametrize(
    ("sections", "sentence"),
    [
        (
            {"alerts": {"ignore": ["kl-hihg"]}},
            "alerts.ignore: there is no alert 'kl-hihg'; did you",
        ),
        ({"alerts": {"actions": {"nam": "stop"}}}, "alerts.actions: there is no alert 'nam'"),
        (
            {"plateau": {**PLATEAU, "actions": [{"setting": "algo.steps", "value": 2}]}},
            "plateau: 'algo.steps' cannot change while training",
        ),
        ({"plateau": {**PLATEAU, "monitor": "train/scor"}}, "is no metric; did you mean"),
        ({"plateau": {**PLATEAU, "monitor": "loss/policy"}}, "has no better direction"),
    ],
)
def test_mistakes_are_one_sentence_before_anything_is_made(make_config, sections, sentence):
    with pytest.raises(UserError, match=sentence):
        train(config_with(make_config, **sections), new_run=lambda: pytest.fail("no folder"))


def test_schedules_keep_their_shape():
    overrides = {"algo.lr": {"shape": "cosine", "start": 1e-3, "end": 1e-4, "warmup": 0.1}}
    config = resolve("CartPole-v1:ppo", overrides).config
    changed = config.algo.lr.changed(lambda value: value / 2)
    assert changed.model_dump() == {
        "shape": "cosine", "start": 5e-4, "end": 5e-5, "warmup": 0.1,
    }  # fmt: skip
