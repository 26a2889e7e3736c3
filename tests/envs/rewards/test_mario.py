"""Super Mario Bros.'s reward signals on sequences of what stable-retro reads from its memory.

The numbers move as they do in the game: the screen scrolls by up to 3 pixels a frame (12 a
decision) in two bytes, the clock ticks every 24 frames, and is paid out at a level's end, one tick
per frame; a lost life and the next level come some time before the screen starts anew.
"""

from itertools import count

import pytest

from spotter.config import EnvConfig, RewardConfig, validate
from spotter.envs.make import make_vector
from spotter.envs.rewards import mario
from spotter.types import UserError

PLACE = {"levelHi": 0, "levelLo": 0, "lives": 2, "score": 0, "time": 400, "coins": 0}


def at(x, **numbers):
    """One moment, with the names of stable-retro's SuperMarioBros-Nes/data.json."""
    return {**PLACE, "xscrollHi": x // 256, "xscrollLo": x % 256, **numbers}


def paid(moments, what, **settings):
    """What each decision after the first moment pays."""
    config = mario.Config.from_data({"source": "mario", "what": what, **settings})
    signal = mario.make(config, None)
    signal.start(None, moments[0])
    return [signal.step(None, 0, 0.0, info) for info in moments[1:]]


RUN = [at(x, time=400 - tick) for x, tick in zip(range(0, 600, 12), count(), strict=False)]
DEATH = [
    *(at(x) for x in (60, 72, 80)),
    *(at(80, lives=lives) for lives in (2, 2, 1, 1)),  # he falls; the life is taken; black screen
    *(at(x, lives=1) for x in (0, 0, 12)),
]
FLAG = [
    *(at(x, time=312) for x in (3150, 3160, 3161)),
    *(at(3161, time=time, score=50 * (312 - time)) for time in range(308, 0, -4)),
    *(at(3161, time=0, score=15_600, levelLo=level) for level in (0, 1, 1)),
    *(at(x, time=400, score=15_600, levelLo=1) for x in (0, 0, 9, 21)),
]


def test_progress_is_the_way_across_byte_boundaries():
    assert paid(RUN, "progress") == [12] * 49
    assert sum(paid(RUN, "progress")) == 588


def test_a_jump_that_nobody_can_make_pays_nothing_and_counting_goes_on():
    """A pipe forwards, the next level and another life backwards."""
    pipe = [at(x) for x in (700, 712, 2400, 2410)]
    assert paid(pipe, "progress") == [12, 0, 10]
    assert paid(FLAG, "progress")[-4:] == [0, 0, 9, 12]
    assert paid(pipe, "progress", jump=2000) == [12, 1688, 10]


def test_only_new_ground_pays():
    """Going back and forth earns nothing, nor does a life lost near the start."""
    back_and_forth = [at(x) for x in (100, 110, 100, 110, 115)]
    assert paid(back_and_forth, "progress") == [10, 0, 0, 5]
    assert sum(paid(DEATH, "progress")) == 20


def test_progress_by_time_pays_more_for_the_same_way_when_it_is_fast():
    fast = [at(x, time=time) for x, time in ((0, 400), (10, 400), (20, 399))]
    slow = [at(x, time=time) for x, time in ((0, 400), (10, 300), (20, 200))]
    assert paid(fast, "progress", by="time") == pytest.approx([10, 10 * 399 / 400])
    assert paid(slow, "progress", by="time") == pytest.approx([10, 10 * 200 / 300])
    assert paid([at(0), at(9, time=0)], "progress", by="time") == [0]


def test_time_passes_a_tick_at_a_time():
    walk = [at(0, time=time) for time in (400, 400, 399, 399, 399, 398, 398)]
    assert paid(walk, "time") == [0, -1, 0, 0, -1, 0]


@pytest.mark.parametrize("ticks", [1, 4])
def test_a_clock_that_is_paid_out_is_no_time_that_passed(ticks):
    """One tick per frame; with one frame per decision it looks like ticking, but without rest."""
    paying = [at(0, time=time) for time in range(312, 0, -ticks)]
    assert sum(paid(paying, "time")) >= -1
    assert sum(paid(FLAG, "time")) == 0, "the refilled clock neither"


def test_a_lost_life_is_paid_once_and_a_won_one_never():
    assert paid(DEATH, "death") == [0, 0, 0, 0, -1, 0, 0, 0, 0]
    extra = [at(0, lives=lives) for lives in (2, 3, 3, 0, -1)]
    assert paid(extra, "death") == [0, 0, -3, -1]


def test_a_finished_level_is_paid_once():
    assert sum(paid(FLAG, "finish")) == 1
    world = [at(0, levelHi=high, levelLo=low) for high, low in ((0, 3), (1, 0), (3, 0), (0, 0))]
    assert paid(world, "finish") == [1, 1, 0], "the next world, a warp, and the title screen"


def test_points_count_and_a_new_game_does_not_take_them_away():
    points = [at(0, score=score) for score in (0, 100, 100, 300, 0, 50)]
    assert paid(points, "score") == [100, 0, 200, 0, 50]
    assert sum(paid(FLAG, "score")) == 15_600


def test_each_episode_counts_from_its_own_start():
    for what, total in (("progress", 0), ("time", 0), ("death", 0), ("finish", 0), ("score", 0)):
        signal = mario.make(mario.Config.from_data({"source": "mario", "what": what}), None)
        for start in (at(50, time=300, lives=1), at(0, time=400, lives=2)):
            signal.start(None, start)
            assert signal.step(None, 0, 0.0, start) == total


def test_other_games_have_other_names():
    sonic = [{"x": x, "lives": 3, "zone": 0, "act": act} for x, act in ((80, 0), (95, 0), (80, 1))]
    assert paid(sonic, "progress", numbers=["x"]) == [15, 0]
    assert paid(sonic, "finish", numbers=["zone", "act"]) == [0, 1]
    assert paid(sonic, "death") == [0, 0]


def test_a_start_that_tells_nothing_is_no_mistake_but_a_step_is():
    signal = mario.make(mario.Config.from_data({"source": "mario", "what": "death"}), None)
    signal.start(None, {})
    assert signal.step(None, 0, 0.0, {"lives": 2}) == 0
    with pytest.raises(UserError, match=r"mario: info\['lives'\] is not there; info has score"):
        signal.step(None, 0, 0.0, {"score": 1})


@pytest.mark.parametrize("what", ["progress", "time", "death", "finish", "score"])
def test_configs_are_saved_and_read(what):
    reward = RewardConfig(signals=[{"source": "mario", "what": what, "name": what}])
    assert RewardConfig.model_validate(reward.model_dump(mode="json")) == reward


def test_a_misspelt_amount_is_one_sentence():
    data = {"env": {"id": "CartPole-v1"}, "algo": {"name": "ppo"}}
    with pytest.raises(UserError, match="progress"):
        validate({**data, "reward": {"signals": [{"source": "mario", "what": "progres"}]}})


def test_generic_ones_fire_on_a_real_console():
    """Airstriker has lives and a score: its weapons do both."""
    pytest.importorskip("stable_retro")
    env = EnvConfig(id="Retro/Airstriker-Genesis", family="retro", count=1)
    signals = [{"source": "mario", "what": what, "name": what} for what in ("score", "death")]
    with make_vector(env, RewardConfig(signals=signals), backend="sync") as vector:
        vector.reset([1])
        parts = []
        for step in range(150):
            vector.step([3 if step % 2 else 0])
            parts.append([*vector.buffers.signals[0], vector.buffers.reward[0]])
    points, deaths, rewards = zip(*parts, strict=True)
    assert sum(points) == sum(rewards) > 0
    assert sum(deaths) == -1
