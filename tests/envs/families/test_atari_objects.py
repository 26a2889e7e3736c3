"""Positions read from memory are where the screen shows things."""

import numpy as np
import pytest

from spotter.envs.families import atari
from spotter.envs.families.atari import Config
from spotter.envs.games.ale import objects
from spotter.envs.games.ale.objects import TABLES, Objects, Place, Table, Thing

pytest.importorskip("ale_py")

COLOURS = {
    "player": (92, 186, 92),
    "opponent": (213, 130, 74),
    "ball": (236, 236, 236),
}
RED = (200, 72, 72)


class Watched:
    """A game of which both are known: what the memory says and what the screen shows."""

    def __init__(self, game, frame_skip=1):
        self.config = Config(
            id=f"ALE/{game}-v5",
            family="atari",
            observe="objects",
            frame_skip=frame_skip,
            sticky=0.0,
            noops=0,
        )
        self.env = atari.make(self.config)
        self.ale = self.env.ale
        self.names = [*atari.describe(self.config).observation_names]
        self.obs, _ = self.env.reset(seed=3)

    def step(self, action):
        self.obs, _, terminated, truncated, _ = self.env.step(action)
        if terminated or truncated:
            self.obs, _ = self.env.reset()
        return not (terminated or truncated)

    def __getitem__(self, name):
        return float(self.obs[self.names.index(name)])

    def seen(self, colour, area):
        """Left, top, width and height of what has that colour in (left, top, right, bottom)."""
        left, top, right, bottom = area
        screen = self.ale.getScreenRGB()[top:bottom, left:right]
        rows, columns = np.nonzero((screen == colour).all(axis=-1))
        if not len(rows):
            return None
        x, y = columns.min(), rows.min()
        return x + left, y + top, np.ptp(columns) + 1, np.ptp(rows) + 1


def test_pong_is_where_the_screen_shows_it():
    game, draw = Watched("Pong"), np.random.default_rng(0)
    compared = dict.fromkeys(COLOURS, 0)
    action = 0
    for frame in range(1600):
        action = int(draw.integers(6)) if frame % 9 == 0 else action
        if not game.step(action) or frame % 2:
            continue
        for thing in TABLES["pong"].things:
            seen = game.seen(COLOURS[thing.name], TABLES["pong"].field)
            if seen is None or seen[2:] != thing.size:
                continue  # partly or wholly beyond the edge of the field
            compared[thing.name] += 1
            assert game[f"{thing.name} visible"] == 1
            assert abs(game[f"{thing.name} y"] - seen[1]) <= 1  # paddles go two lines at a time
            x = game[f"{thing.name} x"] if isinstance(thing.x, Place) else thing.x
            assert x == seen[0]
    assert min(compared.values()) > 200
    game.env.close()


def test_pongs_ball_is_visible_when_it_is_seen():
    game, draw, wrong, hidden = Watched("Pong"), np.random.default_rng(1), 0, 0
    for frame in range(1500):
        if game.step(int(draw.integers(6)) if frame % 9 == 0 else 0):
            seen = game.seen(COLOURS["ball"], TABLES["pong"].field) is not None
            wrong += game["ball visible"] != seen
            hidden += not seen
    assert hidden > 100 and wrong <= 5, "the frame in which it comes or goes"
    game.env.close()


def follow(game):
    """Bring the ball back, so that there is something to see for a while."""
    if not game["ball visible"]:
        return 1
    ahead = game["ball x"] - game["paddle x"] - 6
    return 2 if ahead > 3 else 3 if ahead < -3 else 0


def test_breakout_is_where_the_screen_shows_it():
    game, draw = Watched("Breakout"), np.random.default_rng(0)
    compared = {"paddle": 0, "ball": 0}
    below_bricks, floor = (8, 94, 152, 188), (8, 189, 152, 193)
    for _ in range(1200):
        game.step(follow(game) if draw.random() > 0.05 else int(draw.integers(4)))
        paddle = game.seen(RED, floor)
        if paddle is not None and paddle[2] == 2 * game["half the paddle's width"]:
            compared["paddle"] += 1
            assert game["paddle x"] == paddle[0] and game["paddle visible"] == 1
        ball = game.seen(RED, below_bricks)
        if ball is not None and ball[2:] == (2, 4):
            compared["ball"] += 1
            assert (game["ball x"], game["ball visible"]) == (ball[0], 1)
            assert abs(game["ball y"] - ball[1]) <= 1
    assert min(compared.values()) > 400
    game.env.close()


def test_breakouts_bricks_are_those_on_the_screen():
    game, draw, left = Watched("Breakout"), np.random.default_rng(0), set()
    for frame in range(1500):
        game.step(follow(game) if draw.random() > 0.05 else int(draw.integers(4)))
        if frame % 10 == 0 and not 50 < game["ball y"] < 100:  # nothing in front of them
            screen = game.ale.getScreenRGB()
            wall = screen[59:95:6, 12:152:8].any(axis=-1)  # the middle of each of 6 × 18
            told = [game[f"bricks in column {column}"] for column in range(18)]
            assert told == wall.sum(axis=0).tolist()
            left.add(int(wall.sum()))
    assert len(left) > 5
    game.env.close()


@pytest.mark.parametrize("frame_skip", [1, 4])
def test_velocity_is_the_way_since_the_last_decision(frame_skip):
    game, moved = Watched("Pong", frame_skip), 0
    before = game.obs
    for _ in range(600 // frame_skip):
        game.step(2)
        now, names = game.obs, game.names
        for axis in ("x", "y"):
            at = names.index(f"ball {axis}")
            both = before[names.index("ball visible")] and game["ball visible"]
            way = now[at] - before[at] if both else 0
            assert game[f"ball d{axis}"] == way
            moved += way != 0
        before = now
    assert moved > 50
    game.env.close()


def test_the_last_action_is_told():
    game = Watched("Pong")
    choices = [name for name in game.names if name.startswith("last action")]
    assert len(choices) == 6 and not game.obs[-6:].any(), "there was none before the first"
    for action in range(6):
        game.step(action)
        assert game.obs[-6:].tolist() == np.eye(6)[action].tolist()
    game.env.close()


class Memory:
    """Stands in for a console whose bytes are chosen by hand."""

    def __init__(self):
        self.bytes = np.zeros(128, np.uint8)

    def getRAM(self):  # noqa: N802
        return self.bytes


TWINS = Table(
    field=(10, 10, 100, 100),
    things=(
        Thing("twin", x=Place(0, -5), y=Place(1, 0), size=(4, 4)),
        Thing("twin", x=Place(0, -5), y=Place(1, 0), size=(4, 4)),
    ),
    bytes={"speed": 7},
    counts={"bits": ((9, 0), (9, 7))},
)


class TestAnyTable:
    def test_two_things_in_one_place_are_two_things(self):
        memory = Memory()
        view = Objects(memory, TWINS, choices=2)
        memory.bytes[[0, 1, 7, 9]] = 55, 20, 3, 0b10000001
        twin = [1, 50, 20, 0, 0]
        assert view.moment(None).tolist() == [*twin, *twin, 3, 2, 0, 0]
        memory.bytes[[0, 1]] = 58, 19
        twin = [1, 53, 19, 3, -1]
        assert view.moment(1).tolist() == [*twin, *twin, 3, 2, 0, 1]
        assert len(objects.names(TWINS, ["a", "b"])) == view.space.shape[0]

    @pytest.mark.parametrize("x, visible", [(11, 0), (12, 1), (104, 1), (105, 0)])
    def test_visible_is_what_has_a_pixel_on_the_field(self, x, visible):
        memory = Memory()
        view = Objects(memory, TWINS, choices=2)
        memory.bytes[[0, 1]] = x, 50
        assert view.moment(None)[0] == visible

    def test_what_comes_back_has_no_velocity_yet(self):
        memory = Memory()
        view = Objects(memory, TWINS, choices=2)
        shown = []
        for x in (55, 0, 60, 64):
            memory.bytes[[0, 1]] = x, 50
            shown.append(view.moment(0)[:5].tolist())
        assert shown == [[1, 50, 50, 0, 0], [0] * 5, [1, 55, 50, 0, 0], [1, 59, 50, 4, 0]]

    def test_every_byte_is_within_bounds(self):
        draw = np.random.default_rng(0)
        for table in (*TABLES.values(), TWINS):
            memory = Memory()
            view = Objects(memory, table, choices=3)
            for _ in range(300):
                memory.bytes[:] = draw.integers(0, 256, 128)
                assert view.space.contains(view.moment(int(draw.integers(3))))
