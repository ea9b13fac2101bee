"""Inputs and outputs of a simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.hdl.layouts.counters import COUNTERS, TOTAL, StallReason
from metronome.hdl.layouts.waits import STARVATION_CYCLES

from ..machine.memory.dram.device import Command
from ..machine.memory.registry import MemoryOptions
from ..machine.memory.store import PAGE_BYTES, SparseMemory
from ..machine.statistics import RegionStatistics
from .errors import SimulationError

# A plain run imports neither the golden model nor the checker; for kernels see sim/run/memcheck/areas.py.
if TYPE_CHECKING:
    from ..machine.golden import Fault, Iss
    from ..program.kernels import Launch
    from .memcheck import DeclaredAreas, Finding, Leftover

__all__ = ["Job", "Program", "RunRequest", "RunResult", "SimulationError", "WarpState", "Watcher", "Waves", "no_counts",
           "pack_memory", "unpack_memory"]

DEFAULT_MAX_CYCLES = 10_000_000


class Watcher(Protocol):
    """Receives the events of every cycle, from the hardware or from a prediction."""

    def begin(self) -> None:
        """Start the machine, perhaps not for the first time: earlier events no longer count."""

    def take(self, events: np.ndarray) -> None:
        """Receive the next cycles, from cycle 0: :data:`sim.predict.model.records.EVENT`, tidy, valid during the call.

        A cycle has one for each partition of the SM, in their order; ``events`` ends with a whole cycle.
        The cycle in which a program is found to have stopped is not among them.
        """


@dataclass(frozen=True, kw_only=True)
class Waves:
    """A VCD waveform of all signals in ``path``: cycles ``first`` to ``last``, or all cycles if these are None."""

    path: Path
    first: int | None = None
    last: int | None = None


class Program(Protocol):
    """A program that can be run: :class:`sim.program.kernels.Launch`, or any object with these members."""

    @property
    def entry(self) -> int:
        """The address at which warp 0 starts."""

    @property
    def argument_address(self) -> int:
        """The initial value of mscratch."""

    def load_into(self, memory: SparseMemory) -> None:
        """Write everything that must be in memory before the start."""


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """One program and the way to run it.

    ``latency`` (cycles), ``seed`` and ``memory_options`` are the memory model's (``create_model``). ``check`` runs the
    golden model in lock step; ``memcheck`` does so too, and watches the model's memory accesses (docs/memcheck.md),
    which needs a :class:`sim.program.kernels.Launch`; with ``strict_races``, two stores of the same value race like
    any others. ``fetch_policy`` is the fetch scheduler's, if there is one. ``trace`` keeps a record of every cycle in
    :attr:`RunResult.events`. ``waves`` dumps all signals; only a request that runs alone can have it.
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
    """The state of one warp when a program was cut off; ``pc`` is that of the instruction it issued last.

    ``starved``: the stages (``issue``, ``fetch``) whose policy, by its name, has passed the warp over for
    :data:`hdl.layouts.probe.STARVATION_CYCLES` cycles or more although it was eligible. ``wait``: the reason
    for which the warp waits, in words, or that it jumps to itself forever; empty if ``reason`` is sufficient.
    """

    warp: int
    active: bool
    reason: StallReason
    pc: int
    starved: Mapping[str, str] = field(default_factory=dict)
    wait: str = ""
    #: Several SMs: the lanes of that instruction, in words; empty if they are not known.
    lanes: str = ""

    def describe(self, place: str = "") -> str:
        """Return one line; ``place`` gives the source place of ``pc``, inserted before the comma that follows it."""
        if not self.active:
            return f"warp {self.warp}: not active"
        reason = "runs" if self.reason is StallReason.NONE else f"waits: {self.reason.name.lower()}"
        parts = [f"last issued {self.pc:#010x}{place}", self.wait or reason]
        parts += [
            f"starved: {policy} has passed it over at {stage} for {STARVATION_CYCLES} cycles or more"
            for stage, policy in self.starved.items()
        ]
        lanes = f", {self.lanes}" if self.lanes else ""
        return f"warp {self.warp}{lanes}: {', '.join(parts)}"

    def __str__(self) -> str:
        return self.describe()


def no_counts() -> dict[str, Any]:
    """Return the counters of a program that has counted nothing."""
    reasons = [reason.name.lower() for reason in StallReason]
    return {counter.name: dict.fromkeys(reasons, 0) if counter.by_reason else 0 for counter in COUNTERS}


def present(config: SmConfig, counters: dict[str, Any]) -> dict[str, Any]:
    """Return the counters of a machine, with None for those that it does not have."""
    if config.research_counters:
        return counters
    return {name: value if name == TOTAL else None for name, value in counters.items()}


@dataclass(kw_only=True)
class RunResult:
    """How a program ended, and the state that it left.

    ``status`` is ``ended``, ``fault``, ``hang`` (``max_cycles`` reached), ``deadlock`` (no active warp can progress:
    each waits at a barrier or in wspawn, or jumps to itself), ``assertion`` (a hardware assertion) or ``mismatch``
    (lock step). ``total_cycles`` counts from the cycle in which ``start`` was high to the last one with ``busy``.
    ``counters`` are those of :data:`hdl.layouts.counters.COUNTERS` (``stalls`` by :class:`StallReason` name in lower
    case), all 0 if the program did not stop by itself (``mismatch``), and None if the machine lacks them. ``events``
    comes from :func:`sim.build.records.decode_records`. ``region``: the simulation's statistics of the measured region,
    None in a build without a probe. ``cycles_per_second`` excludes building and the start of the process. ``memcheck``:
    the memory checker's findings, None if it was not requested; ``leftovers``: its findings if the host were to read
    certain places (:func:`sim.run.memcheck.results`). ``memory_statistics`` holds the memory model's counts
    (docs/memory.md), None if it does not count; ``memory_commands`` the commands that it gave, if requested.
    ``python_seconds`` is the part of ``sim_seconds`` outside the simulated SM: the memory model, lock step, and
    switching between the simulator and Python. ``argument_missing``: the program has read memory at its argument
    address, but the launch has no block. In ``console`` a byte that is not UTF-8 is a surrogate (``surrogateescape``).
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
    """A run request as sent to the simulation process: plain data only."""

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
    memcheck: DeclaredAreas | None = None
    strict_races: bool = False
    #: A pc, and the memory (address, bytes) to restore when it is first executed; the hardware cannot do that.
    arrival: tuple[int, tuple[tuple[int, bytes], ...]] | None = None
    #: There is nothing at ``arg``: report whether the program reads there.
    without_argument: bool = False

    def golden_model(self, memory: SparseMemory) -> Iss:
        """Return the golden model, launched; it changes ``memory``, which is the job's (:func:`unpack_memory`)."""
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
    """Return the memory packed by :func:`pack_memory`."""
    memory = SparseMemory(config.memory_map)
    for address, data in pages.items():
        memory.write(address, data)
    return memory


#: Called with the position of a request and its result, in the order in which the requests end.
ResultCallback = Callable[[int, RunResult], None]
