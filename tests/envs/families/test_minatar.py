"""The MinAtar family: the package's own games, seeded, described, and quick to load."""

import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest

from spotter.config import EnvConfig, RewardConfig, recipes, resolve
from spotter.envs.base import family, threshold
from spotter.envs.checkup import play
from spotter.envs.families import minatar
from spotter.envs.families.minatar import ACTIONS, IDS, Config, describe, make, settings
from spotter.envs.make import make_vector, resume_grade
from spotter.envs.spaces import describe as describe_spaces
from spotter.testing.families import check_family, check_picture
from spotter.types import UserError

pytest.importorskip("matplotlib")  # what the package's own interface needs, to be compared with
theirs = pytest.importorskip("minatar.gym")

every_game = pytest.mark.parametrize("env_id", IDS)
STEPS = 600


def config(env_id="MinAtar/Breakout", **fields):
    return Config(id=env_id, family="minatar", **fields)


def actions(count, steps=STEPS):
    return np.random.default_rng(0).integers(0, count, steps).tolist()


@every_game
@pytest.mark.parametrize("full", [False, True])
def test_family(env_id, full):
    check_family(config(env_id, full_actions=full), steps=100)
    check_picture(config(env_id, full_actions=full))


@every_game
@pytest.mark.parametrize("sticky", [0.0, 0.1])
def test_boards_rewards_and_ends_are_those_of_the_package(env_id, sticky):
    ours = make(config(env_id, full_actions=True, sticky=sticky))
    file = minatar._GAMES[env_id].file
    original = theirs.BaseEnv(file, sticky_action_prob=sticky)
    a, b = ours.reset(seed=3)[0], original.reset(seed=3)[0]
    ends = 0
    for action in actions(6, 3000):
        assert ((a > 0) == b).all() and set(np.unique(a)) <= {0, 255}
        a, reward, terminated, truncated, _ = ours.step(action)
        b, expected, is_over, _, _ = original.step(action)
        assert (reward, terminated or truncated) == (expected, is_over)
        if is_over:
            ends += 1
            a, b = ours.reset()[0], original.reset()[0]
            original.game.last_action = 0  # it would carry the last episode's action over
    assert ends, "the comparison has seen an episode end"


def test_a_seed_decides_everything_even_after_another_episode():
    """The package keeps the last action at a reset, so its first steps depend on the past."""
    game = make(config(sticky=0.9))
    for before in (1, 2):
        game.reset(seed=0)
        game.step(before)
        game.reset(seed=7)
        assert game.unwrapped.last_code == 0
    upstream = theirs.BaseEnv("breakout")
    upstream.reset(seed=0)
    upstream.game.sticky_action_prob = 0.0
    upstream.step(1)
    upstream.reset(seed=7)
    assert upstream.game.last_action == 1, "mended upstream: the docstring may go"


@every_game
def test_other_seeds_are_other_games(env_id):
    game = make(config(env_id))
    drawn = actions(game.action_space.n)
    first, *others = (play(game, seed, STEPS, drawn) for seed in (1, 2, 2**31 - 2, 2**40))
    assert first.equals(play(game, 1, STEPS, drawn))
    assert not any(first.equals(other) for other in others)


def pressed(game, action):
    """What an action does to the place of the player, who is in the first channel."""
    game.reset(seed=0)
    for _ in range(5):  # Freeway waits before it moves, Seaquest does not look back
        before = np.argwhere(game.unwrapped.game.state()[:, :, 0])[0]
        game.step(action)
        after = np.argwhere(game.unwrapped.game.state()[:, :, 0])[0]
        if (before != after).any():
            return tuple(after - before)
    return (0, 0)


@every_game
def test_p23_actions_do_what_they_are_called(env_id):
    game = make(config(env_id, sticky=0.0))
    names = describe(config(env_id)).action_names
    moves = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
    done = {name: pressed(game, index) for index, name in enumerate(names)}
    start = {"MinAtar/Freeway": "down", "MinAtar/Seaquest": "up"}.get(env_id)  # at the edge
    for name, move in done.items():
        assert move == (moves.get(name, (0, 0)) if name != start else (0, 0)), name
    if "fire" in names:
        game.reset(seed=0)
        game.step(names.index("fire"))
        channel = game.unwrapped.game.channels["friendly_bullet"]
        assert game.unwrapped.game.state()[:, :, channel].any()


@every_game
def test_full_actions_mask_the_useless_ones(env_id):
    few, all_six = config(env_id), config(env_id, full_actions=True)
    assert describe(all_six).action_names == ACTIONS
    game = make(all_six)
    mask = game.reset(seed=0)[1]["action_mask"]
    valid = [name for name, ok in zip(ACTIONS, mask, strict=True) if ok]
    assert tuple(valid) == describe(few).action_names
    assert (game.step(0)[4]["action_mask"] == mask).all()
    assert "action_mask" not in make(few).reset(seed=0)[1]
    with make_vector(all_six, RewardConfig(), count=2) as vector:
        assert vector.reset([1, 2]).mask.shape == (2, 6)


def test_useless_actions_are_like_doing_nothing():
    """The mask leaves out nothing that matters."""
    for env_id in IDS:
        game = make(config(env_id, full_actions=True, sticky=0.0))
        mask = game.reset(seed=0)[1]["action_mask"]
        for useless in np.flatnonzero(~mask):
            boards = []
            for action in (0, useless):
                game.reset(seed=4)
                boards.append(b"".join(game.step(action)[0].tobytes() for _ in range(20)))
            assert boards[0] == boards[1], (env_id, ACTIONS[useless])


@pytest.mark.parametrize("probability", [0.0, 0.1, 0.5])
def test_p19_sticky_actions_repeat_as_often_as_asked(probability):
    game = make(config("MinAtar/Freeway", sticky=probability, full_actions=True))
    game.reset(seed=1)
    before, repeated = 0, []
    for action in actions(6, 2400):
        game.step(action)
        if action != before:
            repeated.append(game.unwrapped.last_code == before)
        before = game.unwrapped.last_code
    assert np.mean(repeated) == pytest.approx(probability, abs=0.03)


def test_difficulty_ramps_only_if_asked():
    for ramping in (True, False):
        game = make(config("MinAtar/SpaceInvaders", difficulty_ramping=ramping)).unwrapped.game
        game.alien_map[:] = 0
        game.act(0)
        assert game.difficulty_ramp() == ramping


def test_freeway_ends_by_its_clock_which_is_a_time_limit():
    """Nothing on the board says that time is up, so the end must not be learnt as one."""
    game = make(config("MinAtar/Freeway"))
    game.reset(seed=0)
    ends = [game.step(0)[2:4] for _ in range(2501)]
    assert ends[-2:] == [(False, False), (False, True)]


def test_p22_time_limits_count_decisions():
    game = make(config("MinAtar/Seaquest", time_limit=7))
    game.reset(seed=0)
    assert [game.step(0)[3] for _ in range(7)] == [False] * 6 + [True]
    assert game.spec.max_episode_steps == 7


@every_game
def test_the_policy_sees_channels_first(env_id):
    """Seaquest's ten channels look like rows, so layout must not be guessed from shapes alone."""
    with make_vector(config(env_id), RewardConfig(), count=1, backend="sync") as vector:
        seen = vector.reset([5]).obs["obs"][0]
        game = make(config(env_id))
        board = game.reset(seed=5)[0]
        assert (seen == np.moveaxis(board, -1, 0)).all()
        assert seen.shape == (len(game.unwrapped.game.channels), 10, 10)


def test_copies_resume_exactly():
    for env_id in IDS:
        assert resume_grade(config(env_id), RewardConfig()).grade == "exact"


def test_description():
    info = describe(config())
    assert info.action_names == ("noop", "left", "right")
    assert info.observation_names == ("board: paddle, ball, trail, brick",)
    assert info.keys == {"left": 1, "right": 2}
    assert describe(config("MinAtar/Seaquest")).keys["space"] == 5
    assert all(describe(config(env_id)).description.endswith(".") for env_id in IDS)


def test_freeway_cannot_pay_more_than_it_says():
    game = make(config("MinAtar/Freeway", sticky=0.0)).unwrapped
    game.reset(seed=0)
    game.game.cars, game.game._randomize_cars = [], lambda initialize: None  # an empty road
    score, over = 0.0, False
    while not over:
        _, reward, _, over, _ = game.step(1)
        score += reward
    assert describe(config("MinAtar/Freeway")).score_range == (0.0, score)


def test_settings_are_all_there_is_to_choose():
    assert settings(config(sticky=0.25)) == {
        "sticky": 0.25,
        "difficulty_ramping": True,
        "actions": ["noop", "left", "right"],
    }
    plain = EnvConfig(id="MinAtar/Breakout", family="minatar")
    assert settings(plain)["sticky"] == 0.1


@pytest.mark.parametrize("env_id", ["MinAtar/Brekout", "MinAtar/Breakout-v1"])
def test_an_unknown_game_names_the_nearest(env_id):
    with pytest.raises(UserError, match=f"unknown .*'{env_id}'; did you mean 'MinAtar/Breakout'"):
        family(config(env_id)).make(config(env_id))


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        (
            "env.kwargs={sticky_action_prob: 0}",
            "the settings of MinAtar are env.difficulty",
        ),
        ("env.stiky=0.2", "did you mean env.sticky"),
        ("env.sticky=2", "env.sticky"),
    ],
)
def test_mistakes_are_one_sentence(setting, says):
    with pytest.raises(UserError) as caught:
        resolve("MinAtar/Breakout:ppo", [setting])
    assert says in str(caught.value)


def test_settings_can_be_given_by_name():
    env = resolve("MinAtar/Breakout:ppo", ["env.sticky=0", "env.full_actions=true"]).config.env
    assert isinstance(env, Config) and make(env).action_space.n == 6


def test_the_paper_has_a_protocol():
    env = resolve("MinAtar/Asterix:ppo", ["env.protocol=young2019"]).config.env
    assert (env.sticky, env.difficulty_ramping, env.full_actions, env.mask) == (
        0.1,
        True,
        True,
        False,
    )


def test_without_the_package_there_is_the_command_to_install_it(monkeypatch):
    env = config()
    minatar._module.cache_clear()
    monkeypatch.setitem(sys.modules, "minatar", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install 'spotter-rl\[minatar\]'"):
        make(env)


def test_charts_are_not_loaded():
    """Two seconds for what only the package's own window needs."""
    code = (
        "import sys; from spotter.envs.families.minatar import Config, make;"
        "make(Config(id='MinAtar/Seaquest', family='minatar')).reset();"
        "print([name for name in ('matplotlib', 'seaborn', 'minatar') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_pictures_show_the_last_channel_on_top():
    game = make(config(), render=True)
    game.reset(seed=0)
    game.step(0)  # the ball's trail is within the bricks
    assert game.render().shape == (160, 160, 3)
    assert {tuple(cell) for cell in game.render()[::16, ::16][3]} == {tuple(minatar._COLOURS[4])}
    board = game.step(0)[0]  # and now it is not
    cells = game.render()[::16, ::16]
    for channel in range(4):
        colours = {tuple(colour) for colour in cells[board[:, :, channel] > 0]}
        assert colours == {tuple(minatar._COLOURS[channel + 1])}
    assert tuple(cells[8, 0]) == tuple(minatar._COLOURS[0])


@every_game
def test_every_game_can_be_trained_by_its_id(env_id):
    """Three have a recipe; the others are known to Gymnasium as soon as somebody asks."""
    assert recipes.family_of(env_id) == "minatar"
    config = resolve(f"{env_id}:ppo").config
    assert isinstance(config.env, Config) and config.env.id == env_id
    leaf = describe_spaces(make(config.env).observation_space, gym.spaces.Discrete(2))
    assert leaf.observation["obs"].kind == "image" and config.policy.hidden == (128,)


def test_solved_is_a_wall_of_bricks_or_three_waves_of_aliens():
    wall = make(config()).unwrapped.game.brick_map.sum()
    wave = make(config("MinAtar/SpaceInvaders")).unwrapped.game.alien_map.sum()
    assert threshold(config()) == wall and threshold(config("MinAtar/SpaceInvaders")) == 3 * wave
