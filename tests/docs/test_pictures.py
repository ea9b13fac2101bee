"""The drawings of the pages stand alone, and what they show is true."""

import re
import tomllib
from xml.etree import ElementTree

import pytest

from tests.docs import front_ends, scaling
from tests.docs.pages import PAGES, ROOT
from tests.support.builds import on
from tests.system.scheme_builds import BASELINE, group_of

#: Drawings of the documentation; figure.svg is an output of metronome trace, on white paper.
DRAWINGS = sorted(set((ROOT / "docs" / "pictures").glob("*.svg")) - {ROOT / "docs" / "pictures" / "figure.svg"})
SVG = "{http://www.w3.org/2000/svg}"


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


def test_the_scaling_is_drawn_as_it_was_measured():
    data = scaling.read()
    assert scaling.PICTURE.read_text("utf-8") == scaling.picture(data), "python -m tests.system.measure_scaling"
    for kernel, row in data["strong"].items():
        speeds = scaling.speed_ups([cycles for cycles, _ in row["dram"]])
        assert all(speed < roof for speed, roof in zip(speeds, scaling.roofs(row), strict=True)), kernel


def test_where_bandwidth_ends_the_ideal():
    """100 lines take 400 cycles of the bus: of 1600 cycles, four times as fast; of 1000, between 2 and 4."""
    def at(cycles):
        return scaling.ridge({"dram": [[cycles, 100]] * 5})

    assert (at(1600), at(6400), at(6401)) == (4, 16, None)
    assert at(1000) == pytest.approx(2.5)
    # With the lines of 4 SMs four times as many, the roof falls from 8 to 2: it meets the ideal at its middle.
    falling = [[3200, lines] for lines in (100, 100, 400, 400, 400)]
    assert scaling.ridge({"dram": falling}) == pytest.approx(2 * 2 ** (2 / 3))


@pytest.mark.more
@on(group_of(*BASELINE))
def test_both_front_ends_are_drawn_as_they_run():
    assert front_ends.PICTURE.read_text("utf-8") == front_ends.picture(front_ends.schedules())
