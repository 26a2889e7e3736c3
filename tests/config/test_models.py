"""Types, null, numbers as people write them, and what one section knows of another."""

import pytest
from pydantic import ValidationError

from spotter.config import EnvConfig, RunConfig, resolve, validate
from spotter.schedules import Schedule, constant
from spotter.types import UserError

ADDRESS = "CartPole-v1:ppo"


def config(*overrides: str) -> RunConfig:
    return resolve(ADDRESS, overrides).config


@pytest.mark.parametrize("text", ["50000", "50_000", "5e4", "5.0e4", "50000.0", "0xC350"])
def test_whole_numbers_as_people_write_them(text):
    steps = config(f"budget.env_steps={text}").budget.env_steps
    assert steps == 50_000
    assert type(steps) is int


@pytest.mark.parametrize(
    "path", ["env.count", "algo.lr", "algo.lr.start", "algo.minibatch", "reward.scale", "seed"]
)
def test_a_whole_number_that_no_float_holds_is_one_sentence(path):
    with pytest.raises(UserError, match=path.removesuffix(".start").replace(".", r"\.")):
        config(f"{path}={'9' * 400}")


def test_a_whole_number_is_fine_where_a_number_is_wanted():
    assert config("reward.scale=2").reward.scale == 2.0


@pytest.mark.parametrize(
    ("path", "default"),
    [("algo.max_grad_norm", constant(0.5)), ("eval.every_steps", "auto"), ("reward.clip", None)],
)
def test_null_switches_a_default_off(path, default):
    section, key = path.split(".")
    assert getattr(getattr(config(), section), key) == default
    assert getattr(getattr(config(f"{path}=null"), section), key) is None


def test_null_in_a_variant_switches_off_what_the_base_set(folder):
    folder(
        "recipes/CartPole-v1.yaml",
        """\
        base: {reward: {clip: 5}}
        variants:
          on: {}
          off: {reward: {clip: null}}
        """,
    )
    assert resolve("CartPole-v1:on").config.reward.clip == 5
    assert resolve("CartPole-v1:off").config.reward.clip is None


def test_configs_are_frozen():
    with pytest.raises(ValidationError, match="frozen"):
        config().env.count = 3  # type: ignore[misc]


def test_data_uses_the_names_people_write_and_reads_back_equal():
    before = config("algo.lambda=0.9", "algo.clip={shape: cosine, start: 0.2, from: 0.5}")
    data = before.as_data()
    assert data["algo"]["lambda"] == 0.9
    assert "lambda_" not in data["algo"]
    assert data["algo"]["clip"] == {"shape": "cosine", "start": 0.2, "end": 0.0, "from": 0.5}
    assert validate(data) == before
    assert validate(data).as_data() == data


def test_plugins_keep_their_own_settings_through_data():
    before = config(
        "env.wrappers=[{name: frame_stack, count: 2}]",
        "reward.signals=[{source: info, key: x, weight: {start: 1, end: 0}}]",
    )
    assert before.env.wrappers[0].count == 2
    assert before.reward.signals[0].name == "info"
    assert validate(before.as_data()) == before


def test_two_signals_of_one_name_are_refused():
    same = "{source: step_penalty}"
    with pytest.raises(UserError, match="two reward parts are called 'step_penalty'"):
        config(f"reward.signals=[{same}, {same}]")
    with pytest.raises(UserError, match="two reward parts are called 'env'"):
        config("reward.signals=[{source: step_penalty, name: env}]")


@pytest.mark.parametrize(
    ("wrapper", "setting"),
    [
        ("NormalizeObservation", "policy.normalize_obs=running"),
        ("NormalizeReward", "reward.normalize=true"),
    ],
)
def test_p14_normalising_twice_is_refused(wrapper, setting):
    wrap = f"env.wrappers=[{{name: gymnasium, wrapper: {wrapper}}}]"
    assert config(wrap)
    with pytest.raises(UserError, match="normalised twice"):
        config(wrap, setting)


def test_schedules_are_listed_by_the_names_people_write():
    names = dict(config().schedules())
    assert {"algo.lr", "algo.lambda", "algo.clip", "reward.weight"} <= names.keys()
    assert all(isinstance(schedule, Schedule) for schedule in names.values())


def test_an_algorithm_by_its_module():
    address = "MountainCarContinuous-v0:tests.config.fake_algo"
    assert resolve(address, ["algo.size=4"]).config.as_data()["algo"]["size"] == 4
    with pytest.raises(UserError, match=r"^command line: algo.size must not be above env.count$"):
        resolve(address, ["algo.size=99"])
    with pytest.raises(UserError, match=r"algo.siz is not a setting; did you mean algo.size\?"):
        resolve(address, ["algo.siz=4"])


def test_workers_without_processes_are_refused():
    with pytest.raises(ValueError, match="needs `backend: process`"):
        EnvConfig(id="CartPole-v1", workers=2)
    assert EnvConfig(id="CartPole-v1", workers=2, backend="process").workers == 2
