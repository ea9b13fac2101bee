"""Every link of a page leads somewhere: to a file of the repository, to a heading of a page, or out of it."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)


def anchors(page: str) -> set[str]:
    """The names that a forge gives to the headings of a page."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", _FENCE.sub("", page), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
        number = 1
        while name + (f"-{number}" if number > 1 else "") in found:
            number += 1
        found.add(name + (f"-{number}" if number > 1 else ""))
    return found


def dead_links(path: Path, root: Path) -> list[str]:
    """What the page at ``path`` links to and is not there."""
    found = []
    for link in _LINK.findall(_FENCE.sub("", path.read_text("utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        inside = target == root or root in target.parents
        if not inside or not target.exists() or (anchor and anchor not in anchors(target.read_text("utf-8"))):
            found.append(link)
    return found


@pytest.mark.parametrize("path", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    assert not dead_links(path, ROOT)


def test_every_page_of_docs_is_in_the_index():
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / link).resolve() for link in _LINK.findall(index.read_text("utf-8"))}
    assert set(PAGES) - linked - {index} == set()


def test_dead_links_are_seen(tmp_path):
    (tmp_path / "other.md").write_text("# A heading: `code`, twice\n\n```\n# no heading\n```\n", "utf-8")
    page = tmp_path / "page.md"
    page.write_text(
        "# Here\n[a](other.md) [b](other.md#a-heading-code-twice) [c](#here) [d](https://example.org/x)\n"
        "[e](missing.md) [f](other.md#no-heading) [g](#there) [h](../outside.md)\n", "utf-8",
    )
    assert dead_links(page, tmp_path) == ["missing.md", "other.md#no-heading", "#there", "../outside.md"]
