"""Every promise of a family is looked at: a family that breaks it is found out, in one sentence."""

import pytest

from spotter.config import EnvConfig
from spotter.envs.checkup import Broken, check_family, check_picture, examine
from tests.envs import promises


def breaking(what):
    return EnvConfig(id="Promises-v0", family="tests.envs.promises", kwargs={"breaks": what})


def test_a_family_that_keeps_its_promises():
    check_family(breaking("nothing"))
    check_picture(breaking("nothing"))


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("reward", "a reward of nan"),
        ("shape", r"\[0. 0. 0.\] is not in Box\(-10.0, 10.0, \(2,\), float32\)"),
        ("bytes", r"is not in Box\(0, 255, \(2,\), uint8\)"),
        ("seeds", "two instances of Promises-v0 differ under one seed"),
        ("reseeding", "Promises-v0 does not repeat itself when reset with its seed"),
        ("action names", "3 names of actions, but there are 2"),
        ("observation names", "1 names of observations, but there are 2"),
        ("keys", "a key stands for an action there is not"),
        ("scores", "a score range from 1.0 to 0.0"),
        ("threshold", "the threshold 2.0 lies outside the scores 0.0 to 1.0"),
    ],
)
def test_a_broken_promise_is_one_sentence(what, sentence):
    with pytest.raises(Broken, match=sentence):
        check_family(breaking(what))


def test_a_picture_must_be_one():
    with pytest.raises(Broken, match="an image is"):
        check_picture(breaking("picture"))


def test_an_examination_says_what_seeds_do():
    seen = {what: examine(breaking(what)) for what in ("nothing", "seeds", "other seeds")}
    assert {what: (found.repeats, found.differs) for what, found in seen.items()} == {
        "nothing": (True, True),
        "seeds": (False, True),
        "other seeds": (True, False),
    }
    assert 0 < seen["nothing"].step_s < 0.01


def test_wrappers_are_examined_too():
    env = breaking("nothing").model_copy(
        update={"wrappers": EnvConfig(wrappers=[{"name": "frame_stack", "count": 3}]).wrappers}
    )
    assert examine(env).spaces.observation["obs"].shape == (6,)


def test_p27_there_is_never_more_than_one_copy(monkeypatch):
    """Emulators that allow one per process can be checked as well."""
    alive = []

    class Lonely(promises.Game):
        def __init__(self, *args):
            super().__init__(*args)
            assert not alive, "a second copy"
            alive.append(self)

        def close(self):
            alive.remove(self)

    monkeypatch.setattr(promises, "Game", Lonely)
    check_family(breaking("nothing"))
    examine(breaking("nothing"))
    assert not alive
