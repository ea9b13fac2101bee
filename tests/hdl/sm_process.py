"""The simulation's side of tests/hdl/sm_harness.py: runs the programs that come through a pipe, one after the other."""

import os
import pickle
from dataclasses import dataclass
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import ValueChange

from metronome.hdl.config import SmConfig
from metronome.sim.machine.memory.fixed import FixedMemory
from metronome.sim.machine.memory.model import MemoryModel
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.program.assembler import asm
from metronome.sim.run.types import pack_memory, unpack_memory
from metronome.tb.mailbox import Mailbox
from tests.hdl.sm_memory import Latency, ListedMemory

#: Cycles that are recorded after ``busy`` has fallen: nothing may happen in them.
TAIL = 6
_ALL_RECORDS = 2


@dataclass(frozen=True)
class Job:
    """A program; ``pages`` as :func:`sim.run.types.pack_memory` makes them."""

    pages: dict[int, bytes]
    start_pc: int
    arg: int
    policy: int
    latency: Latency
    max_cycles: int


def cleared(config: SmConfig) -> bytes:
    """A program that writes 0 to every register of every lane: they survive a reset, and tests begin with zeros."""
    p = asm.Program(config.memory_map.start)
    p.li(1, config.warps)
    p.la(2, "all")
    p.add(asm.wspawn(1, 2))
    p.label("all")
    p.li(1, -1)
    p.add(asm.tmc(1), *(asm.fmv_w_x(register, 0) for register in range(32)))
    p.add(*(asm.addi(register, 0, 0) for register in range(1, 32)), asm.tmc(0))
    return p.assemble()


class _Simulation:
    def __init__(self, dut: Any, config: SmConfig) -> None:
        self._config = config
        self._box = Mailbox(config)
        self._changed = ValueChange(dut.wake)
        self._clear = cleared(config)

    async def _run(self, model: MemoryModel, **launch: int) -> np.ndarray:
        """The records (uint32) of one program; the status is in the mailbox."""
        box = self._box
        box.launch(model, start_pc=launch.pop("start_pc", self._config.memory_map.start), fetch_policy=0, **launch)
        found = [np.zeros((0, box.fields.record_words), np.uint32)]
        while not box.finished:
            await self._changed
            box.serve(model)
            if box.records_due:
                found.append(box.take_records().copy())
        return np.concatenate(found)

    async def run(self, job: Job) -> dict[str, Any]:
        """What :func:`tests.hdl.sm_harness.run_program` needs of a run."""
        store = SparseMemory(self._config.memory_map)
        store.write(self._config.memory_map.start, self._clear)
        await self._run(FixedMemory(store, latency=1), arg=0, policy=0, max_cycles=100_000, record_level=0)
        memory = unpack_memory(self._config, job.pages)
        # The tag's highest bit names the source: 0 for the instruction cache, 1 for the LSU.
        model = ListedMemory(memory, job.latency, 1 << self._config.mem_tag_bits - 1)
        records = await self._run(
            model, start_pc=job.start_pc, arg=job.arg, policy=job.policy, max_cycles=job.max_cycles,
            record_level=_ALL_RECORDS, tail=TAIL,
        )
        return {
            "records": records, "status": self._box.status, "pages": pack_memory(memory),
            "requests": model.requests, "answers": model.answers,
        }


@cocotb.test()
async def serve(dut: Any) -> None:
    """Read the configuration and then jobs, until the pipe is closed; write what each run has left."""
    with (
        os.fdopen(int(os.environ["METRONOME_JOBS_FD"]), "rb") as jobs,
        os.fdopen(int(os.environ["METRONOME_RESULTS_FD"]), "wb") as results,
    ):
        simulation = _Simulation(dut, pickle.load(jobs))
        while True:
            try:
                job = pickle.load(jobs)
            except EOFError:
                return
            pickle.dump(await simulation.run(job), results, pickle.HIGHEST_PROTOCOL)
            results.flush()
