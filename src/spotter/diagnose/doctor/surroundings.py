"""The environment of a run, played briefly with the run's own settings.

Asked from outside it runs in a process of its own. Random play shows whether actions matter, seeds
work, numbers have a sensible size, and whether the threshold can be reached at all.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final

from spotter.config import EnvConfig
from spotter.diagnose.doctor import apart, environments, random_play
from spotter.diagnose.doctor.case import Case
from spotter.diagnose.doctor.changes import number, to
from spotter.diagnose.doctor.found import Found

TIMEOUT_S: Final = 120.0
_STEPS: Final = 400
_SHOWN: Final = {
    "observation-uneven": random_play.uneven,
    "resets-itself": random_play.resets_itself,
}
"""What is judged by one game of random play; rewards are judged by what the run itself recorded."""


def examine(case: Case) -> list[tuple[str, Found]]:
    """What playing it has shown, by the id of its rule."""
    assert case.config is not None
    env = case.config.env
    task = {"env": env.model_dump(mode="json", by_alias=True), "threshold": case.threshold}
    try:
        answers = apart.ask("spotter.diagnose.doctor.surroundings", task, TIMEOUT_S)
    except apart.Failed as error:
        return [("environment-broken", _broken(str(error), ""))]
    found = [(name, _settled(case, name, _from_data(data))) for name, data in answers]
    is_seen_to = bool(case.setting("policy.normalize_obs"))
    return [(name, one) for name, one in found if name != "observation-uneven" or not is_seen_to]


def _settled(case: Case, name: str, found: Found) -> Found:
    """What is uneven or alike matters only where the run did not do well in spite of it."""
    milder = name in ("observation-uneven", "copies-alike", "resets-itself") and case.well
    return Found(**{**asdict(found), "level": "info"}) if milder else found


def _from_data(data: Mapping[str, Any]) -> Found:
    lists = {key: tuple(data[key]) for key in ("evidence", "overrides")}
    return Found(**{**data, **lists})


def _broken(problem: str, fix: str) -> Found:
    return Found(
        "The environment does not work as it should.",
        (problem,),
        then=f"{fix[:1].upper()}{fix[1:]}." if fix else "",
    )


# --- in that process ------------------------------------------------------------------------------


def look(task: Mapping[str, Any]) -> list[tuple[str, Found]]:
    """Everything that is noticed about `{env: settings, threshold: score}`."""
    env = EnvConfig.chosen(task["env"]).from_data(task["env"])
    finding = environments.examine({"env": task["env"]})
    if finding.state != "ok":
        return [("environment-broken", _broken(finding.problem, finding.fix))]
    try:
        found = list(_played(env, finding))
    except Exception as error:  # a game may fail in any way, and only after a while
        return [("environment-broken", _broken(_words(error), ""))]
    reach = _reach(env, task["threshold"])
    return [*found, ("unreachable-threshold", reach)] if reach else found


def _words(error: Exception) -> str:
    from spotter.envs.checkup import Broken

    kind = "" if isinstance(error, Broken) else f"{type(error).__name__}: "
    return f"while it was played: {kind}{error}"


def _played(env: EnvConfig, finding: environments.Finding) -> Iterator[tuple[str, Found]]:
    from spotter.envs.checkup import play
    from spotter.envs.make import EnvBuilder

    game = EnvBuilder(env).build().env
    try:
        first = play(game, 3, _STEPS)
        again = play(game, 3, _STEPS, _turned(game, first.actions))
        episodes = [_opening(game, seed) for seed in (3, None)]
    finally:
        game.close()
    if finding.seeds and first.equals(again):
        yield "actions-do-not-matter", _deaf(len(first.actions))
    if not finding.seeds:
        text = "the same seed and actions gave another game"
        yield "not-repeatable", Found("Its seed does not decide the game.", (text,))
    if not finding.copies_differ and env.count > 1 and not _alike(*episodes):
        yield "copies-alike", _instances(env)
    for name, judge in _SHOWN.items():
        noticed = judge(first)
        if noticed:
            yield name, noticed


def _turned(game: Any, actions: tuple[Any, ...]) -> list[object]:
    """Other actions, of the same number."""
    game.action_space.seed(99)
    return [game.action_space.sample() for _ in actions]


def _opening(game: Any, seed: int | None) -> list[tuple[object, float]]:
    """Observations and rewards of a few steps of an episode, with fixed actions."""
    shown, _ = game.reset(seed=seed)
    seen = [(shown, 0.0)]
    game.action_space.seed(5)
    for _ in range(5):
        shown, reward, ended, cut, _ = game.step(game.action_space.sample())
        seen.append((shown, float(reward)))
        if ended or cut:
            break
    return seen


def _alike(one: list[tuple[Any, float]], other: list[tuple[Any, float]]) -> bool:
    from spotter.envs.checkup import same

    return len(one) == len(other) and all(map(same, one, other))


def _deaf(steps: int) -> Found:
    return Found(
        "Actions change nothing: other actions from the same seed gave the very same game.",
        (f"{steps:,} random steps played twice, with other actions: all observations and rewards "
         "are equal",),
        level="critical",
        then="Does step() use its action? Is a wrapper or a frozen flag in between?",
    )  # fmt: skip


def _instances(env: EnvConfig) -> Found:
    return Found(
        "Parallel envs play the same game: their seeds have no effect, though the game is random.",
        (f"env.count={env.count}: envs with other seeds showed the same, while two episodes of "
         "one env differ",),
    )  # fmt: skip


def _reach(env: EnvConfig, threshold: float | None) -> Found | None:
    """Whether the most that can be scored, where that is known, is below the threshold."""
    from spotter.envs.base import family

    known = family(env).describe(env).score_range
    if threshold is None or known is None or not known[1] < threshold:
        return None
    return Found(
        "The threshold is out of reach: the game has no such score.",
        (f"threshold {threshold:g}, scores from {known[0]:g} to {known[1]:g}",),
        (to("env.threshold", number(known[1] - 0.05 * (known[1] - known[0]))),),
        then="Or is env.threshold meant for another protocol of the game?",
    )


if __name__ == "__main__":
    apart.answer(lambda task: [(name, asdict(found)) for name, found in look(task)])
