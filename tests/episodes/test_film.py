"""Films of learning: what is chosen, what is said, and what can be seen in the file."""

import json
import re
from pathlib import Path

import av
import numpy as np
import pytest

import spotter
from spotter.episodes import film_plan as plan
from spotter.episodes.film import make_film, make_to_disk, parse_size
from spotter.episodes.film_cards import Box, Curve, CurveStrip, Screen, fitted, scaled, wrapped
from spotter.episodes.film_plan import Part, Stage, best_window, choose, part, shares
from spotter.episodes.film_play import play
from spotter.rundir.files import StorageError, read_json, write_json
from spotter.rundir.run import Run
from spotter.training.training import Training
from spotter.types import UserError
from spotter.video.letters import text_width, write
from tests.episodes.making import saved
from tests.policy.counting import Counting
from tests.video.test_video import Pictured, Unpictured

SIZE, FPS, SECONDS = "640x360", 10, 18


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Run:
    """A short training whose every checkpoint was kept."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPOTTER_RUNS", str(tmp_path_factory.mktemp("film") / "runs"))
        result = spotter.train(
            "CartPole-v1:ppo", "budget.env_steps=2500", "checkpoint.keep=null",
            "eval.every_steps=500", "eval.episodes=3", "video.when=null", quiet=True,
        )  # fmt: skip
    assert result.run is not None
    checkpoints = result.run.folder / "checkpoints"
    last = max(path.name for path in checkpoints.glob("step-*"))
    write_json(checkpoints / "best.json", {"step": last})  # so little training may have it first
    return result.run


@pytest.fixture(scope="module")
def made(trained):
    return make_film(str(trained.folder), checkpoints=3, seconds=SECONDS, size=SIZE, fps=FPS)


@pytest.fixture(scope="module")
def frames(made) -> list[np.ndarray]:
    with av.open(str(made.path)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


# --- a real film ---------------------------------------------------------------------------------


def test_the_file_is_what_was_asked_for(made, frames, trained):
    assert made.path == trained.folder / "videos" / f"film-{SIZE}.mp4"
    with av.open(str(made.path)) as container:
        stream = container.streams.video[0]
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
        assert (stream.width, stream.height, stream.average_rate) == (640, 360, FPS)
        assert float(stream.duration * stream.time_base) == pytest.approx(made.seconds, abs=0.11)
    assert len(frames) == made.frames == round(made.seconds * FPS)
    assert made.seconds <= SECONDS + 0.2
    assert [path.suffix for path in made.path.parent.iterdir() if path.name[0] == "."] == []


def test_every_stage_has_its_captions(made, trained):
    stages = [shot.stage for shot in made.shots]
    assert len(stages) == 3
    assert stages[0] == Stage(0, "", training_score=stages[0].training_score)
    best = read_json(trained.folder / "checkpoints" / "best.json")
    assert stages[-1].checkpoint == best["step"]
    assert [stage.env_steps for stage in stages] == sorted({s.env_steps for s in stages})
    first, *_, last = (shot.captions for shot in made.shots)
    assert (first.number, first.unit, first.place) == ("0", "env steps", "1 of 3")
    assert first.facts == ("before any training",)
    assert last.number == f"{stages[-1].env_steps:,}"
    assert last.facts[0].endswith("of training") and last.facts[1].endswith("over 3 episodes")
    assert all("episode" in shot.captions.note or " of " in shot.captions.note
               for shot in made.shots)  # fmt: skip


def test_the_cards_say_what_is_shown_and_how_to_get_it(made, trained):
    kept = len(list((trained.folder / "checkpoints").glob("step-*")))
    assert made.title.loud == "CartPole-v1"
    assert made.title.lines[-1] == (
        f"the untrained policy and 2 of {kept} kept checkpoints up to the best, "
        "the same seed each time"
    )
    info = trained.info()
    assert made.end.loud == f"{info['score']:.2f}".rstrip("0").rstrip(".")
    assert made.end.lines[0] == "mean score of 3 held-out test episodes"
    assert info["id"] in made.end.lines[-1]
    assert made.end.command.startswith("spotter train CartPole-v1:ppo")
    assert "seed=1" in made.end.command


def test_the_camera_saw_what_was_played(made):
    assert all(shot.as_played for shot in made.shots)
    for shot in made.shots:
        assert shot.score == shot.pictures - 1  # a point per step


def test_the_marker_stands_where_the_policy_is(made, frames, trained):
    curve = plan.curve(trained, 475.0)
    screen = Screen(parse_size(SIZE), curve, np.zeros((400, 600, 3), np.uint8))
    seconds = plan.TITLE_S
    for shot in made.shots:
        seconds += plan.FADE_S + max(plan.SHORTEST_S, shot.part.seconds) / 2
        x, y = (round(place) for place in screen.strip.place(shot.stage.env_steps))
        seen = frames[round(seconds * FPS)]
        assert seen[y, x].min() > 200, shot.stage
        others = [s.stage.env_steps for s in made.shots if s is not shot]
        for place in (screen.strip.place(steps) for steps in others):
            assert seen[round(place[1]), round(place[0])].min() < 200
        seconds += max(plan.SHORTEST_S, shot.part.seconds) / 2 + plan.HOLD_S


def test_pictures_fade_into_each_other(made, frames):
    """Half-way through the first fade, the game's white ground is grey."""
    middle = frames[round((plan.TITLE_S + plan.FADE_S / 2) * FPS) - 1]
    later = frames[round((plan.TITLE_S + plan.FADE_S + 1) * FPS)]
    ground = middle[30, 60].mean(), later[30, 60].mean()
    assert 60 < ground[0] < 200 < ground[1]


def test_a_json_lies_beside_it(made):
    about = json.loads(made.path.with_suffix(".json").read_text(encoding="utf-8"))
    assert (about["file"], about["kind"], about["size"]) == (made.path.name, "film", [640, 360])
    assert [stage["env_steps"] for stage in about["stages"]] == [
        shot.stage.env_steps for shot in made.shots
    ]
    assert about["seconds"] == made.seconds and about["seed"] == made.seed


def test_another_file_leaves_the_run_alone(trained, made, tmp_path):
    before = {path.name for path in made.path.parent.iterdir()}
    told: list[str] = []
    out = tmp_path / "new" / "short.mp4"
    other = make_film(
        str(trained.folder), checkpoints=1, seconds=11, size="320x480", fps=FPS, seed=5,
        out=str(out), title="Balance!", say=told.append,
    )  # fmt: skip
    assert other.path == out and out.is_file()
    assert (other.seed, other.title.loud, len(other.shots)) == (5, "Balance!", 1)
    assert other.title.above == "CartPole-v1 · ppo"
    assert other.shots[0].captions.title == "Balance!"
    assert len(told) == 2 and told[1].startswith("filming 1 of 1")
    assert {path.name for path in made.path.parent.iterdir()} == before
    assert [path.name for path in out.parent.iterdir()] == ["short.mp4"]


def test_plain_data_for_another_process(trained, tmp_path):
    out = tmp_path / "a.mp4"
    told = make_to_disk(
        str(trained.folder), checkpoints=1, seconds=11, size="320x320", fps=FPS, out=str(out)
    )
    assert told["path"] == str(out) and json.loads(json.dumps(told)) == told


@pytest.mark.parametrize(("count", "seconds"), [(1, 5), (2, 6), (2, 10), (4, 30)])
def test_a_short_film_hurries(count, seconds):
    """Cards, fades and rests shrink together, and what is left is enough for the episodes."""
    pace = plan.pace(count, seconds)
    room = seconds - pace * plan.others_s(count)
    assert room >= count * pace * plan.SHORTEST_S - 1e-9
    assert 0.4 <= pace <= 1
    assert (pace == 1) == (seconds >= plan.others_s(count) + count * plan.SHORTEST_S)


def test_a_film_of_six_seconds_takes_six(trained, tmp_path):
    made = make_film(str(trained.folder), checkpoints=2, seconds=6, size="320x320", fps=10,
                     out=str(tmp_path / "short.mp4"))  # fmt: skip
    assert 5 < made.seconds <= 6.05
    assert len(made.shots) == 2


# --- mistakes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"size": "large"}, "a size is 1280x720 or 1080x1920 or 1080x1080, not 'large'"),
        ({"size": "1281x720"}, "size 1281x720: both sides must be even"),
        ({"size": "100x100"}, "between 320 and 3840"),
        ({"checkpoints": 0}, "checkpoints should be 1 or more, not 0"),
        ({"seconds": 3}, "3 seconds are too short for "),
        ({"seconds": float("nan")}, "seconds should be between 0 and 3600"),
        ({"fps": 500}, "fps should be between 10 and 60, not 500"),
        ({"seed": -1}, "a seed is a whole number from 0 to 2147483647, not -1"),
        ({"out": "film.avi"}, "a film is an .mp4 or .gif file, and 'film.avi' is not named"),
    ],
)
def test_mistakes_are_sentences(trained, how, sentence):
    with pytest.raises(UserError) as error:
        make_film(str(trained.folder), **how)
    assert sentence in str(error.value) and "\n" not in str(error.value)


def test_a_run_without_checkpoints(make_config):
    run = Run.create(make_config("CartPole-v1"), "CartPole-v1:ppo")
    run.finish("failed")
    with pytest.raises(UserError, match="has no checkpoint yet; there is nothing to film"):
        make_film(run.id)


def test_a_game_that_cannot_render(make_config):
    run = saved(make_config(f"{Unpictured.__module__}:Unpictured-v0"))
    sentence = r"Unpictured-v0 cannot be filmed: render\(\) gives nothing"
    with pytest.raises(UserError, match=sentence) as error:
        make_film(run.id)
    assert "\n" not in str(error.value)
    assert not list(run.folder.glob("videos/*"))


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("step", "Pictured-v0 cannot be filmed: RuntimeError: the wheels came off"),
        ("size", "Pictured-v0 cannot be filmed: its images change their size"),
        ("none", "Pictured-v0 cannot be filmed: render() gives nothing"),
    ],
)
def test_a_game_whose_drawing_fails(make_config, fault, sentence, monkeypatch):
    if fault == "step":  # only before a camera
        monkeypatch.setattr(Pictured, "step", _failing_before_a_camera(Pictured.step))
    config = make_config(f"{Pictured.__module__}:Pictured-v0", env={"kwargs": {"fault": fault}})
    run = saved(config)
    with pytest.raises(UserError, match=re.escape(sentence)):
        make_film(run.id, checkpoints=1, size="320x320", fps=FPS)
    assert not list(run.folder.glob("videos/*"))


def _failing_before_a_camera(step):
    def wrapped(self, action):
        self.fault = "step" if self.render_mode else ""
        return step(self, action)

    return wrapped


def test_what_cannot_be_written_is_a_sentence(trained, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises((StorageError, OSError)):
        make_film(
            str(trained.folder), checkpoints=1, seconds=11, size="320x320", fps=FPS,
            out=str(tmp_path / "file" / "a.mp4"),
        )  # fmt: skip


def test_a_fork_did_not_begin_untrained(trained, make_config):
    parent = {"run": "x", "checkpoint": "y", "env_steps": 1, "kind": "fork"}
    assert plan.stages(trained)[0].checkpoint == ""
    info = json.loads((trained.folder / "run.json").read_text(encoding="utf-8"))
    (trained.folder / "run.json").write_text(json.dumps(info | {"parent": parent}))
    try:
        assert all(stage.checkpoint for stage in plan.stages(trained))
    finally:
        (trained.folder / "run.json").write_text(json.dumps(info))


# --- what is chosen ------------------------------------------------------------------------------


def stage(env_steps: int, score: float | None) -> Stage:
    return Stage(env_steps, f"step-{env_steps:09d}" if env_steps else "", score, 1)


def test_checkpoints_are_spread_by_score():
    there = [stage(100 * i, s) for i, s in enumerate((0, 1, 2, 48, 51, 97, 99, 100))]
    assert [s.worth for s in choose(there, 3)] == [0, 51, 100]
    assert [s.worth for s in choose(there, 4)] == [0, 48, 51, 100]
    assert [s.env_steps for s in choose(there, 8)] == [s.env_steps for s in there]
    assert choose(there, 99) == there
    assert choose(there, 1) == [there[-1]]


def test_without_scores_they_are_spread_by_env_steps():
    there = [stage(steps, None) for steps in (0, 10, 20, 500, 980, 990, 1000)]
    assert [s.env_steps for s in choose(there, 3)] == [0, 500, 1000]


@pytest.mark.parametrize("most", range(1, 9))
def test_as_many_as_asked_in_order(most):
    rng = np.random.default_rng(most)
    there = [stage(10 * i, float(s)) for i, s in enumerate(rng.normal(size=8))]
    chosen = choose(there, most)
    assert len(chosen) == most and chosen[-1] == there[-1]
    assert [s.env_steps for s in chosen] == sorted({s.env_steps for s in chosen})


def test_the_best_excerpt_sees_the_most_reward():
    rewards = [0.0] * 20 + [1.0, 0, 1.0] + [0.0] * 20
    first = best_window(rewards, 5)
    assert first <= 20 and first + 4 >= 23  # both are on the screen, and how they came about
    assert best_window([1.0] * 10, 4) == 7  # of equals, the end
    assert best_window([-1.0] * 9 + [0.0], 3) == 8


def test_short_episodes_are_slowed_down_and_long_ones_cut():
    assert part([0.0] * 9, 50.0, 6.0) == Part(0, 9, 0.25, 0.8)
    assert part([0.0] * 199, 50.0, 6.0) == Part(0, 199, 1.0, 4.0)
    assert part([0.0] * 499, 50.0, 6.0) == Part(0, 499, 2.0, 5.0)
    assert part([0.0] * 4999, 50.0, 6.0) == Part(4700, 4999, 1.0, 6.0)
    assert Part(4700, 4999, 1.0, 6.0).words(5000, 50.0) == "from 94 s to 100 s of 100 s"
    assert Part(0, 9, 0.25, 0.8).words(10, 50.0) == "whole episode, quarter speed"


def test_frames_keep_the_games_own_pace():
    assert Part(0, 99, 1.0, 2.0).indexes(50.0, 25) == [*range(0, 98, 2), 99]
    assert Part(5, 8, 1.0, 0.4).indexes(10.0, 20) == [5, 5, 6, 6, 7, 7, 8, 8]


def test_short_episodes_leave_their_time_to_others():
    assert shares([2.0, 2.0, 20.0, 20.0], 24.0) == 10.0
    assert shares([2.0, 3.0], 24.0) == 3.0
    assert shares([9.0, 9.0], 6.0) == 3.0


# --- drawing -------------------------------------------------------------------------------------


def test_pixels_of_small_games_stay_square():
    atari = np.arange(210 * 160 * 3, dtype=np.uint32).astype(np.uint8).reshape(210, 160, 3)
    assert fitted(atari, 796, 478) == (320, 420)
    shown = scaled(atari, 320, 420)
    assert (shown == atari.repeat(2, axis=0).repeat(2, axis=1)).all()
    assert fitted(np.zeros((400, 600, 3), np.uint8), 796, 478) == (717, 478)
    assert fitted(np.zeros((2000, 3000, 3), np.uint8), 300, 300) == (300, 200)


def test_long_commands_are_broken_between_words():
    assert wrapped("spotter train X a=1 b=2", lambda words: len(words) <= 17) == [
        "spotter train X \\", "a=1 b=2"
    ]  # fmt: skip


def test_quiet_text_is_thinner_and_stays_inside():
    def ink(bold: bool) -> float:
        image = np.zeros((60, 300, 3), np.uint8)
        write(image, "score 12", (10, 10), 30, (255, 255, 255), bold=bold)
        return float(image.mean())

    assert 0 < ink(False) < 0.9 * ink(True)
    assert text_width("score 12", 30) == text_width("score 12", 30, bold=True) > 60
    image = np.zeros((20, 40, 3), np.uint8)
    write(image, "far too long for this", (-30, -5), 30, (255, 255, 255))
    write(image, "elsewhere", (500, 500), 30, (255, 255, 255))
    assert image.any()


def test_the_curve_is_bright_as_far_as_the_policy_has_learnt():
    steps, scores = np.linspace(0, 1000, 50), np.linspace(0, 10, 50)
    strip = CurveStrip(Curve("score", steps, scores, 1000), Box(0, 0, 600, 120), 1.0)

    def blue(at: float | None) -> list[float]:
        image = np.zeros((120, 600, 3), np.uint8)
        strip.draw(image, at)
        is_blue = (image[45:, :, 2] > 200) & (image[45:, :, 0] < 160)
        return [float(half.sum()) for half in (is_blue[:, :300], is_blue[:, 320:])]

    left, right = blue(500)
    assert left > 200 and right == 0
    assert min(blue(1000)) > 200
    assert blue(None) == [0, 0]


def test_a_curve_without_points_is_only_an_axis():
    empty = Curve("score", np.zeros(0), np.zeros(0), 100)
    strip = CurveStrip(empty, Box(0, 0, 400, 120), 1.0)
    image = np.zeros((120, 400, 3), np.uint8)
    strip.draw(image, 50)
    assert image.max() == 255  # the marker


def test_long_runs_are_drawn_from_means(trained, tmp_path):
    rows = [{"update": i, "env_steps": i, "train/score": float(i % 7)} for i in range(5000)]
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    curve = plan.curve(Run(Path(folder)), None)
    assert len(curve.steps) == 600 and curve.label == "score in training"
    assert (curve.steps[0], curve.steps[-1], curve.end) == (0, 4999, 4999)
    assert plan.curve(Run(Path(folder)), None, until=9000).end == 9000


def test_a_memory_is_carried_through_a_filmed_episode(make_config):
    config = make_config("CartPole-v1")
    with Training(config) as training:
        policy = Counting(training.spaces, config.policy)
    actions = play(config, policy, 3, deterministic=True).actions
    assert len(actions) > 10
    assert [int(action) for action in actions] == [step % 2 for step in range(len(actions))]
