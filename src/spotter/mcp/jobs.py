"""What the worker process does for the tools: functions of plain data that take long."""


def evaluate(selector: str, episodes: int | None) -> list[dict[str, object]]:
    """Play a saved policy again, on test seeds where `episodes` is given."""
    from spotter.training.evaluate import play_again

    return [
        {
            "held_out_seeds": played.evaluation.seeds,
            "score": played.evaluation.score,
            "episodes": len(played.evaluation.scores),
            "least": min(played.evaluation.scores, default=None),
            "greatest": max(played.evaluation.scores, default=None),
            "solved": played.evaluation.solved,
            "as_written_down": played.as_written,
            **({"differs": played.differs} if played.differs else {}),
        }
        for played in play_again(selector, episodes)
    ]


def diagnose(run: str, trusted: bool) -> dict[str, object]:
    """What is wrong with a run, its environment included, which is tried."""
    from spotter.diagnose.doctor.run import as_data
    from spotter.diagnose.doctor.run import diagnose as found
    from spotter.rundir.identity import home
    from spotter.rundir.run import Run

    return as_data(found(Run(home() / run), environment=True, trusted=trusted))
