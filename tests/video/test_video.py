"""Films: the replay scores what was played, the file plays everywhere, memory stays flat."""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import av
import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces as gs

from spotter.config import EnvConfig, resolve
from spotter.envs.make import make_vector
from spotter.rundir.files import StorageError
from spotter.video import CannotRender, FilmStopped, action_names, film, save_video
from spotter.video.overlay import Canvas, Caption
from spotter.video.replay import Watcher
from tests.envs.helpers import config

FPS = 10
HELD = 5


class Pictured(gym.Env[Any, Any]):
    """Paints its step number; `fault` says how its drawing goes wrong at step 3."""

    metadata: ClassVar = {"render_modes": ["rgb_array"], "render_fps": FPS}
    rss: ClassVar[list[int]] = []

    def __init__(
        self,
        render_mode: str | None = None,
        fault: str = "",
        length: int = 4,
        height: int = 101,
    ) -> None:
        self.height = height
        self.render_mode = render_mode
        self.fault = fault
        self.length = length
        self.observation_space = gs.Box(0, 1, (1,), np.float32)
        self.action_space = gs.Discrete(2)
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.steps += 1
        if self.steps % 100 == 0:
            self.rss.append(_rss())
        if self.fault == "step" and self.steps == 3:
            raise RuntimeError("the wheels came off")
        return np.zeros(1, np.float32), float(action), self.steps == self.length, False, {}

    def render(self):
        shade = np.full((self.height, 481, 3), self.steps % 256, np.uint8)
        shade[:, : self.steps % 400] //= 2
        if self.steps < 3:
            return shade
        return {
            "none": None,
            "float": shade / 255,
            "grey": shade[:, :, 0],
            "alpha": np.dstack([shade, shade[:, :, :1]]),
            "size": shade[:50],
        }.get(self.fault, shade)


class Unpictured(Pictured):
    """Says that it cannot draw, and cannot."""

    metadata: ClassVar = {"render_modes": []}

    def render(self):
        return None


for _class in (Pictured, Unpictured):
    if f"{_class.__name__}-v0" not in gym.registry:
        gym.register(id=f"{_class.__name__}-v0", entry_point=f"{__name__}:{_class.__name__}")


def pictured(name: str = "Pictured", **kwargs: Any) -> EnvConfig:
    return config(f"{__name__}:{name}-v0", kwargs=kwargs)


def played(env: EnvConfig, seed: int) -> tuple[list[np.ndarray], float]:
    """An episode of random actions in an evaluation copy: what was done, and its score."""
    vector = make_vector(env, count=1)
    vector.reset([seed])
    rng = np.random.default_rng(seed)
    spec = vector.spaces.action
    actions = []
    while True:
        shape = (1, *spec.shape)
        row = rng.uniform(-1, 1, shape) if spec.kind == "box" else rng.integers(0, spec.nvec[0], 1)
        actions.append(row[0].astype(spec.dtype))
        finished = vector.step(row.astype(spec.dtype))
        if finished:
            vector.close()
            return actions, finished[0].score


@dataclass(frozen=True)
class Decoded:
    frames: list[np.ndarray]
    seconds: float
    fps: float
    kind: tuple[str, str]


def decoded(path: Path) -> Decoded:
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert container.duration is not None and stream.average_rate is not None
        about = (stream.codec_context.name, str(stream.codec_context.pix_fmt))
        seconds, fps = container.duration / 1e6, float(stream.average_rate)
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(stream)]
    return Decoded(frames, seconds, fps, about)


@pytest.mark.parametrize(
    ("address", "limit"),
    [("CartPole-v1", None), ("LunarLander-v3", None), ("FrozenLake-v1", None), ("Taxi-v4", 9)],
)
def test_p40_the_film_shows_the_episode_that_was_played(tmp_path, address, limit):
    env = resolve(address).config.env.model_copy(update={"time_limit": limit})
    actions, score = played(env, seed=7)
    made = film(env, 7, actions, tmp_path / "a.mp4")
    assert made.score == score
    shown = decoded(made.path)
    assert shown.kind == ("h264", "yuv420p")
    assert shown.fps == made.fps
    # one picture after the reset, one per step, and the last one for half a second more
    assert made.frames == len(shown.frames) == 1 + len(actions) + round(made.fps / 2)
    assert made.seconds == pytest.approx(shown.seconds, abs=0.5 / made.fps)
    assert made.seconds == pytest.approx(made.frames / made.fps)
    assert [path.name for path in tmp_path.iterdir()] == ["a.mp4"]


def test_pictures_are_the_environments_in_order(tmp_path):
    made = film(pictured(length=60), 1, [np.array(1)] * 60, tmp_path / "a.mp4")
    frames = decoded(made.path).frames
    assert frames[0].shape[0] % 2 == frames[0].shape[1] % 2 == 0
    corner = [int(frame[50, 470, 0]) for frame in frames[:61]]
    assert np.abs(np.array(corner) - np.arange(61)).max() <= 6  # what compression leaves of it
    assert corner[60] > corner[30] > corner[0]


def test_frame_skip_films_every_raw_step_at_the_games_own_speed(tmp_path):
    env = config(
        f"{__name__}:Pictured-v0",
        kwargs={"length": 12},
        wrappers=[{"name": "frame_skip", "skip": 4}],
    )
    made = film(env, 1, [np.array(1)] * 3, tmp_path / "a.mp4")
    assert (made.frames, made.score) == (1 + 12 + HELD, 12.0)


def test_a_replay_that_ends_early_is_filmed_to_its_end(tmp_path):
    made = film(pictured(length=4), 1, [np.array(1)] * 9, tmp_path / "a.mp4")
    assert (made.frames, made.score) == (1 + 4 + HELD, 4.0)


# --- what cannot be filmed -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("env", "reason"),
    [
        (config("Scripted-v0"), "it knows no render_mode"),
        (pictured("Unpictured"), "render() gives nothing"),
        (pictured(fault="none"), "render() gives nothing"),
        (pictured(fault="float"), "render() gives float64 of shape (101, 481, 3), not uint8"),
        (pictured(fault="size"), "its images change their size"),
        (pictured(fault="step"), "RuntimeError: the wheels came off"),
    ],
)
def test_what_cannot_be_filmed_says_so_in_one_sentence_and_leaves_nothing(tmp_path, env, reason):
    with pytest.raises(CannotRender) as caught:
        film(env, 1, [np.array(1)] * 4, tmp_path / "a.mp4")
    sentence = str(caught.value)
    assert reason in sentence
    assert env.id.rpartition(":")[2] in sentence
    assert "\n" not in sentence
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("fault", ["grey", "alpha"])
def test_other_shades_of_picture_are_understood(tmp_path, fault):
    made = film(pictured(fault=fault), 1, [np.array(1)] * 4, tmp_path / "a.mp4")
    assert made.frames == 1 + 4 + HELD


def test_a_full_disk_is_not_blamed_on_the_environment(tmp_path):
    (tmp_path / "videos").write_text("a file where a folder should be")
    with pytest.raises(StorageError, match=r"cannot write .*a\.mp4"):
        film(pictured(), 1, [np.array(1)] * 4, tmp_path / "videos" / "a.mp4")


def test_an_older_film_stays_when_a_new_one_fails(tmp_path):
    path = tmp_path / "a.mp4"
    film(pictured(), 1, [np.array(1)] * 4, path)
    before = path.read_bytes()
    with pytest.raises(CannotRender):
        film(pictured(fault="none"), 1, [np.array(1)] * 4, path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("driver", [None, "dummy"])
def test_it_needs_no_display_and_leaves_the_users_settings_alone(tmp_path, monkeypatch, driver):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("SDL_VIDEODRIVER", raising=False)
    if driver:
        monkeypatch.setenv("SDL_VIDEODRIVER", driver)
    seen = []
    monkeypatch.setattr(Watcher, "decide", lambda self: seen.append(os.environ["SDL_VIDEODRIVER"]))
    env = resolve("CartPole-v1").config.env
    film(env, 1, [np.array(1)] * 2, tmp_path / "a.mp4")
    assert seen == ["dummy", "dummy"]
    assert os.environ.get("SDL_VIDEODRIVER") == driver


# --- memory --------------------------------------------------------------------------------------


def _rss() -> int:
    if not sys.platform.startswith("linux"):
        pytest.skip("resident memory is read from /proc")
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_p40_memory_is_flat_over_200_films(tmp_path):
    env, actions = pictured(length=2, height=11), [np.array(1)] * 2
    for _ in range(20):
        film(env, 1, actions, tmp_path / "a.mp4")
    before = _rss()
    for _ in range(180):
        film(env, 1, actions, tmp_path / "a.mp4")
    assert _rss() - before < 12 * 2**20  # one leaked encoder would be 180 times 0.2 MiB and more


def test_p40_memory_is_flat_within_a_long_film(tmp_path):
    Pictured.rss.clear()
    film(pictured(length=600), 1, [np.array(1)] * 600, tmp_path / "a.mp4")
    assert len(Pictured.rss) == 6
    assert Pictured.rss[-1] - Pictured.rss[1] < 20 * 2**20  # held pictures would be 80 MiB


# --- captions ------------------------------------------------------------------------------------


@pytest.fixture
def captions(monkeypatch) -> list[Caption]:
    seen = []
    draw = Canvas.draw

    def spy(self, picture, caption):
        seen.append(caption)
        return draw(self, picture, caption)

    monkeypatch.setattr(Canvas, "draw", spy)
    return seen


def test_captions_count_steps_name_actions_and_add_up(tmp_path, captions):
    env = resolve("CartPole-v1").config.env
    film(env, 1, [np.array(0), np.array(1)], tmp_path / "a.mp4")
    assert captions == [
        Caption(0, "", 0.0, 0.0),
        Caption(1, "push left", 1.0, 1.0),
        Caption(2, "push right", 1.0, 2.0),
        Caption(2, "push right", 1.0, 2.0, ended=True),
    ]


def test_a_decisions_raw_rewards_add_up_in_its_caption(tmp_path, captions):
    env = config(
        f"{__name__}:Pictured-v0",
        kwargs={"length": 4},
        wrappers=[{"name": "frame_skip", "skip": 2}],
    )
    film(env, 1, [np.array(1)] * 2, tmp_path / "a.mp4")
    assert [(c.step, c.reward, c.score) for c in captions[1:-1]] == [
        (1, 1.0, 1.0),
        (1, 2.0, 2.0),
        (2, 1.0, 3.0),
        (2, 2.0, 4.0),
    ]


@pytest.mark.parametrize(
    ("address", "action", "words"),
    [
        ("LunarLanderContinuous-v3", [0.5, -0.25], "main engine +0.50  side engines -0.25"),
        ("Pendulum-v1", [0.5], "torque +1.00"),  # in the environment's own units
        ("LunarLander-v3", 2, "main engine"),
    ],
)
def test_numbers_where_actions_are_numbers(tmp_path, captions, address, action, words):
    env = resolve(address).config.env
    dtype = np.float32 if isinstance(action, list) else np.int64
    film(env, 1, [np.array(action, dtype)], tmp_path / "a.mp4")
    assert captions[1].action == words


def test_a_caption_tells_what_the_game_received(tmp_path, captions):
    noise = {"wrappers": [{"name": "action_noise", "std": 0.4}]}
    env = resolve("Pendulum-v1", [{"env": noise}]).config.env
    film(env, 1, [np.zeros(1, np.float32)] * 3, tmp_path / "a.mp4")
    told = [caption.action for caption in captions[1:]]
    assert all(words.startswith("torque ") for words in told)
    assert any(words != "torque +0.00" for words in told)


def test_names_follow_action_maps_of_evaluation():
    lander = resolve("LunarLander-v3").config.env

    def names(*wrappers: dict[str, Any]) -> Sequence[str]:
        return action_names(EnvConfig(id=lander.id, family=lander.family, wrappers=wrappers))

    swap = {"name": "action_map", "mapping": [2, 0]}
    assert names() == ("nothing", "left engine", "main engine", "right engine")
    assert names(swap) == ("main engine", "nothing")
    assert names(swap, {"name": "action_map", "mapping": [1, 1, 0]}) == (
        "nothing",
        "nothing",
        "main engine",
    )
    assert names({**swap, "train_only": True}) == names()


def test_chords_are_named_by_their_buttons(monkeypatch):
    from spotter.types import EnvInfo

    class Console:
        @staticmethod
        def describe(env):
            return EnvInfo(action_names=("A", "B", "up"))

    monkeypatch.setattr("spotter.envs.naming.family", lambda env: Console)
    mapping = {"name": "action_map", "mapping": [[0, 0, 0], [1, 0, 1], [0, 2, 1]]}
    assert action_names(config("Buttons-v0", wrappers=[mapping])) == (
        "nothing",
        "A + up",
        "A 0, B 2, up 1",
    )


def test_nameless_actions_are_numbers(tmp_path, captions):
    film(pictured(), 1, [np.array(1)], tmp_path / "a.mp4")
    assert captions[1].action == "1"


# --- the strip -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(400, 600), (210, 160), (5, 7), (400, 20), (601, 901)])
def test_the_strip_stands_below_the_picture_and_dimensions_are_even(shape):
    picture = np.random.default_rng(0).integers(0, 256, (*shape, 3)).astype(np.uint8)
    canvas = Canvas(picture, "title")
    image = canvas.draw(picture, Caption(3, "left", 1.0, 2.5))
    assert canvas.size == (image.shape[1], image.shape[0])
    assert image.shape[0] % 2 == image.shape[1] % 2 == 0
    assert image.shape[1] >= 480
    factor = max(1, min(-(-480 // shape[1]), 960 // shape[0]))
    height, width = shape[0] * factor, shape[1] * factor
    left = (image.shape[1] - width) // 2
    shown = image[:height, left : left + width]
    assert np.array_equal(shown[::factor, ::factor], picture)
    assert image[height:].max() > 200  # letters


def test_the_strip_changes_with_every_entry_and_survives_long_ones():
    picture = np.zeros((100, 500, 3), np.uint8)
    canvas = Canvas(picture, "a title that goes on and on " * 9)
    usual = Caption(3, "left", 1.0, 2.5)
    others = [
        Caption(4, "left", 1.0, 2.5),
        Caption(3, "right", 1.0, 2.5),
        Caption(3, "left", -1.0, 2.5),
        Caption(3, "left", 1.0, 2.25),
        Caption(3, "left", 1.0, 2.5, ended=True),
        Caption(10**9, "left right up down " * 20, -1e12, float("nan")),
        Caption(3, "links\n→ \x00 左", 1.0, 2.5),
    ]
    drawn = [canvas.draw(picture, caption).tobytes() for caption in (usual, *others)]
    assert len(set(drawn)) == len(drawn)


# --- videos of a run -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Scored:
    env_steps: int
    scores: tuple[float, ...]
    env_seeds: tuple[int, ...]
    first_actions: tuple[tuple[np.ndarray, ...], ...]


def test_a_runs_videos_are_found_by_step_and_by_being_best(tmp_path):
    run = resolve("CartPole-v1:ppo").config
    actions, score = played(run.env, seed=5)
    first = Scored(20_224, (score, 1000.0), (5, 6), (tuple(actions), ()))
    made = save_video(tmp_path, run, first, best=True)
    assert made.path == tmp_path / "videos" / "step-000020224.mp4"
    beside = json.loads(made.path.with_suffix(".json").read_text())
    assert beside == {
        "file": "step-000020224.mp4",
        "env_steps": 20_224,
        "seed": 5,
        "score": score,
        "as_evaluated": True,
        "cut": False,
        "evaluation_score": (score + 1000.0) / 2,
        "fps": 50.0,
        "frames": made.frames,
        "seconds": made.seconds,
    }
    later = Scored(30_000, (-1.0,), (5,), (tuple(actions[:3]),))
    save_video(tmp_path, run, later, best=False)
    videos = tmp_path / "videos"
    assert json.loads((videos / "best.json").read_text()) == {"file": "step-000020224.mp4"}
    assert json.loads((videos / "step-000030000.json").read_text())["as_evaluated"] is False
    assert not [path for path in videos.iterdir() if path.name.startswith(".")]


def test_a_film_of_a_long_episode_is_cut(tmp_path):
    run = resolve("CartPole-v1:ppo", ["video.max_s=0.1"]).config
    actions, score = played(run.env, seed=5)
    made = save_video(tmp_path, run, Scored(1, (score,), (5,), (tuple(actions),)), best=True)
    assert made.is_cut
    assert made.score == 4.0, "what it shows"
    assert made.frames == 5 + 25, "0.1 s at 50 a second, and the last one held"
    beside = json.loads(made.path.with_suffix(".json").read_text())
    assert (beside["cut"], beside["as_evaluated"]) == (True, None)
    whole = film(run.env, 5, actions, tmp_path / "whole.mp4", max_s=(len(actions) + 1) / 50)
    assert not whole.is_cut and whole.score == score
    late = film(run.env, 5, actions, tmp_path / "late.mp4", within_s=0.0)
    assert late.is_cut and late.frames == 1 + 25, "the first picture, and the last one held"


def test_a_film_ends_at_once_when_asked_to_and_leaves_nothing(tmp_path):
    asked = iter([False] * 3 + [True])
    path = tmp_path / "film.mp4"
    with pytest.raises(FilmStopped):
        film(pictured(length=100), 1, [np.array(1)] * 100, path, stop=lambda: next(asked))
    assert not list(tmp_path.iterdir())


def test_a_copy_that_failed_is_not_filmed(tmp_path):
    run = resolve("CartPole-v1:ppo").config
    actions, score = played(run.env, seed=6)
    made = save_video(
        tmp_path, run, Scored(8, (0.0, score), (5, 6), ((), tuple(actions))), best=False
    )
    assert made.score == score
    with pytest.raises(CannotRender, match="no episode was written down"):
        save_video(tmp_path, run, Scored(9, (0.0, score), (5, 6), ((), ())), best=False)
    assert not (tmp_path / "videos" / "best.json").exists()
