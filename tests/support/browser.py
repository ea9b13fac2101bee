"""Fixtures: a browser without a network, for pages that we make.

The browser has the fonts of a bare Debian, DejaVu alone: of the common ones they are the widest, and no page can
count on Arial.
"""

import os
import shutil
from pathlib import Path

import pytest

__all__ = ["browser", "fonts", "visit"]

#: Those of the Debian package fonts-dejavu-core.
FONTS = [f"DejaVu{name}.ttf" for name in ("Sans", "Sans-Bold", "SansMono", "SansMono-Bold", "Serif", "Serif-Bold")]
FONT_FOLDER = Path("/usr/share/fonts/truetype/dejavu")
FONTCONFIG = """<fontconfig>
  <dir>{folder}/fonts</dir>
  <cachedir>{folder}/cache</cachedir>
  <include ignore_missing="yes">/etc/fonts/conf.d</include>
</fontconfig>
"""


@pytest.fixture(scope="session")
def fonts(tmp_path_factory):
    """The environment of a program that finds DejaVu and no other font."""
    missing = [name for name in FONTS if not (FONT_FOLDER / name).exists()]
    if missing:
        pytest.skip(f"there is no {FONT_FOLDER / missing[0]}: apt-get install fonts-dejavu-core")
    folder = tmp_path_factory.mktemp("fontconfig")
    (folder / "fonts").mkdir()
    for name in FONTS:
        shutil.copy(FONT_FOLDER / name, folder / "fonts")
    (folder / "fonts.conf").write_text(FONTCONFIG.format(folder=folder))
    return {**os.environ, "FONTCONFIG_FILE": str(folder / "fonts.conf")}


@pytest.fixture(scope="session")
def browser(fonts):
    """One for all tests that open pages: they are one group of pytest-xdist."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no chromium: apt-get install chromium")
    sync_api = pytest.importorskip("playwright.sync_api", reason="there is no playwright: pip install playwright")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"], env=fonts)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser):
    """Open a page; the requests that it makes, and what it complains of."""
    context = browser.new_context(offline=True, has_touch=True, viewport={"width": 1100, "height": 900})

    def go(file):
        tab = context.new_page()
        requests, complaints = [], []
        tab.on("request", lambda request: requests.append(request.url))
        tab.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.goto(file.as_uri())
        return tab, requests, complaints

    yield go
    context.close()
