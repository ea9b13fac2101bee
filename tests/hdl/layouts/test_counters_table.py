"""The table of the counters: its CSR numbers, and docs/counters.md, which repeats it."""

from dataclasses import replace

import pytest

from metronome.hdl.isa.csrs import PERFORMANCE_CSRS, Csr
from metronome.hdl.layouts import counters
from metronome.hdl.layouts.counters import COUNTERS, StallReason, counter_places, counters_layout
from metronome.sim.build.sources import ROOT

DOC = ROOT / "docs" / "counters.md"
HIGH = 0x80


def table(text: str, header: str) -> list[str]:
    """The rows of the table in ``text`` that begins with ``header``."""
    lines = text.splitlines()
    rows = lines[lines.index(header) + 2:]
    return rows[: next((number for number, row in enumerate(rows) if not row.startswith("|")), len(rows))]


def counter_rows() -> list[str]:
    rows = []
    for counter in COUNTERS:
        number = "" if counter.csr is None else f"{counter.csr:#05X} ".replace("X", "x")
        number = number.replace(" ", ".. ") if counter.by_reason else number
        rows.append(f"| {number}| `{counter.name}` | {counter.about} |")
    return rows


def reason_rows() -> list[str]:
    (counter,) = (counter for counter in COUNTERS if counter.by_reason)
    return [
        f"| {number:#05X} | `{reason.name.lower()}` | {reason.about} |".replace("0X", "0x")
        for number, reason in counter.numbers()
    ]


def test_names_and_numbers_are_used_once():
    names = [counter.name for counter in COUNTERS]
    numbers = [number for counter in COUNTERS for number, _ in counter.numbers()]
    assert len(set(names)) == len(names) == len(list(counters_layout()))
    assert len(set(numbers)) == len(numbers)


def test_the_numbers_lie_in_the_window_of_counters():
    numbers = {number for counter in COUNTERS for number, _ in counter.numbers()}
    assert numbers | {number + HIGH for number in numbers} < PERFORMANCE_CSRS - set(Csr)


def test_the_low_bits_of_a_number_are_the_place():
    """The hardware finds a counter so, for software and for the port."""
    numbers = {(counter, reason): number for counter in COUNTERS for number, reason in counter.numbers()}
    places = counter_places()
    assert len(places) <= 32
    assert all(places[number & 31] == which for which, number in numbers.items())


def test_each_reason_has_its_number():
    (stalls,) = (counter for counter in COUNTERS if counter.by_reason)
    numbers = dict(stalls.numbers())
    assert (numbers[0xB0B], numbers[0xB15]) == (StallReason.LOAD, StallReason.POLICY)
    assert len(numbers) == len(StallReason) - 1


def test_the_doc_has_the_table_of_the_counters():
    assert table(DOC.read_text("utf-8"), "| CSR | name | counts |") == counter_rows()


def test_the_doc_has_the_table_of_the_reasons():
    assert table(DOC.read_text("utf-8"), "| CSR | reason | |") == reason_rows()


def test_a_number_that_is_not_the_counters_place_is_told(monkeypatch):
    """A csr that is taken, and a row before the stalls, which software reads by their numbers."""
    for wrong, where in ((replace(COUNTERS[-2], name="stores"), len(COUNTERS)), (COUNTERS[3], 5)):
        monkeypatch.setattr(counters, "COUNTERS", (*COUNTERS[:where], wrong, *COUNTERS[where:]))
        with pytest.raises(ValueError, match=rf"counters\.py: {wrong.name} is number \d+ of the counters: its csr"):
            counters._check_numbers()
