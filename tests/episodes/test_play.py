"""Sessions: a person, the agent, an untrained policy; races; keeping what was played."""

from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from spotter.config import resolve
from spotter.envs.meter import GAME_GOES_ON
from spotter.episodes import format as traces
from spotter.episodes.play import Game, Session, race, take_over
from spotter.rundir.run import Run
from spotter.training.run import train
from spotter.types import UserError
from tests.episodes.making import saved
from tests.policy.counting import Counting

RIGHT = frozenset({"right"})


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    """A short training of CartPole."""
    resolved = resolve("CartPole-v1:ppo", ["budget.env_steps=2048", "eval.episodes=2"])
    home = tmp_path_factory.mktemp("played")
    made: list[Run] = []

    def new_run() -> Run:
        made.append(Run.create(resolved.config, resolved.address, home=home))
        return made[0]

    train(resolved.config, new_run=new_run)
    return made[0]


def play(session: Session, pressed=frozenset(), most=600):
    shot = session.reset()
    while not shot.over and shot.step < most:
        shot = session.step(pressed)
    return shot


def test_a_person_plays_a_recipe():
    with Session("CartPole-v1", "human", 7) as session:
        first = session.reset()
        assert (first.episode, first.step, first.action) == (1, 0, None)
        assert first.frame is not None and first.frame.shape == (400, 600, 3)
        shot = session.step(RIGHT)
        assert (shot.action_name, shot.reward, shot.score, shot.step) == ("push right", 1.0, 1.0, 1)
        assert shot.probabilities == ()
        while not shot.over:
            shot = session.step(RIGHT)
        assert shot.over == "terminated" and shot.score == shot.step
        assert not np.array_equal(first.frame, shot.frame)


def test_play_04_the_episode_counter_advances_in_human_mode():
    with Session("CartPole-v1", "human", 7) as session:
        assert [play(session, RIGHT).episode for _ in range(3)] == [1, 2, 3]
        assert session.episode_seed == 9


def test_without_a_key_time_goes_on_where_nothing_is_no_choice():
    with Session("CartPole-v1", "human", 7) as session:
        session.reset()
        session.step(RIGHT)
        assert session.step().action_name == "push right"
        assert not session.waits


def test_turn_games_wait_for_a_key():
    with Session("FrozenLake-v1", "human", 7) as session:
        session.reset()
        assert session.waits
        assert session.step().step == 0
        assert session.step(frozenset({"down"})).step == 1


def test_play_03_masks_apply_to_untrained_policies_and_people():
    with Session("Taxi-v4", "untrained", 3) as session:
        shot = session.reset()
        for _ in range(60):
            shot = session.step()
            if shot.mask:
                assert shot.mask[int(shot.action)]
                assert all(
                    p == 0 for p, ok in zip(shot.probabilities, shot.mask, strict=True) if not ok
                )
        assert shot.mask, "Taxi has masks"
    with Session("Taxi-v4", "human", 3) as session:
        session.reset()
        assert session.step(frozenset({"d"})).step == 0, "nobody sits in the taxi yet"


def test_the_agent_sees_what_evaluation_shows_it(run):
    """The same seed gives the very episode a capture gives."""
    from spotter.episodes.capture import capture

    with Session(str(run.folder), "agent", 11, greedy=True) as session:
        shot = play(session)
        assert len(shot.probabilities) == 2
        assert sum(shot.probabilities) == pytest.approx(1)
        assert shot.value is not None
        trace = capture(str(run.folder), seed=11, pictures=False)
        assert [int(a) for a in session.actions] == trace.columns["action"].tolist()
        assert shot.score == trace.meta.score


def test_continuous_actions_are_those_of_a_capture_to_the_last_bit(make_config):
    from spotter.episodes.capture import capture

    played = saved(make_config("Pendulum-v1", env={"time_limit": 50}))
    with Session(str(played.folder), "agent", 11, greedy=True) as session:
        play(session)
        actions = np.stack(session.actions)
    trace = capture(str(played.folder), seed=11, pictures=False)
    np.testing.assert_array_equal(actions, trace.columns["action"])


def test_a_person_sees_what_the_agent_would_do(run):
    with Session(str(run.folder), "human", 11) as session:
        session.reset()
        assert len(session.step(RIGHT).probabilities) == 2
        assert session.choices == ("push left", "push right")


def test_a_human_episode_is_kept_with_the_run(run):
    with Session(str(run.folder), "human", 5) as session:
        shot = play(session, RIGHT)
        trace = traces.load(session.save())
    assert trace.meta.mode == "human"
    assert (trace.meta.seed, trace.meta.end) == (5, "terminated")
    assert trace.meta.score == shot.score
    assert trace.columns["action"].tolist() == [1] * shot.step
    assert trace.frames[0][:2] == b"\xff\xd8"
    assert len(trace.frames) == shot.step
    assert any("human" in folder.name for folder in traces.listing(run))


def test_half_an_episode_is_kept_as_stopped(run):
    with Session(str(run.folder), "human", 6) as session:
        session.reset()
        with pytest.raises(UserError, match="nothing to keep"):
            session.save()
        session.step(RIGHT)
        session.step(RIGHT)
        meta = traces.load(session.save()).meta
    assert (meta.end, meta.length) == ("stopped", 2)


def test_a_person_takes_over_a_stored_episode_and_keeps_what_becomes_of_it(run):
    from spotter.episodes.capture import capture_to_disk

    short = "env.time_limit=8"
    folder = capture_to_disk(str(run.folder), seed=21, overrides=[short], pictures=False)
    stored = traces.load(Path(folder))
    game = take_over(folder, 6)
    try:
        (session,) = game.sessions
        (shot,) = game.reset()
        assert (shot.step, shot.score, session.episode_seed) == (6, 6.0, 21)
        assert np.array_equal(shot.obs["obs"][0], stored.columns["obs/obs"][6])
        with pytest.raises(UserError, match="nothing to keep"):
            session.recording()
        while not game.over:
            (shot,) = game.step(RIGHT)
        kept = traces.load(session.save())
        assert game.reset()[0].step == 6, "the next try begins there, too"
    finally:
        game.close()
    assert (shot.over, shot.step) == ("truncated", 8), "in the settings of the episode"
    first = stored.columns["action"][:6].tolist()
    assert kept.columns["action"].tolist() == [*first, 1, 1]
    assert (kept.meta.mode, kept.meta.seed, kept.meta.score) == ("human", 21, shot.score)
    assert kept.meta.changes == stored.meta.changes == (short,)
    assert kept.meta.warnings == (f"taken over from {Path(folder).name} at step 6",)


def test_what_cannot_be_brought_back_is_refused(run):
    from spotter.episodes.capture import capture

    trace = capture(str(run.folder), seed=22, pictures=False)
    seen = trace.columns["obs/obs"].copy()
    seen[3] += 0.5
    other = replace(trace, columns={**trace.columns, "obs/obs": seen})
    folder = str(traces.save(other, traces.place(run, trace.meta)))
    game = take_over(folder, 2)
    assert game.reset()[0].step == 2, "nothing is unlike before step 3"
    game.close()
    game = take_over(folder, 5)
    with pytest.raises(UserError, match="cannot be brought back to step 5: the same seed and"):
        game.reset()
    game.close()
    with pytest.raises(UserError, match=f"step {trace.meta.length} is not in this episode"):
        take_over(folder, trace.meta.length)


def test_a_race_is_on_the_same_seed_in_lockstep(run):
    game = race(str(run.folder), 5)
    human, agent = game.reset()
    assert np.array_equal(human.frame, agent.frame)
    assert [session.mode for session in game.sessions] == ["human", "agent"]
    while not game.over:
        human, agent = game.step(RIGHT)
        if not human.over and not agent.over:
            assert human.step == agent.step
    assert human.over and agent.over
    assert game.reset()[0].episode == 2
    game.close()


def test_in_turn_games_everybody_waits_for_the_person():
    game = Game(Session("FrozenLake-v1", "human", 1), Session("FrozenLake-v1", "untrained", 1))
    game.reset()
    assert [shot.step for shot in game.step()] == [0, 0]
    assert [shot.step for shot in game.step(frozenset({"left"}))] == [1, 1]
    game.close()


def test_mistakes_are_one_sentence(run):
    with pytest.raises(UserError, match="a recipe has no policy"):
        Session("CartPole-v1", "agent")
    with pytest.raises(UserError, match="no mode 'robot'"):
        Session("CartPole-v1", "robot")
    with pytest.raises(UserError, match="seed"):
        Session("CartPole-v1", "human", -1)
    with pytest.raises(UserError, match="CartPole-v1"):
        Session("CartPol-v1", "human")
    with pytest.raises(UserError, match="there is no run"):
        Session("@last", "human")
    with Session("CartPole-v1", "human") as session:
        session.reset()
        session.step(RIGHT)
        with pytest.raises(UserError, match="kept with a run"):
            session.save()


def test_what_cannot_be_drawn_can_be_played_all_the_same(monkeypatch):
    with Session("CartPole-v1", "human", 1) as session:
        monkeypatch.setattr(type(session._copy.env.unwrapped), "render", lambda self: None)
        shot = session.reset()
        assert shot.frame is None and "cannot be drawn" in session.cannot_draw
        assert session.step(RIGHT).step == 1


def test_smooth_play_shows_frames_between_decisions_and_changes_nothing():
    pressed = [frozenset({"right"}), frozenset(), frozenset({"left"})] * 5
    played = []
    for smooth in (False, True):
        with Session("ALE/Pong-v5", "human", 4, smooth=smooth) as session:
            session.reset()
            shots = [session.step(held) for held in pressed]
            played.append(shots)
    plain, smooth = played
    assert {len(shot.between) for shot in plain} == {0}
    assert {len(shot.between) for shot in smooth} == {3}, "an action is held for four frames"
    for a, b in zip(plain, smooth, strict=True):
        assert all(np.array_equal(a.obs[path], b.obs[path]) for path in a.obs)
        assert np.array_equal(a.frame, b.frame) and a.reward == b.reward


class Lives(gym.Wrapper):
    """A life is lost with every third step; the game goes on."""

    steps = 0

    def step(self, action):
        obs, reward, terminated, truncated, info = self.env.step(action)
        self.steps += 1
        lost = self.steps % 3 == 0 and not terminated
        return obs, reward, terminated or lost, truncated, info | {GAME_GOES_ON: lost}

    def reset(self, *, seed=None, options=None):
        shown = np.array(self.unwrapped.state, np.float32), {}
        return shown if seed is None else self.env.reset(seed=seed)


def test_a_memory_is_carried_from_step_to_step_and_starts_with_each_episode(run, monkeypatch):
    monkeypatch.setattr("spotter.training.checkpoint.Policy", Counting)
    with Session(str(run.folder), "agent", 13) as session:
        for _ in range(3):
            shot = play(session)
            assert [int(a) for a in session.actions] == [step % 2 for step in range(shot.step)]
            assert shot.value == shot.step - 1
        session._copy.env = Lives(session._copy.env)
        play(session, most=7)
        assert [int(a) for a in session.actions] == [0, 1, 0, 0, 1, 0, 0]


def test_who_takes_over_sees_a_policy_that_remembers_what_was_before(run, monkeypatch):
    from spotter.episodes.capture import capture_to_disk

    monkeypatch.setattr("spotter.training.checkpoint.Policy", Counting)
    game = take_over(capture_to_disk(str(run.folder), seed=21, pictures=False), 6)
    game.reset()
    (shot,) = game.step(RIGHT)
    game.close()
    assert (shot.step, shot.value) == (7, 6.0)
    assert shot.probabilities == (1.0, 0.0)
