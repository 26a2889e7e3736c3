"""Run folders as training leaves them, without training."""

from collections.abc import Callable

from spotter.rundir.run import Run


def maker(make_config) -> Callable[..., Run]:
    """`make(score=3.0, scores=[2.0, 4.0], config={"seed": 2})`: a run, by default finished."""

    def make(
        env_id="CartPole-v1", *, status="finished", scores=(), seeds="test", config=None, **fields
    ) -> Run:
        settings = make_config(env_id, **(config or {}))
        parent = fields.pop("parent", None)
        run = Run.create(settings, f"{env_id}:ppo", ["spotter", "train"], parent=parent)
        steps = fields.setdefault("env_steps", 100)
        if scores:
            mean = sum(scores) / len(scores)
            data = {"seeds": seeds, "env_steps": steps, "score": mean, "scores": list(scores)}
            run.event("evaluation", data)
            fields.setdefault("score" if seeds == "test" else "best", mean)
        if status == "running":
            run.update(**fields)
        else:
            run.finish(status, **fields)
        return run

    return make
