"""The mixer: parts, weights, potentials, counts, normalisation."""

from dataclasses import replace

import numpy as np
import pytest

from spotter.collect.rewards import ReturnScaler, RewardMixer
from spotter.config import RewardConfig
from spotter.envs.backends.slices import Buffers
from spotter.packing import pack, unpack
from spotter.types import Progress, UserError

START = Progress(0, 100)


def buffers(reward, terminated=None, truncated=None, signals=None, start=None):
    n = len(reward)
    no = np.zeros(n, bool)
    signals = np.zeros((n, 0)) if signals is None else np.array(signals, float)
    start = np.zeros_like(signals) if start is None else np.array(start, float)
    if start.shape != signals.shape:
        signals = np.zeros_like(start)
    return Buffers(
        obs={},
        final_obs={},
        action=no,
        reward=np.array(reward, float),
        terminated=no if terminated is None else np.array(terminated),
        truncated=no if truncated is None else np.array(truncated),
        signals=signals,
        signals_start=start,
        mask=None,
        lost=no,
    )


def config(**settings):
    return RewardConfig.model_validate(settings)


def penalty(**settings):
    return {"source": "step_penalty", **settings}


def test_parts_are_weighted_named_and_add_up():
    signals = [penalty(name="slow", weight=0.5), penalty(name="late", weight=2.0)]
    mixer = RewardMixer(config(weight=3.0, signals=signals), ("sum", "sum"), 2)
    reward, parts = mixer.mix(buffers([1, 2], signals=[[-1, 0], [-1, 4]]), 0.9, START)
    assert mixer.names == ("env", "slow", "late")
    assert parts.tolist() == [[3.0, -0.5, 0.0], [6.0, -0.5, 8.0]]
    assert reward.tolist() == [2.5, 13.5]


def test_weights_follow_schedules():
    signals = [penalty(weight={"shape": "linear", "start": 1.0, "end": 0.0})]
    mixer = RewardMixer(config(signals=signals), ("sum",), 1)
    step = buffers([0], signals=[[1.0]])
    assert mixer.mix(step, 1.0, Progress(25, 100))[0].tolist() == [0.75]


def test_p13_p16_scale_and_clip_come_last_and_keep_the_sign():
    mixer = RewardMixer(config(scale=0.5, clip=1.0), (), 3)
    reward, parts = mixer.mix(buffers([7, -1, -70]), 0.9, START)
    assert reward.tolist() == [1.0, -0.5, -1.0]
    assert parts[:, 0].tolist() == [7.0, -1.0, -70.0], "parts are reported unclipped"


def episode(mixer, potentials, terminal, gamma):
    """The shaping terms of one episode that visits the given potentials."""
    mixer.reset(buffers([0], start=[[potentials[0]]]))
    terms = []
    for i, phi in enumerate(potentials[1:], 1):
        last = i == len(potentials) - 1
        step = buffers(
            [0],
            terminated=[last and terminal],
            truncated=[last and not terminal],
            signals=[[phi]],
            start=[[potentials[0]]],
        )
        terms.append(mixer.mix(step, gamma, START)[0][0])
    return terms


def test_potential_shaping_telescopes_to_minus_the_first_potential():
    """Discounted, the shaping of a terminated episode is −Φ(s0) whatever happens between."""
    gamma = 0.9
    mixer = RewardMixer(config(signals=[penalty()]), ("potential",), 1)
    terms = episode(mixer, [0.3, 0.9, -2.0, 5.0], terminal=True, gamma=gamma)
    assert sum(gamma**t * term for t, term in enumerate(terms)) == pytest.approx(-0.3)


def test_potential_shaping_keeps_the_last_potential_at_a_time_limit():
    gamma = 0.9
    mixer = RewardMixer(config(signals=[penalty()]), ("potential",), 1)
    terms = episode(mixer, [0.3, 0.9, -2.0, 5.0], terminal=False, gamma=gamma)
    total = sum(gamma**t * term for t, term in enumerate(terms))
    assert total == pytest.approx(gamma**3 * 5.0 - 0.3)


def test_potential_of_the_next_episode_starts_at_its_own_first_state():
    mixer = RewardMixer(config(signals=[penalty()]), ("potential",), 1)
    mixer.reset(buffers([0], start=[[1.0]]))
    mixer.mix(buffers([0], terminated=[True], signals=[[9.0]], start=[[4.0]]), 1.0, START)
    reward, _ = mixer.mix(buffers([0], signals=[[6.0]], start=[[4.0]]), 1.0, START)
    assert reward.tolist() == [2.0]


def test_visits_are_counted_over_all_copies():
    mixer = RewardMixer(config(signals=[penalty()]), ("cell",), 3)
    reward, _ = mixer.mix(buffers([0, 0, 0], signals=[[5], [5], [8]]), 1.0, START)
    assert reward.tolist() == pytest.approx([1.0, 1 / np.sqrt(2), 1.0])
    reward, _ = mixer.mix(buffers([0, 0, 0], signals=[[8], [5], [5]]), 1.0, START)
    assert reward.tolist() == pytest.approx([1 / np.sqrt(2), 1 / np.sqrt(3), 1 / 2])
    assert mixer.visits == [{5: 4, 8: 2}]


def visits(mixer, cells, ended=(), start=0):
    """The bonus of one env that steps into these cells; in which steps an episode ends."""
    return [
        mixer.mix(
            buffers([0], terminated=[t in ended], signals=[[cell]], start=[[start]]), 1.0, START
        )[0][0]
        for t, cell in enumerate(cells)
    ]


def counting(envs=1, **fields):
    signals = [{"source": "state_count", **fields}]
    mixer = RewardMixer(config(signals=signals), ("cell",), envs)
    mixer.reset(buffers([0] * envs, start=[[0]] * envs))
    return mixer


def test_visits_within_an_episode_begin_again_with_the_next():
    mixer = counting(scope="episode")
    found = visits(mixer, [7, 7, 0, 8, 7, 0], ended=[3])
    assert found == pytest.approx([1, 1 / np.sqrt(2), 1 / np.sqrt(2), 1, 1, 1 / np.sqrt(2)])
    assert mixer.visits == [{}]


def test_only_the_first_visit_of_an_episode_counts_with_both():
    found = visits(counting(scope="both"), [7, 7, 0, 8, 7, 7], ended=[3])
    assert found == pytest.approx([1, 0, 0, 1, 1 / np.sqrt(3), 0]), "visits of the run still add up"


@pytest.mark.parametrize(("bonus", "found"), [("inverse", [1, 1 / 2, 1 / 3]), ("first", [1, 0, 0])])
def test_what_a_visit_is_worth(bonus, found):
    assert visits(counting(bonus=bonus), [5, 5, 5]) == pytest.approx(found)


def test_envs_count_their_own_episodes():
    mixer = counting(2, scope="episode")
    reward, _ = mixer.mix(buffers([0, 0], signals=[[5], [5]], start=[[0], [0]]), 1.0, START)
    assert reward.tolist() == [1, 1]


def test_counts_of_an_episode_are_restored_where_it_goes_on():
    mixer, other = counting(2, scope="both"), counting(2, scope="both")
    step = buffers([0, 0], signals=[[5], [6]], start=[[0], [0]])
    mixer.mix(step, 1.0, START)
    data, arrays = pack(mixer.state())
    other.restore(unpack(data, arrays), begun=[1])
    again = [each.mix(step, 1.0, START)[0].tolist() for each in (mixer, other)]
    assert again[0] == [0, 0]
    assert again[1] == pytest.approx([0, 1 / np.sqrt(2)]), "env 1 has begun a new episode"


def test_inactive_copies_are_paid_nothing_and_counted_nowhere():
    mixer = RewardMixer(config(signals=[penalty()], normalize=True), ("cell",), 2)
    active = np.array([True, False])
    reward, parts = mixer.mix(buffers([1, 1], signals=[[3], [3]]), 1.0, START, active)
    assert reward[1] == 0
    assert parts[1].tolist() == [0, 0]
    assert mixer.visits == [{3: 1}]
    assert mixer.scaler.count == 1


def test_p11_statistics_do_not_depend_on_how_copies_are_batched():
    rewards = np.random.default_rng(0).normal(size=(50, 4))
    ends = np.random.default_rng(1).random((50, 4)) < 0.1
    together = ReturnScaler(4)
    for r, e in zip(rewards, ends, strict=True):
        together.scale(r, e, 0.9, None)
    merged = ReturnScaler(4)
    for instance in range(4):
        alone = ReturnScaler(1)
        for r, e in zip(rewards[:, instance], ends[:, instance], strict=True):
            alone.scale(np.array([r]), np.array([e]), 0.9, None)
        assert alone.count == 50
        merged.mean += alone.mean / 4
    assert together.count == 200
    assert together.mean == pytest.approx(merged.mean)


@pytest.mark.parametrize("kind", ["terminated", "truncated"])
def test_p12_returns_restart_on_either_kind_of_end(kind):
    mixer = RewardMixer(config(normalize=True), (), 1)
    mixer.mix(buffers([5]), 0.9, START)
    mixer.mix(buffers([5], **{kind: [True]}), 0.9, START)
    assert mixer.scaler.returns.tolist() == [0.0]


def test_p13_normalising_never_changes_a_sign_or_shifts_the_mean():
    mixer = RewardMixer(config(normalize=True), (), 2)
    draw = np.random.default_rng(2)
    for _ in range(200):
        raw = draw.normal(3, 1, 2)
        reward, _ = mixer.mix(buffers(raw), 0.99, START)
        assert (np.sign(reward) == np.sign(raw)).all()
    assert reward.mean() > 0


# --- rarity of events -----------------------------------------------------------------------------


def events(names=("kill", "step")):
    signals = [penalty(name=name, rarity=True) for name in names]
    return RewardMixer(config(weight=0.0, signals=signals), ("sum",) * len(names), 2)


def play(mixer, *amounts, ended=(False, False)):
    """A step of both envs; the rewards of both signals."""
    step = buffers([0, 0], terminated=list(ended), signals=list(amounts))
    return mixer.mix(step, 0.9, START)[1][:, 1:].tolist()


def test_what_happens_rarely_is_worth_more():
    mixer = events()
    assert play(mixer, [1, 1], [0, 1]) == [[100, 100], [0, 100]], "nothing has ended yet"
    play(mixer, [0, 1], [0, 1], ended=(True, True))
    # an episode has half a kill and two steps on the mean
    assert play(mixer, [1, 1], [2, -1]) == [[2, 0.5], [4, -0.5]]
    for _ in range(100):
        play(mixer, [0, 4], [0, 4], ended=(True, True))
    assert play(mixer, [1, 1], [1, 1]) == [[100, 0.25], [100, 0.25]], "of the last 100 episodes"


def test_an_episode_that_failed_is_no_evidence():
    mixer = events(["kill"])
    step = replace(buffers([0, 0], signals=[[5], [1]]), lost=np.array([True, False]))
    mixer.mix(step, 0.9, START)
    assert play(mixer, [0], [0], ended=(True, True)) == [[0], [0]]
    assert play(mixer, [1], [1]) == [[2], [2]], "0 and 1 kill, not 5"


def test_rarities_are_restored():
    whole, first, second = events(), events(), events()
    steps = [([1, 1], [0, 1]), ([0, 1], [1, 1]), ([1, 0], [0, 2]), ([1, 1], [1, 1])]
    ends = [(False, False), (True, False), (False, True), (False, False)]
    expected = [play(whole, *s, ended=e) for s, e in zip(steps, ends, strict=True)]
    found = [play(first, *s, ended=e) for s, e in zip(steps[:2], ends, strict=False)]
    second.reset(buffers([0, 0], signals=[[0, 0], [0, 0]]))
    second.restore(unpack(*pack(first.state())), begun=())
    found += [play(second, *s, ended=e) for s, e in zip(steps[2:], ends[2:], strict=True)]
    assert found == expected


def test_only_amounts_have_a_rarity():
    with pytest.raises(UserError, match="rarity is for signals that add up, and step_penalty is a"):
        RewardMixer(config(signals=[penalty(rarity=True)]), ("potential",), 2)
