"""Interleaved stacks: the bijection in hardware and in Python, against its definition by hart and offset."""

import random
from dataclasses import replace

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from metronome.hdl.config import MemoryMap, SmConfig
from metronome.hdl.lib.stacks import in_stacks, same_line, to_bus, to_program
from metronome.hdl.presets import BASE, PAPER, TINY
from metronome.sim.machine.memory import stacks
from metronome.sim.machine.memory.store import PAGE_BYTES, SparseMemory
from tests.hdl.lib.simulate import simulate
from tests.support.tiers import long_but, more_but, some_slow

TOP, STACK = 0xFFFF_0000, 8192
SMALL = MemoryMap(stack_top=0x0004_0300, stack_bytes_per_hart=256, user=0x1_0000)
CONFIGS = {
    "TINY": TINY, "BASE": BASE, "PAPER": PAPER,
    "3x1": replace(BASE, warps=3, threads=1), "3x2": replace(BASE, warps=3, threads=2),
    "5x4": replace(BASE, warps=5, threads=4), "3x32": replace(BASE, warps=3, threads=32),
    "1x8, 3 cores": replace(BASE, warps=1, threads=8, cores=3, core_id=1),
    "small stacks at an odd place": replace(BASE, warps=5, memory_map=SMALL),
    "off": replace(BASE, interleave_stacks=False),
}
SEED = 20261121


def defined(config: SmConfig, address: int) -> int:
    """The address in memory, from who owns the byte: hart, and offset in its stack."""
    if not config.interleave_stacks:
        return address
    top, each, threads = config.memory_map.stack_top, config.memory_map.stack_bytes_per_hart, config.threads
    hart = (top - 1 - address) // each
    if not 0 <= hart < config.harts * config.cores:
        return address
    warp, lane = divmod(hart, threads)
    word, byte = divmod(address - (top - each * (hart + 1)), 4)
    return top - each * threads * (warp + 1) + 4 * (word * threads + threads - 1 - lane) + byte


def interesting(config: SmConfig, count: int) -> list[int]:
    """Addresses in every stack, around all borders, and anywhere."""
    rng = random.Random(SEED)
    top, each = config.memory_map.stack_top, config.memory_map.stack_bytes_per_hart
    harts = config.harts * config.cores
    found = [rng.randrange(1 << 32) for _ in range(count)]
    for hart in range(harts) if harts <= 96 else rng.sample(range(harts), 96):
        base = top - each * (hart + 1)
        found += [base, base + 1, base + each - 1, base + rng.randrange(each), base + each - 4]
    low = top - each * harts
    for border in (low, low + each * config.threads, top, 0, 0x8000_0000):
        found += [(border + distance) % (1 << 32) for distance in range(-70, 70)]
    return found


class Mapping(wiring.Component):
    """The functions of hdl.lib.stacks with ports."""

    address: In(32)
    bus: Out(32)
    program: Out(32)
    inside: Out(1)

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += [
            self.bus.eq(to_bus(m, self._config, self.address, "to")),
            self.program.eq(to_program(m, self._config, self.address, "back")),
            self.inside.eq(in_stacks(m, self._config, self.address, "inside")),
        ]
        return m


@pytest.mark.parametrize("name", some_slow(CONFIGS, 3))
def test_hardware(name):
    config = CONFIGS[name]
    dut = Mapping(config)

    async def testbench(ctx):
        for address in interesting(config, 500):
            ctx.set(dut.address, address)
            expected = defined(config, address)
            assert ctx.get(dut.bus) == expected, f"seed {SEED}: {address:#x}"
            assert ctx.get(dut.inside) == (address in config.interleaved_stacks), f"seed {SEED}: {address:#x}"
            ctx.set(dut.address, expected)
            assert ctx.get(dut.program) == address, f"seed {SEED}: {expected:#x}"

    simulate(dut, testbench)


class Pair(wiring.Component):
    """Whether two addresses share a line (hdl.lib.stacks.same_line), with ports."""

    first: In(32)
    second: In(32)
    pieces: Out(4)

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.pieces.eq(same_line(m, self._config, self.first, self.second, pieces=4, name="pair"))
        return m


@pytest.mark.parametrize("name", some_slow(CONFIGS, 3))
def test_lines_of_two_addresses(name):
    config = CONFIGS[name]
    dut, rng = Pair(config), random.Random(SEED)

    async def testbench(ctx):
        together = 0
        for first in interesting(config, 300):
            # Near the first in memory, one bit away in the program, or anywhere.
            near = stacks.to_program(config, defined(config, first) ^ rng.randrange(256))
            for second in (near, first ^ 1 << rng.randrange(32), rng.randrange(1 << 32)):
                expected = defined(config, first) >> 6 == defined(config, second) >> 6
                ctx.set(dut.first, first)
                ctx.set(dut.second, second)
                assert (ctx.get(dut.pieces) == 15) == expected, f"seed {SEED}: {first:#x}, {second:#x}"
                together += expected
        assert together > 100

    simulate(dut, testbench)


@pytest.mark.parametrize("name", CONFIGS)
def test_python(name):
    config = CONFIGS[name]
    for address in interesting(config, 500):
        expected = defined(config, address)
        assert stacks.to_bus(config, address) == expected, f"seed {SEED}: {address:#x}"
        assert stacks.to_program(config, expected) == address, f"seed {SEED}: {expected:#x}"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["TINY", "3x2", "5x4", "small stacks at an odd place"])
def test_bijection_over_the_whole_region(name):
    """Every byte of the stacks has a place of its own in them; the words of a warp's lanes are neighbours."""
    config = CONFIGS[name]
    region = config.interleaved_stacks
    assert len(region) == config.harts * config.memory_map.stack_bytes_per_hart
    assert {stacks.to_bus(config, address) for address in region} == set(region)
    each = config.memory_map.stack_bytes_per_hart
    for warp in range(config.warps):
        for offset in range(0, each, 4):
            first = region.stop - each * config.threads * warp - each + offset
            words = [stacks.to_bus(config, first - each * lane) for lane in range(config.threads)]
            assert words == [words[0] - 4 * lane for lane in range(config.threads)]
            assert words[-1] % (4 * config.threads) == 0


@pytest.mark.more
@pytest.mark.parametrize(
    "name", more_but(long_but(CONFIGS, ["TINY", "5x4", "small stacks at an odd place", "off"]), ["5x4"]))
def test_contents(name):
    """Memory is permuted as its addresses are, byte by byte, and back; what lies outside the stacks stays."""
    config = CONFIGS[name]
    rng = random.Random(SEED)
    memory = SparseMemory(config.memory_map)
    places = [address for address in interesting(config, 300) if memory.contains(address, 1)][-3000:]
    for address in places:
        memory.write(address, bytes([rng.randrange(1, 256)]))
    seen = memory.copy()
    stacks.interleave(config, seen)
    for page in memory.pages():
        low = max(page, config.memory_map.first)
        content = memory.read(low, min(page + PAGE_BYTES, config.memory_map.end) - low)
        for address, byte in enumerate(content, low):
            if byte:
                assert seen.read(defined(config, address), 1) == bytes([byte]), f"seed {SEED}: {address:#x}"

    def written(store):
        return sum(
            sum(1 for byte in store.read(max(page, 0x40), PAGE_BYTES - max(0, 0x40 - page)) if byte)
            for page in store.pages()
        )

    assert written(seen) == written(memory)
    stacks.restore(config, seen)
    assert seen.equal(memory)


def test_memory_without_stacks_is_not_touched():
    memory = SparseMemory()
    memory.write(0x8000_0000, b"code")
    memory.write(TOP - STACK * PAPER.harts - 4, b"next")
    pages = memory.pages()
    stacks.interleave(PAPER, memory)
    stacks.restore(PAPER, memory)
    assert memory.pages() == pages
    memory.write(TOP - 4, b"used")
    stacks.interleave(PAPER, memory)
    # One warp of PAPER has 256 KiB of stacks.
    assert set(memory.pages()) == {*pages, *range(TOP - (1 << 18), TOP, PAGE_BYTES)}
    assert memory.read(TOP - 4, 4) == b"used"
    assert memory.read(0x8000_0000, 4) == b"code"


@pytest.mark.parametrize(("field", "value", "allowed"), [
    ("stack_bytes_per_hart", 6144, "a power of two"), ("stack_bytes_per_hart", 32, "at least a line"),
    ("stack_top", 0xFFFE_FFF0, "a multiple of 64"), ("stack_top", 0xFFFF_1000, r"lie in \[user, end\)"),
    ("user", 0xFFFE_FFC0, r"lie in \[user, end\)"), ("end", 0xFFFE_0000, r"lie in \[user, end\)"),
    ("start", 0xFFFE_F000, "outside the stacks"), ("local", 0xFFFE_C000, "outside the stacks"),
])
def test_maps_that_cannot_be_interleaved(field, value, allowed):
    """A clear message that names a field; the same map is accepted with interleaving off."""
    bad = replace(MemoryMap(), **{field: value})
    shown = TOP if field in ("user", "end") else value
    with pytest.raises(ValueError, match=f"memory_map.*{allowed}.*not {shown}"):
        replace(BASE, memory_map=bad)
    assert not replace(BASE, memory_map=bad, interleave_stacks=False).interleaved_stacks
