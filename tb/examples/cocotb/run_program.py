"""The cocotb test that run.py starts: one program on the exported SM, its exit code and its counters."""

import json
import os
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly, Timer
from line_port import Image, LinePort

RESET_CYCLES = 3


async def counter(dut: Any, row: dict[str, Any]) -> int:
    """Return a counter from its port, if it has one, or from the module's output for its index. No clock passes."""
    if row["port"] is not None:
        return int(getattr(dut, row["port"]).value)
    dut.counter_index.value = row["index"]
    await Timer(1, "ps")
    assert dut.counter_valid.value == 1, "the program reads a CSR"
    return int(dut.counter_value.value)


@cocotb.test()
async def run_program(dut: Any) -> None:
    """Run the program: the SM's inputs change at the falling edge; its outputs are sampled before the rising edge."""
    asked = json.loads(os.environ["METRONOME_RUN"])
    about = json.loads((Path(asked["export"]) / "metronome_sm.json").read_text())
    inputs = {port["name"] for port in about["ports"] if port["direction"] == "in"}
    image = Image(Path(asked["image"]))

    memory = LinePort(dut, image, asked["latency"])
    for strap in ("policy", "fetch_policy"):
        if strap in inputs:
            getattr(dut, strap).value = asked[strap]
    dut.start.value = 0
    dut.start_pc.value, dut.arg.value = image.facts["entry"][0], image.facts["argument"][0]
    dut.rst.value = 1
    Clock(dut.clk, 2, "ns").start()
    for _ in range(RESET_CYCLES):
        await FallingEdge(dut.clk)

    cycle = 0
    while True:
        dut.rst.value, dut.start.value = 0, int(cycle == 0)
        memory.drive(cycle)
        await ReadOnly()
        memory.take(cycle)
        if cycle > 0 and dut.busy.value == 0:
            break
        assert cycle < asked["max_cycles"], f"the run has not ended after {cycle} cycles"
        await FallingEdge(dut.clk)
        cycle += 1

    await FallingEdge(dut.clk)
    counters = {row["name"]: await counter(dut, row) for row in about["counters"]}
    result = {"exit_code": image.word(image.facts["exit_code"][0]), "total_cycles": cycle, "counters": counters}
    Path(asked["result"]).write_text(json.dumps(result, indent=2) + "\n")
    if asked["dump"]:
        Path(asked["dump"]).write_text(image.text())
    assert dut.fault_valid.value == 0, f"fault {int(dut.fault_cause.value)}, pc {int(dut.fault_pc.value):#010x}"
    assert result["exit_code"] == 0, f"exit code {result['exit_code']}"
