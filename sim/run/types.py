"""What goes into a simulation and what comes out of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.hdl.layouts.counters import COUNTERS, StallReason
from metronome.hdl.layouts.waits import STARVATION_CYCLES

from ..machine.memory.dram.device import Command
from ..machine.memory.registry import MemoryOptions
from ..machine.memory.store import PAGE_BYTES, SparseMemory
from ..machine.statistics import RegionStatistics
from .errors import SimulationError

# A plain run imports neither the golden model nor the checker; of kernels see sim/run/memcheck/areas.py.
if TYPE_CHECKING:
    from ..machine.golden import Fault, Iss
    from ..program.kernels import Launch
    from .memcheck import Declared, Finding, Leftover

__all__ = ["Job", "Program", "RunRequest", "RunResult", "SimulationError", "WarpState", "Watcher", "Waves", "no_counts",
           "pack_memory", "unpack_memory"]

DEFAULT_MAX_CYCLES = 10_000_000


class Watcher(Protocol):
    """Who is told what each unit does in every cycle, of the hardware or of a prediction."""

    def begin(self) -> None:
        """The machine starts, perhaps not for the first time: what was told before does not count."""

    def take(self, events: np.ndarray) -> None:
        """The next cycles, from cycle 0 on: :data:`sim.predict.model.records.EVENT`, tidy, valid until the call's end.

        The cycle in which a program is found to have stopped is not among them.
        """


@dataclass(frozen=True, kw_only=True)
class Waves:
    """A waveform of all signals as VCD in ``path``: of the cycles ``first`` to ``last``, or where None of all."""

    path: Path
    first: int | None = None
    last: int | None = None


class Program(Protocol):
    """What can be run: :class:`sim.program.kernels.Launch`, or anything else with these."""

    @property
    def entry(self) -> int:
        """Where warp 0 starts."""

    @property
    def argument_address(self) -> int:
        """What mscratch holds at the start."""

    def load_into(self, memory: SparseMemory) -> None:
        """Write everything that has to be in memory before the start."""


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """One program and the way to run it.

    ``latency`` (cycles), ``seed`` and ``memory_options`` are the memory model's
    (``create_model``). ``check`` runs the golden model in lock step; ``memcheck`` does so too,
    and watches what it does to memory (docs/memcheck.md), which needs a :class:`sim.program.kernels.Launch`; with
    ``strict_races`` two stores of the same value are a race like others. ``fetch_policy`` is that of the fetch
    scheduler, where there is one. ``trace`` keeps a record of every cycle in
    :attr:`RunResult.events`. ``waves`` dumps all signals; only a request that is run alone can have it.
    """

    launch: Program | Launch
    policy: str
    memory: str = "fixed"
    latency: int = 20
    seed: int = 1
    memory_options: MemoryOptions = field(default_factory=MemoryOptions)
    check: bool = False
    memcheck: bool = False
    strict_races: bool = False
    trace: bool = False
    max_cycles: int = DEFAULT_MAX_CYCLES
    fetch_policy: str | None = None
    waves: Waves | None = None


@dataclass(frozen=True)
class WarpState:
    """What one warp did when a program was cut off; ``pc`` is that of the instruction it issued last.

    ``starved``: the stages (``issue``, ``fetch``) whose policy, by its name, has passed the warp over for
    :data:`hdl.layouts.probe.STARVATION_CYCLES` cycles or more although it was eligible. ``wait``: for whom or what the
    warp waits, in words, or that it jumps to itself for ever; empty if the reason says it all.
    """

    warp: int
    active: bool
    reason: StallReason
    pc: int
    starved: Mapping[str, str] = field(default_factory=dict)
    wait: str = ""

    def describe(self, place: str = "") -> str:
        """A line; ``place`` says where in the source ``pc`` is, in front of the comma behind it."""
        if not self.active:
            return f"warp {self.warp}: not active"
        reason = "runs" if self.reason is StallReason.NONE else f"waits: {self.reason.name.lower()}"
        parts = [f"last issued {self.pc:#010x}{place}", self.wait or reason]
        parts += [
            f"starved: {policy} has passed it over at {stage} for {STARVATION_CYCLES} cycles or more"
            for stage, policy in self.starved.items()
        ]
        return f"warp {self.warp}: {', '.join(parts)}"

    def __str__(self) -> str:
        return self.describe()


def no_counts() -> dict[str, Any]:
    """The counters of a program that has not counted anything."""
    reasons = [reason.name.lower() for reason in StallReason]
    return {counter.name: dict.fromkeys(reasons, 0) if counter.by_reason else 0 for counter in COUNTERS}


@dataclass(kw_only=True)
class RunResult:
    """How a program ended, and what it left behind.

    ``status`` is ``ended``, ``fault``, ``hang`` (``max_cycles`` reached), ``deadlock`` (no active warp can ever go on:
    each waits at a barrier or in wspawn, or jumps to itself), ``assertion`` (a hardware assertion) or ``mismatch``
    (lock step). ``total_cycles`` counts from the cycle in which ``start`` was high to the last one with
    ``busy``. ``counters`` are those of :data:`hdl.layouts.counters.COUNTERS` (``stalls`` by :class:`StallReason`
    name in lower case), all 0 if the program did not stop by itself (``mismatch``). ``events`` is what
    :func:`sim.build.records.decode_records` returns. ``region``: the statistics of the measured region that the
    simulation keeps, None in a build without a probe. ``cycles_per_second`` leaves building and the start of the
    process out. ``memcheck``: what the memory checker has found, None if it was not asked for; ``leftovers``: what it
    would find if the host read certain places (:func:`sim.run.memcheck.results`).
    ``memory_statistics`` is what the memory model has counted (docs/memory.md), None if it does not count;
    ``memory_commands`` the commands that it gave, if they were asked for. ``python_seconds`` is the part of
    ``sim_seconds`` that is not the simulated SM: the memory model, lock step, and the switching between the simulator
    and Python. ``argument_missing``: the program has read where its argument block would be, but the launch has none.
    In ``console`` a byte that is not UTF-8 is a surrogate (``surrogateescape``).
    """

    status: str
    exit_code: int
    total_cycles: int
    memory: SparseMemory
    fault: Fault | None = None
    assertions: list[str] = field(default_factory=list)
    mismatches: list[str] = field(default_factory=list)
    argument_missing: bool = False
    counters: dict[str, Any] = field(default_factory=no_counts)
    hang: list[WarpState] = field(default_factory=list)
    console: str = ""
    events: np.ndarray | None = None
    checked: bool = False
    memcheck: list[Finding] | None = None
    leftovers: list[Leftover] = field(default_factory=list)
    memory_statistics: dict[str, int | float] | None = None
    memory_commands: list[Command] | None = None
    region: RegionStatistics | None = None
    sim_seconds: float = 0.0
    python_seconds: float = 0.0
    build_seconds: float = 0.0
    elaborate_seconds: float = 0.0

    @property
    def cycles_per_second(self) -> float:
        """Simulated cycles per second of wall-clock time."""
        return self.total_cycles / self.sim_seconds if self.sim_seconds else 0.0


@dataclass(frozen=True, kw_only=True)
class Job:
    """A run request as it goes to the simulation process: plain data only."""

    config: SmConfig
    pages: dict[int, bytes]
    start_pc: int
    arg: int
    policy: int
    fetch_policy: int
    memory: str
    latency: int
    seed: int
    memory_options: MemoryOptions
    check: bool
    trace: bool
    max_cycles: int
    memcheck: Declared | None = None
    strict_races: bool = False
    #: A pc, and what (address, bytes) memory holds again when that is first executed; the hardware cannot do that.
    arrival: tuple[int, tuple[tuple[int, bytes], ...]] | None = None
    #: Nothing is at ``arg``: tell whether the program reads there.
    without_argument: bool = False

    def golden_model(self, memory: SparseMemory) -> Iss:
        """The golden model, launched; ``memory`` is the job's (:func:`unpack_memory`), and is changed."""
        from ..machine.golden import Arrival, Iss

        iss = Iss(self.config, memory)
        iss.launch(self.start_pc, self.arg)
        if self.arrival is not None:
            iss.arrival = Arrival(*self.arrival)
        return iss


def pack_memory(memory: SparseMemory) -> dict[int, bytes]:
    """The written pages of ``memory`` as plain bytes by address (its numpy views must not be pickled)."""
    memory_map = memory.memory_map
    packed = {}
    for page in memory.pages():
        low, high = max(page, memory_map.first), min(page + PAGE_BYTES, memory_map.end)
        packed[low] = memory.read(low, high - low)
    return packed


def unpack_memory(config: SmConfig, pages: dict[int, bytes]) -> SparseMemory:
    """The memory that :func:`pack_memory` took apart."""
    memory = SparseMemory(config.memory_map)
    for address, data in pages.items():
        memory.write(address, data)
    return memory


#: Called with the position of a request and its result, in the order in which they end.
ResultCallback = Callable[[int, RunResult], None]
