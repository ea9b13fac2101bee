"""The sources of the site: its navigation and its links. `make docs` builds it, and allows no warning."""

import re

import pytest

from metronome.hdl.config import SmConfig
from tests.docs.pages import PAGES, ROOT
from tests.docs.site import load_site


@pytest.fixture(scope="module")
def site():
    return load_site()


def test_every_page_is_in_the_navigation_once(site):
    index = ROOT / "docs" / "index.md"
    entries = re.findall(r"^([\w/-]+)$", site._navigation(site._links(index, index.parent)), re.MULTILINE)
    pages = {str(path.relative_to(ROOT / "docs")).removesuffix(".md") for path in PAGES
             if path.is_relative_to(ROOT / "docs") and path != index}
    assert pages <= set(entries) and len(entries) == len(set(entries))
    assert [name.removesuffix(".md") for name in site.OTHERS if name.removesuffix(".md") not in entries] == []


def test_links_are_those_of_the_site(site, tmp_path):
    (tmp_path / "course").mkdir()
    page, other, readme = tmp_path / "own.md", tmp_path / "course" / "assignment.md", tmp_path / "readme.md"
    page.write_text("[a](isa.md#faults) [b](../README.md) [c](https://x.org) [d](../hdl/sm.py) [e](#here)\n")
    other.write_text("[a](../isa.md) [b](skeleton.py) [c](../../CONTRIBUTING.md)\n")
    readme.write_text("[![p](docs/pictures/cycles.png)](docs/looking.md) [b](LICENSE)\n"
                      "![c](docs/pictures/pipeline.svg) [![d](docs/pictures/whole.png)](https://x.org)\n")
    other.write_text(other.read_text() + "[policies.md](../policies.md#ages)\n")
    assert site._links(page, tmp_path) == (
        "[a](isa.md#faults) [b](readme.md) [c](https://x.org) `hdl/sm.py` [e](#here)\n")
    assert site._links(other, tmp_path) == ("[a](../isa.md) [b](../course/skeleton.py) [c](../contributing.md)\n"
                                            "[Warp policies](../policies.md#ages)\n")
    assert site._links(readme, tmp_path) == (
        "[![p](pictures/cycles.png)](looking.md) `LICENSE`\n"
        "![c](pictures/pipeline.svg) [![d](pictures/whole.png)](https://x.org)\n")


def test_every_module_of_the_reference_is_there(site):
    for modules in site.MODULES.values():
        for name in modules:
            assert (ROOT / (name.removeprefix("metronome.").replace(".", "/") + ".py")).exists(), name


def test_docstrings_become_those_of_the_site(site):
    settings = {}
    exec(site.SETTINGS.format(version="1.2.3"), settings)
    assert settings["release"] == "1.2.3"
    lines = ["A line: of :class:`hdl.config.SmConfig` and :func:`~sim.run.runner.run`, not :class:`ValueError`."]
    settings["before_napoleon"](None, "data", "", 0, None, lines)
    assert lines[0] == "\\ "
    assert ":class:`metronome.hdl.config.SmConfig` and :func:`~metronome.sim.run.runner.run`" in lines[1]
    assert lines[1].endswith(":class:`ValueError`.")
    lines = ["Sizes."]
    settings["after_napoleon"](None, "class", "", SmConfig, None, lines)
    assert lines[0] == "Sizes." and "- ``latency_mul``, in cycles: multiplications" in lines


def test_timelines_are_listed_where_a_page_asks_for_them(site):
    listed = site._timelines()
    for file in site.TIMELINES:
        assert f'href="timelines/{file}"' in listed
    assert [path.name for path in PAGES if site.TIMELINES_HERE in path.read_text("utf-8")] == ["index.md", "looking.md"]


def test_problems_of_built_pages_are_found(site, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "index.html").write_text(
        '<link rel="stylesheet" href="site.css?v=1"><link rel="next" href="sub/a.html"><img src="there.png">'
        '<a href="sub/a.html#here">a</a> <a href="sub/a.html#gone">b</a> <a href="gone.html">c</a> <a href="#own">d</a>'
        '<a href="https://example.org">e</a> <h1 id="own">f</h1><img src="data:image/png;base64,AA">'
    )
    (tmp_path / "sub" / "a.html").write_text(
        '<p id="here"><a href="../index.html#own">a</a><script src="https://cdn.example.org/x.js"></script>'
        '<style>p { background: url("gone.png") }</style><img src="//example.org/y.png">'
    )
    (tmp_path / "there.png").write_text("")
    (tmp_path / "site.css").write_text("@import 'https://example.org/z.css'; p { background: url(there.png) }")
    assert list(site.problems(tmp_path)) == [
        "index.html: sub/a.html#gone: there is no such place on that page",
        "index.html: there is no gone.html",
        "sub/a.html: https://cdn.example.org/x.js is loaded from a network",
        "sub/a.html: there is no gone.png",
        "sub/a.html: //example.org/y.png is loaded from a network",
        "site.css: https://example.org/z.css is loaded from a network",
    ]
