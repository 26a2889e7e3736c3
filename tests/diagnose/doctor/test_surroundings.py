"""What playing the environment of a run shows, with real games that have something wrong."""

import json

import gymnasium as gym
import numpy as np
import pytest

from spotter.config import EnvConfig
from spotter.diagnose.doctor import surroundings
from spotter.diagnose.doctor.run import diagnose
from spotter.diagnose.doctor.surroundings import look
from tests.diagnose.doctor.recordings import FOLDER, unpack

GAMES = "tests.diagnose.doctor.games"


def found(env, threshold=None):
    """By id, as the process would hand it over."""
    task = {"env": env.model_dump(mode="json", by_alias=True), "threshold": threshold}
    return dict(look(json.loads(json.dumps(task))))


def game(name, **settings):
    return EnvConfig(id=f"{GAMES}:{name}-v0", family="gymnasium", **settings)


def broken(what):
    return EnvConfig(id="Promises-v0", family="tests.envs.promises", kwargs={"breaks": what})


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        (EnvConfig(id="CartPole-v1", family="classic"), set()),
        (EnvConfig(id="CliffWalking-v1", family="toy_text", time_limit=200), set()),
        (game("Alternate"), set()),
        (game("Deaf"), {"actions-do-not-matter"}),
        (game("Frozen"), {"actions-do-not-matter"}),
        (game("Twin"), {"copies-alike"}),
        (game("Twin", count=1), set()),
        (game("Eager"), {"resets-itself"}),
        (game("EagerTelling"), {"resets-itself"}),
        (broken("seeds"), {"not-repeatable"}),
        (broken("reward"), {"environment-broken"}),
    ],
    ids=lambda value: (
        value.id.split(":")[-1] + str(value.count) + str(value.kwargs)
        if isinstance(value, EnvConfig)
        else None
    ),
)
def test_what_is_wrong(env, expected):
    seen = found(env)
    assert set(seen) - {"observation-uneven"} == expected


@pytest.mark.parametrize(("threshold", "is_out"), [(475.0, False), (600.0, True)])
def test_a_threshold_no_score_reaches(threshold, is_out):
    seen = found(EnvConfig(id="CartPole-v1", family="classic"), threshold)
    assert ("unreachable-threshold" in seen) is is_out
    if is_out:
        assert seen["unreachable-threshold"].overrides == ("env.threshold=480.0",)


class Uneven(gym.Env):
    observation_space = gym.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = np.zeros(2)
        return self.at.astype(np.float32), {}

    def step(self, action):
        self.at += self.np_random.normal(size=2) * (1e4, 0.01) + (0, action)
        return (self.at * (1, 1e-2)).astype(np.float32), 0.0, False, bool(action > 5), {}


gym.register("Uneven-v0", entry_point=f"{__name__}:Uneven", max_episode_steps=100)


def test_numbers_of_very_different_size():
    seen = found(EnvConfig(id=f"{__name__}:Uneven-v0", family="gymnasium"))
    assert seen["observation-uneven"].overrides == ("policy.normalize_obs=running",)
    assert "number 0 spreads by" in seen["observation-uneven"].evidence[0]


def test_a_run_with_its_environment(tmp_path):
    """In a process of its own, as users meet it; what it shows explains what the run recorded."""
    run = unpack(FOLDER / "failed-copies-alike.json.gz", tmp_path)
    diagnosis = diagnose(run, environment=True)
    assert diagnosis.problems[0].id == "copies-alike" and not diagnosis.not_checked
    assert "copies-alike" not in [one.id for one in diagnose(run).problems], "only playing shows it"


def test_what_playing_shows_explains_what_was_recorded(tmp_path):
    run = unpack(FOLDER / "failed-actions-do-not-matter.json.gz", tmp_path)
    (problem,) = [one for one in diagnose(run, environment=True).problems if one.level != "info"]
    assert (problem.id, problem.level) == ("actions-do-not-matter", "critical")
    assert any("kl-low" in line for line in problem.evidence)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Glitch", "while it was played: a reward of nan"),
     ("Falling", "while it was played: RuntimeError: the cartridge fell out")],
)  # fmt: skip
def test_what_breaks_only_after_a_while_is_one_sentence(name, expected):
    seen = found(game(name))
    assert list(seen) == ["environment-broken"]
    assert seen["environment-broken"].evidence == (expected,)


@pytest.mark.parametrize("status", ["failed", "finished"])
def test_a_crash_and_the_fault_behind_it_are_one_problem(made, status):
    """A recorded crash of Falling-v0, which falls again when it is played."""
    diagnosis = diagnose(made("failed-crashed", info={"status": status}), environment=True)
    told = [one.id for one in diagnosis.problems if one.level == "critical"]
    assert told == ["crashed" if status == "failed" else "environment-broken"]


def test_an_environment_that_hangs_is_a_finding(tmp_path, monkeypatch):
    monkeypatch.setattr(surroundings, "TIMEOUT_S", 0.2)
    run = unpack(FOLDER / "healthy-cartpole.json.gz", tmp_path)
    first, *_ = diagnose(run, environment=True).problems
    assert (first.id, first.evidence) == ("environment-broken", ("it has not answered for 0.2 s",))


@pytest.mark.parametrize(
    ("normalised", "told"), [("null", ["observation-uneven"]), ("running", [])]
)
def test_uneven_numbers_that_are_normalised_are_not_told(made, monkeypatch, normalised, told):
    uneven = {"sentence": "Uneven.", "evidence": [], "overrides": [], "level": None, "then": ""}
    answers = [["observation-uneven", uneven]]
    monkeypatch.setattr(surroundings.apart, "ask", lambda *_: answers)
    change = (r"normalize_obs: \w+", f"normalize_obs: {normalised}")
    run = made("healthy-cartpole", config=[change])
    assert [one.id for one in diagnose(run, environment=True).problems] == told
