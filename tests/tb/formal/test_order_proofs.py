"""The reordering unit and its reader of lists are proved, and none with a bug is."""

import pytest

from metronome.tb.formal import flow
from metronome.tb.formal.flow import bounded_check, prove_problem
from metronome.tb.formal.order import order_problem
from metronome.tb.formal.order_list import list_problem
from metronome.tb.formal.patched import patched
from tests.support.tiers import some_long, some_more

#: Warps, depth of a channel, threads of a warp.
SIZES = [(2, 2, 1), (2, 1, 1), (3, 2, 1), (2, 3, 2), (4, 2, 2)]
_ORDER = "metronome.hdl.memory.order"
_UNIT, _RING, _READER = f"{_ORDER}.unit:OrderUnit", f"{_ORDER}.ring:Ring", f"{_ORDER}.reader:ListReader.elaborate"
#: Name: cycles to a run that shows it, threads, method, old text, new text.
BUGS = {
    "an entry is one access": (
        8, 1, f"{_UNIT}.elaborate", "known & goes & (line + 1 == reader.entry.lines)", "known & goes"),
    "the entry's kind does not count": (
        8, 1, f"{_UNIT}.elaborate", "& (access.write == reader.entry.store)", ""),
    "the entry's number of lines is not compared": (
        8, 1, f"{_UNIT}.elaborate", "& (access.first == (line == 0))", ""),
    "what comes overtakes what is there": (
        9, 1, f"{_UNIT}.elaborate", "~self._on | ~(whose & there).any()", "~self._on | (whose & arrives).any()"),
    "what comes goes into the channel first": (
        8, 1, f"{_UNIT}.elaborate", "(whose & there).any() | fresh", "(whose & there).any()"),
    "the coalescer waits for the lookup": (
        8, 1, f"{_UNIT}.elaborate", "(self._on | self.given.ready)", "self.given.ready"),
    "behind the end all is right": (
        8, 1, f"{_UNIT}._judge", "known & present & ~fits", "known & present & ~fits & ~reader.end"),
}
#: Of these a run is too long for a search: the step of the induction fails. Threads, method, old text, new text.
LATE = {
    "an entry that is left is no fault": (1, f"{_UNIT}._judge", "(reader.stop & ~reader.end) | ", ""),
    "a list that is over is still on": (
        1, f"{_UNIT}._switch", "self._closing.eq(0), self._on.eq(0)", "self._closing.eq(0)"),
    "there is room for one access": (
        2, f"{_RING}.elaborate", "count + claimed + most <= depth", "count + claimed + 1 <= depth"),
    "a claim is given up with the first access": (
        2, f"{_RING}.elaborate", "Mux(self.leave, most, 0)", "Mux(self.push, most, 0)"),
    "stores that leave are still there": (1, f"{_RING}.elaborate", " - (self.pop & self.pop_store)", ""),
    "what does not come keeps its claim": (1, f"{_RING}.elaborate", " - Mux(self.cancel, most, 0)", ""),
}
#: The same of the reader, whose lines are of one entry.
LINES = {
    "a slot is used again": (8, "active & ~asked.bit_select(tail | self.burst - 1, 1)", "active"),
    "a request is withdrawn": (
        8, " & ~(request.valid & ~request.ready)", ""),
    "answers are used as they come": (8, "write.addr.eq(response.payload.tag)", "write.addr.eq(head)"),
    "the first line is the next one": (6, "line.eq(self._line), ", "line.eq(self._line + 1), "),
    "a line is skipped": (9, "line.eq(line + 1), ", "line.eq(line + 2), "),
    "a refused line is as good as any": (8, "Mux(response.payload.error, arrived, 0)", "0"),
    "a burst begins with room for one line": (
        9, "asked.bit_select(tail | self.burst - 1, 1)", "asked.bit_select(tail, 1)"),
    "an end is seen where there is none": (9, "payload.error | Cat(~", "payload.error | Cat("),
    "a list goes on behind its end": (9, "self.quit | over | last", "self.quit"),
}


@pytest.mark.more
@pytest.mark.parametrize("size", some_long(SIZES, 1), ids=str)
def test_the_unit_is_proved(size):
    warps, depth, threads = size
    assert prove_problem(order_problem(warps=warps, depth=depth, threads=threads)) is None


@pytest.mark.slow
@pytest.mark.parametrize("size", some_long([(2, 4, 2), (1, 4, 2), (8, 4, 2), (1, 8, 4), (8, 16, 8)], 1), ids=str)
def test_the_reader_is_proved(size):
    """Entries of a line, lines ahead, lines of a burst: the last are those of the design."""
    words, ahead, burst = size
    assert prove_problem(list_problem(words=words, ahead=ahead, burst=burst)) is None


@pytest.mark.more
@pytest.mark.parametrize("name", some_more(some_long(BUGS, 2), 1))
def test_a_bug_is_found_from_reset(name):
    """A run from reset that violates one of the claims themselves."""
    cycles, threads, *change = BUGS[name]
    with patched(name, *change):
        target = order_problem(depth=2, threads=threads, lemmas=False)
    found = bounded_check(target, cycles)
    assert found is not None and found.violated


@pytest.mark.more
@pytest.mark.parametrize("name", some_long(LINES, 1))
def test_a_bug_of_the_reader_is_found_from_reset(name):
    cycles, *change = LINES[name]
    with patched(name, _READER, *change):
        target = list_problem(words=1, lemmas=False)
    found = bounded_check(target, cycles)
    assert found is not None and found.violated


@pytest.mark.more
@pytest.mark.parametrize("name", some_long(LATE, 1))
def test_a_bug_is_in_the_way_of_the_proof(name, monkeypatch):
    monkeypatch.setattr(flow, "SEARCH_SECONDS", 1)
    threads, *change = LATE[name]
    with patched(name, *change):
        target = order_problem(depth=2, threads=threads)
    found = prove_problem(target)
    assert found is not None and found.violated
