"""How the doctor recognises a policy whose most likely action does worse than sampling.

Evaluation plays greedily unless `eval.deterministic` is false; training always samples.
"""

import numpy as np

from spotter.diagnose.doctor.case import Case
from spotter.diagnose.doctor.changes import to
from spotter.diagnose.doctor.found import Found
from spotter.diagnose.thresholds import is_looping


def eval_below_train(case: Case) -> Found | None:
    """What sampling does well the most likely action does badly."""
    recent = case.evaluations[-3:]
    if not recent or not case.setting("eval.deterministic"):
        return None
    steps, scores = case.history.curve("train/score")
    if len(scores) < 8:
        return None
    trained = [float(np.interp(one.env_steps, steps, scores)) for one in recent]
    gap = min(t - one.mean for t, one in zip(trained, recent, strict=True))
    limit = max(0.25 * abs(case.last - case.start), 0.25 * abs(case.last), 2 * case.spread)
    if not gap > (limit if len(recent) == 3 else 2 * limit):
        return None
    return Found(
        "Evaluation scores far less than training: the policy needs its own chance moves.",
        (f"eval/score {recent[-1].mean:.4g} at {recent[-1].env_steps:,} env steps, "
         f"train/score {trained[-1]:.4g} then", "eval.deterministic=true"),
        (to("eval.deterministic", False),),
    )  # fmt: skip


def greedy_loop(case: Case) -> Found | None:
    """The score counts games that were cut while the policy went in circles."""
    # a run whose budget is spent before an evaluation is due has its test alone
    is_evaluated = len(case.history.curve("eval/stalled")[1]) > 0
    stage, words = ("eval", "evaluation") if is_evaluated else ("test", "test")
    x, stalled = case.history.curve(f"{stage}/stalled")
    _, cut = case.history.curve("train/truncated")
    if not len(stalled) or not len(cut) or not case.setting("eval.deterministic"):
        return None
    share, in_training = float(stalled[-1]), float(cut[-1])
    if not is_looping(share, in_training):
        return None
    return Found(
        f"{share:.0%} of the {words} episodes go in circles until the time limit: the score "
        "counts games that were not played to their end.",
        (
            f"{stage}/stalled {share:.2f} at {int(x[-1]):,} env steps",
            f"train/truncated {in_training:.2f}",
        ),
        (to("eval.deterministic", False),),
    )
