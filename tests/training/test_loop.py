"""When a run evaluates, saves, films and stops."""

import json
import math
import subprocess
import sys
import time
from itertools import pairwise

import pytest

from spotter.rundir import identity, process
from spotter.rundir.archive import export_run
from spotter.rundir.run import Run, all_runs, select
from spotter.training import checkpoint
from spotter.training.evaluate import Evaluator, play_again
from spotter.training.resume import fork, resume
from spotter.training.run import train
from spotter.training.selection import read_candidate
from spotter.types import UserError
from spotter.video import FilmStopped


def ran(make_config, env_id="CartPole-v1", **sections):
    sections = {"budget": {"env_steps": 640}, "video": {"when": None}, **sections}
    config = make_config(env_id, **sections)
    return train(config, new_run=lambda: Run.create(config, "x")).run


def evaluated_at(run):
    events = [event for event in run.events() if event["event"] == "evaluation"]
    return [event["env_steps"] for event in events if event["seeds"] == "eval"]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"every_steps": 128}, [128, 256, 384, 512, 640]),
        ({"every_steps": 100}, [128, 256, 320, 448, 512, 640]),
        ({"every_steps": 128, "after_steps": 300}, [320, 384, 512, 640]),
        ({"every_steps": None}, []),
        ({"every_steps": 128, "after_steps": 10_000}, []),
    ],
)
def test_cadence_and_warm_up_count_env_steps(make_config, settings, expected):
    """Copies times steps per update is 64, so evaluations come with the first update after."""
    assert evaluated_at(ran(make_config, eval={"episodes": 2, **settings})) == expected


@pytest.mark.parametrize(("threshold", "fraction"), [(475.0, 0.02), (475.0, 1.0), (-1.0, 0.5)])
def test_evaluation_waits_for_the_training_score(make_config, threshold, fraction):
    settings = {"every_steps": 64, "episodes": 2, "after_score": fraction}
    run = ran(make_config, env={"threshold": threshold}, eval=settings)
    wanted = threshold - (1 - fraction) * abs(threshold)
    rows = list(run.metrics())
    # the score before an update decides whether its weights are evaluated
    due = [
        row["env_steps"]
        for before, row in pairwise(rows)
        if before.get("train/score", float("-inf")) >= wanted
    ]
    at = evaluated_at(run)
    if fraction == 1.0:
        assert at == []
    elif threshold < 0:
        assert at, "a positive score has long reached it"
        assert at == [step for step in due if step <= at[-1]], "and the first ends the run"
    else:
        assert at == due
        assert at


def test_solved_is_a_number_in_the_rows_and_ends_training_at_once(make_config):
    run = ran(make_config, env={"threshold": 5.0}, eval={"every_steps": 128, "episodes": 3})
    rows = list(run.metrics())
    assert [row["env_steps"] for row in rows] == [64, 128], "not one update more"
    assert "eval/solved" not in rows[0]
    assert (rows[1]["eval/solved"], rows[1]["test/solved"]) == (1.0, 1.0)
    assert run.info()["solved"] is True
    assert run.info()["reason"] == "solved"


def test_an_unsolved_run_says_zero(make_config):
    rows = list(ran(make_config, eval={"every_steps": 320, "episodes": 3}).metrics())
    assert rows[-1]["eval/solved"] == 0.0
    assert rows[-1]["test/solved"] == 0.0


def test_train_steps_to_the_threshold_are_kept(make_config):
    settings = {"every_steps": None, "episodes": 3}
    run = ran(make_config, env={"threshold": 5.0}, eval=settings)
    rows = list(run.metrics())
    merits = [row.get("merit/train_steps_to_threshold") for row in rows]
    first = next(merit for merit in merits if merit is not None)
    assert merits[-1] == first == run.info()["train_steps_to_threshold"]
    reached = next(row for row in rows if "merit/train_steps_to_threshold" in row)
    assert reached["env_steps"] == first
    assert run.info()["steps_to_threshold"] == 640, "its test is its first evaluation"


def test_steps_to_the_threshold_are_those_of_the_first_evaluation_that_reached_it(make_config):
    settings = {"every_steps": 256, "episodes": 3, "stop_when_solved": False}
    run = ran(make_config, env={"threshold": 5.0}, eval=settings)
    info = run.info()
    assert info["threshold"] == 5.0
    assert info["steps_to_threshold"] == 256 == info["total_steps_to_threshold"]
    assert info["train_steps_to_threshold"] < 256
    merits = {row["env_steps"]: row.get("merit/steps_to_threshold") for row in run.metrics()}
    assert (merits[192], merits[256], merits[640]) == (None, 256, 256)
    never = ran(make_config, env={"threshold": 5000.0}, eval=settings).info()
    assert not any(never[name] for name in identity.REACHED)


def test_steps_to_the_threshold_of_forks_of_forks(make_config):
    """A fork begins to count at 0, and its ancestors' steps are in the total."""

    def forked(selector, threshold):
        evaluated = {"every_steps": 128, "episodes": 2, "stop_when_solved": False}
        sections = {"budget": {"env_steps": 256}, "video": {"when": None}, "eval": evaluated}
        config = make_config("CartPole-v1", env={"threshold": threshold}, **sections)
        origin = fork(selector)
        made = lambda: Run.create(config, "x", parent=origin.parent())  # noqa: E731
        return train(config, new_run=made, origin=origin).run

    first = ran(make_config, eval={"every_steps": None, "episodes": 2})
    second = forked(f"{first.id}/@latest", threshold=5000.0)
    third = forked(f"{second.id}/@latest", threshold=5.0)
    assert second.info()["parent"]["total_env_steps"] == 640
    assert third.info()["parent"]["total_env_steps"] == 640 + 256
    assert third.info()["steps_to_threshold"] == 0, "its first weights reach it"
    assert third.info()["total_steps_to_threshold"] == 640 + 256
    assert second.info()["total_steps_to_threshold"] is None


def test_saves_by_the_clock_between_evaluations(make_config):
    never = {"every_steps": None, "episodes": 2}
    run = ran(make_config, eval=never, checkpoint={"every_s": 1e-9, "keep": None})
    steps = sorted(int(path.name[5:]) for path in (run.folder / "checkpoints").glob("step-*"))
    assert steps == [64 * update for update in range(1, 11)]
    rows = list(run.metrics())
    assert all(row["time/save_s"] > 0 for row in rows[1:]), "how long saving took is a metric"
    run = ran(make_config, eval=never, checkpoint={"every_s": None, "keep": None})
    steps = [int(path.name[5:]) for path in (run.folder / "checkpoints").glob("step-*")]
    assert steps == [640], "only at the end"


@pytest.mark.parametrize(("when", "films"), [("end", 1), ("eval", 3), ("best", None), (None, 0)])
def test_films_are_made_when_asked(make_config, monkeypatch, when, films):
    monkeypatch.setattr("spotter.training.filming._FEWEST_S", math.inf)  # on any machine
    settings = {"every_steps": 200, "episodes": 2}
    run = ran(make_config, eval=settings, video={"when": when})
    found = sorted((run.folder / "videos").glob("*.mp4"))
    if films is None:
        best = [event for event in run.events() if event["event"] == "video"]
        assert len(found) == len(best) >= 1
        assert all(event["best"] for event in best)
    else:
        assert len(found) == films
    for event in run.events():
        if event["event"] == "video":
            scores = [e["scores"] for e in run.events() if e["event"] == "evaluation"]
            assert any(event["score"] in each for each in scores), "it shows a scored episode"


def test_a_film_that_is_cut_has_no_score(make_config, monkeypatch):
    monkeypatch.setattr("spotter.training.filming._FEWEST_S", 0.0)
    monkeypatch.setattr("spotter.training.filming._FILM_S", 0.0)
    monkeypatch.setattr("spotter.training.filming._FILM_SHARE", 0.0)
    run = ran(make_config, eval={"every_steps": 200, "episodes": 2}, video={"when": "end"})
    (film,) = [event for event in run.events() if event["event"] == "video"]
    assert film["score"] is None
    assert any("shows the first" in event.get("text", "") for event in run.events())


@pytest.mark.parametrize("when", ["end", "eval"])
def test_what_a_film_shows_is_saved_before_it_is_made(make_config, monkeypatch, when):
    seen = []

    def save_video(folder, config, evaluation, *, best, stop, within_s):
        assert (within_s < math.inf) == (when == "end"), "one asked for takes its time"
        run = Run(folder)
        is_last = evaluation.env_steps == 640
        assert run.info()["status"] == ("finished" if is_last or when == "end" else "running")
        over = is_last or when == "end"
        assert (run.trainer() is None) is over, "at the end a resume may take it"
        assert ("filmed" if over else "trained") in run.in_use()
        latest = checkpoint.read(checkpoint.find_in(run, "@latest"))
        assert latest.env_steps == (640 if when == "end" else evaluation.env_steps)
        seen.append(evaluation.env_steps)
        raise KeyboardInterrupt if is_last or when == "end" else FilmStopped

    monkeypatch.setattr("spotter.video.save_video", save_video)
    settings = {"every_steps": 320, "episodes": 2, "stop_when_solved": False}
    with pytest.raises(KeyboardInterrupt):
        ran(make_config, eval=settings, video={"when": when})
    run = select("@last")
    assert run.info()["status"] == "finished", "whatever becomes of its film"
    assert run.trainer() is None
    assert len(seen) == (1 if when == "end" else 2)


def test_an_environment_that_cannot_be_filmed_says_so_once(make_config):
    settings = {"every_steps": 128, "episodes": 2}
    run = ran(
        make_config, "spotter.testing.scripted:Scripted-v0", eval=settings, video={"when": "eval"}
    )
    notes = [event["text"] for event in run.events() if event["event"] == "note"]
    assert len([note for note in notes if note.startswith("no videos:")]) == 1
    assert run.info()["status"] == "finished"


def test_a_run_ends_when_its_minutes_are_spent_and_is_tested_then(make_config):
    limits = {"env": {"threshold": 1000.0}, "budget": {"env_steps": None, "minutes": 0.02}}
    run = ran(make_config, eval={"episodes": 2, "every_steps": None}, **limits)
    rows = list(run.metrics())
    assert run.info()["reason"] == "budget"
    assert "test/score" in rows[-1] or run.evaluations()[-1]["seeds"] == "test"
    # the minutes may run out a moment after the last row was written
    assert rows[-1]["time/elapsed_s"] > 1.1 and rows[-2]["time/elapsed_s"] < 1.2
    assert 0 < rows[0]["run/progress"] < rows[-2]["run/progress"] < 1
    assert rows[0]["time/eta_s"] == pytest.approx(1.2 - rows[0]["time/elapsed_s"], abs=0.05)


def test_a_pause_is_told_while_it_lasts(make_config, monkeypatch):
    told = []
    run = Evaluator.run

    def watched(self, *given):
        told.append(start.pause())
        return run(self, *given)

    class Listener:
        def open(self, opened):
            nonlocal start
            start = opened

        def __getattr__(self, name):
            return lambda *given: None

    start = None
    monkeypatch.setattr(Evaluator, "run", watched)
    settings = {"budget": {"env_steps": 64}, "eval": {"episodes": 2, "every_steps": 64}}
    train(make_config("CartPole-v1", **settings), [Listener()])
    assert told == ["evaluating 2 episodes", "testing on 2 unseen episodes"]
    assert start.pause() == ""


def test_the_phase_is_in_run_json_while_it_lasts(make_config, monkeypatch):
    monkeypatch.setattr("spotter.training.phases._SHORT_S", 0.0)
    told = []
    update = Run.update

    def telling(run, **fields):
        told.extend([fields["phase"]] if "phase" in fields else [])
        update(run, **fields)

    monkeypatch.setattr(Run, "update", telling)
    run = ran(
        make_config,
        budget={"env_steps": 64},
        eval={"episodes": 2, "every_steps": 64},
        video={"when": "end"},
    )
    phases = list(dict.fromkeys(told))
    assert phases == ["training", "evaluating", "testing", "saving", "", "filming"]
    assert told[-3:] == ["", "filming", ""]
    assert run.info()["phase"] == ""


def test_the_nearer_limit_of_a_budget_counts(make_config):
    run = ran(make_config, budget={"env_steps": 640, "minutes": 60})
    assert [row["run/progress"] for row in run.metrics()][-1] == 1.0
    assert run.info()["env_steps"] == 640


def test_a_run_that_has_spent_its_minutes_asks_for_more(make_config):
    limits = {"env": {"threshold": 1000.0}, "budget": {"env_steps": None, "minutes": 0.02}}
    run = ran(make_config, eval={"episodes": 2, "every_steps": None}, **limits)
    with pytest.raises(UserError, match=r"spent its budget of 0\.02 minutes.*budget\.minutes=1$"):
        resume(run.id)
    assert resume(run.id, ["budget.minutes=1"]).notes[0] == ("the budget of 0.02 min becomes 1 min")


def test_a_test_that_never_ends_is_given_up_with_the_budget(make_config, monkeypatch, capfd):
    monkeypatch.setattr("spotter.training.loop._TEST_S", 0.5)
    limits = {"env": {"threshold": 1000.0}, "budget": {"env_steps": None, "minutes": 0.005}}
    run = ran(make_config, eval={"episodes": 1_000_000, "every_steps": None}, **limits)
    info = run.info()
    assert (info["status"], info["reason"], info["score"]) == ("interrupted", "terminated", None)
    assert "its minutes are long spent" in capfd.readouterr().err


# --- the best score in run.json ------------------------------------------------------------------

TRAINS = """
import sys
from spotter.config import resolve
from spotter.rundir.run import Run
from spotter.training import train

if __name__ == "__main__":
    config = resolve("CartPole-v1:ppo", sys.argv[1:]).config
    train(config, new_run=lambda: Run.create(config, "CartPole-v1:ppo"))
"""
ENDLESS = ("budget.env_steps=10000000", "eval.every_steps=512", "eval.episodes=2",
           "eval.stop_when_solved=false", "video.when=null")  # fmt: skip


def written(run):
    return json.loads((run.folder / "run.json").read_text())["best"]


def pointed(run):
    return json.loads((run.folder / "checkpoints" / "best.json").read_text())["score"]


def evaluations(run):
    return [one["score"] for one in run.evaluations() if one["seeds"] == "eval"]


def killed(tmp_path, mode):
    """A run that was evaluated a few times, then ended by kill -9."""
    script = tmp_path / "trains.py"
    script.write_text(TRAINS)
    trainer = subprocess.Popen([sys.executable, script, *ENDLESS, f"eval.mode={mode}"])
    try:
        until = time.monotonic() + 600  # a busy machine takes its time
        while not any(len(evaluations(run)) > 3 for run in all_runs()):
            assert trainer.poll() is None and time.monotonic() < until
            time.sleep(0.05)
    finally:
        trainer.kill()
        trainer.wait()
    return select("@last")


@pytest.mark.parametrize("mode", ["inline", "async"])
def test_a_run_that_was_killed_has_a_best_score(tmp_path, mode):
    run = killed(tmp_path, mode)
    info, scores = run.info(), evaluations(run)
    assert (info["status"], info["score"]) == ("silent", None)
    assert min(scores) <= written(run) == pointed(run), "over more episodes than those of a score"
    assert select("@best-of:CartPole-v1") == run
    origin = resume(run.id, [f"budget.env_steps={info['env_steps'] + 4096}"])
    train(origin.config, (), lambda: origin.take_up([], "a test"), origin)
    assert written(run) == pointed(run) == read_candidate(checkpoint.find(run.id)).interval.mean


def test_the_best_score_is_written_when_it_changes(make_config, monkeypatch):
    told = []
    update = Run.update

    def telling(run, **fields):
        told.extend([fields["best"]] if "best" in fields else [])
        update(run, **fields)

    monkeypatch.setattr(Run, "update", telling)
    run = ran(make_config, eval={"every_steps": 128, "episodes": 2})
    assert told[-1] == run.info()["best"] == pointed(run)
    assert len(told) >= 2, "not only at the end"


@pytest.mark.parametrize("left", [None, -1.0])
def test_a_resumed_run_takes_up_the_best_score_a_kill_left_untold(make_config, left):
    run = ran(make_config, eval={"every_steps": 128, "episodes": 2})
    best, path, seen = pointed(run), run.folder / "run.json", []
    path.write_text(json.dumps(json.loads(path.read_text()) | {"best": left}))
    origin = resume(run.id, ["budget.env_steps=704", "eval.every_steps=null"])

    class Looks:
        def row(self, row):
            seen.append(written(run))

        def __getattr__(self, name):
            return lambda *given: None

    train(origin.config, [Looks()], lambda: origin.take_up([], "a test"), origin)
    assert seen == [best]


# --- the final score belongs to the weights that are kept ----------------------------------------


def test_a_run_that_ends_by_its_budget_is_scored_by_the_weights_it_keeps(make_config):
    """With a learning rate that ruins the policy, the best is an early one."""
    ruin = {"name": "ppo", "steps": 16, "lr": {"start": 1e-3, "end": 3.0, "shape": "linear"}}
    run = ran(make_config, algo=ruin, eval={"every_steps": 64, "episodes": 8})
    info = run.info()
    best, last = checkpoint.find(f"{run.id}/@best"), checkpoint.find(f"{run.id}/@latest")
    assert best != last, "or the test shows nothing"
    scores = checkpoint.read_scores(best)
    assert (info["score"], info["score_episodes"]) == (scores["test"]["score"], 8)
    assert info["score_interval"] == scores["test"]["interval"]
    assert info["best_env_steps"] == scores["eval"]["env_steps"] == int(best.name[5:])
    assert "test" not in checkpoint.read_scores(last)
    assert info["last_score"] == checkpoint.read_scores(last)["eval"]["score"] < info["best"]
    assert all(played.as_written for played in play_again(run.id))


def test_solved_once_is_solved(make_config):
    """A solved run that is trained on, and ruined, stays solved by the weights that did it."""
    run = ran(make_config, env={"threshold": 15.0}, eval={"every_steps": 64, "episodes": 4})
    solved = run.info()
    assert solved["solved"] is True
    more = ["eval.stop_when_solved=false", "budget.env_steps=1280", "algo.lr=3.0"]
    origin = resume(run.id, more)
    result = train(origin.config, (), lambda: origin.take_up([], ""), origin)
    info = run.info()
    assert result.solved is info["solved"] is True
    assert info["reason"] == "budget"
    assert info["score"] >= 15.0
    assert select("@best-of:CartPole-v1") == run
    assert all(played.as_written for played in play_again(f"{run.id}/@best"))


def test_a_killed_resume_of_a_solved_run_is_still_solved(make_config):
    run = ran(make_config, env={"threshold": 15.0}, eval={"every_steps": 64, "episodes": 4})
    origin = resume(run.id, ["eval.stop_when_solved=false", "budget.env_steps=1280"])

    class Dies:
        def row(self, row):
            raise MemoryError

        def __getattr__(self, name):
            return lambda *given: None

    with pytest.raises(MemoryError):
        train(origin.config, [Dies()], lambda: origin.take_up([], ""), origin)
    assert (run.info()["status"], run.info()["solved"]) == ("failed", True)


TAKE = """
import sys
from spotter.rundir import lock
from spotter.rundir.run import Run
run = Run(__import__("pathlib").Path(sys.argv[1]))
lock.take(run.folder, run.info())
print("taken", flush=True)
sys.stdin.read()
"""


def test_the_last_film_gives_way_to_a_resume(make_config, monkeypatch):
    """Another process takes the run while it is filmed; nothing more is written into it then."""
    seen = {}

    def files(run):
        return {path.name: path.read_bytes() for path in run.folder.glob("*.*")}

    def save_video(folder, config, evaluation, *, best, stop, within_s):
        run, pipe = Run(folder), subprocess.PIPE
        words = [sys.executable, "-c", TAKE, str(folder)]
        assert not stop() and run.info()["phase"] == "filming"
        seen["other"] = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True)
        assert seen["other"].stdout.readline() == "taken\n"
        seen["files"] = files(run)
        stop()
        raise AssertionError("it noticed")

    monkeypatch.setattr("spotter.video.save_video", save_video)
    try:
        ran(make_config, eval={"episodes": 2}, video={"when": "end"})
        run = select("@last")
        assert files(run) == seen["files"], "nor is a report written"
        assert run.info()["status"] == "finished"
        assert [event["event"] for event in run.events()][-2:] == ["alerts", "end"]
        assert run.trainer() == f"process {seen['other'].pid} on {process.host()}"
    finally:
        seen["other"].communicate("")


def test_a_run_that_is_filmed_is_not_exported(make_config, monkeypatch, tmp_path):
    told = []

    def save_video(folder, config, evaluation, *, best, stop, within_s):
        with pytest.raises(UserError) as refused:
            export_run(Run(folder), tmp_path / "a.zip")
        told.append(str(refused.value))
        raise FilmStopped

    monkeypatch.setattr("spotter.video.save_video", save_video)
    ran(make_config, eval={"episodes": 2}, video={"when": "end"})
    assert "is being filmed by process" in told[0]
