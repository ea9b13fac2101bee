"""The machine's latencies, derived from measured cycles alone, without any configuration."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from .classes import COUNTS, UNITS
from .measure import Measured
from .memory_probes import AFTER, LONG, ROWS, byte_strides, capacities, late, word_strides
from .probes import SLOTS, Cycles, one, row

__all__ = ["Finding", "derive"]

#: The shortest time that counts as a wait for memory of LONG cycles.
_LATE = LONG // 2


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A number derived from measurements.

    ``key``: its name. ``value``: in ``unit``, None if it cannot be derived. ``how``: a description of the derivation.
    """

    key: str
    value: float | None
    how: str
    unit: str = "cycles"


def _slope(cycles: Cycles, name: str, *, dependent: bool) -> float:
    """Cycles from one instruction of a sequence to the next; the mean if they are not all equal."""
    times = [taken[0] for taken in row(cycles, name, COUNTS, dependent=dependent)]
    steps = {after - before for before, after in itertools.pairwise(times)}
    return steps.pop() if len(steps) == 1 else (times[-1] - times[0]) / (len(times) - 1)


def _each(cycles: Cycles, name: str) -> float:
    """Cycles of one access, from two sequences of different lengths."""
    few, many = (one(cycles, f"{name} x{count}") for count in ROWS)
    return _whole((many - few) / (ROWS[1] - ROWS[0]))


def _whole(value: float) -> float:
    return int(value) if value == int(value) else value


def _slot(cycles: Cycles, name: str) -> int | None:
    """The latency of a producer, from the gap at which its write collides with that of the counter read (latency 1).

    The read waits one cycle if it follows ``gap`` instructions, because both would then write in the same cycle.
    """
    waits = [gap for gap in SLOTS if cycles[f"{name} slot {gap}"][0] > gap + 1]
    return waits[0] + 2 if len(waits) == 1 else None


def _units(found: Measured) -> list[Finding]:
    """For each unit, its latency and the cycles between two independent instructions."""
    near = {unit.name: _slope(found.distances, unit.name, dependent=True) for unit in UNITS}
    apart = {unit.name: _slope(found.distances, unit.name, dependent=False) for unit in UNITS}
    # The divider accepts an operation when it has finished the previous one, so this is its latency. An instruction
    # that needs the result comes this much later.
    behind = near["div"] - apart["div"]
    findings = [Finding(key="dependent issue", value=behind, how="two dependent divisions, minus two independent ones")]
    for unit in UNITS:
        findings += [
            Finding(
                key=f"latency_{unit.name}", value=near[unit.name] - behind,
                how=f"{near[unit.name]:g} cycles to a dependent {unit.about}, minus {behind:g}",
            ),
            Finding(key=f"interval_{unit.name}", value=apart[unit.name], how=f"independent {unit.about} in a row"),
        ]
    for unit in UNITS:
        slot = _slot(found.slots, unit.name)
        if slot is not None:
            findings.append(Finding(
                key=f"latency_{unit.name} (slot)", value=slot,
                how=f"a csrr selected {slot - 1} cycles later waits for the writeback port",
            ))
    return findings


#: Control flow: each measured piece, and the piece to subtract from it.
_FLOWS = {
    "branch not taken": "lead", "branch forward taken": "lead", "jal": "lead", "jalr": "lead", "tmc": "lead",
    "split": "lead", "pred": "lead", "bar": "lead", "wspawn": "lead", "fence": "lead", "fcsr": "lead",
}


def _control(found: Measured) -> list[Finding]:
    cycles = found.control
    pairs = [*_FLOWS.items(), ("split, join", "split"), ("there and back", "there")]
    names = {"split, join": "join", "there and back": "branch backward taken"}
    findings = [
        Finding(
            key=names.get(name, name), value=one(cycles, name) - one(cycles, beside),
            how="from its selection to that of the next, in straight code",
        )
        for name, beside in pairs
    ]
    findings += [
        Finding(
            key=f"barrier of {warps} warps", value=min(taken),
            how="all warps reach it at once: the cycles across it in the warp that waits least",
        )
        for warps, taken in found.barriers.items() if warps > 1
    ]
    return findings


def _local(found: Measured) -> list[Finding]:
    findings = [
        Finding(
            key="local load", value=_slope(found.distances, "local_load", dependent=True),
            how="a chain of loads, from one to the next",
        ),
        Finding(
            key="local store, load", value=_pair(found.order, "local store, load"),
            how="a store and a load of the same word, from pair to pair",
        ),
    ]
    for stride in word_strides(found.shape):
        for kind in ("local_load", "local_store"):
            findings.append(Finding(
                key=f"{kind.replace('_', ' ')}, stride {stride}",
                value=_each(found.strides, f"{kind} stride {stride}"),
                how="cycles of each in a row",
            ))
    return findings


def _pair(cycles: Cycles, name: str) -> float:
    return _whole((one(cycles, f"{name} x4") - one(cycles, f"{name} x2")) / 2)


def _global(found: Measured) -> list[Finding]:
    hit = _slope(found.distances, "load_hit", dependent=True)
    miss = _slope(found.distances, "load_miss", dependent=True)
    # Without a cache nothing hits, and the load after the others reveals nothing about them.
    cached = hit < miss
    findings = [
        Finding(key="load hit", value=hit if cached else None, how="a chain of loads within a line"),
        Finding(key="load miss", value=miss, how="a chain of loads through new lines"),
        Finding(
            key="store, load", value=_pair(found.order, "store, load"),
            how="a store and a load of the same word, from pair to pair",
        ),
        Finding(key="store, fence", value=one(found.order, "store, fence"), how="from the store to the instruction "
                                                                                "after the fence"),
    ]
    findings += [
        Finding(
            key=f"load, stride {stride} bytes", how="cycles of each load that hits, in a row",
            value=_each(found.lines, f"load stride {stride}") if cached else None,
        )
        for stride in byte_strides()
    ]
    sizes = {"misses": "lines that loads wait for", "joined": "parts of loads that wait", "stores": "write buffer"}
    findings += [
        Finding(
            key=sizes[name], value=_room(found.under_way, name) if cached else None,
            how=f"the most {name} after which a hit is not late", unit="entries",
        )
        for name in AFTER
    ]
    walk = _capacity(found.capacity) if cached else None
    return [*findings, Finding(key="data cache", value=walk, how="the longest walk without a miss", unit="lines")]


def _room(cycles: Cycles, name: str) -> int | None:
    """The largest number of accesses after which a load that hits is not late; None if it is never late."""
    tried = late(cycles, name)
    return next((count - 1 for count, was in tried.items() if was), None)


def _capacity(cycles: Cycles) -> int | None:
    """The number of lines in the longest walk without a miss; None if no walk has a miss, or the shortest has one."""
    counts: Sequence[int] = capacities()
    times = {count: one(cycles, f"lines {count}") / count for count in counts}
    missing = [count for count in counts if times[count] > _LATE]
    return counts[counts.index(missing[0]) - 1] if missing and missing[0] != counts[0] else None


def derive(found: Measured) -> list[Finding]:
    """Return every number that follows from the measurements."""
    return [*_units(found), *_control(found), *_local(found), *_global(found)]
