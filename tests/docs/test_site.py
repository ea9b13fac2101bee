"""The sources of the site: its navigation and its links. `make docs` builds it, and allows no warning."""

import importlib.util
import re

import pytest

from tests.docs.pages import PAGES, ROOT


@pytest.fixture(scope="module")
def site():
    spec = importlib.util.spec_from_file_location("docs_site", ROOT / "docs" / "site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
    readme.write_text("[![p](docs/pictures/cycles.png)](docs/looking.md) [b](LICENSE)\n")
    assert site._links(page, tmp_path) == (
        "[a](isa.md#faults) [b](readme.md) [c](https://x.org) `hdl/sm.py` [e](#here)\n")
    assert site._links(other, tmp_path) == "[a](../isa.md) [b](../course/skeleton.py) [c](../contributing.md)\n"
    assert site._links(readme, tmp_path) == "[![p](pictures/cycles.png)](looking.md) `LICENSE`\n"


def test_every_module_of_the_reference_is_there(site):
    for modules in site.MODULES.values():
        for name in modules:
            assert (ROOT / (name.removeprefix("metronome.").replace(".", "/") + ".py")).exists(), name
