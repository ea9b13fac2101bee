"""What the load/store unit's bench checks when a program has ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from metronome.hdl.config import FaultCause
from tests.hdl.memory.lsu_reference import Access, Reference

if TYPE_CHECKING:
    from tests.hdl.memory.lsu_harness import LsuBench


def check_end(bench: LsuBench, program: Sequence[Access], reference: Reference, stores: Sequence[int]) -> None:
    """What the bench saw of the whole program against ``reference``; ``stores`` are those of this program."""
    bench.check(not bench.loads, f"loads without a last part: {bench.loads}")
    bench.memory_check.finish()
    refused = _refused_lanes(bench, program)
    for index, access in enumerate(program):
        if not access.store and access.writes_rd and not access.cancel and not access.misaligned:
            expected = {lane: value for lane, value in reference.loads.get(index, {}).items()
                        if (index, lane) not in refused}
            got = bench.results.get(index, {})
            bench.check(got == expected, f"load {index} ({access}) gives {got} instead of {expected}")
        else:
            bench.check(index not in bench.results, f"access {index} wrote back")
    zero = {place: byte for place, byte in bench.memory.items() if byte}
    bench.check(zero == {place: byte for place, byte in reference.memory.items() if byte}, "memory differs")
    events = []
    for index in stores:
        access = program[index]
        lanes = tuple((access.address[lane], access.data[lane]) for lane in access.lanes)
        events.append((access.warp, access.pc, access.size.bit_length() - 1, access.mask, lanes))
    bench.check(bench.store_events == events, "store events differ")
    _check_faults(bench, program, refused)


def _refused_lanes(bench: LsuBench, program: Sequence[Access]) -> set[tuple[int, int]]:
    """(load, lane) of the lanes that got nothing because memory refuses their line.

    Where the bytes of a load are still in the write buffer they come from there; the store's fault tells of it.
    """
    refused = set()
    for line in bench.expected:
        if bench.traffic.bad(line.line) and not line.write:
            got = bench.results.get(line.access, {})
            tracked = program[line.access].writes_rd
            if not tracked or not set(line.lanes) <= got.keys():
                refused |= {(line.access, lane) for lane in line.lanes}
    return refused


def _check_faults(bench: LsuBench, program: Sequence[Access], refused: set[tuple[int, int]]) -> None:
    """One fault for each misaligned access, each refused part of a load and each refused write request.

    The fault of a write is laid to the first of the stores that it is made of.
    """
    expected = []
    for access in program:
        if access.misaligned and not access.cancel:
            cause = FaultCause.STORE_MISALIGNED if access.store else FaultCause.LOAD_MISALIGNED
            expected.append((cause, access.warp, access.pc, access.address[access.misaligned[0]]))
    optional = []
    for line in bench.expected:
        access = program[line.access]
        fault = (FaultCause.LOAD_ACCESS, access.warp, access.pc, access.address[line.lanes[0]])
        if (line.access, line.lanes[0]) in refused:
            (expected if access.writes_rd else optional).append(fault)
    for firsts in bench.memory_check.refused_writes(bench.traffic.bad):
        faults = {(FaultCause.STORE_ACCESS, program[line.access].warp, program[line.access].pc,
                   program[line.access].address[line.lanes[0]]) for line in firsts}
        told = [fault[1:] for fault in bench.faults if fault[1:] in faults]
        bench.check(bool(told), f"no fault of {faults}")
        expected.append(told[0])
    got = [fault[1:] for fault in bench.faults]
    missing = [fault for fault in expected if got.count(fault) < expected.count(fault)]
    more = [fault for fault in got if got.count(fault) > expected.count(fault) + optional.count(fault)]
    bench.check(not missing and not more, f"faults {got}: {missing} missing, {more} too many")
