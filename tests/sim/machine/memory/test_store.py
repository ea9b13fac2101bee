"""sim.machine.memory.store against a dict of bytes."""

import random

import numpy as np
import pytest

from metronome.hdl.config import MemoryMap
from metronome.sim.machine.memory.store import PAGE_BYTES, AccessError, SparseMemory

MAP = MemoryMap()
#: Places worth hitting: both ends of memory, page boundaries, the program.
PLACES = (MAP.first, PAGE_BYTES, 5 * PAGE_BYTES - 64, MAP.start, MAP.start + PAGE_BYTES - 64, MAP.end - 128)


def random_addr(rng, size):
    return rng.choice(PLACES) + rng.randrange(128 // size) * size


@pytest.mark.parametrize("seed", range(4))
def test_random_traffic_matches_a_dict(seed):
    rng = random.Random(seed)
    memory, reference = SparseMemory(), {}
    for step in range(400):
        where = f"seed {seed}, step {step}"
        kind = rng.choice(["write", "line", "scatter", "read", "read_line", "gather", "word"])
        if kind == "write":
            addr = min(rng.choice(PLACES) + rng.randrange(64), MAP.end - 64)
            data = rng.randbytes(rng.randrange(1, 64))
            memory.write(addr, data)
            reference.update({addr + i: byte for i, byte in enumerate(data)})
        elif kind == "line":
            addr, data = random_addr(rng, 64), rng.randbytes(64)
            mask = rng.choice([0, (1 << 64) - 1, rng.getrandbits(64)])
            memory.write_line(addr, data, mask)
            reference.update({addr + i: data[i] for i in range(64) if mask >> i & 1})
        elif kind == "scatter":
            size, n = rng.choice([1, 2, 4]), rng.randrange(1, 33)
            addrs = [random_addr(rng, size) for _ in range(n)]
            data = [rng.getrandbits(32) for _ in range(n)]
            memory.scatter(np.array(addrs, np.uint32), np.array(data, np.uint32), size)
            for addr, value in zip(addrs, data, strict=True):
                reference.update({addr + i: value >> 8 * i & 0xFF for i in range(size)})
        elif kind == "read":
            addr = min(rng.choice(PLACES) + rng.randrange(64), MAP.end - 64)
            n = rng.randrange(64)
            assert memory.read(addr, n) == bytes(reference.get(addr + i, 0) for i in range(n)), where
        elif kind == "read_line":
            addr = random_addr(rng, 64)
            assert memory.read_line(addr) == bytes(reference.get(addr + i, 0) for i in range(64)), where
        elif kind == "word":
            addr = random_addr(rng, 4)
            expected = bytes(reference.get(addr + i, 0) for i in range(4))
            assert memory.read_word(addr) == int.from_bytes(expected, "little"), where
        else:
            size, n = rng.choice([1, 2, 4]), rng.randrange(1, 33)
            addrs = [random_addr(rng, size) for _ in range(n)]
            expected = [int.from_bytes([reference.get(a + i, 0) for i in range(size)], "little") for a in addrs]
            got = memory.gather(np.array(addrs, np.uint32), size)
            assert got.dtype == np.uint32 and got.tolist() == expected, where


@pytest.mark.parametrize("span", [64, 4 * PAGE_BYTES])
def test_scatter_the_last_of_equal_addresses_wins(span):
    rng = np.random.default_rng(7)
    memory = SparseMemory()
    addrs = (MAP.start + rng.integers(0, 16, 5000) * (span // 16)).astype(np.uint32)
    memory.scatter(addrs, np.arange(5000, dtype=np.uint32), 4)
    last = {addr: i for i, addr in enumerate(addrs.tolist())}
    assert {addr: memory.read_word(addr) for addr in last} == last


def test_outside_memory():
    memory = SparseMemory()
    outside = ((0, 4, 0), (MAP.first - 1, 2, MAP.first - 1), (MAP.end - 2, 4, MAP.end), (MAP.end, 1, MAP.end))
    for addr, n, reported in outside:
        assert not memory.contains(addr, n)
        with pytest.raises(AccessError) as error:
            memory.read(addr, n)
        assert error.value.addr == reported
        with pytest.raises(AccessError, match="outside memory"):
            memory.write(addr, bytes(n))
    with pytest.raises(AccessError):
        memory.read_line(0)
    with pytest.raises(AccessError):
        memory.write_line(MAP.end, bytes(64), 1)
    for addr in (0, MAP.end):
        with pytest.raises(AccessError):
            memory.read_word(addr)
    assert memory.contains(MAP.first, MAP.end - MAP.first)


def test_a_scatter_with_one_bad_lane_writes_nothing():
    memory = SparseMemory()
    addrs = np.array([MAP.user, MAP.end + 8, 0], np.uint32)
    with pytest.raises(AccessError) as error:
        memory.scatter(addrs, np.array([1, 2, 3], np.uint32), 4)
    assert error.value.addr == MAP.end + 8
    with pytest.raises(AccessError) as error:
        memory.gather(addrs, 4)
    assert error.value.addr == MAP.end + 8
    assert memory.pages() == []


def test_bad_lines_are_refused():
    memory = SparseMemory()
    with pytest.raises(ValueError, match="addr must be a multiple of 64, not 0x10004"):
        memory.read_line(0x10004)
    with pytest.raises(ValueError, match="addr must be a multiple of 64, not 0x10004"):
        memory.write_line(0x10004, bytes(64), 1)
    with pytest.raises(ValueError, match="data must be 64 bytes, not 63"):
        memory.write_line(0x10000, bytes(63), 1)


def test_copies_are_independent_and_compared():
    memory = SparseMemory()
    for i in range(10):
        memory.write(MAP.user + i * PAGE_BYTES, bytes([i + 1]))
    copy = memory.copy()
    assert copy.equal(memory) and memory.equal(copy)
    copy.write(MAP.user, b"\x01\x00\x00")
    assert copy.equal(memory)
    copy.write(MAP.start, b"\x07" * 20)
    copy.write(MAP.user, b"\x09")
    assert not memory.equal(copy) and not copy.equal(memory)
    assert list(memory.differences(copy, limit=3)) == [(MAP.user, 1, 9), (MAP.start, 0, 7), (MAP.start + 1, 0, 7)]
    assert memory.read(MAP.start, 1) == b"\x00"


WRITES = {
    "write": lambda memory, addr: memory.write(addr, b"\x01"),
    "line": lambda memory, addr: memory.write_line(addr & ~63, bytes(64), 1 << (addr & 63)),
    "scatter": lambda memory, addr: memory.scatter(np.array([addr], np.uint32), np.array([1], np.uint32), 1),
}


@pytest.mark.parametrize("kind", WRITES)
def test_a_write_to_a_remembered_word_forgets_it(kind):
    memory = SparseMemory()
    for addr in (MAP.start + 0x80, MAP.start + 0xC0):
        memory.remember(addr, "something")
    for addr in (MAP.start, MAP.start + 0x100, MAP.user):
        WRITES[kind](memory, addr)
        assert set(memory.remembered) == {MAP.start + 0x80, MAP.start + 0xC0}, hex(addr)
    assert memory.copy().remembered == {}
    WRITES[kind](memory, MAP.start + 0xC3)
    assert memory.remembered == {}
    memory.remember(MAP.start, "another thing")
    WRITES[kind](memory, MAP.start + 0xC3)
    assert memory.remembered == {MAP.start: "another thing"}


def test_numbers_are_little_endian():
    memory = SparseMemory()
    memory.write(MAP.end - 8, bytes(range(1, 9)))
    assert [memory.read_number(MAP.end - 4, size) for size in (1, 2, 4)] == [5, 0x605, 0x8070605]
    assert memory.read_number(MAP.user, 4) == 0
    for size in (1, 2, 4):
        with pytest.raises(AccessError):
            memory.read_number(MAP.end, size)
        with pytest.raises(AccessError):
            memory.read_number(MAP.first - size, size)
