"""Charts as images, and images as files."""

import io

import numpy as np
from PIL import Image

from spotter.charts import png
from spotter.charts.chart import PALETTE, Chart, Line, Panel
from spotter.video.letters import text_width


def test_a_png_is_the_picture_it_was_made_of():
    image = np.random.default_rng(1).integers(0, 255, (7, 5, 3), dtype=np.uint8)
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(png.encode(image)))), image)


def test_one_point_and_a_flat_line_can_be_drawn():
    one = Line("one", np.array([5.0]), np.array([2.0]))
    flat = Line("flat", np.array([0.0, 10.0]), np.array([3.0, 3.0]))
    for lines in ([one], [flat], [one, flat]):
        panel = Panel(title="train/score", lines=lines)
        assert png.drawn(Chart("", [panel])).startswith(b"\x89PNG")


RUNS = [
    f"20261116-0613{number:02d}-26{number}1 LunarLanderContinuous-v3:ppo" for number in range(6)
]
METRICS = {"train/score": 230.0, "policy/entropy": 0.69, "loss/value": 1e4, "time/fps": 9000.0,
           "value/explained_variance": 1.0, "policy/approx_kl": 1e-3}  # fmt: skip


def test_six_metrics_of_six_runs_can_be_read():
    x = np.arange(1.0, 100.0)
    panels = [
        Panel(
            title=metric,
            lines=[Line(run, x, scale * (1 + at) * x / 600) for at, run in enumerate(RUNS)],
        )
        for metric, scale in METRICS.items()
    ]
    image = np.asarray(Image.open(io.BytesIO(png.drawn(Chart("LunarLander", panels)))))
    colours = [png._rgb(colour) for colour in PALETTE[: len(RUNS)]]
    assert image.shape[1] == 800 and image.shape[0] < 1200
    for colour in colours:  # one per run, in every panel, each in its own scale
        rows = np.flatnonzero((image == colour).all(axis=2).sum(axis=1))
        assert len(rows) > 6 * 15
    steepest = np.flatnonzero((image == colours[5]).all(axis=2).sum(axis=1))
    assert len(steepest) > 6 * 100  # no panel is flat beside another


def test_a_long_legend_is_wrapped_within_the_picture():
    places = png._wrapped(RUNS)
    assert len({row for row, _ in places.values()}) > 1 and len(set(places.values())) == 6
    for name, (_, left) in places.items():
        assert left + 18 + text_width(name, png._LETTERS) <= png._WIDTH
