"""The host's registers of a GPU of several SMs: those of one SM, and two more."""

from dataclasses import replace

from metronome.hdl.bus.register_table import Access, register_table
from metronome.hdl.gpu.config import GpuConfig
from tests.hdl.bus.test_registers import CONFIG, HOSTS, TABLE, WishboneHost, run
from tests.hdl.lib.simulate import drive

GPU = GpuConfig(sm=replace(CONFIG, cores=1, core_id=0), sms=4)


def test_a_gpu_has_the_registers_of_an_sm_and_two_more():
    table = {its.name: its for its in register_table(GPU)}
    assert {name: its for name, its in table.items() if name in TABLE} == TABLE
    more = {name: (its.offset, its.bits, its.access) for name, its in table.items() if name not in TABLE}
    assert more == {"fault_sm": (0x50, 2, Access.READ), "counter_sm": (0x54, 2, Access.WRITE)}
    offsets = [its.offset for its in table.values()]
    assert offsets == sorted(set(offsets))


@HOSTS
def test_the_registers_of_a_gpu(make):
    host = make(config=GPU)

    async def testbench(ctx):
        registers = host.registers
        assert await host.read(ctx, 0x0C) == 4 << 16
        drive(ctx, registers, fault_sm=2, counter_value=7 << 32 | 9)
        assert [await host.read(ctx, 0x50), await host.read(ctx, 0x54)] == [0, 0]
        drive(ctx, registers, fault_valid=1)
        assert await host.read(ctx, 0x50) == 2
        assert await host.write(ctx, 0x50, 1) and await host.read(ctx, 0x50) == 2
        for number in (3, 1):
            assert await host.write(ctx, 0x54, number)
            assert ctx.get(registers.counter_sm) == await host.read(ctx, 0x54) == number
        assert [await host.read(ctx, place) for place in (0x100, 0x104)] == [9, 7]
        assert await host.read(ctx, 0x58) is None

    run(host, testbench)


def test_one_sm_has_none_of_them():
    host = WishboneHost()

    async def testbench(ctx):
        for place in (0x50, 0x54):
            assert await host.read(ctx, place) is None and not await host.write(ctx, place, 1)

    run(host, testbench)
