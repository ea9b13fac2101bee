"""Plain English: no sentence of the pages has more than 25 words."""

import re
from collections.abc import Iterator

import pytest

from tests.docs.pages import PAGES, ROOT

LIMIT = 25

#: What is one word to a reader: code, a quoted title, the target of a link.
_ONE_WORD = (re.compile(r"`[^`]*`"), re.compile(r'"[^"]*"'))
_TARGET = re.compile(r"\]\([^)]*\)")
_FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
#: Its entries are titles and names, not sentences.
_NO_SENTENCES = {"references.md"}


def blocks(page: str) -> Iterator[str]:
    """Paragraphs and list items of a page, each in one line; no code, tables, headings."""
    block: list[str] = []
    for line in [*_FENCE.sub("", page).split("\n"), ""]:
        text = line.strip()
        starts = re.match(r"([-*]|\d+\.) ", text)
        code = line.startswith("    ") and not block
        if not text or starts or code or text.startswith(("|", "#", "<")):
            if block:
                yield " ".join(block)
            block = []
        if text and not code and not text.startswith(("|", "#", "<")):
            block.append(text[starts.end():] if starts else text)


def sentences(page: str) -> Iterator[str]:
    for block in blocks(page):
        text = _TARGET.sub("]", block)
        for pattern in _ONE_WORD:
            text = pattern.sub("CODE", text)
        yield from re.split(r"(?<=[.?!])[*_)]*\s+", text)


def words(sentence: str) -> int:
    return sum(any(letter.isalnum() for letter in word) for word in sentence.split())


def too_long(page: str) -> list[str]:
    return [f"{words(each)} words: {each}" for each in sentences(page) if words(each) > LIMIT]


@pytest.mark.parametrize("path", [path for path in PAGES if path.name not in _NO_SENTENCES],
                         ids=lambda path: str(path.relative_to(ROOT)))
def test_no_sentence_is_too_long(path):
    found = too_long(path.read_text("utf-8"))
    assert not found, "\n".join(found)


LONG = " ".join(["word"] * (LIMIT + 1))
SHORT = " ".join(["word"] * LIMIT)


@pytest.mark.parametrize(("page", "found"), [
    (f"{LONG}.", 1),
    (f"{SHORT}. {SHORT}.\n\n{SHORT}.", 0),
    (f"{SHORT}\n{SHORT}", 1),
    (f"- {SHORT}\n- {SHORT}", 0),
    (f"1. {SHORT}\n   word\n", 1),
    (f"```\n{LONG}\n```\n\n| {LONG} |\n\n    {LONG}\n", 0),
    (f"# {LONG}\n\nA `{LONG}` and [a]({LONG}).", 0),
    (f"**{SHORT}.** {SHORT}", 0),
    (f"text\n    {LONG}\n", 1),
])
def test_what_is_counted(page, found):
    assert len(too_long(page)) == found
