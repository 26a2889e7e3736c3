"""An episode as the inspector reads it: numbers in one piece, pictures one at a time."""

import base64
import io
import json
import zipfile

import numpy as np
import pytest
from PIL import Image

from spotter.episodes.advantages import judged
from spotter.episodes.format import Trace
from spotter.studio import viewer
from spotter.studio.viewer import Shelf, details
from spotter.types import UserError
from tests.rundir.making import maker
from tests.studio import episodes


@pytest.fixture
def run(make_config):
    return maker(make_config)("CartPole-v1", config={"env": {"family": "classic"}})


@pytest.fixture
def shelf(run):
    return Shelf(lambda id: run)


def unpacked(packed):
    data = base64.b64decode(packed["data"])
    return np.frombuffer(data, f"<{packed['kind']}").reshape(packed["shape"])


def picture(data):
    return np.asarray(Image.open(io.BytesIO(data)))


def test_every_number_of_an_episode_travels_in_one_json(run, shelf):
    trace = shelf.trace(run.id, episodes.cartpole(run, 20))
    found = json.loads(json.dumps(details(trace), allow_nan=False))
    assert found["meta"]["length"] == 20
    assert found["choices"] == ["push left", "push right"]
    assert found["frames"]
    for name in ("reward", "training_reward", "value"):
        np.testing.assert_array_equal(unpacked(found[name]), trace.columns[name])
    np.testing.assert_array_equal(unpacked(found["probability"]), trace.columns["probability"])
    labels = [found["labels"][place] for place in unpacked(found["label"])]
    assert labels == [found["choices"][action] for action in trace.columns["action"]]
    assert "settings" not in found["meta"]


@pytest.mark.parametrize("reach", [1.0, 4.0])
def test_what_a_core_holds_is_shaded(run, shelf, reach):
    trace = shelf.trace(run.id, episodes.recurrent(run, 30, 300, reach))
    found = json.loads(json.dumps(details(trace), allow_nan=False))
    shades = unpacked(found["state"])
    assert shades.shape == (30, 256), "the first numbers of very many"
    state = trace.columns["state"].astype(float)
    assert found["remembers"] == {"size": 300, "reach": pytest.approx(np.abs(state).max(), 1e-3)}
    np.testing.assert_allclose((shades - 127.5) / 127.5 * reach, state[:, :256], atol=0.01 * reach)
    plain = details(shelf.trace(run.id, episodes.cartpole(run)))
    assert not {"state", "remembers"} & plain.keys()


def test_vectors_carry_the_names_of_the_family(run, shelf):
    (leaf,) = details(shelf.trace(run.id, episodes.cartpole(run)))["seen"]
    assert leaf["names"] == [
        "cart position", "cart velocity", "pole angle", "pole angular velocity",
    ]  # fmt: skip
    assert unpacked(leaf["values"]).shape == (40, 4)
    assert leaf["reach"] == pytest.approx(np.abs(unpacked(leaf["values"])).max(0))


def test_a_stacked_vector_says_how_long_ago(run, shelf):
    trace = shelf.trace(run.id, episodes.cartpole(run))
    now = trace.columns["obs/obs"]
    twice = np.concatenate([now - 100, now], 1)
    stacked = Trace(episodes.meta(run, 40, stacks={"obs": 2}), {**trace.columns, "obs/obs": twice})
    (leaf,) = details(stacked)["seen"]
    assert leaf["names"][0] == "cart position", "the newest moment first"
    assert leaf["names"][4] == "cart position, 1 ago"
    np.testing.assert_allclose(unpacked(leaf["values"]), np.concatenate([now, now - 100], 1))


def test_a_family_that_names_every_moment_is_believed(run, shelf):
    settings = {"env": {"id": "ALE/Pong-v5", "family": "atari", "observe": "objects", "stack": 3}}
    trace = shelf.trace(run.id, episodes.cartpole(run))
    seen = np.zeros((40, 51), np.float32)
    meta = episodes.meta(run, 40, stacks={"obs": 3}, settings=settings)
    (leaf,) = details(Trace(meta, {**trace.columns, "obs/obs": seen}))["seen"]
    assert leaf["names"][:2] == ["player visible", "player y"]
    assert leaf["names"][17] == "player visible, 1 decision ago"


def test_what_was_picked_is_marked_for_every_kind_of_action(run):
    own = {"probability": np.full((2, 5), 0.2), "reward": np.ones(2)}

    def marked(kind, nvec, action):
        columns = {**own, "action": np.array(action)}
        trace = Trace(episodes.meta(run, 2, action_kind=kind, nvec=nvec), columns)
        return unpacked(details(trace)["picked"]).tolist()

    assert marked("discrete", (5,), [4, 0]) == [[0, 0, 0, 0, 1], [1, 0, 0, 0, 0]]
    assert marked("multi_discrete", (2, 3), [[1, 0], [0, 2]]) == [[0, 1, 1, 0, 0], [1, 0, 0, 0, 1]]
    pressed = [[1, 0, 0, 1, 1], [0, 0, 0, 0, 0]]
    assert marked("binary", (), pressed) == pressed


def test_actions_that_are_numbers_have_no_probabilities(run):
    columns = {"action": np.array([[0.5], [-1.0]]), "reward": np.ones(2), "value": np.ones(2)}
    trace = Trace(episodes.meta(run, 2, action_kind="box", action_names=(), nvec=()), columns)
    found = details(trace)
    assert found["picked"] is None
    assert found["choices"] == []
    assert found["labels"] == ["+0.50", "-1.00"]


def test_a_bandit_has_no_frames_and_numbers_for_names(run, shelf):
    trace = shelf.trace(run.id, episodes.bandit(run))
    found = details(trace)
    assert not found["frames"]
    assert found["choices"] == [str(arm) for arm in range(10)]
    with pytest.raises(UserError, match="no frames"):
        viewer.frame(trace, 0)


def test_what_is_not_finite_is_no_reason_to_fail(run):
    columns = {"action": np.array([0]), "reward": np.array([np.nan]), "value": np.array([np.inf])}
    trace = Trace(episodes.meta(run, 1, final_value=float("nan")), columns)
    text = json.dumps(details(trace), allow_nan=False)
    assert json.loads(text)["meta"]["final_value"] is None


# --- pictures -------------------------------------------------------------------------------------


def test_frames_come_as_they_were_stored(run, shelf):
    trace = shelf.trace(run.id, episodes.cartpole(run, 5))
    assert viewer.frame(trace, 3) == episodes.jpeg(3)
    assert viewer.frame(trace, 5) == episodes.jpeg(5), "how it ended"
    for step in (6, -1):
        with pytest.raises(UserError, match="steps 0 to 4"):
            viewer.frame(trace, step)


def test_a_stack_is_shown_side_by_side_oldest_first(run, shelf):
    trace = shelf.trace(run.id, episodes.pixels(run))
    (leaf,) = details(trace)["seen"]
    assert (leaf["kind"], leaf["tiles"], leaf["stack"]) == ("image", 4, 4)
    shown = picture(viewer.seen(trace, 0, 2))
    assert shown.shape == (84, 4 * 84)
    assert shown[0, ::84].tolist() == trace.columns["obs/obs"][2, :, 0, 0].tolist()


@pytest.mark.parametrize(
    ("channels", "stack", "tiles", "shape"),
    [(3, 1, 1, (8, 8, 3)), (6, 2, 2, (8, 16, 3)), (4, 1, 4, (8, 32)), (10, 2, 10, (8, 80))],
)
def test_colours_stay_colours_and_other_channels_stand_apart(run, channels, stack, tiles, shape):
    images = np.random.default_rng(0).integers(0, 255, (1, channels, 8, 8)).astype(np.uint8)
    columns = {"action": np.zeros(1, int), "reward": np.ones(1), "obs/obs": images}
    trace = Trace(episodes.meta(run, 1, stacks={"obs": stack}), columns)
    assert details(trace)["seen"][0]["tiles"] == tiles
    shown = picture(viewer.seen(trace, 0, 0))
    assert shown.shape == shape
    np.testing.assert_array_equal(np.atleast_3d(shown)[:, :8, 0], images[0, 0])


def test_pictures_of_other_numbers_are_stretched(run):
    images = np.linspace(-1, 1, 64, dtype=np.float32).reshape(1, 1, 8, 8)
    columns = {"action": np.zeros(1, int), "reward": np.ones(1), "obs/obs": images}
    shown = picture(viewer.seen(Trace(episodes.meta(run, 1), columns), 0, 0))
    assert (shown.min(), shown.max()) == (0, 255)


def test_only_pictures_can_be_seen(run, shelf):
    trace = shelf.trace(run.id, episodes.cartpole(run))
    with pytest.raises(UserError, match="not an image"):
        viewer.seen(trace, 0, 0)
    with pytest.raises(UserError, match="observations"):
        viewer.seen(trace, 7, 0)


# --- names and files ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["..", "../../x", "nothing", "000000640-seed7-sampled/../x", ""])
def test_only_names_of_episodes_reach_a_file(run, shelf, name):
    with pytest.raises(UserError, match="has no episode"):
        shelf.trace(run.id, name)


def test_a_link_out_of_the_run_is_refused(run, shelf, tmp_path):
    name = episodes.cartpole(run)
    frames = run.folder / "episodes" / name / "frames.zip"
    outside = tmp_path / "secret.zip"
    frames.rename(outside)
    frames.symlink_to(outside)
    with pytest.raises(UserError, match="leads out"):
        shelf.trace(run.id, name)


def test_an_episode_that_was_replaced_is_read_anew(run, shelf):
    name = episodes.cartpole(run, 5)
    assert shelf.trace(run.id, name) is shelf.trace(run.id, name)
    folder = run.folder / "episodes" / name
    folder.rename(folder.with_name("gone"))
    assert episodes.cartpole(run, 9) == name
    assert shelf.trace(run.id, name).meta.length == 9


def test_few_episodes_stay_open(run, shelf):
    names = [episodes.cartpole(run, 2, seed=seed) for seed in range(7)]
    for name in names:
        shelf.trace(run.id, name)
    assert len(shelf._open) == viewer._OPEN


def test_a_csv_follows_gamma(run, shelf):
    trace = shelf.trace(run.id, episodes.cartpole(run))
    header, first, *rest = viewer.as_csv(trace, 0.5, 0.1).splitlines()
    row = dict(zip(header.split(","), first.split(","), strict=True))
    assert float(row["advantage"]) == pytest.approx(judged(trace, 0.5, 0.1).advantage[0])
    assert len(rest) == 39


def test_a_zip_is_a_trace_again(run, shelf, tmp_path):
    name = episodes.cartpole(run)
    data = viewer.as_zip(shelf.folder(run.id, name))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert sorted(archive.namelist()) == [
            f"{name}/arrays.npz", f"{name}/frames.zip", f"{name}/trace.json",
        ]  # fmt: skip
        archive.extractall(tmp_path)
    from spotter.episodes.format import load

    assert load(tmp_path / name).meta.length == 40
