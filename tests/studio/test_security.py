"""What must not work: other names, other pages, other paths, no token, unknown settings."""

import base64
import http.client
import json
import os
import shutil
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from spotter.launch import forms
from spotter.launch.checks import checked
from spotter.launch.worker import Worker
from spotter.studio.context import Context
from spotter.studio.server import _address
from spotter.system.request_guard import Door
from spotter.types import UserError
from tests.studio.making import make_run, start_server

TOKEN = "correct-horse-battery"
HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": base64.b64encode(b"0123456789abcdef").decode(),
}
SOCKET = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"


def ask(server, path="/", headers=None, method="GET"):
    """Status, headers, body; with exactly these headers, paths unnormalised."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
    try:
        connection.request(method, path, headers=headers or {})
        answer = connection.getresponse()
        body = b"" if answer.status == 101 else answer.read()
        return answer.status, dict(answer.getheaders()), body.decode(errors="replace")
    finally:
        connection.close()


@pytest.fixture(scope="module")
def guarded(studio_runs):
    server = start_server(studio_runs, "--host", "0.0.0.0", "--token", TOKEN)
    yield server
    server.stop()


# --- names and origins ----------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "192.168.1.5", "", "[::1"])
def test_another_name_for_this_machine_is_refused(studio, host):
    """DNS rebinding: evil.example resolves to 127.0.0.1, and its page is not ours."""
    status, _, body = ask(studio, headers={"Host": host.format(port=studio.port)})
    assert status in (400, 403)
    assert "<html" not in body


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_loopback_names_are_answered(studio, host):
    assert ask(studio, headers={"Host": f"{host}:{studio.port}"})[0] == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "http://["]
)
def test_another_pages_request_is_refused(studio, origin):
    status, _, body = ask(studio, headers={"Origin": origin})
    assert status == 403
    assert "other pages" in body


def test_what_another_page_embeds_is_refused_but_a_link_works(studio):
    embedded = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert ask(studio, headers=embedded)[0] == 403
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert ask(studio, headers=followed)[0] == 200


def test_the_websocket_refuses_other_origins_and_names(studio):
    own = f"http://127.0.0.1:{studio.port}"
    assert ask(studio, SOCKET, {**HANDSHAKE, "Origin": own})[0] == 101
    assert ask(studio, SOCKET, {**HANDSHAKE, "Origin": "http://evil.example"})[0] == 403
    assert ask(studio, SOCKET, {**HANDSHAKE, "Host": "evil.example"})[0] == 403
    polled = SOCKET.replace("websocket", "polling")
    assert ask(studio, polled, {"Origin": "http://evil.example"})[0] == 403


def test_no_page_may_frame_it(studio):
    headers = {key.lower(): value for key, value in ask(studio)[1].items()}
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"


# --- token ----------------------------------------------------------------------------------------


def test_without_the_token_nothing_is_served(guarded, studio_runs):
    run = next(path.name for path in studio_runs.iterdir() if path.is_dir())
    for path in ("/", f"/run/{run}", f"/files/{run}/run.log", "/?token=wrong-but-long-enough"):
        status, _, body = ask(guarded, path)
        assert status == 401
        assert run not in body
    assert ask(guarded, SOCKET, HANDSHAKE)[0] == 403
    forged = {"Cookie": "spotter_token=" + "x" * len(TOKEN)}
    assert ask(guarded, "/", forged)[0] == 401


def test_any_token_fits_into_an_address_and_a_cookie():
    door = Door.at("0.0.0.0", "a+b&c=d;é/ ok")
    assert parse_qs(urlsplit(_address("0.0.0.0", 1, door.token)).query)["token"] == [door.token]
    assert door.proof.isalnum() and door.remembers(door.proof)
    assert not door.remembers(door.token)


def test_the_token_is_asked_once_then_a_cookie(guarded):
    status, headers, _ = ask(guarded, f"/run/abc?token={TOKEN}&tab=log")
    assert status == 303
    assert headers["location"] == "/run/abc?tab=log"  # the token leaves the address
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie and "samesite=lax" in cookie.lower()
    assert ask(guarded, "/", {"Cookie": cookie.partition(";")[0]})[0] == 200


def test_the_token_redirect_stays_on_this_machine(guarded):
    _, headers, _ = ask(guarded, f"//evil.example/x?token={TOKEN}")
    assert headers["location"].startswith("/evil.example")


# --- paths ----------------------------------------------------------------------------------------

ESCAPES = ["..", "../..", "../secret", "%2e%2e", "..%2f..%2fsecret", "/etc", "....//", ".studio",
           ".deleted-x", "a\x00b", "C:\\Windows", "run/../../secret"]  # fmt: skip


@pytest.mark.parametrize("name", ESCAPES)
def test_nothing_outside_the_runs_folder_is_served(studio, studio_runs, name):
    (studio_runs.parent / "secret").mkdir(exist_ok=True)
    for file in ("run.json", "run.log"):
        (studio_runs.parent / "secret" / file).write_text("TOP SECRET")
    for template in ("/files/{}/run.log", "/run/{}", "/report/{}", "/files/x/videos/{}"):
        for path in (template.format(quote(name, safe="")), template.format(quote(name))):
            status, _, body = ask(studio, path)
            assert "TOP SECRET" not in body
            assert "root:" not in body
            assert status in (200, 307, 400, 404)


@pytest.mark.parametrize("name", [*ESCAPES, "", "x" * 400])
def test_an_id_that_is_none_is_refused(tmp_path, name):
    with pytest.raises(UserError):
        Context(tmp_path, Worker()).run_of(name)


def test_links_out_of_the_runs_folder_lead_nowhere(tmp_path):
    home, outside = tmp_path / "runs", tmp_path / "outside"
    elsewhere = make_run(outside)
    inside = make_run(home)
    (home / "linked").symlink_to(elsewhere.folder, target_is_directory=True)
    os.environ["SPOTTER_RUNS"] = str(home)
    context = Context(home, Worker())
    with pytest.raises(UserError, match="link"):
        context.run_of("linked")
    assert [info["id"] for info in context.infos()] == [inside.id]

    (inside.folder / "run.log").unlink()
    (inside.folder / "run.log").symlink_to("/etc/passwd")
    with pytest.raises(UserError, match="link"):
        context.file_of(inside.id, "run.log")


def test_a_link_deep_inside_a_run_is_not_served(tmp_path):
    run = make_run(tmp_path)
    (run.folder / "videos").mkdir()
    (run.folder / "videos" / "film.mp4").symlink_to("/etc/passwd")
    with pytest.raises(UserError, match="link"):
        Context(tmp_path, Worker()).file_of(run.id, "videos", "film.mp4")


def test_only_films_reports_and_logs_are_served(studio, studio_runs):
    run = next(path.name for path in studio_runs.iterdir() if (path / "run.json").is_file())
    assert ask(studio, f"/files/{run}/run.log")[0] == 200
    for name in ("run.json", "config.yaml", "metrics.jsonl", "trainer-1.lock"):
        assert ask(studio, f"/files/{run}/{name}")[0] == 404


def test_a_strangers_report_cannot_act_in_our_name(studio, studio_runs):
    run = next(path for path in studio_runs.iterdir() if (path / "run.json").is_file())
    status, headers, _ = ask(studio, f"/report/{run.name}")
    assert status == 303
    _, headers, body = ask(studio, headers["location"])
    policy = {key.lower(): value for key, value in headers.items()}["content-security-policy"]
    assert "sandbox" in policy and "default-src 'none'" in policy
    assert "<html" in body


def test_text_of_a_run_is_shown_and_never_run(own_studio, page):
    run = make_run(own_studio.runs, tags=("fine",))
    data = json.loads((run.folder / "run.json").read_text())
    evil = "<img src=x onerror=\"document.title='pwned'\">{{ 7*7 }}"
    data |= {"address": evil, "why": evil, "env": evil, "reason": evil, "actions": [evil]}
    (run.folder / "run.json").write_text(json.dumps(data))
    for path in ("", f"run/{run.id}"):
        page.goto(own_studio.url + path)
        page.get_by_text("onerror").first.wait_for()
        assert "pwned" not in page.title()
        assert "49" not in page.get_by_text("onerror").first.inner_text()


# --- forms ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("override", "near"),
    [("algo.lrr=1e-3", "algo.lr"), ("alog.lr=1e-3", "algo"), ("--no-save=1", "sections"),
     ("__class__.x=1", "not a setting"), ("env.idd=1", "env.id")],
)  # fmt: skip
def test_settings_that_do_not_exist_cannot_be_injected(override, near):
    with pytest.raises(UserError, match=near):
        checked("CartPole-v1:ppo", [override])


@pytest.mark.parametrize(
    "address", ["/etc/passwd", "../x.yaml:ppo", "recipes/x.yaml", "x.yml:a", "--resume", "", "a b",
                "~/x.yaml", "CartPole-v1:ppo --no-save"]
)  # fmt: skip
def test_files_and_options_are_no_addresses(address, tmp_path):
    with pytest.raises(UserError, match=r"cannot be started from here|unknown"):
        checked(address)


def test_a_line_that_is_no_override_is_refused():
    assert forms.overrides_of("# note\n\n algo.lr=1e-3 \n") == ["algo.lr=1e-3"]
    with pytest.raises(UserError, match="not an override"):
        forms.overrides_of("--no-save")


def test_a_copied_folder_is_a_run_of_its_own(tmp_path):
    run = make_run(tmp_path)
    shutil.copytree(run.folder, tmp_path / "copy")
    assert Context(tmp_path, Worker()).run_of("copy").info()["id"] == "copy"
    assert Path(tmp_path / "copy").is_dir()
