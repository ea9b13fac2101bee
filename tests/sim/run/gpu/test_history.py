"""Which values a load may return when other SMs store to the same place."""

import numpy as np
import pytest

from metronome.sim.run.gpu.history import Reader, StoreHistory

PLACE = 0x2_0000
AT_END = Reader(-1, -1, 1 << 62)


def history(*events):
    """From "store SM WARP CYCLE VALUE" and "order SM WARP CYCLE", in the order of their cycles."""
    made = StoreHistory(lambda address: 0)
    for event in events:
        kind, *numbers = event.split()
        sm, warp, cycle, *value = map(int, numbers)
        if kind == "store":
            made.store(sm, warp, cycle, np.array([PLACE], np.uint32), np.array(value, np.uint32), 1)
        else:
            made.order(sm, warp, cycle)
    return made


def seen(made, reader, values=range(8)):
    return {value for value in values if made.may_be(PLACE, value, reader)}


@pytest.mark.parametrize(("events", "reader", "values"), [
    ((), Reader(0, 0, 5), {0}),
    # Nothing orders them: the old value and the new one.
    (("store 1 0 10 1",), Reader(0, 0, 20), {0, 1}),
    # The storing warp has a fence, the loading one none; and the other way round.
    (("store 1 0 10 1", "order 1 0 12"), Reader(0, 0, 20), {0, 1}),
    (("store 1 0 10 1", "order 0 0 12"), Reader(0, 0, 20), {0, 1}),
    (("store 1 0 10 1", "order 1 0 12", "order 0 0 15"), Reader(0, 0, 20), {1}),
    # The fences in the wrong order; of another warp; after the load was issued.
    (("store 1 0 10 1", "order 0 0 12", "order 1 0 15"), Reader(0, 0, 20), {0, 1}),
    (("store 1 0 10 1", "order 1 1 12", "order 0 0 15"), Reader(0, 0, 20), {0, 1}),
    (("store 1 0 10 1", "order 1 0 12", "order 0 0 25"), Reader(0, 0, 20), {0, 1}),
    # Its own SM's stores are seen at once, those of two SMs in any order.
    (("store 0 1 10 1",), Reader(0, 0, 20), {1}),
    (("store 0 1 10 1", "store 1 0 11 2"), Reader(0, 0, 20), {1, 2}),
    (("store 1 0 10 2", "store 0 1 11 1"), Reader(0, 0, 20), {1, 2}),
    (("store 1 0 10 2", "order 1 0 12", "order 0 1 13", "store 0 1 14 1"), Reader(0, 0, 20), {1}),
    # A later store of the same SM replaces an earlier one only for those that must have seen it.
    (("store 1 0 10 1", "store 1 0 11 2"), Reader(0, 0, 20), {0, 1, 2}),
    (("store 1 0 10 1", "store 1 0 11 2", "order 1 0 12", "order 0 0 13"), Reader(0, 0, 20), {2}),
    # Stored after the load was issued, and before it is answered.
    (("store 1 0 30 1",), Reader(0, 0, 20), {0, 1}),
    (("store 0 1 30 1",), Reader(0, 0, 20), {0}),
    # At the end all stores are done.
    (("store 1 0 10 1",), AT_END, {1}),
    (("store 1 0 10 1", "store 0 0 11 2"), AT_END, {1, 2}),
    (("store 1 0 10 1", "order 1 0 11"), AT_END, {1}),
])
def test_values(events, reader, values):
    assert seen(history(*events), reader) == values


def test_bytes_of_a_word():
    made = StoreHistory(lambda address: 0xAA)
    made.store(1, 0, 5, np.array([PLACE, PLACE + 8], np.uint32), np.array([0x0403_0201, 7], np.uint32), 4)
    reader = Reader(0, 0, 9)
    for byte in range(4):
        assert made.may_be(PLACE + byte, byte + 1, reader) and made.may_be(PLACE + byte, 0xAA, reader)
        assert not made.may_be(PLACE + byte, byte + 2, reader)
    assert made.may_be(PLACE + 8, 7, reader) and not made.may_be(PLACE + 4, 7, reader)


def test_stores_that_come_after_a_question():
    made = history("store 1 0 10 1")
    assert seen(made, Reader(0, 0, 20)) == {0, 1}
    made.store(1, 0, 21, np.array([PLACE], np.uint32), np.array([3], np.uint32), 1)
    assert seen(made, Reader(0, 0, 22)) == {0, 1, 3}
