"""The pages in Debian's Chromium without a network: no complaint, no request, every figure to be seen."""

import re

import pytest

from tests.support.tiers import some_more

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

#: That of Crouzet 2024 has three times as many figures, of the same kinds.
PAGES = some_more(("magalhaes", "own", "bounds", "crouzet"), 1)
MEDIA = {
    "light": {"media": "screen", "color_scheme": "light"},
    "dark": {"media": "screen", "color_scheme": "dark"},
    "print": {"media": "print", "color_scheme": "dark"},
}
#: The contrast of what is drawn as text with the page, as WCAG 2.1 computes it.
CONTRAST = """() => {
  const luminance = text => {
    const parts = text.match(/[\\d.]+/g).slice(0, 3).map(part => part / 255)
      .map(part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const page = luminance(getComputedStyle(document.body).backgroundColor);
  return [...document.querySelectorAll("figure svg text, figcaption, p, h3")].map(element => {
    const style = getComputedStyle(element);
    const own = luminance(element instanceof SVGElement ? style.fill : style.color);
    return (Math.max(own, page) + 0.05) / (Math.min(own, page) + 0.05);
  }).reduce((least, each) => Math.min(least, each), 21);
}"""
#: Figures that are not drawn.
UNSEEN = """() => [...document.querySelectorAll("figure:not(.of-table)")].filter(figure => {
  const svg = figure.querySelector("svg"), box = svg.getBoundingClientRect();
  const marks = [...svg.querySelectorAll("[aria-roledescription=bar]")];
  return !figure.checkVisibility() || box.width < 200 || box.height < 60 || !marks.length
    || !marks.some(mark => mark.getBoundingClientRect().width > 1);
}).map(figure => figure.id)"""
#: Texts that are not whole in their drawing.
OUTSIDE = """() => [...document.querySelectorAll("figure svg")].flatMap(svg => {
  const box = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("text")].filter(text => {
    const its = text.getBoundingClientRect();
    return its.left < box.left || its.right > box.right || its.top < box.top - 3 || its.bottom > box.bottom + 3
      || text.textContent.includes("…");
  }).map(text => `${svg.closest("figure").id}: ${text.textContent}`);
})"""
#: Texts of a drawing that lie over each other.
OVERLAPS = """() => [...document.querySelectorAll("figure svg")].flatMap(drawing => {
  const boxes = [...drawing.querySelectorAll("text")].map(text => [text.textContent, text.getBoundingClientRect()]);
  return boxes.flatMap(([name, one], place) => boxes.slice(place + 1).filter(([, two]) =>
    one.left < two.right - 1 && two.left < one.right - 1 && one.top < two.bottom - 3 && two.top < one.bottom - 3
  ).map(([other]) => `${name} / ${other}`));
})"""


@pytest.fixture(params=PAGES)
def page_file(request, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(request.getfixturevalue(request.param)[1], "utf-8")
    return file


def test_a_page_in_light_dark_and_print(visit, page_file):
    tab, requests, complaints = visit(page_file)
    pages = set()
    for name, media in MEDIA.items():
        tab.emulate_media(**media)
        assert tab.evaluate(UNSEEN) == [], name
        assert tab.evaluate(OUTSIDE) == [], name
        assert tab.evaluate(OVERLAPS) == [], name
        assert tab.evaluate(CONTRAST) >= 4.5, name
        pages.add(tab.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert pages == {"rgb(255, 255, 255)", "rgb(20, 24, 28)"}
    hidden = tab.evaluate("[...document.querySelectorAll('td')].filter(cell => !cell.checkVisibility()).length")
    assert hidden <= tab.locator("details td").count(), "what is not folded is printed"
    assert [url for url in requests if not url.startswith("data:")] == [page_file.as_uri()]
    assert complaints == []


@pytest.mark.more
def test_a_page_is_as_wide_as_the_screen(visit, page_file):
    tab, _, _ = visit(page_file)
    for width in (390, 800, 1400):
        tab.set_viewport_size({"width": width, "height": 800})
        assert tab.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.more
def test_the_downloads_are_whole(visit, page_file):
    tab, _, _ = visit(page_file)
    figure = tab.locator("figure:not(.of-table)").first
    name = figure.get_attribute("id")
    for kind, beginning in (("SVG", "<svg"), ("CSV", "")):
        with tab.expect_download() as download:
            figure.get_by_role("link", name=kind, exact=True).click()
        assert download.value.suggested_filename == f"{name}.{kind.lower()}"
        text = download.value.path().read_text("utf-8")
        assert text.startswith(beginning) and len(text) > 50 and "var(--" not in text


@pytest.mark.more
def test_the_colours_of_changes_are_those_of_their_interval(visit, magalhaes, tmp_path):
    """Red from the darkest on, yellow, white, green to the darkest."""
    file = tmp_path / "page.html"
    file.write_text(magalhaes[1], "utf-8")
    tab, _, _ = visit(file)
    cells = tab.evaluate("""() => [...document.querySelectorAll("#magalhaes-table-1 td")].map(
        cell => getComputedStyle(cell).backgroundColor)""")
    colours = [tuple(map(int, re.findall(r"\d+", cell))) for cell in cells]
    assert len(set(colours)) == 9 and colours[4] == (255, 255, 255)
    assert all(red > green for red, green, _ in colours[:4]) and all(green > red for red, green, _ in colours[5:])
    brightness = [sum(colour) for colour in colours]
    assert brightness[:5] == sorted(brightness[:5]) and brightness[4:] == sorted(brightness[4:], reverse=True)
