"""Another action at a step: from a click on a probability to what can be done there."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from spotter.config import validate
from spotter.episodes.format import Trace
from spotter.studio import viewer_branch, viewer_vision
from spotter.studio.viewer_branch import numbers, other_action
from spotter.studio.viewer_capture import telling
from spotter.types import UserError
from tests.rundir.making import maker
from tests.studio import episodes


@pytest.fixture
def run(make_config):
    return maker(make_config)("CartPole-v1")


def made(run, action, **more):
    length = len(action)
    columns = {
        "action": np.array(action),
        "probability": np.full((length, 5), 0.2),
        "reward": np.arange(length, dtype=float),
        "obs/obs": np.arange(length * 2, dtype=np.float32).reshape(length, 2),
    }
    return Trace(episodes.meta(run, length, nvec=(5,), **more), columns)


def test_one_choice_is_made_otherwise(run):
    assert other_action(made(run, [0, 4]), 1, 2) == 2
    two_parts = made(run, [[1, 2], [0, 0]], action_kind="multi_discrete")
    two_parts = Trace(episodes.meta(run, 2, action_kind="multi_discrete", nvec=(2, 3)),
                      two_parts.columns)  # fmt: skip
    assert other_action(two_parts, 0, 4).tolist() == [1, 2]
    assert other_action(two_parts, 0, 2).tolist() == [1, 0]
    assert other_action(two_parts, 0, 0).tolist() == [0, 2]
    buttons = made(run, [[1, 0, 0, 0, 1]], action_kind="binary")
    assert other_action(buttons, 0, 0).tolist() == [0, 0, 0, 0, 1]
    assert buttons.columns["action"][0, 0] == 1, "the trace stays as it is"


def test_what_cannot_be_done_is_refused(run):
    trace = made(run, [0, 4])
    for step, column in ((0, 9), (7, 0), (-1, 0)):
        with pytest.raises(UserError, match="has no choice"):
            other_action(trace, step, column)
    masked = Trace(trace.meta, {**trace.columns, "mask": np.zeros((2, 5), bool)})
    with pytest.raises(UserError, match="masked"):
        other_action(masked, 0, 1)
    bare = {key: value for key, value in trace.columns.items() if key != "probability"}
    with pytest.raises(UserError, match="are numbers"):
        other_action(Trace(trace.meta, bare), 0, 0)


def test_actions_may_be_a_number_per_axis(run):
    trace = made(run, [[0.5, 0.25], [0, 1.0]], action_kind="box")
    assert numbers(trace, 1, [-1, 0.5]).tolist() == [-1, 0.5], "an older one: the policy's units"
    bounds = {"action_low": (-2.0, 0.0), "action_high": (2.0, 10.0)}
    newer = made(run, [[0.5, 0.25], [0, 1.0]], action_kind="box", **bounds)
    assert numbers(newer, 1, [-1, 10]).tolist() == [-0.5, 1.0]
    for values in ([0.1], [0, 11], [0, float("nan")], [0, 0, 0]):
        with pytest.raises(UserError, match="is 2 numbers: -2 to 2, 0 to 10"):
            numbers(newer, 0, values)
        with pytest.raises(UserError, match="is 2 numbers: -1 to 1, -1 to 1"):
            numbers(trace, 0, values)
    with pytest.raises(UserError, match="not there"):
        numbers(trace, 2, [0, 0])
    with pytest.raises(UserError, match="are choices"):
        numbers(made(run, [0]), 0, [0])


def test_reports_come_now_and_then():
    heard = []
    tell = telling(lambda steps: heard.append(steps) or steps < 100)
    assert all(tell(step) for step in (1, 49, 50, 51))
    with pytest.raises(UserError, match="was cancelled"):  # so that half an episode is not kept
        tell(100)
    assert heard == [50, 100]
    assert telling(None) is None


def test_what_mattered_lights_up():
    seen = np.full((2, 3, 4), 100, np.uint8)
    sizes = np.zeros((2, 3, 4), np.uint8)
    sizes[1, 0, 0] = 255
    image = viewer_vision.glowing(seen, sizes)
    assert image.shape == (3, 8, 3)
    assert image[0, 4].tolist() == [255, 115, 13]
    assert len({tuple(pixel) for pixel in image.reshape(-1, 3).tolist()}) == 2


@pytest.mark.parametrize(
    ("count", "height", "width"), [(1, 5, 5), (32, 8, 32), (64, 7, 7), (3, 2, 9)]
)
def test_a_mosaic_holds_every_picture(count, height, width):
    images = np.arange(1, count + 1, dtype=np.uint8)[:, None, None] + np.zeros(
        (1, height, width), np.uint8
    )
    sheet = viewer_vision.mosaic(images)
    assert set(range(1, count + 1)) <= set(np.unique(sheet).tolist())


def test_a_step_is_explained_in_pictures(run, monkeypatch):
    from spotter.episodes import vision
    from spotter.policy.actor_critic import Policy
    from spotter.types import ActionSpec, Leaf, Spaces

    sees = Spaces({"obs": Leaf("image", (4, 84, 84), "uint8")}, ActionSpec("discrete", (), (3,)))
    policy = Policy(sees, validate(run.settings()).policy)
    monkeypatch.setattr(vision, "policy_of", lambda folder, meta: policy)
    folder = str(run.folder / "episodes" / episodes.pixels(run))
    found = viewer_vision.explain(folder, 2)
    titles = [one["title"] for one in found]
    assert titles[:2] == ["Saliency for the action", "Saliency for the value"]
    assert titles[-1] == "Filters of the first layer"
    assert sum(title.startswith("Activations") for title in titles) == 3
    for one in found:
        image = Image.open(io.BytesIO(base64.b64decode(one["png"])))
        assert min(image.size) > 7
    with pytest.raises(UserError, match="not in this episode"):
        viewer_vision.explain(folder, 99)


def test_no_torch_until_a_policy_is_asked_for():
    import subprocess
    import sys

    modules = "spotter.studio.pages.inspector, spotter.studio.pages.compare, " + ", ".join(
        module.__name__ for module in (viewer_branch, viewer_vision)
    )
    code = f"import sys, {modules}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
