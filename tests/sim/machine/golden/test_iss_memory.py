"""Loads and stores: sizes, extension, lane order, and lanes that go to local and global memory at once."""

import random

import numpy as np
import pytest

from metronome.hdl.config import FaultCause, SmConfig
from metronome.sim.machine.golden import Fault
from metronome.sim.program.assembler import asm
from tests.sim.machine.golden.iss_harness import CONFIG, LOCAL, START, USER, load

LOADS = [(asm.lb, 1, True), (asm.lbu, 1, False), (asm.lh, 2, True), (asm.lhu, 2, False), (asm.lw, 4, False)]
STORES = [(asm.sb, 1), (asm.sh, 2), (asm.sw, 4)]
BASES = [USER, USER + 0xFFE0, LOCAL, LOCAL + CONFIG.local_bytes - 64, START + 0x10000]


def machine(words, mask, threads=8):
    config = SmConfig(warps=2, threads=threads)
    iss = load(words, config)
    iss.set_masks(np.array([0]), np.array([[bool(mask >> lane & 1) for lane in range(threads)]]))
    return iss


def peek(iss, addr):
    """A byte, wherever it lies."""
    if addr >= LOCAL:
        return int(iss.local.data[addr - LOCAL])
    return iss.memory.read(addr, 1)[0]


@pytest.mark.parametrize("seed", range(60))
def test_random_accesses_by_all_lanes(seed):
    """Against bytes in a dict: overlapping lanes, any mix of local and global, random masks."""
    rng = random.Random(seed)
    words, plan = [], []
    for _ in range(30):
        offset = rng.randrange(-16, 16) * 4
        if rng.random() < 0.5:
            op, size = rng.choice(STORES)
            words.append(op(6, offset, 5))
        else:
            op, size, _ = rng.choice(LOADS)
            words.append(op(7, offset, 5))
        plan.append((op, size, offset))
    mask = rng.choice([0xFF, rng.randrange(1, 256)])
    iss = machine(words, mask)
    active = [lane for lane in range(8) if mask >> lane & 1]
    reference = {}
    for number, (op, size, offset) in enumerate(plan):
        where = f"seed {seed}, instruction {number}"
        bases = rng.choice([[rng.choice(BASES)], BASES])
        addrs = [rng.choice(bases) + rng.randrange(32 // size) * size for _ in range(8)]
        data = [rng.getrandbits(32) for _ in range(8)]
        iss.poke(0, 5, 0xFF, (np.array(addrs) - offset).astype(np.uint32))
        iss.poke(0, 6, 0xFF, np.array(data, np.uint32))
        before = iss.regs[0, 7].tolist()
        commit = iss.step(0)
        assert commit.fault is None and commit.mask == mask, where
        if (op, size) in STORES:
            for lane in active:
                reference.update({addrs[lane] + i: data[lane] >> 8 * i & 0xFF for i in range(size)})
            stored_at, stored, stored_size, stored_mask = commit.store
            assert (stored_size, stored_mask, commit.rd) == (size, mask, None), where
            assert [int(stored_at[lane]) for lane in active] == [addrs[lane] for lane in active], where
            assert [int(stored[lane]) for lane in active] == [data[lane] % (1 << 8 * size) for lane in active], where
            assert all(peek(iss, addr) == byte for addr, byte in reference.items()), where
        else:
            signed = (op, size, True) in LOADS
            expected = list(before)
            for lane in active:
                raw = bytes(reference.get(addrs[lane] + i, 0) for i in range(size))
                expected[lane] = int.from_bytes(raw, "little", signed=signed) & 0xFFFFFFFF
            assert iss.regs[0, 7].tolist() == expected, where
            assert commit.rd == 7 and [int(commit.values[lane]) for lane in active] == [
                expected[lane] for lane in active
            ], where


def test_addresses_wrap_around():
    iss = machine([asm.lw(7, 4, 5)], 1)
    iss.memory.write(USER, b"\x05\0\0\0")
    iss.poke(0, 5, 1, np.full(8, USER - 4, np.uint32))
    assert iss.step(0).values[0] == 5
    iss = machine([asm.lw(7, 0x70, 5)], 1)
    iss.memory.write(0x60, b"\x06\0\0\0")
    iss.poke(0, 5, 1, np.full(8, 0xFFFFFFF0, np.uint32))
    assert iss.step(0).values[0] == 6


def test_floating_point_loads_and_stores_move_bits():
    iss = machine([asm.flw(3, 0, 5), asm.fsw(3, 4, 5)], 0xFF)
    patterns = np.array([0x7F800001, 0xFFC12345, 0x80000000, 1, 2, 3, 4, 5], "<u4")
    iss.memory.write(USER, patterns.tobytes())
    iss.poke(0, 5, 0xFF, (USER + 4 * np.arange(8)).astype(np.uint32))
    assert iss.step(0).rd == 35
    iss.step(0)
    assert iss.memory.read(USER + 4, 32) == patterns.tobytes()


def test_code_can_be_written():
    """A store over the next instruction is fetched: there is no instruction cache here."""
    iss = machine([asm.sw(6, 4, 5), asm.addi(7, 0, 1)], 1)
    iss.poke(0, 5, 1, np.full(8, START, np.uint32))
    iss.poke(0, 6, 1, np.full(8, asm.addi(7, 0, 2), np.uint32))
    iss.step(0)
    assert iss.step(0).values[0] == 2


def test_values_of_a_commit_are_its_own():
    iss = machine([asm.addi(7, 7, 1), asm.addi(7, 7, 1)], 1)
    first = iss.step(0)
    iss.step(0)
    assert first.values[0] == 1


@pytest.mark.parametrize("op, size, signed", LOADS)
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("mask", [0xFF, 0x54])
def test_all_lanes_load_from_one_address(op, size, signed, base, mask):
    for filler in (0x7B, 0xF3):
        iss = machine([op(7, 4, 6)], mask)
        before = np.array(iss.regs[0, 7])
        place = base + 4
        if place >= LOCAL:
            iss.local.data[place - LOCAL : place - LOCAL + size] = filler
        else:
            iss.memory.write(place, bytes([filler]) * size)
        iss.poke(0, 6, mask, np.full(8, base, np.uint32))
        iss.step(0)
        value = int.from_bytes(bytes([filler]) * size, "little", signed=signed) & 0xFFFF_FFFF
        expected = [value if mask >> lane & 1 else int(before[lane]) for lane in range(8)]
        assert iss.regs[0, 7].tolist() == expected, f"{filler:#x}"


@pytest.mark.parametrize("addr, cause", [
    (USER + 2, FaultCause.LOAD_MISALIGNED), (0, FaultCause.LOAD_ACCESS), (LOCAL + 1, FaultCause.LOAD_MISALIGNED),
    (LOCAL + CONFIG.local_bytes, FaultCause.LOAD_ACCESS),
])  # fmt: skip
def test_all_lanes_fail_at_one_address(addr, cause):
    iss = machine([asm.lw(7, 0, 6)], 0x54)
    iss.poke(0, 6, 0xFF, np.full(8, addr, np.uint32))
    commit = iss.step(0)
    assert commit.fault == Fault(cause, 0, START, addr)
    assert commit.instr == asm.lw(7, 0, 6)
