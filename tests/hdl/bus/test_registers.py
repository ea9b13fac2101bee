"""The host's registers, over AXI4-Lite and over Wishbone: what the table says is what the hardware does."""

import random
from dataclasses import replace

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from metronome.hdl.bus.control import AxiLiteControl
from metronome.hdl.bus.register_table import ADDRESS_BITS, IDENTITY, MAP_VERSION, Access, register_table
from metronome.hdl.bus.registers import ControlRegisters, connect_host
from metronome.hdl.bus.wishbone import WishboneControl
from metronome.hdl.config import Coordination
from metronome.hdl.layouts.counters import COUNTERS, StallReason, counter_names
from metronome.hdl.presets import TINY
from metronome.tb.formal.patched import patched
from tests.hdl.lib.simulate import drive

CONFIG = replace(TINY, coordination=Coordination.BASELINE, fetch_policies=("lrr", "gto", "lo"), cores=3, core_id=2)
TABLE = {its.name: its for its in register_table(CONFIG)}


class LiteHost:
    """Accesses over AXI4-Lite; address and data of a write come in any order."""

    def __init__(self, seed=0, config=CONFIG):
        self.rng = random.Random(seed)
        self.registers = ControlRegisters(config)
        self.design = AxiLiteControl()

    async def _hand_over(self, ctx, *channels):
        axi, waiting = self.design.axi, list(channels)
        while waiting:
            for channel in waiting:
                valid = getattr(axi, f"{channel}valid")
                ctx.set(valid, ctx.get(valid) or self.rng.random() < 0.5)
            taken = [its for its in waiting if ctx.get(getattr(axi, f"{its}valid") & getattr(axi, f"{its}ready"))]
            await ctx.tick()
            for channel in taken:
                ctx.set(getattr(axi, f"{channel}valid"), 0)
                waiting.remove(channel)

    async def _answer(self, ctx, channel, *fields):
        axi = self.design.axi
        before = None
        while True:
            ready = self.rng.random() < 0.5
            ctx.set(getattr(axi, f"{channel}ready"), ready)
            valid = ctx.get(getattr(axi, f"{channel}valid"))
            values = [ctx.get(getattr(axi, name)) for name in fields]
            assert before is None or (valid and values == before), "an answer changed before it was taken"
            await ctx.tick()
            if valid and ready:
                ctx.set(getattr(axi, f"{channel}ready"), 0)
                return values
            before = values if valid else None

    async def read(self, ctx, address):
        """The value, or None for an error."""
        ctx.set(self.design.axi.araddr, address)
        await self._hand_over(ctx, "ar")
        value, resp = await self._answer(ctx, "r", "rdata", "rresp")
        assert resp in (0, 2)
        return None if resp else value

    async def write(self, ctx, address, value, strobe=15):
        """Whether there is such a register."""
        axi = self.design.axi
        drive(ctx, axi, awaddr=address, wdata=value, wstrb=strobe)
        await self._hand_over(ctx, "aw", "w")
        (resp,) = await self._answer(ctx, "b", "bresp")
        assert resp in (0, 2)
        return resp == 0


class WishboneHost:
    """The same over Wishbone."""

    def __init__(self, seed=0, config=CONFIG):
        self.registers = ControlRegisters(config)
        self.design = WishboneControl()

    async def _access(self, ctx, address):
        bus = self.design.bus
        drive(ctx, bus, adr=address // 4, cyc=1, stb=1)
        for _ in range(4):
            await ctx.tick()
            if ctx.get(bus.ack) or ctx.get(bus.err):
                break
        known, value = ctx.get(bus.ack), ctx.get(bus.dat_r)
        assert known != ctx.get(bus.err)
        drive(ctx, bus, stb=0, cyc=0)
        await ctx.tick()
        return value if known else None

    async def read(self, ctx, address):
        ctx.set(self.design.bus.we, 0)
        return await self._access(ctx, address)

    async def write(self, ctx, address, value, strobe=15):
        bus = self.design.bus
        drive(ctx, bus, we=1, dat_w=value, sel=strobe)
        return await self._access(ctx, address) is not None


HOSTS = pytest.mark.parametrize("make", [LiteHost, WishboneHost])


def run(host, testbench, *processes, counts=True):
    """``counts``: the counters' port is always right."""
    m = Module()
    m.submodules.registers = host.registers
    m.submodules.design = host.design
    connect_host(m, host.design, host.registers)
    if counts:
        m.d.comb += host.registers.counter_valid.eq(1)
    sim = Simulator(m)
    sim.add_clock(1e-6)
    sim.add_testbench(testbench)
    for process in processes:
        sim.add_process(process)
    sim.run()


def test_the_table():
    """Addresses are distinct words in the map."""
    offsets = [its.offset for its in TABLE.values()]
    assert offsets == sorted(set(offsets))
    assert all(offset % 4 == 0 and offset < 1 << ADDRESS_BITS for offset in offsets)
    assert all(0 < its.bits <= 32 and its.about for its in TABLE.values())


@pytest.mark.slow
@HOSTS
def test_read_and_write_every_register(make):
    host, rng = make(), random.Random(3)

    async def testbench(ctx):
        expected = {
            "identity": IDENTITY, "version": MAP_VERSION, "configuration": 2 | 2 << 8 | 3 << 16 | 3 << 24,
            "core": 2 | 3 << 16, "start_address": 0x8000_0000,
        }
        for its in TABLE.values():
            assert await host.read(ctx, its.offset) == expected.get(its.name, 0), its.name
        for its in TABLE.values():
            if its.access not in (Access.READ, Access.WRITE):
                continue
            before = expected.get(its.name, 0)
            for strobe in (15, 1, 2, 4, 8, 0, rng.randrange(16)):
                value = rng.getrandbits(32)
                assert await host.write(ctx, its.offset, value, strobe)
                mask = sum(0xFF << 8 * byte for byte in range(4) if strobe >> byte & 1) & (1 << its.bits) - 1
                before = before & ~mask | value & mask if its.access is Access.WRITE else before
                assert await host.read(ctx, its.offset) == before, (its.name, strobe)
        for address in range(0, 1 << ADDRESS_BITS, 4):
            known = address in {its.offset for its in TABLE.values()}
            assert (await host.read(ctx, address) is not None) == known
            if not known:
                assert not await host.write(ctx, address, rng.getrandbits(32))

    run(host, testbench)


def test_without_research_counters_the_host_has_the_total_only():
    table = register_table(replace(CONFIG, research_counters=False))
    assert [its.name for its in table if its.offset >= 0x100] == ["total_cycles_low", "total_cycles_high"]
    assert [its for its in table if its.offset < 0x100] == [its for its in register_table(CONFIG) if its.offset < 0x100]


@HOSTS
def test_state_of_the_sm(make):
    """Faults as they are; of a counter, the high half is that of the moment in which the low half was read."""
    host, rng = make(), random.Random(4)
    inputs = host.registers
    values = {}

    async def testbench(ctx):
        fault = {"cause": 24, "warp": 1, "pc": 0x8000_1234, "address": 0xDEAD_BEE0}
        drive(ctx, inputs, fault=fault, fault_valid=1)
        for name, value in fault.items():
            assert await host.read(ctx, TABLE[f"fault_{name}"].offset) == value
        assert await host.read(ctx, TABLE["status"].offset) == 2
        for index, name in enumerate(counter_names()):
            values[index] = value = rng.getrandbits(48)
            assert await host.read(ctx, TABLE[f"{name}_low"].offset) == value & 0xFFFF_FFFF
            values.clear()
            await host.read(ctx, TABLE["status"].offset)
            assert await host.read(ctx, TABLE[f"{name}_high"].offset) == value >> 32
        assert len(counter_names()) == len(COUNTERS) - 1 + len(StallReason) - 1

    async def turns(ctx):
        """What the SM's port shows is right in every third cycle, when the program reads no CSR."""
        cycle = 0
        async for _ in ctx.tick():
            cycle += 1
            ctx.set(inputs.counter_valid, cycle % 3 == 0)

    async def port(ctx):
        async for index, valid in ctx.changed(inputs.counter_index, inputs.counter_valid):
            right = valid and index < len(counter_names())
            ctx.set(inputs.counter_value, values.get(index, 0) if right else rng.getrandbits(48))

    run(host, testbench, turns, port, counts=False)


@HOSTS
def test_reading_the_console_takes_one_character(make):
    """Reading anything else takes none."""
    host, rng = make(), random.Random(5)
    characters, ports = host.registers.characters, host.registers
    waiting = [(rng.getrandbits(8), rng.getrandbits(6)) for _ in range(12)]

    async def queue(ctx):
        left = list(waiting)
        while True:
            if left:
                drive(ctx, characters, valid=1, payload=dict(zip(("character", "slot"), left[0], strict=True)))
            else:
                drive(ctx, characters, valid=0)
            ctx.set(ports.character_count, len(left))
            *_, ready = await ctx.tick().sample(characters.ready)
            if ready and left:
                del left[0]

    async def testbench(ctx):
        others = [its.offset for its in TABLE.values() if its.name not in ("console", "console_state")]
        for number, (character, slot) in enumerate(waiting):
            ctx.set(ports.character_lost, lost := rng.randrange(2))
            for offset in rng.sample(others, 3):
                await host.read(ctx, offset)
                await host.write(ctx, TABLE["console"].offset, 1)
            assert await host.read(ctx, TABLE["console_state"].offset) == len(waiting) - number | lost << 31
            assert await host.read(ctx, TABLE["console"].offset) == character | slot << 8 | 1 << 31
        assert await host.read(ctx, TABLE["console"].offset) == 0

    run(host, testbench, queue)


class Run:
    """Start, reset and end of a run; ``SM``: busy follows start and reset as the SM's does."""

    def __init__(self, make, length):
        self.host, self.length = make(), length
        self.ports = self.host.registers
        self.starts = self.resets = 0

    async def watch(self, ctx):
        """A little SM: busy from the cycle after start, until ``length`` cycles later or a reset."""
        ports, busy = self.ports, 0
        async for *_, start, reset in ctx.tick().sample(ports.start, ports.sm_reset):
            self.starts += start
            self.resets += reset
            busy = 0 if reset else self.length if start else max(0, busy - 1)
            ctx.set(ports.busy, busy > 0)


@HOSTS
def test_start_end_and_interrupt(make):
    its = Run(make, 30)
    read, write, ports = its.host.read, its.host.write, its.ports

    async def testbench(ctx):
        control, status, interrupt = (TABLE[name].offset for name in ("control", "status", "interrupt"))
        ctx.set(ports.idle, 1)
        await write(ctx, TABLE["interrupt_enable"].offset, 1)
        await write(ctx, control, 1)
        assert await read(ctx, status) & 1
        await write(ctx, control, 1)  # one is going on: nothing happens
        assert not ctx.get(ports.irq)
        while await read(ctx, status) & 1:
            pass
        assert its.starts == 1
        assert its.resets == 1
        assert await read(ctx, status) == 8
        assert ctx.get(ports.irq)
        await write(ctx, interrupt, 0)
        assert ctx.get(ports.irq)
        await write(ctx, interrupt, 1)
        assert not ctx.get(ports.irq)
        assert await read(ctx, status) == 8
        await write(ctx, TABLE["interrupt_enable"].offset, 0)
        await write(ctx, control, 1)
        while await read(ctx, status) & 1:
            pass
        assert its.starts == 2
        assert not ctx.get(ports.irq)
        assert await read(ctx, interrupt) == 1

    run(its.host, testbench, its.watch)


@HOSTS
def test_a_reset_waits_for_the_bus_and_ends_no_run(make):
    its = Run(make, 1000)
    read, write, ports = its.host.read, its.host.write, its.ports

    async def testbench(ctx):
        control, status = TABLE["control"].offset, TABLE["status"].offset
        ctx.set(ports.idle, 1)
        await write(ctx, control, 1)
        await ctx.tick().repeat(5)
        drive(ctx, ports, exit_mask=0b0101, exit_data=0x11223344)
        await ctx.tick()
        ctx.set(ports.exit_mask, 0)
        assert await read(ctx, TABLE["exit_code"].offset) == 0x00220044
        ctx.set(ports.idle, 0)
        await write(ctx, control, 2)
        for _ in range(10):
            assert await read(ctx, status) & 4
            assert ctx.get(ports.sm_reset)
        ctx.set(ports.idle, 1)
        await ctx.tick().repeat(2)
        assert await read(ctx, status) == 0
        assert await read(ctx, TABLE["interrupt"].offset) == 0
        assert await read(ctx, TABLE["exit_code"].offset) == 0
        assert its.starts == 1
        await write(ctx, control, 1)
        await ctx.tick().repeat(4)
        await write(ctx, control, 3)  # reset, and start anew
        await ctx.tick().repeat(4)
        assert await read(ctx, status) == 1
        assert its.starts == 3

    run(its.host, testbench, its.watch)


REGISTERS = "metronome.hdl.bus.registers:ControlRegisters"
BUGS = [
    (f"{REGISTERS}._read", "kept.eq(self.counter_value[32:])", "kept.eq(self.counter_value[16:])",
     test_state_of_the_sm),
    (f"{REGISTERS}._read", "self.read & is_low", "self.read", test_state_of_the_sm),
    (f"{REGISTERS}._character", "self.read & (self.read_address", "(self.read_address",
     test_reading_the_console_takes_one_character),
    (f"{REGISTERS}._character", "word | 1 << 31", "word", test_reading_the_console_takes_one_character),
    (f"{REGISTERS}._merge", "self.write_strobe[byte]", "self.write_strobe[0]", test_read_and_write_every_register),
    (f"{REGISTERS}._run", "self.sm_reset & self.idle", "self.sm_reset", test_a_reset_waits_for_the_bus_and_ends_no_run),
    (f"{REGISTERS}._run", "was_busy.eq(self.busy & ~self.sm_reset)", "was_busy.eq(self.busy)",
     test_a_reset_waits_for_the_bus_and_ends_no_run),
    (f"{REGISTERS}._run", "self.write_data[_START] & ~running", "self.write_data[_START]",
     test_start_end_and_interrupt),
    (f"{REGISTERS}.elaborate", "interrupt & state", "done & state", test_start_end_and_interrupt),
]


@pytest.mark.parametrize("number", range(len(BUGS)))
def test_bug_is_found(number):
    method, old, new, test = BUGS[number]
    with patched(test.__name__, method, old, new), pytest.raises(AssertionError):
        test(LiteHost)
