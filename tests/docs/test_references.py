"""Sources are cited by the keys of docs/references.md, and by nothing else."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, text_files

#: A number instead of a name: "paper 000", "papers 001 and 003", "(003, section II)".
NUMBERED = re.compile(r"\bpapers? 00\d\b|\(00\d, (?:section|algorithm|table|figure)", re.IGNORECASE)

#: A name and a year, as most keys are.
CITED = re.compile(r"\b([A-Z][^\W\d_]+ (?:19|20)\d\d)\b")

#: Dates look alike.
MONTHS = {"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December"}


def keys(references: str) -> set[str]:
    """The keys of the page: what stands in bold at the beginning of each entry."""
    return set(re.findall(r"^- \*\*([^*]+)\*\*: ", references, re.MULTILINE))


def numbered(text: str) -> list[str]:
    return NUMBERED.findall(text)


def unknown(text: str, known: set[str]) -> list[str]:
    """What ``text`` cites that is not in ``known``; a key may be broken over two lines of a comment."""
    joined = re.sub(r"\s*\n\s*(?:#:?|//|\*)?\s*", " ", text)
    return sorted({key for key in CITED.findall(joined) if key not in known and key.split()[0] not in MONTHS})


PAGE = ROOT / "docs" / "references.md"


@pytest.fixture(scope="module")
def citing():
    """The texts of all files that may cite."""
    files = text_files(".py", ".md", ".c", ".h", ".cpp", ".S", ".sv", ".ld", ".toml", "Makefile")
    return {name: text for name, text in files.items() if ROOT / name not in {Path(__file__), PAGE}}


def test_no_source_is_cited_by_number(citing):
    assert not {name: found for name, text in citing.items() if (found := numbered(text))}


def test_every_key_is_in_the_references(citing):
    known = keys(PAGE.read_text("utf-8"))
    assert len(known) >= 10
    assert not {name: found for name, text in citing.items() if (found := unknown(text, known))}


def test_every_paper_that_is_a_key_is_cited(citing):
    """Those with a year; books of rules are cited by other forms of their names."""
    text = " ".join(re.sub(r"\s*\n\s*(?:#:?|//|\*)?\s*", " ", each) for each in citing.values())
    assert not [key for key in keys(PAGE.read_text("utf-8")) if CITED.fullmatch(key) and key not in text]


@pytest.mark.parametrize("text", ["see paper 001", "(Papers 003 and 004)", "algorithm 1 (003, section II)"])
def test_a_number_is_seen(text):
    assert numbered(text)


@pytest.mark.parametrize(("text", "missing"), [
    ("as in Crouzet 2024, section IV", []),
    ("as in Crouzet 2023", ["Crouzet 2023"]),
    ("# by the loop of Magalhães\n    # 1999 ends", ["Magalhães 1999"]),
    ("(October 2024)", []),
])
def test_a_key_is_looked_up(text, missing):
    assert unknown(text, {"Crouzet 2024"}) == missing


