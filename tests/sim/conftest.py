"""A browser without a network, for pages that we make."""

import shutil

import pytest


@pytest.fixture(scope="module")
def browser():
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no chromium: apt-get install chromium")
    sync_api = pytest.importorskip("playwright.sync_api", reason="there is no playwright: pip install playwright")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
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
