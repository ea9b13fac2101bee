"""The values of the measured numbers according to the configuration and the documents, independent of measurements."""

from __future__ import annotations

from dataclasses import dataclass

from metronome.hdl.config import LINE_BYTES, SmConfig

from .bench import Shape
from .derive import Finding
from .memory_probes import MANY, byte_strides, capacities, word_strides

__all__ = ["Row", "compare", "expected", "shape_of"]

#: design.md section 4: the delay of a dependent instruction's issue after its producer's latency.
_BEHIND = 2
#: design.md section 3: the warp is selectable 4 cycles after a branch without a redirect, and 1 after R; d = 4 NOPs
#: after a redirect; after a redirect at decode, the NOPs of the three fetches that follow it.
_RESOLVED, _NOPS, _AT_DECODE = 4, 4, 3
_UNPIPELINED = ("div", "fdiv")
_UNITS = ("alu", "mul", "div", "csr", "fma", "fcvt", "fdiv", "fmisc")


@dataclass(frozen=True, kw_only=True)
class Row:
    """A measured number and its expected value; ``expected`` is None if nothing specifies it.

    ``source``: the field of the configuration, or the page, that specifies it.
    """

    finding: Finding
    expected: float | None
    source: str

    @property
    def differs(self) -> bool:
        """Whether the measured value differs from the expected one."""
        return self.expected is not None and self.finding.value != self.expected


def shape_of(config: SmConfig) -> Shape:
    """Return the facts about a configuration that the micro-benchmarks may know."""
    return Shape(
        warps=config.warps, threads=config.threads, local_bytes=config.local_bytes, memory_map=config.memory_map
    )


def compare(findings: list[Finding], config: SmConfig, *, memory: str, latency: int) -> list[Row]:
    """Return every finding with its expected value.

    ``memory``, ``latency``: the memory model of the machine, and its latency if it has a fixed one.
    """
    table = expected(config, memory=memory, latency=latency)
    return [Row(finding=each, expected=table.get(each.key, (None, ""))[0], source=table.get(each.key, (None, ""))[1])
            for each in findings]


def expected(config: SmConfig, *, memory: str, latency: int) -> dict[str, tuple[float, str]]:
    """Key of a finding -> its expected value, and the source. Findings that nothing specifies are omitted."""
    return _units(config) | _control(config) | _local(config) | _global(config, memory, latency)


def _units(config: SmConfig) -> dict[str, tuple[float, str]]:
    table: dict[str, tuple[float, str]] = {"dependent issue": (_BEHIND, "design.md section 4")}
    for name in _UNITS:
        field = f"latency_{name}"
        latency = getattr(config, field)
        table[field] = (latency, field)
        table[f"interval_{name}"] = (latency, field) if name in _UNPIPELINED else (1, "design.md section 4")
        table[f"{field} (slot)"] = (latency, field)
    return table


def _control(config: SmConfig) -> dict[str, tuple[float, str]]:
    page = "design.md section 3"
    predicted = config.follows
    repaired = 1 + config.resolve_latency + _NOPS
    table: dict[str, tuple[float, str]] = {
        name: (_RESOLVED, page) for name in ("branch not taken", "tmc", "split", "join", "pred", "bar")
    }
    if config.learns:
        # Most jumps and branches of these programs are predicted right after a few turns: no time is specified.
        return table | {"jal": (1 + _AT_DECODE, page)}
    return table | {
        "branch forward taken": (repaired, page), "jalr": (repaired, page),
        "branch backward taken": (_RESOLVED + _AT_DECODE if predicted else repaired, page),
        "jal": (1 + _AT_DECODE if predicted else repaired, page),
    }


def _local(config: SmConfig) -> dict[str, tuple[float, str]]:
    # From the selection to stage X, c (memory.md): c + 3 is at the writeback port, and read one cycle later. Two cycles
    # to the lookup add one to the time of every local access.
    more = config.lookup_latency - 1
    table: dict[str, tuple[float, str]] = {"local load": (config.issue_latency + 3 + more + 1, "memory.md")}
    for stride in word_strides(shape_of(config)):
        words = [lane * stride for lane in range(config.threads)]
        banks = [word % config.threads for word in words]
        distinct = [word % config.threads for word in set(words)]
        table[f"local load, stride {stride}"] = (max(distinct.count(bank) for bank in banks) + more, "memory.md")
        table[f"local store, stride {stride}"] = (max(banks.count(bank) for bank in banks) + more, "memory.md")
    return table


def _global(config: SmConfig, memory: str, latency: int) -> dict[str, tuple[float, str]]:
    table: dict[str, tuple[float, str]] = {}
    more = config.lookup_latency - 1
    if memory == "fixed":
        # memory.md: offered in c + 3, answered in r, at the writeback port in r + 2, read one cycle later.
        table["load miss"] = (config.issue_latency + 3 + more + latency + 2 + 1, f"memory.md, --latency {latency}")
    if not config.dcache_bytes:
        return table
    table["load hit"] = (config.issue_latency + 4 + more + 1, "memory.md")
    for stride in byte_strides():
        lines = len({lane * stride // LINE_BYTES for lane in range(config.threads)})
        table[f"load, stride {stride} bytes"] = (lines, "memory.md")
    sizes = {
        "lines that loads wait for": ("dcache_mshrs", min(config.dcache_mshrs, config.load_parts)),
        "parts of loads that wait": ("load_parts", config.load_parts),
        "write buffer": ("store_buffer", config.store_buffer),
    }
    table |= {key: (size, field) for key, (field, size) in sizes.items() if size < MANY[-1]}
    lines = config.dcache_bytes // LINE_BYTES
    if lines < capacities()[-1]:
        table["data cache"] = (lines, "dcache_bytes")
    return table
