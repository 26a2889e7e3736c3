"""`spotter film`."""

from pathlib import Path

import av
import pytest

from tests.episodes.making import saved


@pytest.fixture
def run(make_config):
    return saved(make_config("CartPole-v1", seed=1), updates=2)


def test_the_film_is_made_and_named(spotter, run):
    ran = spotter("film", "@last", "--size", "320x320", "--fps", "10", "--seconds", "15")
    assert ran.code == 0, ran.err
    *stages, last = ran.out.splitlines()
    assert [line.split(" env step")[0].strip() for line in stages] == ["0", "128"]
    assert all("score" in line and "episode" in line for line in stages)
    path = Path(last.split(" (")[0])
    assert path == run.folder / "videos" / "film-320x320.mp4"
    assert last.endswith(" s, 320x320)")
    assert "filming 2 of 2: 128 env steps" in ran.err
    with av.open(str(path)) as container:
        assert container.streams.video[0].width == 320


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("nothing",), "there is no run 'nothing'"),
        (("@last", "--size", "wide"), "a size is 1280x720 or 1080x1920 or 1080x1080, not 'wide'"),
        (("@last", "--seconds", "3"), "3 seconds are too short for 2 checkpoints"),
        (("@last", "--fps", "many"), "invalid value for '--fps'"),
        (("@last", "--sise", "1x1"), "did you mean"),
    ],
)
def test_mistakes_are_one_sentence(spotter, run, args, sentence):
    ran = spotter("film", *args)
    assert ran.code == 2
    assert sentence in ran.err and len(ran.err.strip().splitlines()) == 1


def test_a_gif_by_its_name(spotter, run, tmp_path):
    path = tmp_path / "film.gif"
    short = ("--seconds", "6", "--checkpoints", "2")
    ran = spotter("film", "@last", *short, "-o", str(path))
    assert ran.code == 0, ran.err
    assert path.read_bytes().startswith(b"GIF89a")
    with av.open(str(path)) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    assert f"{path} ({len(frames) / 12:.0f} s, 640x360)" in ran.out
    assert all(frame.shape == (360, 640, 3) for frame in frames)
    assert list(path.parent.glob(".*gif*")) == [], "no draft stays"
    refused = spotter("film", "@last", "-o", "film.webm")
    assert refused.code == 2 and "a film is an .mp4 or .gif file" in refused.err
