"""The catalogue is complete, consistent, and finds what was declared."""

import re
from collections import Counter

import pytest

from spotter import plugins
from spotter.config import RunConfig
from spotter.diagnose.rules import BY_ID
from spotter.metrics import common
from spotter.metrics.spec import Catalogue, MetricSpec

GROUPS = {
    "train": ("score", "score_best", "score_last", "reward", "length", "episodes"),
    "eval": ("score", "score_std", "length", "solved", "env_steps"),
    "test": ("score", "score_std", "length", "solved", "env_steps"),
    "info": ("coins/mean", "coins/last"),
    "reward": ("env",),
    "policy": ("probability", "std", "entropy", "kl", "approx_kl", "clip_fraction"),
    "action": ("mean", "std", "share/0"),
    "obs": ("mean", "std"),
    "value": ("mean", "std", "explained_variance"),
    "return": ("mean", "std"),
    "advantage": ("mean", "std"),
    "rollout": ("reward_mean", "reward_std", "lost"),
    "run": ("progress",),
    "time": (
        "fps",
        "updates_per_s",
        "elapsed_s",
        "eta_s",
        "env_s",
        "policy_s",
        "transfer_s",
        "learn_s",
        "eval_s",
        "save_s",
        "idle_s",
    ),
    "merit": ("steps_to_threshold",),
    "loss": ("policy", "value", "entropy", "total"),
    "grad": ("norm", "policy_head"),
    "net": ("dead_units",),
    "hp": ("algo.lr", "algo.gamma"),
}
WRITTEN = [f"{group}/{name}" for group, names in GROUPS.items() for name in names]


@pytest.mark.parametrize("key", WRITTEN)
def test_what_the_trainer_writes_is_declared(key):
    spec = Catalogue(common.METRICS).find(key)
    assert spec is not None
    assert spec.meaning


def test_an_exact_entry_goes_before_its_family():
    catalogue = Catalogue(common.METRICS)
    assert catalogue.find("hp/algo.lr").key == "hp/algo.lr"
    assert catalogue.find("hp/algo.clip").key == "hp/*"
    assert catalogue.find("grad/norm").key == "grad/norm"
    assert catalogue.find("grad/trunk").key == "grad/*"
    assert catalogue.find("nobody/knows") is None


def test_a_metric_declared_twice_is_refused():
    with pytest.raises(AssertionError, match="a/b is declared twice"):
        Catalogue((MetricSpec("a/b", "one"), MetricSpec("a/b", "two")))


def test_iterating_gives_every_entry_once():
    assert {spec.key for spec in Catalogue(common.METRICS)} == {s.key for s in common.METRICS}


def test_the_live_table_stays_readable():
    assert 15 <= sum(spec.shown for spec in common.METRICS) <= 20


def test_priorities_give_one_order_and_keep_groups_together():
    counts = Counter(spec.priority for spec in common.METRICS)
    assert [priority for priority, n in counts.items() if n > 1] == []
    ordered = sorted(common.METRICS, key=lambda spec: spec.priority)
    groups = [spec.key.split("/")[0] for spec in ordered]
    runs = [group for i, group in enumerate(groups) if i == 0 or groups[i - 1] != group]
    assert len(runs) == len(set(runs)), runs


def test_bounds_are_in_order_and_zero_is_a_bound():
    for spec in common.METRICS:
        if spec.low is not None and spec.high is not None:
            assert spec.low < spec.high, spec.key
    assert Catalogue(common.METRICS).find("policy/clip_fraction").low == 0
    assert Catalogue(common.METRICS).find("policy/kl").low is None  # k1 may be negative


def test_spread_is_std_never_variance():
    words = [word for spec in common.METRICS for word in re.split(r"[/_]", spec.key)]
    assert "var" not in words


def test_advice_names_settings_that_exist():
    """Of metrics and of alerts alike: a setting nobody has would send the reader astray."""
    known = {"algo.name"}
    for section, info in RunConfig.model_fields.items():
        fields = getattr(info.annotation, "model_fields", {})
        known |= {f"{section}.{key}" for key in fields}
    for name in plugins.names("algos"):
        fields = plugins.load("algos", name).Config.model_fields
        known |= {f"algo.{field.alias or key}" for key, field in fields.items()}
    texts = {spec.key: spec.advice for spec in common.METRICS}
    texts |= {id: f"{rule.advice} {rule.then}" for id, rule in BY_ID.items()}
    sections = "|".join(RunConfig.model_fields)
    named = {
        (where, setting)
        for where, text in texts.items()
        for setting in re.findall(rf"\b(?:{sections})\.[a-z_]+", text)
    }
    assert len({setting for _, setting in named}) > 15
    assert {pair for pair in named if pair[1] not in known} == set()
