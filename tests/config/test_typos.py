"""P41: one wrong letter in any key is an error that names the nearest match."""

import re
from collections.abc import Iterator

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from spotter.config import RunConfig, resolve, tree
from spotter.plugins import mistakes
from spotter.types import UserError

ADDRESS = "CartPole-v1:ppo"
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789_"
DATA = resolve(
    ADDRESS,
    {
        "env.demo": {"actions": "1*3", "score": 1},
        "env.wrappers": [{"name": "frame_stack"}, {"name": "time_limit", "steps": 9}],
        "reward.signals": [{"source": "info", "key": "x"}],
        "algo.clip": {"shape": "linear", "start": 0.2, "end": 0.1, "from": 0.1, "to": 0.9},
        "plateau": {"patience_steps": 9, "actions": [{"setting": "algo.lr", "value": 0.5}]},
    },
).config.as_data()


def _keys(data: object, path: tree.Path = ()) -> Iterator[tree.Path]:
    """The path of every key in the config, inside lists and schedules as well."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        if isinstance(key, str):
            yield (*path, key)
        if isinstance(value, dict | list) and key != "kwargs":
            yield from _keys(value, (*path, key))


KEYS = list(_keys(DATA))


@st.composite
def typos(draw: st.DrawFn) -> tuple[tree.Path, str]:
    path = draw(st.sampled_from(KEYS))
    key = str(path[-1])
    place = draw(st.integers(0, len(key) - 1))
    letter = draw(st.sampled_from(LETTERS))
    change = draw(st.sampled_from(["insert", "drop", "replace", "swap"]))
    before, here, after = key[:place], key[place], key[place + 1 :]
    if change == "swap":
        return path, before + after[:1] + here + after[1:]
    changed = {"insert": letter + here, "drop": "", "replace": letter}[change]
    return path, before + changed + after


def _with_typo(data: object, path: tree.Path, typo: str) -> object:
    head, *rest = path
    if isinstance(data, list):
        return [_with_typo(v, tuple(rest), typo) if i == head else v for i, v in enumerate(data)]
    if not rest:
        return {typo if key == head else key: value for key, value in data.items()}
    return {k: _with_typo(v, tuple(rest), typo) if k == head else v for k, v in data.items()}


def test_every_key_is_reached():
    dotted = {tree.dotted(path) for path in KEYS}
    assert {*tree.paths(RunConfig, DATA)} <= dotted
    assert {"algo.lambda", "algo.clip.from", "env.wrappers[1].steps"} <= dotted


@settings(max_examples=300, deadline=None)
@given(typos())
@example((("algo", "lr"), "l"))
@example((("env", "id"), "ix"))
@example((("env", "wrappers", 0, "name"), "nme"))
def test_p41_one_wrong_letter_is_an_error_with_the_nearest_match(case):
    path, typo = case
    section = tree.value_at(DATA, path[:-1])
    model = tree.model_at(RunConfig, path[:-1], DATA)
    assume(typo not in section and typo not in tree.keys(model))
    try:
        resolve(ADDRESS, _with_typo(DATA, path, typo))
    except UserError as error:
        message = str(error)
    else:
        raise AssertionError(f"{path} as {typo} was accepted")
    suggested = re.search(r"did you mean ([^?]+)\?", message)
    if suggested is None:  # without the key that picks the plug-in, all there is to say is this
        assert f"needs `{path[-1]}`" in message or "needs `start`" in message
        return
    assert tree.dotted((*path[:-1], typo)) in message
    nearest = suggested[1].rsplit(".", 1)[-1]
    assert mistakes(typo, nearest) == 1
    rivals = [key for key in tree.keys(model) if mistakes(typo, key) == 1]
    assert nearest in rivals
    assert nearest == path[-1] or len(rivals) > 1
