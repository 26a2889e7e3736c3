"""The process of a game: what it makes of commands, driven through its pipe in a thread."""

import json
import multiprocessing
import struct
import threading

import pytest

from spotter.studio.table import COMMAND, EVENT, FRAME, ORDER, play


class Client:
    """The server's end of the pipe."""

    def __init__(self, **order) -> None:
        self._pipe, theirs = multiprocessing.Pipe()
        self._thread = threading.Thread(target=play, args=(theirs,), daemon=True)
        self._thread.start()
        self.order(order)

    def order(self, order: dict | None) -> None:
        self._pipe.send_bytes(ORDER + json.dumps(order).encode())

    def tell(self, word: str, value=None, **more) -> None:
        self.raw(json.dumps({"do": word, "value": value, **more}).encode())

    def raw(self, data: bytes) -> None:
        self._pipe.send_bytes(COMMAND + data)

    def next(self, kind: str = "frame") -> dict:
        """The next message of a kind; the picture's first bytes under `bytes`."""
        while True:
            assert self._pipe.poll(20), f"no {kind} came"
            message = self._pipe.recv_bytes()
            letter, rest = message[:1], message[1:]
            if letter not in (FRAME, EVENT):
                header = {"kind": "note", **json.loads(rest)}
            else:
                size = struct.unpack("<I", rest[:4])[0]
                header = json.loads(rest[4 : 4 + size])
                header["bytes"] = rest[4 + size : 6 + size]
            if header["kind"] == kind:
                return header

    def is_quiet(self) -> bool:
        """Whether nothing comes for a while."""
        return not self._pipe.poll(0.4)

    def close(self) -> None:
        self.order(None)
        self._thread.join(60)
        assert not self._thread.is_alive()


@pytest.fixture
def sit():
    clients = []

    def sit_down(source="CartPole-v1", mode="human", **order) -> Client:
        clients.append(Client(source=source, mode=mode, seed=3, **order))
        return clients[-1]

    yield sit_down
    for client in clients:
        client.close()


def test_it_introduces_itself_and_shows_pictures(sit):
    client = sit()
    ready = client.next("ready")
    assert ready["env"] == "CartPole-v1"
    assert ready["legend"] == [["left", "push left"], ["right", "push right"]]
    assert not ready["can_record"]
    frame = client.next()
    assert frame["bytes"] == b"\xff\xd8"
    assert frame["players"][0]["episode"] == 1


def test_keys_count_at_once_and_say_which_was_heard(sit):
    client = sit(fps=60)
    client.tell("down", "ArrowRight", number=7)
    frame = client.next()
    while frame["heard"] != 7:
        frame = client.next()
    assert frame["players"][0]["action"] == "push right"
    client.tell("up", "ArrowRight", number=8)
    client.tell("down", "a")
    client.tell("down", "ArrowLeft", number=9)
    while frame["heard"] != 9:
        frame = client.next()
    assert frame["players"][0]["action"] == "push left"


def test_a_person_begins_every_episode_with_a_key(sit):
    client = sit(fps=120)
    assert client.next()["stands"]
    assert client.is_quiet(), "nothing moves before a key"
    client.tell("down", "left")
    assert not client.next()["stands"]
    client.next("ended")
    frame = client.next()
    while frame["players"][0]["episode"] == 1:
        frame = client.next()
    assert (frame["stands"], frame["players"][0]["step"]) == (True, 0)
    assert client.is_quiet(), "a key that is still held does not begin the next one"
    client.tell("down", "right")
    assert client.next()["players"][0]["step"] == 1


def test_nobody_is_waited_for_where_nobody_plays(sit):
    client = sit(mode="untrained", fps=60)
    assert not client.next()["stands"]
    assert client.next()["players"][0]["step"] == 1


def test_a_tap_shorter_than_a_step_counts(sit):
    client = sit("MountainCar-v0", fps=20)
    client.next()
    client.tell("down", "ArrowLeft", number=1)
    client.tell("up", "ArrowLeft", number=2)
    frames = [client.next()]
    while frames[-1]["heard"] < 2:
        frames.append(client.next())
    assert "push left" in [frame["players"][0]["action"] for frame in frames]
    assert client.next()["players"][0]["action"] == "coast"


def test_pause_steps_and_new_episodes(sit):
    client = sit(mode="untrained", fps=60)
    client.tell("pause", True)
    frame = client.next()
    while not frame["paused"]:
        frame = client.next()
    stood = frame["players"][0]["step"]
    client.tell("step")
    frame = client.next()
    assert (frame["players"][0]["step"], frame["paused"]) == (stood + 1, True)
    assert len(frame["players"][0]["probabilities"]) == 2
    episode = frame["players"][0]["episode"]
    client.tell("again")
    frame = client.next()
    assert (frame["players"][0]["step"], frame["players"][0]["episode"]) == (0, episode + 1)


def test_episodes_end_and_the_next_one_begins(sit):
    client = sit(fps=120)
    client.tell("down", "left")
    ended = client.next("ended")
    assert ended["episode"] == 1 and ended["scores"] == ended["steps"]
    frame = client.next()
    while frame["players"][0]["episode"] == 1:
        frame = client.next()
    assert frame["players"][0]["step"] == 0


def test_nonsense_is_passed_over(sit):
    client = sit(mode="untrained", fps=60)
    for data in (b"", b"{", b"[]", b'{"do": 3}', b'{"do": "down", "value": 5}', b"\xff\xfe",
                 b'{"do": "fps", "value": "fast"}', b'{"do": "up", "value": "' + b"x" * 200 + b'"}',
                 b'{"do": "fps", "value": -3}'):  # fmt: skip
        client.raw(data)
    client.tell("fps", 60)
    first = client.next()["number"]
    assert client.next()["number"] > first


def test_what_cannot_be_played_is_one_sentence(sit):
    client = sit(mode="agent")
    assert "a recipe has no policy" in client.next("failed")["text"]
    client.order({"source": "FrozenLake-v1", "mode": "human", "seed": 1})
    assert client.next("ready")["waits"], "the process plays on with the next order"


def test_another_game_in_the_same_process(sit):
    client = sit(fps=60)
    client.next()
    client.order({"source": "MountainCar-v0", "mode": "untrained"})
    assert client.next("ready")["env"] == "MountainCar-v0"
    assert client.next()["players"][0]["step"] == 0


def test_browsers_cannot_order_games(sit):
    client = sit(mode="untrained", fps=60)
    client.raw(b'{"do": "order", "value": {"source": "Taxi-v4", "mode": "human"}}')
    client.raw(b"null")
    first = client.next()["number"]
    assert client.next()["number"] > first


def test_recipes_keep_nothing_and_say_so(sit):
    client = sit(fps=120)
    client.tell("record", True)
    client.tell("down", "left")
    assert "kept with a run" in client.next("said")["text"]
