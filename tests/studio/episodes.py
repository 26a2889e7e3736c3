"""Episodes as captures leave them, without a policy: small, and every step unlike the others."""

import io

import numpy as np
from PIL import Image

from spotter.episodes import format as traces
from spotter.episodes.format import Frames, Meta, Trace


def jpeg(step, size=(96, 64)):
    """A picture that moves: a bright bar further right at every step."""
    image = np.full((size[1], size[0], 3), 30, np.uint8)
    at = step * 7 % (size[0] - 8)
    image[:, at : at + 8] = (220, 160, 40)
    data = io.BytesIO()
    Image.fromarray(image).save(data, "JPEG")
    return data.getvalue()


def meta(run, length, **more):
    fields = {
        "run": run.id,
        "checkpoint": "step-000000640",
        "env_id": "CartPole-v1",
        "mode": "sampled",
        "seed": 7,
        "gamma": 0.9,
        "lam": 0.8,
        "action_names": ("push left", "push right"),
        "parts": ("env", "centre"),
        "info": ("speed",),
        "score": float(length),
        "length": length,
        "end": "terminated",
        "final_value": 0.0,
        "fps": 30,
        "fingerprint": "",
        "settings": run.settings(),
        "versions": {},
        "nvec": (2,),
    }
    return Meta(**{**fields, **more})


def columns(length, width=2):
    draw = np.random.default_rng(3)
    probability = draw.dirichlet(np.ones(width), length).astype(np.float32)
    action = draw.integers(0, width, length)
    return {
        "action": action,
        "probability": probability,
        "greedy": probability.argmax(1) == action,
        "log_prob": np.log(probability[np.arange(length), action]),
        "value": draw.normal(5, 1, length).astype(np.float32),
        "reward": np.ones(length),
        "training_reward": 1 + draw.normal(0, 0.1, length),
        "part": np.stack([np.ones(length), draw.normal(0, 0.1, length)], 1),
        "info": draw.normal(0, 1, (length, 1)),
    }


def store(run, trace):
    return traces.save(trace, traces.place(run, trace.meta)).name


def cartpole(run, length=40, **more):
    """Vectors and frames."""
    seen = np.random.default_rng(1).normal(0, 1, (length, 4)).astype(np.float32)
    frames = Frames([jpeg(step) for step in range(length)], jpeg(length))
    return store(
        run, Trace(meta(run, length, **more), {**columns(length), "obs/obs": seen}, frames)
    )


def recurrent(run, length=30, numbers=6, reach=1.0):
    """What a core holds: number k at step t is reach · sin(t + k)."""
    state = reach * np.sin(np.arange(length)[:, None] + np.arange(numbers))
    more = {"state": state.astype(np.float16), "obs/obs": np.zeros((length, 1), np.float32)}
    return store(run, Trace(meta(run, length, seed=23), {**columns(length), **more}))


def torque(run, length=3):
    """One axis from -2 to 2; the policy's own numbers are half as large."""
    made = {k: v for k, v in columns(length).items() if k not in ("probability", "greedy")}
    action = np.linspace(-1, 0, length, dtype=np.float32)[:, None]
    believed = {"mean": np.full((length, 1), 0.5), "std": np.full((length, 1), 0.25)}
    more = {"action": action, "received": 2 * action, **believed, "obs/obs": action}
    bounds = {"action_low": (-2.0,), "action_high": (2.0,)}
    about = meta(
        run, length, seed=11, action_kind="box", action_names=("torque",), nvec=(), **bounds
    )
    return store(run, Trace(about, {**made, **more}))


def pixels(run, length=12, stack=4, **more):
    """Gray pictures in a stack, and an action that is masked in every other step."""
    width = 3
    images = np.arange(length * stack)[:, None, None] % 251 + np.zeros((1, 84, 84))
    images = images.reshape(length, stack, 84, 84).astype(np.uint8)
    own = columns(length, width)
    own["mask"] = np.ones((length, width), bool)
    own["mask"][::2, 2] = False
    own["probability"][::2, 2] = 0
    names = {"action_names": ("noop", "fire", "up"), "nvec": (3,), "stacks": {"obs": stack}}
    trace = Trace(
        meta(run, length, **{**names, **more}),
        {**own, "obs/obs": images},
        Frames([jpeg(step) for step in range(length)]),
    )
    return store(run, trace)


def bandit(run, **more):
    """One step, no frames, no names."""
    own = columns(1, 10)
    length = {"action_names": (), "nvec": (10,), "parts": ("env",), "info": ()}
    own["part"], own["info"] = own["part"][:, :1], own["info"][:, :0]
    trace = Trace(
        meta(run, 1, **{**length, **more}), {**own, "obs/obs": np.zeros((1, 1), np.float32)}
    )
    return store(run, trace)
