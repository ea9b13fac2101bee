"""The rows of a list of accesses: those of its lines, and of the lines behind that may be read ahead."""

import struct

from metronome.hdl.config import LINE_BYTES, MemoryMap
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.predict.lists import Lists
from metronome.sim.predict.model.records import AHEAD, LIST_WORDS

ENTRIES = [(0x8000_0000 + 4 * number, 1 << 6 | number) for number in range(11)]


def lists_at(*places):
    memory = SparseMemory()
    for place in places:
        memory.write(place, b"".join(struct.pack("<II", *each) for each in ENTRIES))
    return Lists(memory)


def test_rows():
    place = 0x4000_0000
    lists = lists_at(place)
    assert lists.at(place) == 0
    last = len(ENTRIES) // LIST_WORDS
    assert len(lists.table) == LIST_WORDS * (last + AHEAD)
    for number, (pc, word) in enumerate(ENTRIES):
        assert lists.table[number].tolist() == [pc, 0, word & 63, 1, place // LINE_BYTES + number // LIST_WORDS]
    assert not lists.table[len(ENTRIES) :, :-1].any()
    assert lists.lines == set(range(place // LINE_BYTES, place // LINE_BYTES + last + AHEAD))
    assert lists.at(place + 8) == 0, "the same line"


def test_a_list_behind_another_is_read_ahead_with_it():
    place = 0x4000_0000
    lists = lists_at(place, place + 2 * LINE_BYTES)
    assert lists.at(place) == 0
    assert lists.table[2 * LIST_WORDS][0] == ENTRIES[0][0]
    row = lists.at(place + 2 * LINE_BYTES)
    assert lists.table[row][0] == ENTRIES[0][0]


def test_a_list_at_the_end_of_memory():
    """What lies behind it memory refuses."""
    place = MemoryMap().end - 2 * LINE_BYTES
    lists = lists_at(place)
    lists.at(place)
    assert lists.table[len(ENTRIES) - 1][0] == ENTRIES[-1][0]
    assert not lists.table[len(ENTRIES) :, :-1].any()
