"""The built site in Chromium without a network, from files: every page, narrow and wide, light and dark."""

import pytest

from tests.docs.site import load_site
from tests.support.polling import wait_until

pytestmark = [pytest.mark.more, pytest.mark.xdist_group("browser")]

WIDTHS = (400, 1400)
#: Texts that are cut or lie over each other, and a page that is wider than the window. Boxes that scroll cut nothing.
FAULTS = """() => {
  const found = [], root = document.documentElement, wide = root.clientWidth;
  if (root.scrollWidth > wide) found.push(`the page is ${root.scrollWidth} pixels wide`);
  const clip = element => {
    const box = { left: 0, right: wide, top: -Infinity, bottom: Infinity };
    let scrolls = false;
    for (let at = element; at && at !== document.body; at = at.parentElement) {
      const overflow = getComputedStyle(at).overflowX, its = at.getBoundingClientRect();
      if (overflow === "visible") continue;
      for (const side of ["left", "top"]) box[side] = Math.max(box[side], its[side]);
      for (const side of ["right", "bottom"]) box[side] = Math.min(box[side], its[side]);
      scrolls ||= overflow === "auto" || overflow === "scroll";
    }
    return [box, scrolls];
  };
  const boxes = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, text = node.data.trim(), element = node.parentElement;
    if (!text || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
        || element.closest("svg, .sidebar-drawer, .toc-drawer, .skip-to-content, .back-to-top, .headerlink")) continue;
    const range = document.createRange(), [box, scrolls] = clip(element);
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      if (rect.width < 2) continue;
      if (!scrolls && (rect.left < box.left - 1 || rect.right > box.right + 1)) found.push(`cut: ${text}`);
      const left = Math.max(rect.left, box.left), right = Math.min(rect.right, box.right);
      const top = Math.max(rect.top, box.top), bottom = Math.min(rect.bottom, box.bottom);
      if (right - left > 2 && bottom - top > 4) boxes.push({ left, right, top, bottom, text });
    }
  }
  boxes.sort((one, two) => one.top - two.top);
  boxes.forEach((one, place) => {
    for (let next = place + 1; next < boxes.length && boxes[next].top < one.bottom - 4; next++) {
      const two = boxes[next];
      if (one.left < two.right - 2 && two.left < one.right - 2) found.push(`over: ${one.text} / ${two.text}`);
    }
  });
  return found;
}"""


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    pytest.importorskip("sphinx", reason="there is no sphinx: make docs installs it")
    folder = tmp_path_factory.mktemp("site")
    assert load_site().build(folder) == 0
    return folder / "html"


def test_every_page_can_be_read(html, visit):
    tab, requests, complaints = visit(html / "index.html")
    faults = []
    for page in sorted(html.rglob("*.html")):
        tab.goto(page.as_uri())
        for theme in ("light", "dark"):
            tab.emulate_media(color_scheme=theme)
            for width in WIDTHS:
                tab.set_viewport_size({"width": width, "height": 900})
                # The size reaches the page with its next frame.
                tab.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
                name = f"{page.relative_to(html)}, {theme}, {width}"
                faults += [f"{name}: {fault}" for fault in tab.evaluate(FAULTS)]
    assert not faults, "\n".join(faults[:40])
    assert not complaints
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []


def test_the_search_finds_a_page(html, visit):
    tab, _, complaints = visit(html / "search.html")
    tab.goto(f"{(html / 'search.html').as_uri()}?q=starvation")
    tab.wait_for_selector("#search-results li a")
    assert "Warp policies" in tab.locator("#search-results li a").all_inner_texts()
    assert not complaints


def test_drawings_follow_the_theme_that_is_chosen(html, visit):
    tab, _, _ = visit(html / "architecture.html")
    found = {}
    for chosen in ("light", "dark"):
        tab.evaluate(f"localStorage.setItem('theme', '{chosen}')")
        tab.reload()
        box = tab.locator("img[src$='pipeline.svg']").bounding_box()
        # Not its corners, through which the page is seen.
        found[chosen] = tab.screenshot(clip={"x": box["x"] + 20, "y": box["y"] + 20, "width": 300, "height": 100})
    assert found["light"] != found["dark"]


def test_a_timeline_is_one_click_away(html, visit):
    tab, _, complaints = visit(html / "looking.html")
    tab.click("a[href='timelines/psort-lrr-gtlo.html']")
    wait_until(lambda: tab.evaluate("timeline.drawn > 0"), "a timeline is drawn")
    assert not complaints


def test_faults_are_seen(visit, tmp_path):
    file = tmp_path / "page.html"
    file.write_text("<body><p style='width:60px; overflow-x:hidden'>" + "wide" * 40 + "</p><p>above</p>"
                    "<p style='margin-top:-2.2em'>below</p><div style='overflow-x:auto'><pre>" + "long " * 900
                    + "</pre></div></body>", "utf-8")
    tab, _, _ = visit(file)
    assert tab.evaluate(FAULTS) == ["cut: " + "wide" * 40, "over: below / above"]
    file.write_text("<body><pre>" + "long " * 900 + "</pre></body>", "utf-8")
    tab.goto(file.as_uri())
    assert "pixels wide" in tab.evaluate(FAULTS)[0]
