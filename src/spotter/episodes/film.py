"""A film of a policy improving: the same seed, checkpoint after checkpoint, fit for publishing.

Every episode is played once without images, to find its length and its rewards; then the
part that is shown is played again with rendering and encoded image by image, so that a film
of any length takes the memory of a few images.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from spotter import seeding
from spotter.config import RunConfig
from spotter.envs.backends.slices import EnvInstance
from spotter.envs.base import threshold
from spotter.envs.fingerprint import unlike_actions
from spotter.episodes import film_plan as plan
from spotter.episodes.film_cards import Captions, Card, Screen
from spotter.episodes.film_plan import Part, Stage
from spotter.episodes.film_play import Episode, play, policy_of, replay
from spotter.pages.report import reproduce
from spotter.rundir.files import write_json
from spotter.rundir.run import Run, select
from spotter.training import checkpoint
from spotter.types import UserError
from spotter.video.encoder import FORMATS, Encoder
from spotter.video.overlay import Image
from spotter.video.picture import NoPicture, fps_of, image_of, rendered
from spotter.video.replay import Frame, Watcher, watched
from spotter.video.shelf import FOLDER

SIZES: Final = ("1280x720", "1080x1920", "1080x1080")
_SMALLEST, _LARGEST = 320, 3840
_FPS: Final = (10, 60)


@dataclass(frozen=True, slots=True)
class Shot:
    """One episode of the film."""

    stage: Stage
    captions: Captions
    part: Part
    pictures: int
    """Of the whole episode, one per raw step."""
    score: float
    """Of the whole episode."""
    as_played: bool
    """Whether the camera saw the score that was played before without it."""


@dataclass(frozen=True, slots=True)
class Made:
    """A finished film, and all it says."""

    path: Path
    seconds: float
    frames: int
    fps: int
    size: tuple[int, int]
    seed: int
    title: Card
    shots: tuple[Shot, ...]
    end: Card


def make_film(
    selector: str,
    *,
    checkpoints: int = 4,
    seconds: float = 30.0,
    size: str | None = None,
    seed: int | None = None,
    out: str | None = None,
    title: str = "",
    fps: int | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Made:
    """Film a run; by default into its folder of videos, with a JSON beside it.

    `seconds` is how long all of it may be; `seed` resets every episode and is by default the first
    of the run's evaluation. `size` and `fps` are by default smaller for a GIF. `say` hears what is
    being done.
    """
    usual_size, usual_fps = usual(out or "")
    size, fps = size or usual_size, usual_fps if fps is None else fps
    width_height = parse_size(size)
    _check(checkpoints, seconds, fps, seed)
    run = select(selector)
    there = plan.stages(run)
    chosen = plan.choose(there, checkpoints)
    pace = plan.pace(len(chosen), seconds)
    room = seconds - pace * plan.others_s(len(chosen))
    config = checkpoint.read_config(run.folder / "checkpoints" / there[-1].checkpoint)
    seed = seeding.integer(config.seed, "eval envs") if seed is None else seed
    path = Path(out) if out else run.folder / FOLDER / f"film-{size}.mp4"
    if path.suffix.lower() not in FORMATS:
        raise UserError(f"a film is an .mp4 or .gif file, and '{path.name}' is not named like one")
    _check_playable(run, config, chosen[-1])
    order = _Order(
        run, config, chosen, there, seed, width_height, fps, pace, room, title, path, say
    )
    try:
        made = _film(order)
    except NoPicture as error:
        raise UserError(f"{config.env.id} cannot be filmed: {error}") from error
    if not out:
        write_json(path.with_suffix(".json"), _about(made))
    return made


def usual(out: str) -> tuple[str, int]:
    """Size and frames per second; as large as an mp4, a GIF has ten times the bytes."""
    return ("640x360", 12) if out.lower().endswith(".gif") else (SIZES[0], 30)


def make_to_disk(
    selector: str, report: Callable[[str], bool] | None = None, **how: Any
) -> dict[str, object]:
    """`make_film` for another process: what the JSON beside the film holds, and where it is.

    `report` hears what is being done, and ends it by False.
    """

    def say(what: str) -> None:
        if report is not None and not report(what):
            raise UserError("the film was not wanted any more")

    made = make_film(selector, say=say, **how)
    return {**_about(made), "path": str(made.path)}


def parse_size(text: str) -> tuple[int, int]:
    """`1280x720` as width and height."""
    sides = text.lower().split("x")
    if len(sides) != 2 or not all(side.isdecimal() for side in sides):
        raise UserError(f"a size is {' or '.join(SIZES)}, not '{text}'")
    width, height = (int(side) for side in sides)
    if not all(_SMALLEST <= side <= _LARGEST and side % 2 == 0 for side in (width, height)):
        raise UserError(
            f"size {text}: both sides must be even and between {_SMALLEST} and {_LARGEST}"
        )
    return width, height


def _check(checkpoints: int, seconds: float, fps: int, seed: int | None) -> None:
    if checkpoints < 1:
        raise UserError(f"checkpoints should be 1 or more, not {checkpoints}")
    if not 0 < seconds <= 3600:
        raise UserError(f"seconds should be between 0 and 3600, not {seconds:g}")
    if not _FPS[0] <= fps <= _FPS[1]:
        raise UserError(f"fps should be between {_FPS[0]} and {_FPS[1]}, not {fps}")
    if seed is not None and not 0 <= seed < 2**31:
        raise UserError(f"a seed is a whole number from 0 to {2**31 - 1}, not {seed}")


def _about(made: Made) -> dict[str, object]:
    """The JSON beside the film."""
    stages = [
        {
            **asdict(shot.stage),
            "score": shot.score,
            "as_played": shot.as_played,
            "shown": shot.captions.note,
            "speed": shot.part.speed,
            "seconds_shown": shot.part.seconds,
        }
        for shot in made.shots
    ]
    last = made.shots[-1]
    return {
        "file": made.path.name,
        "kind": "film",
        "env_steps": last.stage.env_steps,
        "seed": made.seed,
        "score": last.score,
        "fps": made.fps,
        "frames": made.frames,
        "seconds": made.seconds,
        "size": list(made.size),
        "stages": stages,
    }


def _check_playable(run: Run, config: RunConfig, stage: Stage) -> None:
    saved = checkpoint.read(run.folder / "checkpoints" / stage.checkpoint)
    if unlike := unlike_actions(saved.game, config.env):
        raise UserError(f"run {run.id} cannot be filmed: {unlike}")


# --- filming -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Order:
    """What is to be filmed, and how."""

    run: Run
    config: RunConfig
    chosen: Sequence[Stage]
    there: Sequence[Stage]
    seed: int
    size: tuple[int, int]
    fps: int
    pace: float
    """What the times of cards, fades and rests are multiplied with."""
    room: float
    """Seconds for the episodes."""
    title: str
    path: Path
    say: Callable[[str], None]


def _film(order: _Order) -> Made:
    with rendered(order.config.env) as instance:
        watcher = watched(instance)
        instance.env.reset(seed=order.seed)
        goal, until = threshold(order.config.env), order.chosen[-1].env_steps
        curve = plan.curve(order.run, goal, until)
        screen = Screen(order.size, curve, image_of(watcher.env))
        episodes = [_played(order, stage) for stage in order.chosen]
        with Encoder(order.path, Fraction(order.fps)) as encoder:
            reel = _Reel(encoder, screen, order.fps, order.pace)
            title, shots, end = _cut(order, reel, instance, watcher, episodes)
    seconds = encoder.frames / order.fps
    return Made(
        order.path, seconds, encoder.frames, order.fps, order.size, order.seed, title, shots, end
    )


def _played(order: _Order, stage: Stage) -> Episode:
    order.say(f"playing the policy of {stage.env_steps:,} env steps")
    policy = policy_of(order.run, order.config, stage)
    # Untrained, the likeliest action is the same for ever; training began by sampling.
    greedy = order.config.eval.deterministic and bool(stage.checkpoint)
    return play(order.config, policy, order.seed, greedy)


def _cut(
    order: _Order,
    reel: "_Reel",
    instance: EnvInstance,
    watcher: Watcher,
    episodes: Sequence[Episode],
) -> tuple[Card, tuple[Shot, ...], Card]:
    """Title, every episode, end."""
    info, count = order.run.info(), len(episodes)
    fps = float(fps_of(instance.env))
    shortest = order.pace * plan.SHORTEST_S
    share = plan.shares([max(shortest, episode.pictures / fps) for episode in episodes], order.room)
    heading = order.title or f"{info['env']} · {info['algo']}"
    title = plan.title_card(info, order.title, order.chosen, order.there)
    reel.show(title, None, plan.TITLE_S)
    shots = []
    for index, (stage, episode) in enumerate(zip(order.chosen, episodes, strict=True)):
        order.say(f"filming {index + 1} of {count}: {stage.env_steps:,} env steps")
        part = plan.part(episode.rewards, fps, share, shortest)
        note = part.words(episode.pictures, fps)
        captions = plan.captions(stage, index, count, heading, note)
        times = Counter(part.indexes(fps, order.fps))
        reel.shoot(
            captions, stage, part, times, replay(instance, watcher, order.seed, episode, times)
        )
        expected = episode.rewards[: len(watcher.rewards)]
        as_played = tuple(watcher.rewards) == expected
        shots.append(Shot(stage, captions, part, episode.pictures, sum(episode.rewards), as_played))
    end = plan.end_card(order.run, _command(order.run))
    reel.show(end, float(order.chosen[-1].env_steps), plan.END_S)
    return title, tuple(shots), end


def _command(run: Run) -> str:
    """What has to be typed to train it again."""
    found = reproduce.recipe(run.info(), run.settings(), changed=False)
    return f"spotter train {found.address}" if found.is_python else found.command


class _Reel:
    """Puts one image after the other, with a fade wherever something new begins."""

    def __init__(self, encoder: Encoder, screen: Screen, fps: int, pace: float) -> None:
        self._encoder, self._screen, self._fps, self._pace = encoder, screen, fps, pace
        self._last: Image | None = None
        self._at: float | None = None

    def show(self, card: Card, at: float | None, seconds: float) -> None:
        image = self._screen.card(card, at)
        self._fade_to(image, at)
        for _ in range(round(self._pace * seconds * self._fps)):
            self._encoder.add(image)

    def shoot(
        self,
        captions: Captions,
        stage: Stage,
        part: Part,
        times: Counter[int],
        seen: Iterator[Frame],
    ) -> None:
        """An episode, each image so many times, and the last one a little longer."""
        self._screen.begin(captions, stage.env_steps)
        image, first = None, 0
        for frame in seen:
            is_first = image is None
            image = self._screen.frame(frame.picture, frame.score)
            if is_first:
                self._fade_to(image, float(stage.env_steps))
                first = self._encoder.frames
            for _ in range(times[frame.index]):
                self._encoder.add(image)
        assert image is not None, "a replay gives images or raises"
        shown = max(self._pace * plan.SHORTEST_S, part.seconds)
        length = round((shown + self._pace * plan.HOLD_S) * self._fps)
        self._encoder.hold(max(0, first + length - self._encoder.frames))
        self._last = image

    def _fade_to(self, image: Image, at: float | None) -> None:
        """From what was shown last; the marker glides along."""
        frames = round(self._pace * plan.FADE_S * self._fps)
        for frame in range(1, frames if self._last is not None else 0):
            assert self._last is not None
            share = frame / frames
            smooth = share * share * (3 - 2 * share)
            start = self._at or 0.0
            place = None if at is None else start + smooth * (at - start)
            self._encoder.add(self._screen.fade(self._last, image, smooth, place))
        self._last, self._at = image, at
