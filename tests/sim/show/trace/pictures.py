"""The pictures of docs/looking.md: ``python -m tests.sim.show.trace.pictures`` makes them anew.

It needs Debian's Chromium.
"""

import contextlib
import io
import shutil
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from metronome.scripts.cli import main
from metronome.sim.build.sources import ROOT

PICTURES = ROOT / "docs" / "pictures"
SIZE = {"width": 1200, "height": 780}


def page(folder, name, *words):
    file = folder / f"{name}.html"
    trace("psort", "--preset", "BASE", "--memory", "dram", *words, "-o", str(file))
    return file


def trace(*words):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        status = main(["trace", *words])
    if status:
        raise SystemExit(f"metronome trace {' '.join(words)}: {said.getvalue()}")


def draw(browser, file, name, *steps, size=SIZE, since=None, until):
    """Open ``file``, do the steps, and take the picture, from one element to another."""
    tab = browser.new_page(viewport=size)
    tab.goto(file.as_uri())
    settle(tab)
    for step in steps:
        tab.evaluate(step)
        settle(tab)
    first, last = (0 if name is None else tab.locator(name).first.bounding_box()["y"] for name in (since, until))
    box = {"x": 0, "y": first, "width": size["width"], "height": last - first}
    tab.screenshot(path=PICTURES / f"{name}.png", clip=box, full_page=True)
    tab.close()


def settle(tab):
    while not tab.evaluate("timeline.drawn > 0 && !timeline.asked && runs.every(run => !run.coming.size)"):
        time.sleep(0.05)
    tab.wait_for_timeout(150)


def make(folder):
    PICTURES.mkdir(exist_ok=True)
    swas = page(folder, "swas", "--issue", "gtlo", "--engine", "predict")
    baseline = page(folder, "baseline", "--mode", "baseline", "--issue", "gtlo")
    trace(
        "psort", "--preset", "BASE", "--memory", "dram", "--issue", "gtlo", "--engine", "predict",
        "--from", "1500", "--to", "1560", "-o", str(PICTURES / "figure.svg"),
    )
    both = folder / "both.html"
    trace("--diff", str(baseline), str(swas), "-o", str(both))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        draw(browser, swas, "whole", until="section[aria-label=Legend]")
        draw(
            browser, swas, "cycles", "timeline.show(1500, 1545)",
            "timeline.look({ run: 0, row: timeline.rows.find(row => row.warp === 3), cycle: 1519 })",
            until="section[aria-label=Legend]",
        )
        draw(
            browser, both, "two-runs", "byId('align').value = 'region'", "align('region')",
            "(() => { const at = runs[0].regions[0][0] + 1000; timeline.show(at, at + 80); })()",
            size={"width": 1200, "height": 1000}, until=".looks",
        )
        draw(browser, swas, "profile", since="section.profile", until="footer")
        browser.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        make(Path(temporary))
