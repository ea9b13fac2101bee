"""What the tests on the simulated RTL share: programs from words, and a check of how a run ended."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from metronome.hdl.config import SmConfig
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.program.assembler import asm
from metronome.sim.run.runner import RunRequest, RunResult, run_many

#: Where the argument block of a program without a host side would be (isa.md).
ARGUMENTS = 0x0001_0000


@dataclass(frozen=True)
class RawProgram:
    """An assembled :class:`sim.program.assembler.asm.Program` as the runner wants it."""

    image: bytes
    entry: int = 0x8000_0000
    argument_address: int = ARGUMENTS

    def load_into(self, memory: SparseMemory) -> None:
        memory.write(self.entry, self.image)


def problems(result) -> list[str]:
    """What is wrong with a run that was to end well; empty when nothing is."""
    found = [*result.mismatches, *result.assertions]
    if result.status != "ended":
        found.append(f"status {result.status}, fault {result.fault}, {[str(warp) for warp in result.hang]}")
    if not result.checked:
        found.append("the run was not checked in lock step")
    return found


def cleared(config: SmConfig) -> RawProgram:
    """Writes 0 to every register, and to all of local memory: what a random program may read unwritten."""
    p = asm.Program()
    p.li(1, config.warps)
    p.la(2, "all")
    p.add(asm.wspawn(1, 2))
    p.label("all")
    p.add(*asm.li(1, -1), asm.tmc(1), asm.csrr(2, 0xF14), asm.slli(2, 2, 2))
    p.li(1, config.memory_map.local)
    step = 4 * config.harts
    p.add(asm.add(1, 1, 2))
    p.li(3, -(-config.local_bytes // step))
    p.li(4, step)
    p.add(asm.sw(0, 0, 1), asm.add(1, 1, 4), asm.addi(3, 3, -1), asm.bne(3, 0, -12))
    p.add(*(asm.fmv_w_x(register, 0) for register in range(32)))
    p.add(*(asm.addi(register, 0, 0) for register in range(1, 32)), asm.tmc(0))
    return RawProgram(p.assemble())


def run_cleared(
    config: SmConfig, requests: Sequence[RunRequest], take: Callable[[int, RunResult], None], *,
    verilog: str | None = None,
) -> None:
    """As a process for each: :func:`cleared` runs before each, and ``take`` gets place and result of each."""
    clears = [replace(request, launch=cleared(config), trace=False, memory="fixed", latency=1) for request in requests]
    every = [request for pair in zip(clears, requests, strict=True) for request in pair]
    run_many(config, every, verilog=verilog, on_result=lambda at, result: take(at // 2, result) if at % 2 else None)
