"""`spotter plot`: one metric of runs as a figure."""

from pathlib import Path
from typing import Annotated, Final

import typer

from spotter.cli.runs import RunsAndGroups
from spotter.text.echo import echo

EXAMPLES: Final = """\
  spotter plot @last                              eval/score into plot.png
  spotter plot baseline wider -o fig.pdf          two groups, each with its interval
  spotter plot @last --metric train/score -o fig.svg
"""


def run(
    selectors: RunsAndGroups,
    metric: Annotated[
        str, typer.Option("--metric", metavar="NAME", help="See `spotter list metrics`.")
    ] = "eval/score",
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="A .png, .svg or .pdf file.")
    ] = "plot.png",
) -> None:
    """Plot a metric of runs or groups over env steps: seeds together, with intervals."""
    from spotter.charts import figure
    from spotter.rundir import curves
    from spotter.rundir.group import select_all

    path = figure.check_file(Path(out))
    runs = select_all(selectors)
    figure.save(figure.figure(runs, metric), path)
    for sentence in curves.advice(curves.groups(runs)):
        echo(f"note: {sentence}", err=True)
    echo(path)
