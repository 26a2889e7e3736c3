"""Changes come after patience, in turn, and go if they did not help."""

import json
import math

from spotter.diagnose.plateau import Change, Plateau


def plateau(**changes) -> Plateau:
    settings = {
        "better": "high",
        "patience_steps": 100,
        "min_delta": 1.0,
        "cooldown_steps": 50,
        "actions": 2,
    }
    return Plateau(**(settings | changes))


def play(subject: Plateau, values: dict[int, float]) -> dict[int, Change]:
    """env steps -> value in, env steps -> change out."""
    changes = {steps: subject.see(value, steps) for steps, value in values.items()}
    return {steps: change for steps, change in changes.items() if change}


def test_nothing_is_due_while_it_improves():
    assert play(plateau(), {steps: steps / 10 for steps in range(0, 1000, 20)}) == {}


def test_an_action_is_due_after_patience():
    assert play(plateau(), {0: 10.0, 60: 10.0, 99: 10.0, 100: 9.0}) == {
        100: Change("apply", 0, best=10.0, value=9.0)
    }


def test_patience_counts_from_the_last_improvement():
    assert play(plateau(), {0: 10.0, 90: 12.0, 189: 12.0}) == {}
    assert list(play(plateau(), {0: 10.0, 90: 12.0, 190: 12.0})) == [190]


def test_less_than_min_delta_is_no_improvement():
    assert list(play(plateau(), {0: 10.0, 50: 11.0, 100: 10.5})) == [100]
    assert list(play(plateau(), {0: 10.0, 50: 11.01, 100: 10.5})) == []


def test_low_can_be_better():
    falling = {0: 10.0, 50: 5.0, 100: 5.0}
    assert play(plateau(better="low"), falling) == {}
    assert list(play(plateau(better="high"), falling)) == [100]


def test_nothing_happens_during_the_cooldown():
    subject = plateau()
    assert list(play(subject, {0: 10.0, 100: 10.0, 149: 0.0})) == [100]


def test_a_change_that_did_not_help_is_undone_after_the_cooldown():
    changes = play(plateau(), {0: 10.0, 100: 8.0, 120: 5.0, 150: 8.5})
    assert changes[150] == Change("revert", 0, best=10.0, value=8.5)


def test_a_change_that_helped_stays():
    changes = play(plateau(), {0: 10.0, 100: 8.0, 150: 9.5})
    assert list(changes) == [100]  # better than the 8.0 it was applied at, if not than the best


def test_patience_starts_anew_after_the_cooldown():
    changes = play(plateau(), {0: 10.0, 100: 8.0, 150: 9.5, 249: 9.5, 250: 9.5})
    assert [(steps, change.kind, change.action) for steps, change in changes.items()] == [
        (100, "apply", 0),
        (250, "apply", 1),
    ]


def test_actions_are_cycled():
    subject = plateau(cooldown_steps=0)
    changes = play(subject, dict.fromkeys(range(0, 1000, 10), 10.0))
    applied = [change.action for change in changes.values() if change.kind == "apply"]
    reverted = [change.action for change in changes.values() if change.kind == "revert"]
    assert applied[:5] == [0, 1, 0, 1, 0]
    assert reverted[:4] == [0, 1, 0, 1]


def test_what_is_not_finite_says_nothing():
    subject = plateau()
    assert subject.see(math.nan, 0) is None
    assert play(subject, {10: 10.0, 60: math.inf, 70: math.nan, 110: 10.0}) == {
        110: Change("apply", 0, best=10.0, value=10.0)
    }


def test_restored_it_goes_on_as_if_never_stopped():
    values = {steps: 10.0 - steps % 70 / 100 for steps in range(0, 2000, 30)}
    whole = play(plateau(), values)
    first = plateau()
    changes = play(first, {steps: v for steps, v in values.items() if steps < 700})
    second = plateau()
    second.restore(json.loads(json.dumps(first.state())))
    changes |= play(second, {steps: v for steps, v in values.items() if steps >= 700})
    assert changes == whole
    assert len(whole) > 10


def test_a_shorter_list_of_actions_after_a_resume_is_no_trouble():
    subject = plateau(actions=3)
    play(subject, dict.fromkeys(range(0, 420, 10), 10.0))
    state = subject.state()
    assert state["applied"] is not None
    state["applied"][0] = 2
    shorter = plateau(actions=1)
    shorter.restore(state)
    changes = play(shorter, dict.fromkeys(range(420, 1000, 10), 10.0))
    assert {change.action for change in changes.values()} == {0}
