"""`spotter.train(…, seeds=…)`: a group of results."""

import pytest

import spotter
from spotter.rundir.registry import listing
from spotter.types import UserError

SHORT = ("budget.env_steps=500", "eval.every_steps=null", "eval.episodes=1", "video.when=null")


def test_several_seeds_are_a_group(folder, capsys):
    group = spotter.train("CartPole-v1:ppo", *SHORT, seeds=range(2), quiet=True)
    assert len(group) == 2 and [result.config.seed for result in group] == [0, 1]
    scores = [result.score for result in group]
    assert group.score.mean == pytest.approx(sum(scores) / 2)
    assert group.score.count == 2 and group.score.half is None and not group.solved
    assert repr(group).startswith(f"<GroupResult {group.name}: score ")
    assert repr(group).endswith(" over 2 seeds, 0 of 2 solved>")
    assert group._repr_html_().count("<div>") == 2
    infos = listing().infos
    assert {(info["group"], info["seed"]) for info in infos} == {(group.name, 0), (group.name, 1)}
    again = spotter.train("CartPole-v1:ppo", *SHORT, seeds=[0], quiet=True)
    assert again.name == f"{group.name}-2", "results hold policies: trained, in a group of its own"
    assert again.score.half is None
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"seeds": []}, "seeds are whole numbers, such as range.5.; got none"),
        ({"seeds": ["1"]}, "got '1'"),
        ({"seeds": [1], "seed": 2}, "leave out seed"),
        ({"group": "1"}, "cannot be the name of a group"),
    ],
)
def test_mistakes_are_one_sentence(folder, given, sentence):
    with pytest.raises(UserError, match=sentence):
        spotter.train("CartPole-v1:ppo", **given)
