"""The AXI bridge with a bug: the random runs must see each of them, for the reason that it is meant for."""

import re

import pytest

from metronome.tb.formal.patched import patched
from tests.hdl.bus.axi_side import Chances, make, run
from tests.support.tiers import some_long, some_more

SEED = 7
_BUS = "metronome.hdl.bus"
_WRITES = f"{_BUS}.axi_writes:AxiWrites.elaborate"
_COLLECT = f"{_BUS}.axi_reads:AxiReads._collect"
_SLOTS = f"{_BUS}.slots:Slots.elaborate"
_MASTER = f"{_BUS}.axi:AxiMaster"
USUAL = Chances()
SLOW_SM = Chances(take=0.1, b=0.9, r=1, error=0)
BUSY = Chances(ask=1, take=0.5, aw=1, w=1, ar=1, b=1, r=1, error=0, write=0.2)

#: Name: method, text, what it becomes, how the sides behave, and a part of what must be found.
BUGS = {
    "a write is done when it was accepted": (
        _WRITES, "slots.done.eq(self.b_valid), slots.done_slot.eq(self.b_slot), slots.done_error.eq(self.b_error),",
        "slots.done.eq(moves & w.payload.last), slots.done_slot.eq(aw.payload.slot), slots.done_error.eq(0),",
        Chances(b=0.05, error=0), "before the bus has answered",
    ),
    "an answer that waits at the SM blocks the other channel": (
        f"{_MASTER}.elaborate", "axi.bready.eq(1)", "axi.bready.eq(~reads.response.valid | writes.response.valid)",
        SLOW_SM, "not accepted at once",
    ),
    "reads always go first": (
        f"{_MASTER}._answer", "writes.response.valid & ~(reads.response.valid & last)",
        "writes.response.valid & ~reads.response.valid", BUSY, "others go first",
    ),
    "beats of two reads are counted together": (
        _COLLECT, "before.addr.eq(self.r_slot),", "before.addr.eq(0),", USUAL,
        "before the bus has answered|read .* not ",
    ),
    "a beat goes to the line of the read before": (
        _COLLECT, "write.addr.eq(self.r_slot), write.data", "write.addr.eq(self.r_slot ^ 1), write.data", USUAL,
        "read .* not ",
    ),
    "WLAST is one early": (
        _WRITES, "w.payload.last.eq(more == 0)", "w.payload.last.eq(more == 1)", USUAL, "WLAST is not at the last beat",
    ),
    "every beat has the first one's strobes": (
        _WRITES, "mask.eq(mask >> (self._data_bits // 8))", "mask.eq(mask)", USUAL, "read .* not ",
    ),
    "an id is used again while it is under way": (
        _SLOTS, "self.slot.eq(encode(lowest_one(~taken)))", "self.slot.eq(0)", USUAL,
        "id whose (read|write) is in progress",
    ),
    "a place is free before its answer was taken": (
        _SLOTS, "ended.eq(Mux(self.valid & self.ready, one_hot(self.number, count), 0))",
        "ended.eq(Mux(self.done, one_hot(self.done_slot, count), 0))", SLOW_SM,
        "read .* not |waits for none|tag without|changed before",
    ),
    "an answer is lost while another waits": (
        _SLOTS, "waiting.w_en.eq(self.done & (waiting.r_rdy | ~load))", "waiting.w_en.eq(self.done & waiting.r_rdy)",
        SLOW_SM,
        "never answered",
    ),
    "AW goes away when W is taken": (_WRITES, "with m.If(aw.ready):", "with m.If(w.ready):", USUAL, "AWVALID fell"),
    "W waits until AW was taken": (
        f"{_MASTER}.elaborate", "axi.wvalid.eq(writes.w.valid)", "axi.wvalid.eq(writes.w.valid & ~writes.aw.valid)",
        Chances(both=True), "never answered",
    ),
    "a write overtakes the beats of the one before": (
        _WRITES, "(~w.valid | (w.ready & w.payload.last))", "1", USUAL,
        "WVALID fell, or W changed|AWVALID fell, or AW|WLAST",
    ),
    "an offered answer gives way": (
        f"{_MASTER}._answer", "held.eq(response.valid & ~response.ready)", "held.eq(0)", SLOW_SM, "response changed",
    ),
    "only the last beat's error counts": (
        _COLLECT, "(before.data.error & ~first) | self.r_error", "self.r_error", Chances(error=0.5),
        "should have failed",
    ),
    "an error stays for the next read": (
        _COLLECT, "(before.data.error & ~first)", "before.data.error", Chances(error=0.5), "should not have failed",
    ),
    "errors of writes are lost": (
        _WRITES, "slots.done_error.eq(self.b_error)", "slots.done_error.eq(0)", Chances(error=0.5),
        "should have failed",
    ),
    "bursts of two lines": (
        f"{_MASTER}._address", "8 * line_bytes // self.data_bits - 1", "16 * line_bytes // self.data_bits - 1", USUAL,
        "4 KiB boundary|whole aligned line",
    ),
    "writes may be buffered": (
        f"{_MASTER}._address", "_DEVICE, _NORMAL", "_DEVICE, _NORMAL | 1", USUAL, "bufferable",
    ),
    "an answer carries the tag of the next free place": (
        _SLOTS, "read.addr.eq(self.number)", "read.addr.eq(self.slot)", USUAL,
        "waits for none|tag without|read .* not |should",
    ),
    "an answer carries the line that comes in": (
        _COLLECT, "read.addr.eq(slots.number)", "read.addr.eq(self.r_slot)", SLOW_SM, "read .* not |changed before",
    ),
    "one beat of a line is in the other one's place": (
        _COLLECT, "(beat == place)", "(beat == (place ^ 1))", USUAL, "read .* not ",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", some_more(some_long(BUGS, 10), 3))
def test_bug_is_found(name):
    method, old, new, chances, text = BUGS[name]
    with patched(name, method, old, new):
        found = next(filter(None, (once(SEED + number, chances) for number in range(3))), [])
    assert re.search(text, " ".join(found)), found


def once(seed, chances):
    """What is wrong in one run; answers come thick and fast only on a wide bus."""
    wide = {"data_bits": 512, "reads": 4, "writes": 4} if chances is BUSY else {}
    return run(make(tag_bits=5, **wide), seed, chances=chances, lines=24, cycles=200).wrong


@pytest.mark.more
def test_without_a_bug_nothing_is_found():
    for chances in (SLOW_SM, Chances(both=True), BUSY):
        assert once(SEED, chances) == []
