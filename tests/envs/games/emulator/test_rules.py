"""What ends an episode, on sequences of what stable-retro reads from memory."""

import pytest

from spotter.envs.games.emulator.rules import Referee, Rules

LEVEL = ("levelHi", "levelLo")


def judged(rules, moments):
    """The verdict after each moment but the first: (numbers, reward, frames)."""
    referee = Referee(rules)
    referee.start(moments[0][0])
    return [referee.judge(*moment) for moment in moments[1:]]


def at(level=(0, 0), lives=2, reward=0.0, frames=4):
    return {"levelHi": level[0], "levelLo": level[1], "lives": lives}, reward, frames


def outcomes(verdicts):
    return [(verdict.over, verdict.cut) for verdict in verdicts]


def test_without_rules_nothing_ends():
    verdicts = judged(Rules(), [at(), at(lives=1), at((0, 1), lives=0)])
    assert outcomes(verdicts) == [(False, False)] * 2
    assert not verdicts[0].info


def test_a_lost_life_ends_and_a_won_one_does_not():
    verdicts = judged(Rules(lives="lives"), [at(lives=2), at(lives=3), at(lives=2), at(lives=2)])
    assert [verdict.over for verdict in verdicts] == [False, True, False]
    assert [verdict.info["life_lost"] for verdict in verdicts] == [0, 1, 0]


def test_another_level_ends_and_only_a_later_one_is_finished():
    rules = Rules(level=LEVEL)
    verdicts = judged(rules, [at((0, 3)), at((0, 3)), at((1, 0)), at((0, 0))])
    assert [verdict.over for verdict in verdicts] == [False, True, True]
    assert [verdict.info["level_finished"] for verdict in verdicts] == [0, 1, 0]


def test_a_stall_cuts_and_only_a_higher_score_than_ever_prevents_it():
    rewards = [0, 1, 0, 0, 1, -1, 1, 0]
    verdicts = judged(Rules(stall=3), [at(), *(at(reward=reward) for reward in rewards)])
    assert [verdict.cut for verdict in verdicts] == [False] * 7 + [True]
    assert [verdict.info["stalled"] for verdict in verdicts][5:] == [0, 0, 1]


@pytest.mark.parametrize("skip", [1, 4])
def test_p22_frames_are_capped_at_the_same_game_time_whatever_the_skip(skip):
    verdicts = judged(Rules(frames=24), [at(), *(at(frames=skip) for _ in range(30))])
    assert next(i for i, verdict in enumerate(verdicts, 1) if verdict.cut) * skip == 24


def test_decisions_are_capped_and_an_end_wins():
    moments = [at(), at(), at(lives=1)]
    assert outcomes(judged(Rules(decisions=2), moments)) == [(False, False), (False, True)]
    both = judged(Rules(decisions=2, lives="lives"), moments)
    assert outcomes(both) == [(False, False), (True, False)]


def test_each_episode_starts_afresh():
    referee = Referee(Rules(stall=2, decisions=3, lives="lives", level=LEVEL))
    for _ in range(2):
        referee.start(at()[0])
        found = [referee.judge(*at(reward=1)), referee.judge(*at()), referee.judge(*at())]
        assert [verdict.cut for verdict in found] == [False, False, True]
        assert not referee.judge(*at()).over
        assert referee.judge(*at((2, 0), lives=0)).over


def test_it_can_go_back():
    referee = Referee(Rules(decisions=3, lives="lives"))
    referee.start(at()[0])
    referee.judge(*at())
    saved = referee.save()
    assert outcomes([referee.judge(*at(lives=1)), referee.judge(*at(lives=1))])[-1] == (False, True)
    referee.restore(saved)
    assert outcomes([referee.judge(*at()), referee.judge(*at())]) == [(False, False), (False, True)]
