"""The cocotb test that run.py starts for an export with ``--bus axi``: cocotbext-axi is the memory and the host."""

import json
import os
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, First, RisingEdge
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiSlave
from line_port import LINE_BYTES, Image

RESET_CYCLES = 3
#: The bits of the registers ``control`` and ``status``: see docs/bus.md.
START, FAULT = 1, 2


class Memory:
    """The image as the memory of the AXI slave. An exception becomes SLVERR, which causes a fault of the SM."""

    def __init__(self, image: Image) -> None:
        self._image = image

    def _checked(self, address: int) -> int:
        if not self._image.contains(address // LINE_BYTES):
            raise IndexError(f"there is no memory at {address:#x}")
        return address

    async def read(self, address: int, length: int) -> bytes:
        """Return the bytes of a beat: part of a line."""
        place = self._checked(address) % LINE_BYTES
        return bytes(self._image.line(address // LINE_BYTES)[place : place + length])

    async def write(self, address: int, data: bytes) -> None:
        """Write the bytes of a beat whose strobes are set, in contiguous runs."""
        self._image.write(self._checked(address), data)


class Host:
    """Access to the registers by their names in metronome_sm.json."""

    def __init__(self, registers: list[dict[str, Any]], master: AxiLiteMaster) -> None:
        self._offsets = {row["name"]: row["offset"] for row in registers}
        self._master = master

    async def write(self, **values: int) -> None:
        """Write the registers one after the other."""
        for name, value in values.items():
            await self._master.write_dword(self._offsets[name], value)

    async def read(self, name: str) -> int:
        """Return the value of a register."""
        return await self._master.read_dword(self._offsets[name])

    async def counter(self, name: str) -> int:
        """Return all bits of a counter: reading the low half latches the high one."""
        low = await self.read(f"{name}_low")
        return low | await self.read(f"{name}_high") << 32


@cocotb.test()
async def run_program(dut: Any) -> None:
    """Load the registers, start the SM, wait for the interrupt, and read the results from the registers."""
    asked = json.loads(os.environ["METRONOME_RUN"])
    about = json.loads((Path(asked["export"]) / "metronome_sm.json").read_text())
    image = Image(Path(asked["image"]))

    Clock(dut.clk, 2, "ns").start()
    dut.rst.value = 1
    memory = AxiSlave(AxiBus.from_prefix(dut, "m_axi"), dut.clk, dut.rst, target=Memory(image))
    host = Host(about["registers"], AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst))
    await ClockCycles(dut.clk, RESET_CYCLES)
    dut.rst.value = 0
    await host.write(
        start_address=image.facts["entry"][0], argument=image.facts["argument"][0], policy=asked["policy"],
        fetch_policy=asked["fetch_policy"], interrupt_enable=1, control=START,
    )
    limit = ClockCycles(dut.clk, asked["max_cycles"])
    assert await First(RisingEdge(dut.irq), limit) is not limit, f"no end after {asked['max_cycles']} cycles"

    result = {
        "exit_code": await host.read("exit_code"), "total_cycles": await host.counter("total_cycles"),
        "counters": {row["name"]: await host.counter(row["name"]) for row in about["counters"]},
    }
    Path(asked["result"]).write_text(json.dumps(result, indent=2) + "\n")
    if asked["dump"]:
        Path(asked["dump"]).write_text(image.text())
    status, pc = await host.read("status"), await host.read("fault_pc")
    assert not status & FAULT, f"fault {await host.read('fault_cause')}, pc {pc:#010x}"
    assert result["exit_code"] == image.word(image.facts["exit_code"][0]) == 0, f"exit code {result['exit_code']}"
    assert memory.write_if.aw_channel.empty(), "some writes have no answer"
