"""The configuration: the bytes of each entry, and that what is written is what is read."""

import random

import pytest

from metronome.hdl.presets import BASE
from metronome.sim.analysis.access_order.configuration import Entry, decode, encode, entries_of
from metronome.sim.program import kernels as kernel
from tests.sim.analysis.access_order.programs import listing_of


def test_the_bytes():
    entries = [Entry(0x8000_0124, False, 3, 1), Entry(0x8000_0128, True, 63, 32)]
    data = encode(entries)
    assert len(data) == 64
    assert data[:16].hex() == "2401008043000000290100803f080000"
    assert data[16:] == bytes(48)


@pytest.mark.parametrize("seed", range(5))
def test_what_is_written_is_read(seed):
    rng = random.Random(seed)
    for count in (0, 1, 6, 7, 8, 9, 15, 16, rng.randrange(200)):
        entries = [
            Entry(rng.randrange(1 << 30) * 4, rng.random() < 0.5, rng.randrange(64), rng.randrange(1, 64))
            for _ in range(count)
        ]
        data = encode(entries)
        assert decode(data) == entries
        # The end is there, and the line is full.
        assert len(data) % 64 == 0 and 8 * (count + 1) <= len(data) < 8 * (count + 1) + 64
        assert decode(data + b"\xff" * 64) == entries


def test_one_entry_an_instruction():
    listing = listing_of(BASE, kernel.prepare("transpose", None, None, 1, BASE))
    entries = decode(encode(entries_of(listing.accesses)))
    assert [(each.pc, each.store, each.warp, len(each.lines)) for each in listing.accesses] == [
        (each.pc, each.store, each.warp, each.lines) for each in entries
    ]
    assert max(each.lines for each in entries) > 1


@pytest.mark.parametrize(("field", "value"), [
    ("pc", 2), ("pc", -4), ("pc", 1 << 32), ("warp", 64), ("warp", -1), ("lines", 0), ("lines", 64),
])
def test_no_such_entry(field, value):
    with pytest.raises(ValueError, match=f"^{field} must be .*, not {value}$"):
        Entry(**({"pc": 0, "store": False, "warp": 0, "lines": 1} | {field: value}))


@pytest.mark.parametrize(("data", "text"), [
    (b"", "must end with an entry of zeros"), (encode([Entry(4, True, 1, 1)])[:8], "must end with an entry of zeros"),
    (bytes.fromhex("0400000041100000"), "bits above 11 of word 1 must be 0"),
    (bytes.fromhex("0400000001000000"), "lines must be between 1 and 63, not 0"),
    (bytes.fromhex("0200000041000000"), "pc must be a multiple of 4"),
])
def test_no_configuration(data, text):
    with pytest.raises(ValueError, match=text):
        decode(data)
