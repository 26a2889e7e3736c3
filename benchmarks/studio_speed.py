"""How quick Studio is in a real browser: pages until they are drawn, a zoom, and playing.

    python benchmarks/studio_speed.py             pages of 20 runs of 5,000 updates
    python benchmarks/studio_speed.py play [RECIPE] [SECONDS]

Makes its runs in a temporary folder and starts Studio on the loopback. Every figure is the best of
several visits with the first one beside it: on a machine that does other things as well, only the
best says something about Studio.
"""

import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from spotter.config import validate
from spotter.rundir.files import LineWriter
from spotter.rundir.run import Run

RUNS, UPDATES, METRICS, VISITS = 20, 5000, 60, 7
CHROMIUM = Path("/usr/bin/chromium")
_CHART = "getElement(Number(document.querySelector('%s').id.slice(1)))"
_DRAWN = f"{_CHART}?.chart?.getOption()?.series?.length > 0"
_ZOOM = f"""() => new Promise((done) => {{
  const chart = {_CHART}.chart, began = performance.now();
  const finish = () => {{ chart.off("finished", finish); done(performance.now() - began); }};
  chart.on("finished", finish);
  chart.dispatchAction({{ type: "dataZoom", start: 40, end: 40 + 20 * Math.random() + 5 }});
}})"""
_WATCH = """
window.seen = { draws: [], sent: {}, answered: {} };
const frames = {};  // the newest key each frame shows
const draw = CanvasRenderingContext2D.prototype.drawImage;
CanvasRenderingContext2D.prototype.drawImage = function (...args) {
  draw.apply(this, args);
  const now = performance.now();
  window.seen.draws.push(now);
  const game = getElement(Number(document.querySelector('.play').closest('[id^=c]').id.slice(1)));
  for (let key = frames[game.drawn] ?? 0; key > 0 && !(key in window.seen.answered); key--) {
    window.seen.answered[key] = now;
  }
};
const send = WebSocket.prototype.send;
WebSocket.prototype.send = function (data) {
  if (typeof data === "string" && data.includes('"do":"down"')) {
    const key = JSON.parse(data).number;
    window.seen.sent[key] = performance.now();
  }
  return send.call(this, data);
};
const parse = JSON.parse;
JSON.parse = (text, ...more) => {
  const found = parse(text, ...more);
  if (found?.kind === "frame") frames[found.number] = found.heard;
  return found;
};
"""


def make(home: Path, number: int) -> Run:
    """A finished run with the rows of a real one in outline, and invented numbers."""
    config = validate(
        {
            "env": {"id": "CartPole-v1", "family": "gymnasium", "count": 8},
            "algo": {"name": "ppo", "steps": 32, "lr": 1e-4 * (1 + number // 5)},
            "budget": {"env_steps": UPDATES * 256},
            "seed": number,
        }
    )
    run = Run.create(config, "CartPole-v1:ppo", home=home)
    with LineWriter(run.metrics_path) as lines:
        for update in range(1, UPDATES + 1):
            row: dict[str, Any] = {"update": update, "env_steps": update * 256}
            row["train/score"] = 400 * update / UPDATES + 30 * math.sin(update + number)
            row |= {"policy/entropy": 0.69 - update / 10_000, "policy/approx_kl": 0.01}
            row |= {"action/share/0": 0.4, "action/share/1": 0.6, "time/fps": 9000.0}
            row |= {f"loss/part{k}": math.cos(update * k) for k in range(3)}
            row |= {f"info/key{k}/mean": update * 0.001 * k for k in range(METRICS - len(row))}
            lines.write(row)
    run.finish("finished", env_steps=UPDATES * 256, score=400.0, best=400.0)
    return run


@contextmanager
def studio(home: Path) -> Iterator[str]:
    """The address of a Studio over a folder of runs."""
    command = [sys.executable, "-m", "spotter", "studio", "--no-browser", "--port", "0"]
    env = {**os.environ, "SPOTTER_RUNS": str(home), "PYTHONUNBUFFERED": "1"}
    server = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        found = re.search(r"http://\S+", server.stdout.readline())
        assert found, "Studio did not start"
        yield found[0]
    finally:
        server.terminate()
        server.wait(10)


@contextmanager
def browser() -> Iterator[Page]:
    with sync_playwright() as driver:
        path = str(CHROMIUM) if CHROMIUM.exists() else None
        chromium = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(120_000)
        yield page
        chromium.close()


def several(what: str, once: Callable[[], float]) -> None:
    taken = [once() for _ in range(VISITS)]
    print(f"{what:<58} first {1000 * taken[0]:6.0f} ms   best {1000 * min(taken):6.0f} ms")


def visit(page: Page, url: str, selector: str) -> float:
    """Seconds from the request until the chart has its lines."""
    page.goto("about:blank")
    began = time.perf_counter()
    page.goto(url, wait_until="commit")
    page.wait_for_function(f"document.querySelector('{selector}') && {_DRAWN % selector}")
    return time.perf_counter() - began


def zoom(page: Page, selector: str) -> float:
    milliseconds: float = page.evaluate(_ZOOM % selector)
    return milliseconds / 1000


def pages() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "runs"
        ids = [make(home, number).id for number in range(RUNS)]
        with studio(home) as url, browser() as page:
            visit(page, url + f"run/{ids[0]}", ".studio-chart")  # scripts come once
            several(
                f"run page, {UPDATES:,} updates x {METRICS} metrics",
                lambda: visit(page, f"{url}run/{ids[1]}", ".studio-chart"),
            )
            several("zoom into its score", lambda: zoom(page, ".studio-chart"))
            compare = f"{url}compare?runs={','.join(ids)}"
            several(
                f"compare page, {RUNS} runs x {UPDATES:,} updates",
                lambda: visit(page, compare, ".compare-line"),
            )
            several("zoom into all their curves", lambda: zoom(page, ".compare-line"))


def play(recipe: str = "ALE/Pong-v5", seconds: str = "8") -> None:
    with tempfile.TemporaryDirectory() as folder, studio(Path(folder)) as url, browser() as page:
        page.add_init_script(_WATCH)
        page.goto(f"{url}play?recipe={recipe}")
        page.locator(".play-mode").get_by_text("You", exact=True).click()
        page.get_by_role("button", name="Start").click()
        page.wait_for_selector(".play-columns:visible")
        page.wait_for_timeout(2000)
        page.keyboard.press("ArrowUp")  # a person's game waits for a key
        for _ in range(3):
            before, began = page.evaluate("window.seen.draws.length"), time.perf_counter()
            page.wait_for_timeout(1000 * float(seconds) / 3)
            after, ended = page.evaluate("window.seen.draws.length"), time.perf_counter()
            print(f"{recipe}: {(after - before) / (ended - began):.1f} frames/s drawn")
        for press in range(40):
            key = "ArrowUp" if press % 2 else "ArrowDown"
            page.keyboard.down(key)
            page.wait_for_timeout(60)
            page.keyboard.up(key)
            page.wait_for_timeout(90 + 13 * (press % 7))
        waits = page.evaluate("""Object.entries(window.seen.sent)
            .map(([key, at]) => window.seen.answered[key] - at).filter(Number.isFinite)""")
        middle, late = statistics.median(waits), sorted(waits)[int(0.95 * len(waits))]
        print(f"key to drawn frame, {len(waits)} presses: median {middle:.0f}, 95 % {late:.0f} ms")


if __name__ == "__main__":
    if sys.argv[1:2] == ["play"]:
        play(*sys.argv[2:])
    else:
        pages()
