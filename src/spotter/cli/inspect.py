"""`spotter inspect`: play an episode of a saved policy and look at every decision."""

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from spotter.cli import completion, table
from spotter.cli.inspect_play import How, check_step, episodes_of, kept, refuse, refuse_lambda
from spotter.cli.train import Overrides
from spotter.cli.trust import Trust, trusting
from spotter.text.echo import echo, echo_json
from spotter.text.numbers import count, number
from spotter.types import UserError

if TYPE_CHECKING:
    from spotter.episodes.advantages import Judged
    from spotter.episodes.format import Trace

EXAMPLES: Final = """\
  spotter inspect @last                             the episode its evaluation begins with
  spotter inspect @last --sampled --seed 7          as it acts while it learns
  spotter inspect @last/@latest env.sticky=0.25  its last policy, under other settings
  spotter inspect @last --step 42                   all about one decision
  spotter inspect @last --gamma 0.9 --lambda 0.5    advantages under another horizon
  spotter inspect @last --episodes 10 --audit       what each reward term contributed
  spotter inspect @last --csv episode.csv           every step, for a spreadsheet
"""
_HEAD, _TAIL = 12, 6
_WHOLE: Final = 40  # steps; up to so many are all shown
_NARROW: Final = 10


Policy = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="@last, an id or how it begins; /@best, /@latest, /step=N; a saved episode.",
        autocompletion=completion.runs,
    ),
]


def run(
    selector: Policy,
    overrides: Overrides = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="What the environment is reset with.")
    ] = None,
    sampled: Annotated[
        bool, typer.Option("--sampled", help="Draw actions, as in training; else the likeliest.")
    ] = False,
    untrained: Annotated[
        bool, typer.Option("--untrained", help="Fresh weights instead of learnt ones.")
    ] = False,
    episodes: Annotated[
        int, typer.Option("--episodes", metavar="N", min=1, help="So many, a line each.")
    ] = 1,
    gamma: Annotated[
        float | None, typer.Option("--gamma", metavar="X", help="For returns and advantages.")
    ] = None,
    lam: Annotated[
        float | None, typer.Option("--lambda", metavar="X", help="For advantages.")
    ] = None,
    csv_file: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write every step to a file.")
    ] = None,
    step: Annotated[
        int | None, typer.Option("--step", metavar="N", help="All about one step.")
    ] = None,
    audit: Annotated[
        bool, typer.Option("--audit", help="What every reward term contributed.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of tables.")] = False,
    trust: Trust = False,
) -> None:
    """Play an episode of a saved policy and show every decision, and what it was worth.

    The episode is saved to the run, with its images; give its folder to look at it again.
    """
    from spotter.episodes.advantages import check, judged

    check(gamma, lam)
    refuse(step, csv_file, episodes, as_json)
    how = How(overrides or [], seed, sampled, untrained, episodes)
    with trusting(trust):
        traces = episodes_of(selector, how)
    refuse_lambda(lam, traces)
    found = [judged(trace, gamma, lam) for trace in traces]
    check_step(traces[0], step)
    if csv_file is not None:
        _write_csv(csv_file, traces, found)
    played = kept(selector, traces)  # last, so that what is refused leaves nothing behind
    if as_json:
        echo_json(_as_data(played, found, audit), indent=None)
        return
    _show(played, found, step)
    if audit:
        _show_audit(traces)
    for path in (folder for _, folder in played):
        echo(f"saved: {path}")
    if csv_file is not None:
        echo(f"every step: {csv_file}")


def _show(played: "list[tuple[Trace, Path]]", found: "list[Judged]", step: int | None) -> None:
    (trace, _), only = played[0], found[0]
    if step is not None:
        _show_step(trace, only, step)
    elif len(played) > 1:
        _show_episodes(played)
    else:
        _show_head(trace, only)
        _show_table(trace, only)


# --- one episode ---------------------------------------------------------------------------------


def _show_head(trace: "Trace", found: "Judged") -> None:
    meta = trace.meta
    who = meta.checkpoint or "fresh weights"
    changed = f", with {', '.join(meta.changes)}" if meta.changes else ""
    echo(f"{meta.env_id}: run {meta.run}, {who}, {meta.mode}, seed {meta.seed}{changed}")
    echo(
        f"score {number(meta.score)} in {count(meta.length)} steps, {_END[meta.end]}; "
        f"{found.method}"
    )
    for warning in meta.warnings:
        echo(f"note: {warning}")


_END: Final = {
    "terminated": "terminated",
    "truncated": "truncated by the environment",
    "cut": "cut off: too long",
    "stopped": "stopped",
}


def _show_table(trace: "Trace", found: "Judged") -> None:
    from spotter.episodes.advantages import notable

    length = trace.meta.length
    stands_out = notable(trace, found)
    shown = set(range(length))
    if length > _WHOLE:
        shown = {*range(_HEAD), *range(length - _TAIL, length), *stands_out}
    parts = trace.meta.parts if len(trace.meta.parts) > 1 else ()
    value = ["value"] if "value" in trace.columns else []
    columns = ["step", "action", "p", *value, "reward", *parts]
    columns += ["score", "return", "advantage", ""]
    rows: list[list[str]] = []
    before = -1
    for step in sorted(shown):
        if step > before + 1:
            rows.append([f"… {step - before - 1} more", *[""] * (len(columns) - 1)])
        rows.append(_row(trace, found, step, len(parts), stands_out.get(step, "")))
        before = step
    gives = (*parts, "return", "score", "p", *value)
    table.show(columns, rows, wraps=("action", ""), gives=gives, header=True)
    if len(shown) < length:
        echo(
            f"shown are {len(shown)} of {count(length)} steps: the first {_HEAD}, the last {_TAIL} "
            "and what stands out; --csv FILE has all of them"
        )


def _row(trace: "Trace", found: "Judged", step: int, parts: int, why: str) -> list[str]:
    from spotter.episodes.labels import action_label, likelihood

    columns, likely = trace.columns, likelihood(trace, step)
    value = [_short(columns["value"][step])] if "value" in columns else []
    return [
        str(step),
        action_label(trace, step),
        "-" if likely is None else f"{likely:.2f}",
        *value,
        _short(columns["reward"][step]),
        *(_short(columns["part"][step, i]) for i in range(parts)),
        _short(found.score[step]),
        _short(found.returns[step]),
        _short(found.advantage[step]),
        ", ".join(filter(None, (*_marks(trace, step), why))),
    ]


def _marks(trace: "Trace", step: int) -> list[str]:
    columns, marks = trace.columns, list[str]()
    # of continuous actions, a drawn one is never exactly the likeliest
    if trace.meta.action_kind != "box" and "greedy" in columns and not columns["greedy"][step]:
        marks.append("not greedy")
    if "mask" in columns and (hidden := int((~columns["mask"][step]).sum())):
        marks.append(f"{hidden} masked")
    if step == trace.meta.length - 1:
        marks.append(trace.meta.end)
    return marks


def _short(value: Any) -> str:
    x = float(value)
    return f"{x:.0f}" if x == round(x) and abs(x) < 1e6 else f"{x:.3g}"


def _show_step(trace: "Trace", found: "Judged", step: int) -> None:
    from spotter.episodes.labels import action_label, beliefs, choices

    columns = trace.columns
    _show_head(trace, found)
    marks = ", ".join(_marks(trace, step))
    lines = {
        "step": str(step),
        "action": action_label(trace, step) + (f" ({marks})" if marks else ""),
    }
    for name in ("value", "reward", "training_reward"):
        if name in columns:
            lines[name.replace("_", " ")] = f"{float(columns[name][step]):.6g}"
    for name, column in found.columns().items():
        lines[name.replace("_", " ")] = f"{float(column[step]):.6g}"
    for group, names in (("part", trace.meta.parts), ("info", trace.meta.info)):
        for i, name in enumerate(names):
            lines[f"{group} {name}"] = f"{float(columns[group][step, i]):.6g}"
    if "probability" in columns:
        masked = columns["mask"][step] if "mask" in columns else None
        for i, name in enumerate(choices(trace.meta)):
            hidden = masked is not None and not masked[i]
            p = float(columns["probability"][step, i])
            lines[f"p {name}"] = "masked" if hidden else f"{p:.3f} {'▇' * round(20 * p)}".rstrip()
    for name, column in beliefs(trace).items():
        lines[name] = ", ".join(f"{x:.4g}" for x in column[step].ravel())
    if "received" in columns and trace.meta.action_kind == "box":
        output = ", ".join(f"{x:.4g}" for x in columns["action"][step].ravel())
        lines["policy's output"] = f"{output} (in [-1, 1] where the environment has bounds)"
    for path, leaf in trace.observations.items():
        seen = leaf[step]
        numbers = ", ".join(f"{x:.4g}" for x in seen.ravel()[:_NARROW])
        shape = " × ".join(map(str, seen.shape))
        lines[f"sees {path}"] = numbers if seen.size <= _NARROW else f"{shape}: {numbers}, …"
    table.show(("", ""), [[name, text] for name, text in lines.items()], wraps=("",))


# --- several, and all of them --------------------------------------------------------------------


def _show_episodes(played: "list[tuple[Trace, Path]]") -> None:
    rows = [
        [str(t.meta.seed), number(t.meta.score), count(t.meta.length), t.meta.end]
        for t, _ in played
    ]
    table.show(("seed", "score", "steps", "end"), rows, header=True)
    mean = sum(trace.meta.score for trace, _ in played) / len(played)
    echo(f"mean score {number(mean)} over {len(played)} episodes")


def _show_audit(traces: "list[Trace]") -> None:
    from spotter.episodes.audit import audit

    parts = audit(traces)
    rows = [
        [
            part.name,
            *map(_short, (part.mean, part.std, part.minimum, part.maximum, part.total)),
            f"{part.steps_paid:.0%}",
            f"{part.share:.0%}",
            _outliers(part, traces),
        ]
        for part in parts
    ]
    columns = (
        "part", "mean", "spread", "least", "greatest", "per episode", "nonzero", "share",
        "outliers",
    )  # fmt: skip
    gives = ("least", "greatest", "spread", "nonzero", "outliers", "mean")
    table.show(columns, rows, wraps=("outliers",), gives=gives, header=True)


def _outliers(part: Any, traces: "list[Trace]") -> str:
    named = [
        f"{_short(o.value)} at step {o.step}"
        + (f" of seed {traces[o.trace].meta.seed}" if len(traces) > 1 else "")
        for o in part.outliers[:3]
    ]
    rest = len(part.outliers) - len(named)
    return "; ".join(named) + (f"; {rest} more" if rest else "") or "-"


def _write_csv(path: Path, traces: "list[Trace]", found: "list[Judged]") -> None:
    from spotter.episodes.rows import table as rows_of

    many = len(traces) > 1
    header: list[object] = []
    try:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            for trace, one in zip(traces, found, strict=True):
                names, *rows = rows_of(trace, one.columns())
                first = ["seed", *names] if many else names
                if first != header:
                    writer.writerow(first)
                    header = first
                writer.writerows([trace.meta.seed, *row] if many else row for row in rows)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from error


def _as_data(
    played: "list[tuple[Trace, Path]]", found: "list[Judged]", audit: bool
) -> dict[str, object]:
    from dataclasses import asdict

    from spotter.episodes.advantages import notable
    from spotter.episodes.audit import audit as auditing
    from spotter.episodes.rows import table as rows_of
    from spotter.rundir.files import encode

    episodes = []
    for (trace, folder), one in zip(played, found, strict=True):
        names, *rows = rows_of(trace, one.columns())
        meta = {key: value for key, value in asdict(trace.meta).items() if key != "settings"}
        steps = [dict(zip(names, row, strict=True)) for row in rows]
        stands_out = {str(step): why for step, why in notable(trace, one).items()}
        judged = {"gamma": one.gamma, "lambda": one.lam, "baseline": one.baseline}
        episodes.append(
            {"folder": str(folder), **meta, "judged": judged, "notable": stands_out, "steps": steps}
        )
    data: dict[str, object] = {"episodes": episodes}
    if audit:
        data["audit"] = [asdict(part) for part in auditing([trace for trace, _ in played])]
    encoded: dict[str, object] = encode(data)
    return encoded
