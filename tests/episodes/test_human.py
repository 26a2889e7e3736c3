"""Human baselines: whole episodes of people, game by game."""

from spotter.episodes import format as traces
from spotter.episodes.human import baselines
from tests.episodes.making import trace
from tests.rundir.making import maker


def kept(run, score, seed, **more):
    found = trace((score, 0.0), mode="human", seed=seed, checkpoint="", **more)
    return traces.save(found, traces.place(run, found.meta))


def test_people_are_counted_by_game(make_config):
    one, other = (maker(make_config)(env) for env in ("CartPole-v1", "Acrobot-v1"))
    kept(one, 3.0, 1)
    kept(one, 5.0, 2)
    kept(other, 9.0, 1, fingerprint="e" * 16, env_id="Other-v0")
    found = {game.env_id: game for game in baselines([one, other])}
    assert sorted(found["Made-v0"].scores) == [3.0, 5.0]
    assert (found["Made-v0"].mean, found["Made-v0"].best) == (4.0, 5.0)
    assert found["Other-v0"].scores == (9.0,)


def test_what_is_no_baseline(make_config):
    run = maker(make_config)("CartPole-v1")
    assert baselines([run]) == []
    kept(run, 1.0, 1, end="stopped")
    kept(run, 1.0, 2, changes=("env.sticky=0.5",))
    kept(run, 1.0, 3, warnings=(f"{traces.TAKEN_OVER}another at step 4",))
    kept(run, float("nan"), 4)
    (kept(run, 1.0, 5) / "trace.json").write_text("{nonsense")
    agent = trace((7.0,), mode="greedy", seed=6)
    traces.save(agent, traces.place(run, agent.meta))
    assert baselines([run]) == []
