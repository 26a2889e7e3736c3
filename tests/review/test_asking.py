"""What is sent, what is kept, and what is neither."""

import base64
import json
import threading

import pytest

from spotter import review
from spotter.review.shelf import keep
from spotter.types import UserError
from tests.pages.digest.making import make
from tests.review.server import Reply
from tests.studio import episodes


def test_nothing_is_sent_unless_a_model_is_set_up():
    run = make()
    with pytest.raises(UserError, match="no model is set up"):
        review.ask(run)
    assert review.stored(run) == []
    assert "to no model: SPOTTER_LLM_URL" in review.preview(run)


def test_the_answer_is_kept_with_the_run(model):
    run = make()
    found = review.ask(run, question="Is it luck?")
    assert (found.number, found.model, found.question) == (1, "tiny-2", "Is it luck?")
    assert found.answer == "Lower `algo.lr`."
    assert review.stored(run) == [found]
    text = (run.folder / "reviews" / "1.md").read_text(encoding="utf-8")
    assert text.startswith("# Review 1 by tiny-2\n")
    assert "> Is it luck?" in text
    assert text.endswith("Lower `algo.lr`.\n")
    event = list(run.events())[-1]
    assert (event["event"], event["number"], event["model"]) == ("review", 1, "tiny-2")
    assert review.ask(run).number == 2


def test_what_is_shown_is_what_is_sent(model):
    run = make()
    episodes.cartpole(run)
    shown = review.preview(run, question="Why?", frames=3)
    assert model.requests == []
    assert shown.startswith("About ")
    assert " tokens and 3 frames, to tiny at 127.0.0.1:" in shown.splitlines()[0]
    found = review.ask(run, question="Why?", frames=3)
    sent = model.requests[0]["messages"]
    parts = sent[1]["content"]
    texts = [sent[0]["content"], *(part["text"] for part in parts if part["type"] == "text")]
    assert all(text in shown for text in texts)
    assert shown.endswith(found.sent)
    assert "## Question\n\nWhy?" in parts[0]["text"]
    assert parts[0]["text"].startswith("# CartPole-v1 · ppo")


def test_frames_travel_as_pictures_with_what_happened_there(model):
    run = make()
    episodes.cartpole(run, length=40)
    found = review.ask(run, frames=3)
    parts = model.requests[0]["messages"][1]["content"]
    assert [part["type"] for part in parts] == ["text", *["text", "image_url"] * 3]
    assert found.frames == (0, 20, 39)
    assert parts[1]["text"].startswith("Step 0 of 40, does push ")
    assert "critic expects" in parts[1]["text"]
    head, data = parts[4]["image_url"]["url"].split(",")
    assert head == "data:image/jpeg;base64"
    assert base64.b64decode(data) == episodes.jpeg(20)


def test_frames_need_an_episode_with_pictures(model):
    run = make()
    with pytest.raises(UserError, match=f"`spotter inspect {run.id}`"):
        review.ask(run, frames=3)
    with pytest.raises(UserError, match="frames should be 0 to 32"):
        review.ask(run, frames=100)
    with pytest.raises(UserError, match=r"has no episode '\.\./\.\./x'"):
        review.ask(run, frames=1, episode="../../x")
    assert model.requests == []


def test_a_picture_that_is_none_is_not_sent(model, monkeypatch):
    monkeypatch.setattr(episodes, "jpeg", lambda *_: b"root:x:0:0")
    run = make()
    episodes.cartpole(run)
    with pytest.raises(UserError, match="is no JPEG"):
        review.ask(run, frames=2)
    assert model.requests == []


def test_no_path_host_or_user_is_ever_sent(model, monkeypatch, tmp_path):
    monkeypatch.setenv("SPOTTER_LLM_KEY", "sk-secret")
    monkeypatch.setattr("getpass.getuser", lambda: "annika")
    run = make(why="annika on deep-thought: see /home/annika/notes.txt")
    run.event("note", {"text": r"from C:\Users\annika\x.yaml"})
    path = run.folder / "run.json"
    info = json.loads(path.read_text())
    info |= {"by": "bertram", "host": "deep-thought.lan"}
    path.write_text(json.dumps(info))
    (run.folder / "config.yaml").write_text(
        (run.folder / "config.yaml").read_text() + "\nmine: {file: /data/bertram/rom.bin}\n"
    )
    episodes.cartpole(run)
    found = review.ask(run, question=f"Why did {run.folder} fail, asks Bertram?", frames=2)
    sent = json.dumps(model.requests).lower()
    for secret in ("annika", "bertram", "deep-thought", "/home", "/data", "c:\\\\", "sk-secret"):
        assert secret not in sent
    assert str(tmp_path).lower() not in sent
    assert f"why did {run.id} fail, asks (name)?" in sent
    kept = "".join(p.read_text() for p in (run.folder / "reviews").iterdir())
    assert "sk-secret" not in kept + run.events_path.read_text() + found.sent


def test_a_question_loses_paths_but_not_markup(model):
    asked = "Why <b>so</b>, at </b>/data/roms/x.bin?"
    assert review.ask(make(), question=asked).question == "Why <b>so</b>, at </b>x.bin?"


def test_frames_are_of_the_run_s_own_game_where_there_is_an_episode_of_it(model):
    run = make()
    plain = episodes.cartpole(run)
    other = episodes.cartpole(run, length=20, changes=("env.time_limit=20",))
    assert review.ask(run, frames=2).episode == plain, "though the other is newer"
    shown = review.preview(run, frames=2, episode=other)
    assert "This was not the run's own game: env.time_limit=20." in shown


def test_a_failed_question_leaves_nothing(model):
    run = make()
    model.answers(Reply(400, {"error": "no"}))
    with pytest.raises(UserError, match="refused: 400"):
        review.ask(run)
    assert not (run.folder / "reviews").exists()
    assert all(event["event"] != "review" for event in run.events())


def test_reviews_that_come_at_once_all_stay():
    run = make()
    fields = {
        "by": "me", "model": "m", "question": "q", "answer": "a", "is_cut": True, "tokens": 1,
        "frames": (), "episode": "", "sent": "",
    }  # fmt: skip
    threads = [threading.Thread(target=keep, args=(run, fields)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found.number for found in review.stored(run)] == list(range(1, 9))
    assert not list((run.folder / "reviews").glob(".*"))
    assert "cut by the server" in (run.folder / "reviews" / "8.md").read_text()


def test_damaged_reviews_are_passed_over(model):
    run = make()
    found = review.ask(run)
    for name, text in (("2.json", "{"), ("3.json", "{}"), ("x.json", '{"number": 1}')):
        (run.folder / "reviews" / name).write_text(text)
    assert review.stored(run) == [found]
