"""The load/store unit's bench for ordered channels: accesses are looked up in the order of a list in memory.

A program is in the order of its list. Its warps issue in any order, each its own accesses in program order.
"""

import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from amaranth.sim import SimulatorContext

from metronome.hdl.config import SmConfig
from tests.hdl.lib.simulate import drive
from tests.hdl.memory.dcache_reference import ReferenceDataCache
from tests.hdl.memory.lsu_harness import LsuBench
from tests.hdl.memory.lsu_programs import LOCAL, random_access
from tests.hdl.memory.lsu_reference import LINE, Access, LineAccess, Reference
from tests.hdl.memory.lsu_traffic import Outstanding
from tests.hdl.memory.memory_check import MemoryCheck

__all__ = ["LIST", "Entry", "OrderBench", "WrongListBench", "entries_of", "first_fault", "ordered_program"]

#: The line of memory where the lists of this bench lie.
LIST = 0x4000_0000 // LINE

#: pc, store, warp, lines.
Entry = tuple[int, bool, int, int]


def ordered_program(rng: Any, config: SmConfig, length: int) -> list[Access]:
    """Random accesses. Local memory is not ordered by a list, so each warp has a part of it for itself."""
    program = []
    size = config.local_bytes // 4
    for _ in range(length):
        access = random_access(rng, config)
        places = [LOCAL + access.warp % 4 * size + (place - LOCAL) % size if place >= LOCAL else place
                  for place in access.address]
        program.append(replace(access, address=places, pc=access.pc | 4))
    return program


def entries_of(program: Sequence[Access], lines: Sequence[LineAccess]) -> list[Entry]:
    """The list of a program in its order; ``lines``: its line accesses."""
    entries: dict[int, Entry] = {}
    for line in lines:
        access = program[line.access]
        count = entries[line.access][3] if line.access in entries else 0
        entries[line.access] = access.pc, access.store, access.warp, count + 1
    return list(entries.values())


def encode(entries: Sequence[Entry]) -> bytes:
    """As docs/analyze.md says."""
    packed = b"".join(struct.pack("<II", pc | store, lines << 6 | warp) for pc, store, warp, lines in entries)
    return packed + bytes(8 + (-len(packed) - 8) % LINE)


def first_fault(entries: Sequence[Entry], right: Sequence[Entry]) -> tuple[str, int, int, int]:
    """What is wrong with a list of a program whose list is ``right``: name of the cause, warp, pc, address.

    Where the end comes too early and several warps have accesses left, any may be blamed; this is the lowest.
    """
    left: dict[int, list[tuple[int, bool, bool]]] = {}
    for pc, store, warp, lines in right:
        left.setdefault(warp, []).extend((pc, store, line == 0) for line in range(lines))
    for number, (pc, store, warp, lines) in enumerate(entries):
        for line in range(lines):
            if not left.get(warp):
                return "MISSING_ACCESS", warp, pc, LINE * LIST + 8 * number
            access = left[warp].pop(0)
            if access != (pc, store, line == 0):
                return "UNEXPECTED_ACCESS", warp, access[0], pc
    warp = min(warp for warp, accesses in left.items() if accesses)
    return "UNEXPECTED_ACCESS", warp, left[warp][0][0], 0


class AbstractCache:
    """What docs/analyze.md says of hits, whatever memory does: a line is here from the load that misses it on."""

    def __init__(self, config: SmConfig) -> None:
        self._reference = ReferenceDataCache(config)

    def look_up(self, line: int, store: bool) -> bool:
        """Whether it hits."""
        lines = self._reference.lines(line)
        if line < self._reference.user:
            return False
        if here := line in lines:
            lines.remove(line)
        if here or not store:
            lines.append(line)
        if len(lines) > self._reference.ways:
            lines.pop(0)
        return here


class OrderBench(LsuBench):
    """All checks but those of the cycle in which something happens: the model knows the unit without a list."""

    #: A list that is not the program's, and what comes with it.
    entries: Sequence[Entry] | None = None
    listed = False
    #: Warps issue in the order of the list.
    in_turn = False

    def power_up(self) -> None:
        super().power_up()
        #: Lines that memory has refused to a load. Who misses them afterwards depends on when it did.
        self.refused: set[int] = set()
        self.cache = AbstractCache(self.config) if self.config.dcache_bytes else None

    def clear(self) -> None:
        super().clear()
        self.looked_up = 0
        self.lookup_cycles: list[int] = []
        self.issued: list[int] = []
        self.list_reads: list[int] = []
        self.list_lines: dict[int, bytes] = {}

    def judge(self) -> MemoryCheck:
        """Called when a program begins: the warps' accesses in their order, and the list in memory."""
        self._queues: dict[int, list[int]] = {}
        for number, access in enumerate(self.program):
            self._queues.setdefault(access.warp, []).append(number)
        entries = entries_of(self.program, self.expected) if self.entries is None else self.entries
        image = encode(entries)
        if self.listed and self.cache is not None:
            # A list begins with an empty cache.
            self.cache = AbstractCache(self.config)
        self.list_lines = {LIST + place // LINE: image[place : place + LINE] for place in range(0, len(image), LINE)}
        return MemoryCheck(self, self.expected)

    async def play_listed(
        self, ctx: SimulatorContext, program: Sequence[Access], reference: Reference, *, limit: int = 20_000
    ) -> None:
        """A program between the begin and the end of its list."""
        self.listed = True
        await self.play(ctx, program, reference, limit=limit)
        await self.end_list(ctx)

    async def end_list(self, ctx: SimulatorContext) -> None:
        self._still(ctx)
        ctx.set(self.dut.order.stop, 1)
        for number in range(3 + 200):
            self._memory_inputs(ctx)
            self._observe(ctx, self.program)
            if number > 2 and self._quiet(ctx):
                break
            await ctx.tick()
            self.cycle += 1
            ctx.set(self.dut.order.stop, 0)
        self.listed = False
        self.check(self._quiet(ctx), "a list does not end")

    def _still(self, ctx: SimulatorContext) -> None:
        """Nothing is selected."""
        for port in (self.dut.take, self.dut.request_valid, self.dut.cancel, self.dut.selects, self.dut.order.start):
            ctx.set(port, 0)

    def check_end(self, reference: Reference, stores: Sequence[int]) -> None:
        """Stores are told in the order of issue; the others are checked in that of the program."""
        order = [number for number in self.issued if number in set(stores)]
        self.check(len(order) == len(self.store_events), "stores are not told of")
        told = dict(zip(order, self.store_events, strict=True))
        self.store_events = [told[number] for number in stores]
        self.check(self.looked_up == len(self.expected), "accesses were not looked up")
        self._forgive(reference)
        super().check_end(reference, stores)

    def _forgive(self, reference: Reference) -> None:
        """A line that memory has refused keeps its place in the cache: the first load of it faults, others may hit."""
        for line in self.expected:
            if line.write or not self.traffic.bad(line.line) or not self.program[line.access].writes_rd:
                continue
            got = self.results.get(line.access, {})
            self.check(line.line in self.refused or not got.keys() & set(line.lanes), "a refused line is loaded")
            self.refused.add(line.line)
            reference.loads[line.access] |= {lane: got[lane] for lane in line.lanes if lane in got}

    def _may_take(self, ctx: SimulatorContext, number: int) -> bool:
        access = self.program[number]
        return bool(ctx.get(self.dut.room) >> access.warp & 1) and (
            access.store or not access.writes_rd or (access.warp, access.rd) not in self.loads)

    def _choose(self, ctx: SimulatorContext, position: int) -> int | None:
        """The access that is selected: without a list the next one, else any warp's next one."""
        if position == len(self.program) or not ctx.get(self.dut.ready) or self.rng.random() >= self.traffic.take:
            return None
        free = self.listed and not self.in_turn
        heads = [queue[0] for queue in self._queues.values() if queue] if free else [position]
        heads = [number for number in heads if self._may_take(ctx, number)]
        return self.rng.choice(heads) if heads else None

    def _drive(self, ctx: SimulatorContext, program: Sequence[Access], position: int) -> int:
        dut = self.dut
        drive(ctx, dut.order, start=self.listed and self.cycle == 0, address=LINE * LIST)
        number = self._choose(ctx, position)
        take = number is not None
        drive(ctx, dut, take=take, selects=take)
        if take:
            access = program[number]
            self._queues[access.warp].remove(number)
            self.issued.append(number)
            drive(ctx, dut, take_warp=access.warp, take_store=access.store)
            self.takes[number] = self.cycle
            if not access.store and access.writes_rd and not access.cancel and not access.misaligned:
                self.loads[access.warp, access.rd] = number
        arriving = self._later.pop(0)
        self._later.append(number)
        self._request(ctx, None if arriving is None else program[arriving])
        self._memory_inputs(ctx)
        ctx.set(dut.wb.ready, self.rng.random() < self.traffic.wb_ready)
        return position + take

    def _read(self, line: int) -> bytes:
        return self.list_lines.get(line) or (bytes(LINE) if line >= LIST else super()._read(line))

    def _accept(self, payload: Any) -> None:
        top = self.config.l1_tag_bits
        self.check(bool(payload.tag >> top) == (payload.line >= LIST), "a list's line with another's tag")
        if not payload.tag >> top:
            super()._accept(payload)
            return
        number = len(self.requests)
        self.requests.append(self.cycle)
        self.asked.append((payload.line, False))
        self.check(not payload.write, "a list is written")
        self.check(payload.line == LIST + len(self.list_reads), f"the list's line {payload.line:#x} is read")
        self.check(all(entry.tag != payload.tag for entry in self._flying), f"tag {payload.tag} used twice")
        self.list_reads.append(payload.line)
        due = self.cycle + self.traffic.latency(self.rng, False)
        self._flying.append(Outstanding(number, payload.tag, payload.line, False, (), due, None))

    def _follow(self, ctx: SimulatorContext) -> None:
        self.check(not ctx.get(self.dut.disorder), "disorder")
        event = ctx.get(self.dut.lookup_event)
        if not event.access:
            return
        self.check(self.looked_up < len(self.expected), "an access is looked up that nothing asked for")
        self.looked_up += 1
        self.lookup_cycles.append(self.cycle)
        self._looked_up(event)

    def _looked_up(self, event: Any) -> None:
        due = self.expected[self.looked_up - 1]
        warp = self.program[due.access].warp
        got, wanted = (event.warp, event.line, bool(event.store)), (warp, due.line, due.write)
        self.check(got == wanted, f"access {self.looked_up} that is looked up is {got} instead of {wanted}")
        self.check(not event.forward, "the write buffer answers")
        if self.cache is not None and not self.refused:
            hits = self.cache.look_up(due.line, due.write)
            found = event.hit if due.write else event.hit or event.merge
            self.check(bool(found) == hits or (due.write and not found),
                       f"access {self.looked_up} to line {due.line:#x}: hit {found} instead of {hits}")


class _Lenient(MemoryCheck):
    """Whatever the order is."""

    def accept(self, line: int, write: bool, written: tuple[tuple[int, int], ...], flying: Sequence[Any]) -> None:
        """Anything may come."""

    def complete(self, line: int) -> list[int]:  # type: ignore[override]
        return []


class WrongListBench(OrderBench):
    """The list is another one: there is one fault, everything is done all the same, and the unit is idle then."""

    def judge(self) -> MemoryCheck:
        super().judge()
        self.left = {warp: [(line.line, line.write) for line in self.expected
                            if self.program[line.access].warp == warp] for warp in range(self.config.warps)}
        self.before_fault: list[tuple[int, int, bool]] = []
        return _Lenient(self, self.expected)

    def _looked_up(self, event: Any) -> None:
        """Each warp's accesses in their order."""
        due = self.left[event.warp].pop(0) if self.left[event.warp] else None
        self.check(due == (event.line, bool(event.store)), f"warp {event.warp} looks up {event.line:#x}, not {due}")
        if not self.faults:
            self.before_fault.append((event.warp, event.line, bool(event.store)))

    def _observe_stores(self, ctx: SimulatorContext, program: Sequence[Access]) -> None:
        self.check(not ctx.get(self.dut.idle) or not self._flying, "idle with lines outstanding")

    def check_end(self, reference: Reference, stores: Sequence[int]) -> None:
        self.check(not self.loads, f"loads without a last part: {self.loads}")
        self.check(not any(self.left.values()), f"not looked up: {self.left}")
