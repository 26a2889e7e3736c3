"""Tools that look around: what can be trained, with which settings, and what was trained."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Final

from pydantic import Field

from spotter.config.catalogue import Entry, entries
from spotter.config.dump import flow
from spotter.config.overrides import COMMAND_LINE
from spotter.config.tree import value_at
from spotter.intervals import FEW_SEEDS
from spotter.launch import forms
from spotter.mcp import safe
from spotter.mcp.answers import Answer, clip
from spotter.mcp.desk import Desk
from spotter.pages.report import reproduce
from spotter.plugins import did_you_mean, names, nearest
from spotter.rundir import compare, judged
from spotter.rundir import query as queries
from spotter.rundir.identity import REACHED, Info, seconds
from spotter.rundir.judged import Judged
from spotter.rundir.run import Run
from spotter.rundir.selectors import value
from spotter.rundir.view import RunView
from spotter.types import UserError

RUN: Final = "@last, @last:EnvId, @best-of:EnvId, an id or how it begins, or a tag."
RunName = Annotated[str, Field(description=RUN)]
Address = Annotated[str, Field(description="EnvId:variant as `envs` lists it, or a bare EnvId.")]
Overrides = Annotated[
    list[str],
    Field(description="Settings by dotted name, e.g. algo.lr=3e-4; values are YAML."),
]
Limit = Annotated[int, Field(ge=1, le=500, description="At most so many.")]


@cache
def _recipes() -> tuple[Entry, ...]:
    """Looked up once: it reads every recipe."""
    return tuple(entries())


@dataclass(frozen=True)
class Look:
    """The desk's catalogue and register."""

    desk: Desk

    def envs(
        self,
        find: Annotated[str, Field(description="Words that must occur, e.g. `lunar ppo`.")] = "",
        limit: Limit = 40,
    ) -> Answer:
        """Environments and recipe variants that can be started, with budget and expected score."""
        words = find.lower().split()
        known = _recipes()
        found = [entry for entry in known if all(word in entry.text for word in words)]
        if not found:
            addresses = sorted({entry.address.partition(":")[0] for entry in known})
            raise UserError(f"no recipe matches '{find[:60]}'{did_you_mean(find, addresses)}")
        rows = [_recipe(entry) for entry in found[:limit]]
        data: dict[str, object] = {"recipes": rows, "matching": len(found), "algos": names("algos")}
        return Answer(data, {"recipes": "first"}, "use find")

    def config(
        self,
        address: Annotated[
            str, Field(description="EnvId:variant as `envs` lists it; empty with `run`.")
        ] = "",
        overrides: Overrides = [],  # noqa: B006  # never changed; the schema wants a list
        run: Annotated[str, Field(description=f"Instead: what a run was trained with. {RUN}")] = "",
        match: Annotated[
            str, Field(description="Settings whose name holds this, with their meaning.")
        ] = "",
        full: Annotated[bool, Field(description="Every setting, not only those written.")] = False,
    ) -> Answer:
        """The config a request stands for, and where each setting comes from; checks overrides."""
        if bool(address) == bool(run):
            raise UserError("give either `address` or `run`")
        if run:
            return _of_run(self.desk.select(run), match, full, self.desk.terms.trust)
        resolved = safe.resolved(address, overrides, self.desk.terms.trust)
        rows, known = [], forms.settings(resolved)
        for one in known:
            if match.lower() in one.name.lower() and (full or match or one.origin != "default"):
                origin = "overrides" if one.origin == COMMAND_LINE else one.origin
                row: dict[str, object] = {"name": one.name, "value": one.value, "from": origin}
                if match:
                    row |= {"about": one.about, "choices": list(one.choices)}
                rows.append({key: each for key, each in row.items() if each})
        if not rows:
            check_match(match, "setting", [one.name for one in known])
        data: dict[str, object] = {"address": resolved.address, "about": resolved.description}
        if resolved.notes:
            data["notes"] = list(resolved.notes)
        if resolved.expect:
            data["promise"] = resolved.expect.model_dump()
        data["settings"] = rows
        return Answer(data, {"settings": "first"}, "use match")

    def runs(
        self,
        query: Annotated[
            str,
            Field(description="Words and columns that must fit: `cartpole solved=true score>100`."),
        ] = "",
        sort: Annotated[
            str, Field(description="A column: created, score, best, env_steps, seconds, seed, …")
        ] = "created",
        ascending: bool = False,
        limit: Limit = 20,
        best: Annotated[
            bool, Field(description="By score instead: the best run first, of one environment.")
        ] = False,
    ) -> Answer:
        """Runs in the folder, also those started by hand; newest first unless sorted."""
        try:
            words = shlex.split(query)
        except ValueError as error:
            raise UserError(f"query: {error}") from None
        infos = queries.matching(self.desk.infos(), words)
        by_score = sorted(infos, key=value, reverse=True) if best else None
        infos = by_score or _sorted(infos, sort, ascending)
        rows = [row(info) for info in infos[:limit]]
        data: dict[str, object] = {"runs": rows, "matching": len(infos)}
        if problems := self.desk.problems():
            data["unreadable"] = [clip(problem, 120) for problem in problems.values()][:5]
        return Answer(data, {"runs": "first"}, "narrow the query")

    def compare(
        self,
        runs: Annotated[
            list[str], Field(min_length=1, max_length=20, description=f"Groups by name, or {RUN}")
        ],
    ) -> Answer:
        """Outcomes of runs with intervals, what speaks against comparing, settings that differ."""
        chosen = self.desk.select_all(runs)
        if len(chosen) < 2:
            raise UserError("compare needs two different runs or more")
        for run in chosen:
            safe.check_readable(run, self.desk.terms.trust)
        views = [RunView(run) for run in chosen]
        data: dict[str, Any] = {"runs": [_outcome(view) for view in views]}
        groups = compare.groups(views)
        data["over_seeds"] = _over_seeds(groups)
        data["warnings"] = compare.warnings(views)
        data["warnings"] += [f"{one.id}: {text}" for one in views for text in one.problems]
        if groups:
            data["settings_of"] = list(compare.sides(views, groups))
        differing = compare.settings_of_sides(views, groups)
        data["settings"] = [{"name": name, "values": v} for name, v in differing.items()]
        return Answer(data, {"settings": "first", "runs": "first"}, "compare fewer runs")

    def diff(self, run: RunName, other: RunName) -> Answer:
        """Settings and library versions in which two runs differ."""
        pair = [self.desk.select(run), self.desk.select(other)]
        infos = [one.info() for one in pair]
        settings = compare.differing_settings([one.settings() for one in pair], infos)
        versions = compare.differing([info["versions"] for info in infos])
        data = {
            "runs": [one.id for one in pair],
            "settings": [{"name": name, "values": v} for name, v in settings.items()],
            "versions": [{"name": name, "values": v} for name, v in versions.items()],
        }
        return Answer(data, {"settings": "first", "versions": "first"})

    def limits(self) -> Answer:
        """What this server may do, what of the budget is spent, and by how many runs."""
        terms, spent = self.desk.terms, self.desk.ledger.spent()
        most = terms.limits
        data = {
            "mode": "read-only" if terms.read_only else "may act",
            "runs_going": {"now": spent.runs, "most": most.most_runs},
            "runs_so_far": spent.runs_so_far,
            "env_steps": {"spent_or_reserved": spent.steps, "most": most.most_steps},
            "minutes": {"spent_or_reserved": spent.minutes, "most": most.most_minutes},
            "answer_tokens": terms.answer_tokens,
        }
        return Answer(data)


def _recipe(entry: Entry) -> dict[str, object]:
    if entry.problem:
        return {"address": entry.address, "problem": clip(entry.problem)}
    return {
        "address": entry.address,
        "algo": entry.algo,
        "env_steps": entry.env_steps,
        "promised_score": entry.score,
        "about": clip(entry.description, 160),
    }


def _of_run(run: Run, match: str, full: bool, trust: bool) -> Answer:
    info, settings = run.info(), run.settings()
    safe.check_readable(run, trust, str(info["address"]))
    recipe = reproduce.recipe(info, settings, changed=False)
    data: dict[str, object] = {"run": run.id, "address": recipe.address, "command": recipe.command}
    if full or match:
        known = _leaves(settings)
        found = [path for path in known if match.lower() in ".".join(path).lower()]
        if not found:
            check_match(match, "setting", [".".join(path) for path in known])
        data["settings"] = [
            {"name": ".".join(path), "value": flow(value_at(settings, path))} for path in found
        ]
    else:
        data["settings"] = [
            {"name": one.setting, "value": one.after, "recipe_says": one.before}
            for one in recipe.own
        ]
    return Answer(data, {"settings": "first"}, "use match")


def check_match(match: str, kind: str, names: list[str]) -> None:
    """Refuse a word that no name holds; the near one may be the end of a name, as is the word."""
    if match:
        near = nearest(match, names) or nearest(match, [name.rpartition(".")[2] for name in names])
        hint = f"did you mean '{near}'?" if near else "ask without match for those there are"
        raise UserError(f"no {kind} has '{match[:60]}' in its name; {hint}")


def _leaves(data: object, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Two levels deep, as config.yaml is written."""
    if isinstance(data, dict) and data and len(path) < 2:
        return [leaf for key, inner in data.items() for leaf in _leaves(inner, (*path, str(key)))]
    return [path]


def _sorted(infos: list[Info], column: str, ascending: bool) -> list[Info]:
    if column not in queries.COLUMNS:
        raise UserError(f"'{column[:40]}' is no column{did_you_mean(column, queries.COLUMNS)}")
    of = queries.COLUMNS[column].of
    there = [info for info in infos if of(info) is not None]
    missing = [info for info in infos if of(info) is None]
    return [*sorted(there, key=of, reverse=not ascending), *missing]


def row(info: Info) -> dict[str, Any]:
    """A run in a list; what is empty is left out."""
    data = {
        "id": info["id"],
        "recipe": info["address"],
        "seed": info["seed"],
        "status": state(info),
        "reason": info["reason"],
        "env_steps": info["env_steps"],
        **scores(judged.test(info), judged.best(info)),
        "last_weights_eval": info["last_score"],
        "threshold": info["threshold"],
        "solved": info["solved"],
        **{name: info[name] for name in REACHED},
        "minutes": seconds(info) / 60,
        "created": info["created"][:16],
        "by": info["by"],
        "tags": info["tags"],
        "group": info["group"],
        "parent": (info["parent"] or {}).get("run"),
        "why": clip(str(info["why"]), 120),
    }
    return {key: each for key, each in data.items() if each not in (None, "", [])}


def state(info: Info) -> str:
    """As run.json says, but a run whose process is gone or silent is dead."""
    return "dead" if info["status"] == "silent" else str(info["status"])


def scores(test: Judged | None, best: Judged | None) -> dict[str, Any]:
    """Mean, half the 95 % interval over episodes, and how many these were, on either seeds."""
    data: dict[str, object] = {}
    for name, found in (("score", test), ("best_eval", best)):
        data[name] = found.mean if found else None
        data[f"{name}_plus_minus_95"] = found.half if found else None
        data[f"{name}_episodes"] = found.episodes if found and found.episodes else None
    return data


def _over_seeds(groups: Sequence[compare.Group]) -> list[dict[str, Any]]:
    """What several seeds say, and how likely a run of a group beats one of the first."""
    rows: list[dict[str, Any]] = []
    differs = compare.distinguishing([group.views[0] for group in groups])
    for group, words in zip(groups, differs, strict=True):
        line: dict[str, object] = {
            "group": group.name,
            "recipe": group.views[0].info["address"],
            "seeds": sorted(one.info["seed"] for one in group.views),
            "score": group.score.mean,
            "plus_minus": group.score.half,
            "differs": words,
        }
        if group.score.half is None:
            line["note"] = FEW_SEEDS
        found = compare.improvement(group, groups[0]) if rows else None
        if found:
            chance = {"over": groups[0].name, "value": found.probability}
            line["probability_of_improvement"] = chance | {"low": found.low, "high": found.high}
        rows.append(line)
    return rows


def _outcome(view: RunView) -> dict[str, object]:
    info, score = view.info, view.score
    return {
        "id": info["id"],
        "recipe": info["address"],
        "seed": info["seed"],
        "status": state(info),
        "score": score.mean if score else None,
        "plus_minus_95": score.half if score else None,
        "episodes": score.episodes if score else 0,
        "held_out_seeds": score.seeds if score else "",
        "threshold": view.threshold,
        "solved": view.solved,
        **reached(view),
        "env_steps": view.env_steps,
        "minutes": view.elapsed_s / 60,
        "fps": view.fps,
        "wall_fps": view.wall_fps,
    }


def reached(view: RunView) -> dict[str, int | None]:
    """Env steps until the threshold: by an evaluation, by the training mean, with ancestors."""
    return {
        "steps_to_threshold": view.steps_to_threshold,
        "train_steps_to_threshold": view.train_steps_to_threshold,
        "total_steps_to_threshold": view.total_steps_to_threshold,
    }
