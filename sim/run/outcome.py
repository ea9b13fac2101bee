"""The outcome of a run in the terms of docs/command-line.md: the JSON of ``metronome run``, and a row of a sweep."""

from __future__ import annotations

import dataclasses
import functools
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from metronome.hdl.config import SmConfig
from metronome.hdl.layouts.counters import COUNTERS

from ..machine.engines import Engine
from ..machine.memory.names import DRAM_MODELS
from ..machine.policies.files import files_of
from .lane_words import in_words

if TYPE_CHECKING:  # the command line imports this even if nothing is run
    from ..machine.memory.store import SparseMemory
    from ..program.compiler.options import Compiling
    from ..program.kernels import Launch
    from .memcheck import Finding
    from .types import RunRequest, RunResult

__all__ = ["MOST_FINDINGS", "Outcome", "RequestedMachine", "described"]

#: The most memory-checker findings that are listed one by one.
MOST_FINDINGS = 20


class _Reads:
    """Memory after a run; ``places`` lists the ranges read so far, as (first, end)."""

    def __init__(self, memory: SparseMemory) -> None:
        self._memory = memory
        self.places: list[tuple[int, int]] = []

    def read(self, address: int, count: int, /) -> bytes:
        """See :meth:`sim.machine.memory.store.SparseMemory.read`."""
        self.places.append((address, address + count))
        return self._memory.read(address, count)


class RequestedMachine(Protocol):
    """The machine as the user requested it."""

    @property
    def preset(self) -> str:
        """The preset that the fields were changed from."""

    @property
    def title(self) -> str:
        """A title for people."""

    @property
    def file(self) -> str | None:
        """The TOML file of fields, as the user named it."""

    @property
    def settings(self) -> Mapping[str, str]:
        """Field -> value for each field set individually, as text that ``--set`` accepts."""


def described(
    machine: RequestedMachine, config: SmConfig, request: RunRequest, compiling: Compiling | None, dtype: str | None,
    size: int | None, engine: Engine = Engine.RTL,
) -> dict[str, Any]:
    """How a run was requested: ``config`` of its JSON. Without ``compiling``, the program was compiled elsewhere."""
    dram = request.memory in DRAM_MODELS
    return {
        "preset": machine.preset, "config_file": machine.file, "set": dict(machine.settings),
        "mode": config.coordination, "issue": request.policy, "fetch": request.fetch_policy, "memory": request.memory,
        "latency": None if dram else request.latency, "timing": request.memory_options.timing if dram else None,
        "memory_clock": str(request.memory_options.clock) if dram else None,
        "bank_hash": request.memory_options.bank_hash if dram else None,
        "cflags": None if compiling is None else shlex.join(compiling.flags),
        "function": None if compiling is None else compiling.function,
        "no_simt": None if compiling is None else not compiling.simt,
        "soft_float": None if compiling is None else compiling.soft_float,
        "hints": None if compiling is None else compiling.hints,
        "type": dtype, "size": size, "seed": request.seed,
        "max_cycles": request.max_cycles, "check": request.check, "memcheck": request.memcheck,
        "strict_races": request.strict_races, "engine": engine,
        "policy_files": files_of((request.policy, request.fetch_policy)),
        **dataclasses.asdict(config),
    }


def _ratio(part: int | None, whole: int | None) -> float | None:
    """``part / whole``, or None if ``whole`` is 0 or one of them was not counted."""
    return part / whole if part is not None and whole else None


def _exit_code(word: int, place: str) -> str:
    """The exit code as C's ``main`` returns it: signed."""
    negative = word >> 31
    hint = ": spawn_threads returns it if a block has more threads than the machine" if word == 0xFFFF_FFFF else ""
    return f"exit code {word - (1 << 32)} ({word:#010x}, {place}){hint}" if negative else f"exit code {word} ({place})"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
    """A finished run together with its request."""

    machine: RequestedMachine
    #: The machine's configuration, with the front end that the user requested.
    config: SmConfig
    launch: Launch
    request: RunRequest
    result: RunResult
    engine: Engine = Engine.RTL
    #: (address, bytes) of the further memory that the host reads: --dump.
    dumped: Sequence[tuple[int, int]] = ()
    #: The forecast of this run (:func:`sim.predict.forecast.forecast_against`), if requested.
    forecast: Mapping[str, Any] | None = None

    @functools.cached_property
    def _checked(self) -> tuple[list[str], list[tuple[int, int]]]:
        """The problems, and the ranges (first, end) that the check read to find them."""
        reads = _Reads(self.result.memory)
        problems = self.launch.check(reads) if self.result.status == "ended" else []
        return problems, reads.places

    def of_gpu(self) -> list[tuple[str, str]]:
        """Rows of the table about what several SMs share: names and texts."""
        return []

    @property
    def problems(self) -> list[str]:
        """The errors that the kernel's own check finds in memory; empty unless the program has ended."""
        return self._checked[0]

    @functools.cached_property
    def findings(self) -> list[Finding] | None:
        """The memory checker's findings, including those about results; None if it was not requested."""
        if self.result.memcheck is None:
            return None
        from .memcheck import results

        read = self._checked[1] + [(address, address + size) for address, size in self.dumped]
        return self.result.memcheck + results(self.result.leftovers, read, self.launch, self.config)

    @property
    def failures(self) -> list[Finding]:
        """The findings that are not notes."""
        return [finding for finding in self.findings or () if not finding.note]

    @property
    def passed(self) -> bool:
        """Whether the program ended by itself with a correct result and no complaints."""
        if self.result.status != "ended":
            return False
        return not (self.problems or self.result.exit_code or self.failures)

    @property
    def counters(self) -> Mapping[str, Any]:
        """The counters of the measured region: all 0 if the program never opened it, None if the machine lacks them."""
        return self.result.counters

    @property
    def cycles(self) -> int | None:
        """Cycles of the measured region; None if the program never opened it, or the machine does not count them."""
        return self.counters["cycles"] or None

    @property
    def sms(self) -> int:
        """Number of SMs."""
        return 1

    @property
    def issue_slots(self) -> int:
        """Instructions that the machine can issue in a cycle."""
        return self.sms * self.config.schedulers

    def stalls(self) -> dict[str, int]:
        """Cycles without an issue, by reason."""
        return {reason: count for reason, count in (self.counters["stalls"] or {}).items() if reason != "none"}

    def counted(self) -> dict[str, Any]:
        """Every counter by its name; None for one that the build does not have (docs/counters.md, docs/policies.md)."""
        values = {counter.name: self.counters[counter.name] for counter in COUNTERS}
        if not self.config.oracles:
            values |= {counter.name: None for counter in COUNTERS if counter.oracle}
        stalls = self.stalls() if self.config.research_counters else None
        return values | {"cycles": self.cycles, "total_cycles": self.result.total_cycles, "stalls": stalls}

    def rates(self) -> dict[str, float | None]:
        """Ratios of counters."""
        counters, cycles = self.counters, self.counters["cycles"]
        return {
            "ipc": _ratio(counters["committed_threads"], cycles),
            "error_rate": _ratio(counters["errors"], cycles * self.issue_slots) if self.config.oracles else None,
        }

    @property
    def dcache_misses(self) -> int | None:
        """Lines that loads requested from memory; None without a data cache or without statistics."""
        region = self.result.region
        return region.loads.misses if region is not None and self.config.dcache_bytes else None

    def region(self) -> dict[str, Any]:
        """The measured region's statistics from the simulation; each is None in a build without a probe."""
        region = self.result.region
        return dict.fromkeys(("lines", "coalescing", "load_latency", "warps")) if region is None else region.as_json()

    def fault(self) -> dict[str, Any] | None:
        """The reason that the machine stopped for, or None."""
        fault = self.result.fault
        if fault is None:
            return None
        return {
            "cause": fault.cause.name.lower(), "warp": fault.warp, "pc": fault.pc, "address": fault.address,
            "function": self.launch.image.function_at(fault.pc), "source": self.launch.image.source_line(fault.pc),
        }

    def source_of(self, pc: int) -> tuple[str | None, str | None]:
        """The function and source line of ``pc``; each is None if unknown."""
        return self.launch.image.function_at(pc), self.launch.image.source_line(pc)

    def place(self, pc: int) -> str:
        """The source place of ``pc``: " at FILE:LINE in FUNCTION", as far as the image gives it."""
        function, source = self.source_of(pc)
        return (f" at {source}" if source else "") + (f" in {function}" if function else "")

    def hang(self) -> list[str] | None:
        """A line for each warp with the reason it waits; None unless the run was cut off."""
        if self.result.status not in ("hang", "deadlock"):
            return None
        return [warp.describe(self.place(warp.pc)) for warp in self.result.hang]

    def complaints(self) -> list[str]:
        """The reasons why the run did not pass, one a line; empty if it passed."""
        result = self.result
        lines = []
        fault = self.fault()
        if fault is not None:
            sm = f"SM {fault['sm']}, " if "sm" in fault else ""
            lanes = f", {in_words(fault['lanes'])}" if fault.get("lanes") else ""
            what = f"fault: {fault['cause'].replace('_', ' ')}, {sm}warp {fault['warp']}{lanes}"
            place = self.place(fault["pc"])
            lines.append(f"{what}, pc {fault['pc']:#010x}, address {fault['address']:#010x}{place}")
        elif result.status == "hang":
            lines.append(f"not ended after {result.total_cycles} cycles (--max-cycles)")
        elif result.status == "deadlock":
            lines.append(f"deadlock: after {result.total_cycles} cycles no active warp can ever continue")
        lines += self.hang() or []
        if any("in __groups_worker" in line for line in lines):
            lines.append("(__groups_worker is the end of a block: its warps have not all reached the same number of "
                         "barriers)")
        # A hardware defect may have caused the fault or the hang.
        lines += [f"assertion: {text}" for text in result.assertions]
        lines += [f"differs from the golden model: {text}" for text in result.mismatches]
        if result.exit_code:
            lines.append(_exit_code(result.exit_code, f"the word at {self.config.memory_map.exit_code:#x}"))
        lines += [f"check: {problem}" for problem in self.problems]
        findings = self.failures
        lines += [f"memcheck: {finding.describe(self.source_of)}" for finding in findings[:MOST_FINDINGS]]
        if len(findings) > MOST_FINDINGS:
            lines.append(f"memcheck: {len(findings) - MOST_FINDINGS} more: --json has them all")
        return lines

    def as_json(self) -> dict[str, Any]:
        """The fields listed in docs/command-line.md, and how the run was requested."""
        result = self.result
        return {
            "kernel": self.launch.name,
            "config": described(
                self.machine, self.config, self.request, self.launch.compiling, self.launch.dtype, self.launch.size,
                self.engine,
            ),
            "passed": self.passed,
            "status": str(result.status),
            "problems": self.problems,
            "exit_code": result.exit_code,
            "fault": self.fault(),
            "mismatches": result.mismatches,
            "assertions": result.assertions,
            "memcheck": None if self.findings is None else
            [finding.as_json(self.source_of) for finding in self.findings],
            "hang": self.hang(),
            "region": self.launch.region,
            **self.counted(),
            **self.rates(),
            "dcache_misses": self.dcache_misses,
            **self.region(),
            "memory_statistics": result.memory_statistics,
            "python_share": result.python_seconds / result.sim_seconds if result.sim_seconds else None,
            "sim_seconds": result.sim_seconds,
            "cycles_per_second": result.cycles_per_second,
            "elaborate_seconds": result.elaborate_seconds,
            "build_seconds": result.build_seconds,
            **({} if self.forecast is None else {"forecast": dict(self.forecast)}),
        }
