"""The drawings of the pages: what they show is true, and every text in them can be read."""

import re
import tomllib
from xml.etree import ElementTree

import pytest

from tests.docs import front_ends
from tests.docs.pages import PAGES, ROOT
from tests.support.builds import on
from tests.system.scheme_builds import BASELINE, group_of

DRAWINGS = sorted((ROOT / "docs" / "pictures").glob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"
#: Texts of a drawing that leave their box or the drawing, or that touch another text.
CLASHES = """() => {
  const box = element => element.getBoundingClientRect(), name = text => text.textContent;
  const texts = [...document.querySelectorAll("text")], rects = [...document.querySelectorAll("rect")].map(box);
  const holds = (outer, inner, slack) => outer.left <= inner.left + slack && inner.right <= outer.right + slack
    && outer.top <= inner.top + slack && inner.bottom <= outer.bottom + slack;
  const cut = texts.filter(text => {
    const its = box(text), y = (its.top + its.bottom) / 2;
    const points = [its.left + 3, (its.left + its.right) / 2, its.right - 3];
    const around = rects.filter(rect => rect.top < y && y < rect.bottom
      && points.some(x => rect.left < x && x < rect.right));
    const least = around.sort((one, two) => one.width * one.height - two.width * two.height)[0];
    return !least || !holds(least, its, 1.5);
  }).map(name);
  const over = texts.flatMap((one, place) => texts.slice(place + 1).filter(two => {
    const a = box(one), b = box(two);
    return a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3;
  }).map(two => `${name(one)} / ${name(two)}`));
  return [...cut, ...over];
}"""


@pytest.mark.parametrize("path", DRAWINGS, ids=lambda path: path.name)
def test_a_drawing_stands_alone_in_both_themes(path):
    text = path.read_text("utf-8")
    root = ElementTree.fromstring(text)
    width, height = root.get("width"), root.get("height")
    assert root.tag == f"{SVG}svg" and root.get("viewBox") == f"0 0 {width} {height}"
    assert root.find(f"{SVG}title").text
    assert not re.search(r"href|@import|<script|<image|url\((?!#)", text)
    # Every colour of the light theme has another one in the dark theme.
    light, dark = text.split("@media (prefers-color-scheme: dark)")
    kinds = set(re.findall(r"^\s*([.#\w][\w# .]*?) {[^}]*(?:fill|stroke): #", light, re.MULTILINE))
    assert kinds and kinds == set(re.findall(r"^\s*([.#\w][\w# .]*?) {[^}]*(?:fill|stroke): #", dark, re.MULTILINE))


def test_every_picture_is_on_a_page():
    shown = {(path.parent / link).resolve() for path in PAGES
             for link in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", path.read_text("utf-8"))}
    assert {path for path in (ROOT / "docs" / "pictures").iterdir() if path.name != "favicon.svg"} <= shown


def test_the_packages_are_those_of_the_import_contracts():
    contracts = {each["id"]: each for each in tomllib.loads(
        (ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]}
    root = ElementTree.parse(ROOT / "docs" / "pictures" / "packages.svg").getroot()
    rows: dict[float, list[str]] = {}
    for text in root.iter(f"{SVG}text"):
        if text.get("class", "").split()[:1] == ["name"]:
            rows.setdefault(float(text.get("y")), []).append(text.text)
    drawn = [name for _, names in sorted(rows.items()) for name in names]
    folders = [name.removesuffix("/") for name in drawn if name.endswith("/")]
    assert folders == [layer.removeprefix("metronome.") for layer in contracts["folders"]["layers"]]
    rooms = [" | ".join(names) for _, names in sorted(rows.items()) if not names[0].endswith("/")]
    layers = contracts["sim"]["layers"]
    assert rooms[: len(layers)] == layers
    hardware = [part.strip() for row in rooms[len(layers):] for part in row.split(",")]
    order = [part.strip() for layer in contracts["hdl"]["layers"] for part in layer.split(":")]
    assert hardware == [name for name in order if name in hardware]
    units = re.search(r"connects the units: ([\w, ]+)", ElementTree.tostring(root, "unicode"))[1].split(", ")
    assert " : ".join(sorted(units)) in contracts["hdl"]["layers"]


@on(group_of(*BASELINE))
def test_both_front_ends_are_drawn_as_they_run():
    assert front_ends.PICTURE.read_text("utf-8") == front_ends.picture(front_ends.schedules())


@pytest.mark.slow
@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize("path", DRAWINGS, ids=lambda path: path.name)
def test_every_text_of_a_drawing_is_whole(visit, path):
    tab, requests, complaints = visit(path)
    assert tab.evaluate(CLASHES) == []
    assert requests == [path.as_uri()] and not complaints


@pytest.mark.slow
@pytest.mark.xdist_group("browser")
def test_texts_that_clash_are_seen(visit, tmp_path):
    file = tmp_path / "bad.svg"
    file.write_text('<svg xmlns="http://www.w3.org/2000/svg" width="300" height="100"><rect width="300" height="100"/>'
                    '<rect x="10" y="10" width="40" height="20"/><text x="12" y="25">wider than its box</text>'
                    '<text x="150" y="60">one</text><text x="160" y="62">two</text></svg>', "utf-8")
    tab, _, _ = visit(file)
    assert tab.evaluate(CLASHES) == ["wider than its box", "one / two"]
