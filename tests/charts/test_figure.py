"""Figures: what is drawn, how it is labelled, what is refused."""

import json
import sys

import pytest

from spotter.charts import figure as plot
from spotter.types import UserError
from tests.rundir.making import maker


@pytest.fixture
def make_run(make_config):
    make = maker(make_config)

    def with_rows(seed, lr=1e-3, slope=1.0, **fields):
        run = make(config={"seed": seed, "algo": {"name": "ppo", "lr": lr}}, **fields)
        rows = [
            {"update": at, "env_steps": 100 * at, "train/score": slope * at * seed}
            for at in range(1, 6)
        ]
        run.metrics_path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        return run

    return with_rows


def test_a_curve_per_group_labelled_by_what_differs(make_run):
    falling = {"start": 1e-5, "end": 0.0}
    runs = [make_run(seed, lr) for lr in (1e-3, falling) for seed in (1, 2, 3)]
    drawn = plot.figure(runs, "train/score")
    (axes,) = drawn.axes
    assert [line.get_label() for line in axes.lines[:2]] == [
        "CartPole-v1:ppo lr 0.001 (3 seeds)",
        "CartPole-v1:ppo lr 1e-05→0 (3 seeds)",
    ]
    (legend,) = drawn.legends
    drawn.draw_without_rendering()
    assert legend.get_window_extent().y1 <= axes.get_window_extent().y0, "hides no curve"
    assert list(axes.lines[0].get_ydata()) == pytest.approx([2, 4, 6, 8, 10]), "the median"
    assert len(axes.collections) == 2, "an interval each"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("env steps", "train/score")


def test_a_long_legend_leaves_room_for_the_curves(make_run):
    runs = [make_run(1, lr) for lr in (1e-3 / divided for divided in range(1, 21))]
    few, many = (plot.figure(some, "train/score") for some in (runs[:2], runs))
    for drawn in (few, many):
        drawn.draw_without_rendering()
    sizes = [drawn.axes[0].get_window_extent().height for drawn in (few, many)]
    assert sizes[1] == pytest.approx(sizes[0], rel=0.1)


def test_long_labels_are_wrapped_into_the_figure(make_run):
    schedule = {"points": [[at / 10, 1e-3 / (at + 3)] for at in range(11)]}
    runs = [make_run(1), make_run(1, schedule)]
    drawn = plot.figure(runs, "train/score")
    drawn.draw_without_rendering()
    box = drawn.legends[0].get_window_extent()
    assert drawn.bbox.x0 <= box.x0 and box.x1 <= drawn.bbox.x1


def test_a_single_run_has_no_interval(make_run):
    run = make_run(1)
    (axes,) = plot.figure([run], "train/score").axes
    assert axes.lines[0].get_label() == run.id
    assert not axes.collections


def test_a_run_without_the_metric_is_named(make_run):
    lacks = make_run(1, lr=1e-5)
    lacks.metrics_path.write_text('{"update": 1, "env_steps": 100, "policy/entropy": 1.0}\n')
    runs = [make_run(1), lacks]
    (axes,) = plot.figure(runs, "train/score").axes
    labels = [line.get_label() for line in axes.lines[:2]]
    assert labels == [f"{runs[0].id} lr 0.001", f"{lacks.id} lr 1e-05 (no values)"]


def test_the_threshold_is_drawn_where_all_have_the_same(make_run):
    (axes,) = plot.figure([make_run(1, threshold=7.0)], "train/score").axes
    assert list(axes.lines[-1].get_ydata()) == [7.0, 7.0]


@pytest.mark.parametrize(
    ("name", "begins"), [("a.png", b"\x89PNG"), ("b.SVG", b"<?xml"), ("new/c.pdf", b"%PDF")]
)
def test_files_by_their_names(make_run, tmp_path, name, begins):
    drawn = plot.figure([make_run(1)], "train/score")
    plot.save(drawn, tmp_path / name)
    first = (tmp_path / name).read_bytes()
    assert first.startswith(begins)
    plot.save(drawn, tmp_path / name)
    assert (tmp_path / name).read_bytes() == first, "no date in it"


def test_what_cannot_be_drawn_is_one_sentence(make_run, tmp_path, monkeypatch):
    run = make_run(1)
    with pytest.raises(UserError, match=r"this run has no metric 'train/scor'; did you mean 'tr"):
        plot.figure([run], "train/scor")
    with pytest.raises(UserError, match=r"a plot is a .png, .svg or .pdf file, and 'x.jpg' is not"):
        plot.check_file(tmp_path / "x.jpg")
    with pytest.raises(UserError, match="one run or more"):
        plot.figure([])
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UserError, match=r"not installed: pip install 'spotter-rl\[plot\]'"):
        plot.figure([run], "train/score")
