"""The black box: a folder with all that is needed to reproduce a failed environment.

`001-copy3-raised/` holds fault.json (error, replay log, config, versions), traceback.txt
and README.txt. A replay runs in a process of its own, so that crashes and hangs stay harmless.
Nothing is unpickled from the folder; but a replay runs the environment its config names, so look
at what strangers send you.
"""

import base64
import contextlib
import re
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from spotter import packing
from spotter.config import RunConfig, validate
from spotter.envs.backends.layout import Layout, assemble
from spotter.envs.backends.process import ending
from spotter.envs.backends.slices import EnvError, Slice
from spotter.envs.make import EnvBuilder
from spotter.rundir import trust
from spotter.rundir.files import UNREADABLE, read_json, write_atomic, write_json
from spotter.rundir.run import Run
from spotter.system import children
from spotter.types import Array, Fault, ReplayLog, UserError
from spotter.versions import versions

FORMAT: Final = 1
_SHOWN: Final = 8
_START_S: Final = 120.0  # a process that imports an environment's libraries takes its time


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a replay showed."""

    reproduced: bool
    sentence: str


@dataclass(frozen=True, slots=True)
class Box:
    """An opened black box."""

    fault: Fault
    config: RunConfig
    training: bool
    """False for an env that was evaluating: those lack train-only wrappers and signals."""


def write(folder: Path, fault: Fault, config: RunConfig, *, training: bool = True) -> Path:
    """A new folder in `folder` for this fault; returns it."""
    box = _new_folder(folder, f"copy{fault.env}-{fault.kind.replace(' ', '-')}")
    content = {
        "copy": fault.env,
        "kind": fault.kind,
        "text": fault.text,
        "traceback": fault.traceback,
        "training": training,
        "config": config.as_data(),
        "versions": versions(),
        "tape": _as_data(fault.replay_log),
    }
    data, arrays = packing.pack(content)
    texts = {key: _as_text(array) for key, array in arrays.items()}
    write_json(box / "fault.json", {"format": FORMAT, "fault": data, "arrays": texts})
    write_atomic(box / "traceback.txt", f"{fault.text}\n\n{fault.traceback}")
    write_atomic(box / "README.txt", f"To see it fail again: spotter blackbox {box}\n")
    return box


def _new_folder(parent: Path, name: str) -> Path:
    numbers = (re.match(r"\d+(?=-copy)", old.name) for old in parent.glob("*-copy*"))
    number = 1 + max((int(found[0]) for found in numbers if found), default=0)
    while True:
        box = parent / f"{number:03d}-{name}"
        try:
            box.mkdir(parents=True)
        except FileExistsError:
            number += 1
        else:
            return box


def _as_text(array: Array) -> dict[str, object]:
    content = base64.b64encode(array.tobytes()).decode()
    return {"dtype": array.dtype.str, "shape": list(array.shape), "base64": content}


def _as_array(text: dict[str, Any]) -> npt.NDArray[Any]:
    return np.frombuffer(base64.b64decode(text["base64"]), text["dtype"]).reshape(text["shape"])


def _as_data(replay_log: ReplayLog | None) -> dict[str, object] | None:
    if replay_log is None:
        return None
    return {
        "start": replay_log.start,
        "seed": replay_log.seed,
        "actions": np.array(replay_log.actions),
    }


def _as_replay_log(data: dict[str, Any] | None) -> ReplayLog | None:
    return None if data is None else ReplayLog(data["start"], data["seed"], tuple(data["actions"]))


def _check_trust(box: Path, settings: Mapping[str, object]) -> None:
    """The run it lies in decides; a box on its own may come from anywhere."""
    run = Run(box.resolve().parents[1])
    if (run.folder / "run.json").is_file():
        run.check_trust(settings)
    else:
        trust.check({"id": box.name, "foreign": True, "names": None}, settings)


def read(box: Path) -> Box:
    """What `write` was given; `UserError` if this is no black box."""
    path = box / "fault.json"
    if not path.is_file():
        raise UserError(f"{box} is no black box: there is no {path.name} in it")
    try:
        data = read_json(path)
        if data["format"] > FORMAT:
            raise UserError(f"{box} has format {data['format']}; update Spotter to read it")
        arrays = {key: _as_array(text) for key, text in data["arrays"].items()}
        content = packing.unpack(data["fault"], arrays)
        words = {word: content[word] for word in ("kind", "text", "traceback")}
        fault = Fault(content["copy"], **words, replay_log=_as_replay_log(content["tape"]))
        _check_trust(box, content["config"])
        return Box(fault, validate(content["config"]), bool(content["training"]))
    except UserError:
        raise
    except UNREADABLE as error:
        raise UserError(f"{path} cannot be read: {type(error).__name__}: {error}") from error


def replay(box: Path, timeout_s: float = 30.0, say: Callable[[str], None] = print) -> Verdict:
    """Replay the log in a process of its own; a step that takes longer than `timeout_s` hangs."""
    fault = read(box).fault
    if fault.replay_log is None or not (
        fault.replay_log.start or fault.replay_log.seed is not None
    ):
        raise UserError(f"{box} holds no replay log: the steps before this failure are unknown")
    child, here = children.start(_play, str(box))
    last: deque[str] = deque(maxlen=_SHOWN)
    try:
        seen, step = _follow(here, child, timeout_s, last)
    finally:
        child.kill()
        child.join()
        here.close()
    for line in last:
        say(line)
    return _judge(fault, seen, step)


def _follow(
    pipe: Connection, child: Any, timeout_s: float, last: deque[str]
) -> tuple[Fault | None, int]:
    """How the child fails, if it does, and at which step of the replay log."""
    step, patience = 0, _START_S
    while True:
        if not pipe.poll(patience):
            return Fault(0, "hung", f"did not return for {patience:g} s", "", None), step
        try:
            word, value = pipe.recv()
        except (EOFError, OSError):
            child.join(5)
            return Fault(0, "died", f"died with {ending(child.exitcode)}", "", None), step
        if word == "user error":
            raise UserError(value)
        if word == "fault":
            return value, step
        if word == "over":
            return None, step
        patience = timeout_s
        if word == "step":
            step, action = value
            last.append(f"step {step}: action {action}")
        elif word == "paid":
            last[-1] += f", reward {value:g}"


def _judge(fault: Fault, seen: Fault | None, step: int) -> Verdict:
    assert fault.replay_log is not None
    due = len(fault.replay_log.actions)
    if seen is None:
        return Verdict(False, f"nothing failed in {due} steps; at the time, {fault.text}")
    same = (seen.kind, _error(seen), step) == (fault.kind, _error(fault), due)
    if same:
        return Verdict(True, f"it {_what(seen)} again at step {step}")
    return Verdict(False, f"it {_what(seen)} at step {step} of {due}; at the time, {fault.text}")


def _what(seen: Fault) -> str:
    if seen.kind == "raised":
        return f"raised {_error(seen)}"
    return "returned what is not finite" if seen.kind == "not finite" else seen.text


def _error(fault: Fault) -> str:
    """The name of the exception, where there was one."""
    found = re.search(r"\) raised (\w+):", fault.text)
    return found[1] if found else ""


def _play(pipe: Connection, box: str) -> None:
    """Body of the child: builds the env as in the run, then replays the log action by action."""
    with contextlib.suppress(ConnectionError):
        try:
            with trust.trusting():  # the parent has read it before
                opened = read(Path(box))
            _play_tape(pipe, opened)
            pipe.send(("over", None))
        except UserError as error:
            pipe.send(("user error", str(error)))
        except EnvError as error:
            pipe.send(("fault", error.fault))


def _play_tape(pipe: Connection, opened: Box) -> None:
    config, replay_log = opened.config, opened.fault.replay_log
    assert replay_log is not None
    signals = config.reward.signals if opened.training else ()
    build = EnvBuilder(config.env, signals, training=opened.training).build
    probe = build()
    layout = Layout.of(probe)
    probe.close()
    fields = layout.fields(1)
    buffers = assemble({name: np.zeros(shape, dtype) for name, (shape, dtype) in fields.items()})
    lanes = Slice([build()], buffers, build)
    pipe.send(("ready", None))
    lanes.rewind(0, replay_log)
    for step, action in enumerate(replay_log.actions, 1):
        pipe.send(("step", (step, np.asarray(action).tolist())))
        buffers.action[0] = action
        lanes.step()
        pipe.send(("paid", float(buffers.reward[0])))
    lanes.close()
