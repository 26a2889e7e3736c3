"""Charts of metrics: runs one by one, and of each group the median over its seeds."""

from collections.abc import Sequence

from spotter.charts.chart import Chart, Line, Panel
from spotter.charts.points import downsample, smooth
from spotter.mcp.desk import Desk
from spotter.mcp.watch import curve_of
from spotter.rundir import group
from spotter.rundir.curves import Group, band, each_alone
from spotter.rundir.history import Curve
from spotter.rundir.run import Run


def sources(desk: Desk, names: Sequence[str]) -> list[Group]:
    """What selectors of runs and names of groups mean, each once."""
    infos = desk.infos()
    found: dict[str, Group] = {}
    for name in names:
        runs = [desk.run_of(str(info["id"])) for info in group.members(name, infos)]
        one = _of_group(name, runs) if runs else each_alone([desk.select(name)])[0]
        found[one.label] = one
    return list(found.values())


def _of_group(name: str, runs: Sequence[Run]) -> Group:
    seeds = tuple(int(run.info()["seed"]) for run in runs)
    many = len(set(seeds))
    over = "1 seed" if many == 1 else f"median of {many} seeds"
    return Group(f"{name} ({over})", tuple(runs), seeds)


def _address(one: Group) -> str:
    return str(one.runs[0].info()["address"])


def chart(desk: Desk, chosen: Sequence[Group], metrics: Sequence[str], smoothing: float) -> Chart:
    """A panel per metric that can be drawn yet; `UserError` if no run has one of them.

    Lines are named, also by what was trained where that is not the same.
    """
    trained = list(dict.fromkeys(map(_address, chosen)))
    panels = []
    for key in metrics:
        lines = []
        for one in chosen:
            found = _curve(desk, one, key)
            if found is not None:
                name = one.label if len(trained) == 1 else f"{one.label} {_address(one)}"
                lines.append(Line(name, *downsample(found[0], smooth(found[1], smoothing))))
        if lines:
            panels.append(Panel(title=key, lines=lines))
    return Chart(f"{', '.join(trained)}, over env steps", panels)


def _curve(desk: Desk, one: Group, key: str) -> Curve | None:
    """None where nothing can be drawn yet."""
    histories = [desk.history(run) for run in one.runs]
    if len(histories) == 1 or not any(key in history for history in histories):
        found = curve_of(histories[0], key)
        return found if found.values.size else None
    middle = band([history.curve(key) for history in histories], one.seeds)
    return None if middle is None else Curve(middle.env_steps, middle.middle)
