"""The simulation's side of tests/hdl/bus/axi_sm_process.py: the host and the memory, both by cocotbext-axi.

Every job is a program: its memory is behind the AXI slave, and the host loads the registers, starts it, waits for the
interrupt and reads back what the registers say.
"""

import os
import pickle
import random
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, First, RisingEdge
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiSlave

from metronome.hdl.bus.register_table import register_table
from metronome.hdl.config import SmConfig
from metronome.sim.machine.memory.stacks import interleave, restore
from metronome.sim.machine.memory.store import AccessError, SparseMemory
from metronome.sim.run.types import pack_memory, unpack_memory


@dataclass(frozen=True, kw_only=True)
class AxiJob:
    """A program. ``seed``: None for a bus without pauses. ``reset_after``: cycles after which the host resets it."""

    pages: dict[int, bytes]
    start_pc: int
    arg: int
    policy: int = 0
    seed: int | None = None
    fails: tuple[int, int] = (0, 0)  # addresses that answer with an error, besides those outside memory
    reset_after: int | None = None
    max_cycles: int = 200_000


@dataclass(kw_only=True)
class AxiResult:
    """What the host has read: the registers before and after the run, by name, and memory as the run has left it."""

    ended: bool
    before: dict[str, int]
    registers: dict[str, int]
    pages: dict[int, bytes]
    broken: tuple[int, int]
    cleared: bool  # the interrupt went when it was cleared
    unknown: list[int] = field(default_factory=list)  # responses to accesses of what is no register


class Memory:
    """What cocotbext's slave reads and writes; an exception becomes SLVERR."""

    def __init__(self) -> None:
        self.store = SparseMemory()
        self.fails = range(0)

    def _check(self, address: int, length: int) -> None:
        if address in self.fails:
            raise AccessError(address)

    async def read(self, address: int, length: int) -> bytes:
        self._check(address, length)
        return self.store.read(address, length)

    async def write(self, address: int, data: bytes) -> None:
        self._check(address, len(data))
        self.store.write(address, data)


def pauses(seed: int | None, channel: int) -> Iterator[bool]:
    rng = random.Random(f"{seed}/{channel}")
    while True:
        yield seed is not None and rng.random() < 0.4


class Host:
    """The registers by name."""

    def __init__(self, config: SmConfig, master: AxiLiteMaster) -> None:
        self._table = {its.name: its for its in register_table(config)}
        self._master = master

    async def write(self, **values: int) -> None:
        for name, value in values.items():
            await self._master.write_dword(self._table[name].offset, value)

    async def read(self, name: str) -> int:
        return await self._master.read_dword(self._table[name].offset)

    async def read_all(self) -> dict[str, int]:
        return {name: await self.read(name) for name in self._table}

    async def beside(self) -> list[int]:
        """The responses to a read and a write of an address that no register has."""
        free = max(its.offset for its in self._table.values()) + 4
        return [int((await self._master.read(free, 4)).resp), int((await self._master.write(free, bytes(4))).resp)]


async def run(dut: Any, host: Host, slave: AxiSlave, memory: Memory, config: SmConfig, job: AxiJob) -> AxiResult:
    memory.store = unpack_memory(config, job.pages)
    interleave(config, memory.store)
    memory.fails = range(*job.fails)
    channels = (
        slave.write_if.aw_channel, slave.write_if.w_channel, slave.write_if.b_channel, slave.read_if.ar_channel,
        slave.read_if.r_channel,
    )
    for number, channel in enumerate(channels):
        channel.set_pause_generator(pauses(job.seed, number))
    await host.write(start_address=job.start_pc, argument=job.arg, policy=job.policy, interrupt_enable=1, interrupt=1)
    before = await host.read_all()
    await host.write(control=1)
    timeout = ClockCycles(dut.clk, job.reset_after or job.max_cycles)
    ended = await First(RisingEdge(dut.irq), timeout) is not timeout if not dut.irq.value else True
    if job.reset_after is not None:
        await host.write(control=2)
        while await host.read("status") & 4:
            pass
    registers = await host.read_all()
    unknown = await host.beside()
    await host.write(interrupt=1)
    restore(config, memory.store)
    return AxiResult(
        ended=ended, before=before, registers=registers, pages=pack_memory(memory.store),
        broken=(int(dut.broken_master.value), int(dut.broken_slave.value)), cleared=not dut.irq.value, unknown=unknown,
    )


async def run_all(dut: Any, config: SmConfig, jobs: list[AxiJob]) -> list[AxiResult]:
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    dut.rst.value = 1
    memory = Memory()
    slave = AxiSlave(AxiBus.from_prefix(dut, "m_axi"), dut.clk, dut.rst, target=memory)
    host = Host(config, AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst))
    await ClockCycles(dut.clk, 4)
    dut.rst.value = 0
    await ClockCycles(dut.clk, 2)
    return [await run(dut, host, slave, memory, config, job) for job in jobs]


@cocotb.test()
async def run_jobs(dut: Any) -> None:
    config, jobs = pickle.loads(Path(os.environ["METRONOME_JOBS"]).read_bytes())
    try:
        results: Any = await run_all(dut, config, jobs)
    except Exception:
        results = traceback.format_exc()
    Path(os.environ["METRONOME_RESULTS"]).write_bytes(pickle.dumps(results))
