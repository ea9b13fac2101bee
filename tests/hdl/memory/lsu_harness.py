"""A cycle-level bench for the load/store unit: program, reference execution, adversarial memory."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from amaranth.sim import Simulator, SimulatorContext
from memory_check import MemoryCheck

from hdl.config import FaultCause, SmConfig
from hdl.isa.ops import LsuOp
from hdl.memory.lsu import Lsu
from sim.memory.stacks import to_bus

MASK32 = 0xFFFF_FFFF
LINE = 64


@dataclass
class Access:
    """One load or store of a warp. ``cancel``: selected, but no request follows."""

    warp: int
    op: LsuOp
    address: Sequence[int]
    mask: int
    rd: int = 1
    writes_rd: bool = True
    data: Sequence[int] = ()
    offset: int = 0
    pc: int = 0x8000_0000
    cancel: bool = False

    @property
    def store(self) -> bool:
        return self.op.value >= 8

    @property
    def size(self) -> int:
        return 1 << (self.op.value & 3)

    @property
    def lanes(self) -> list[int]:
        return [lane for lane in range(len(self.address)) if self.mask >> lane & 1]

    @property
    def misaligned(self) -> list[int]:
        return [lane for lane in self.lanes if self.address[lane] % self.size]

    def extend(self, raw: bytes) -> int:
        """The register value of the loaded bytes."""
        signed = self.op in (LsuOp.LB, LsuOp.LH)
        return int.from_bytes(raw, "little", signed=signed) & MASK32


@dataclass(frozen=True)
class LineAccess:
    """The lanes of an access in one line; ``data`` holds only the written bytes."""

    line: int
    write: bool
    data: tuple[tuple[int, int], ...]
    access: int
    lanes: tuple[int, ...]


@dataclass
class Reference:
    """The program executed one access after the other, lane by lane in ascending order.

    ``memory``, ``refused`` and ``lines`` have the addresses of memory, where stacks are interleaved.
    """

    config: SmConfig
    local: dict[int, int] = field(default_factory=dict)
    memory: dict[int, int] = field(default_factory=dict)
    loads: dict[int, dict[int, int]] = field(default_factory=dict)
    #: What is stored to lines that memory refuses: nobody but a later load of the same bytes sees it.
    refused: dict[int, int] = field(default_factory=dict)
    lines: list[LineAccess] = field(default_factory=list)
    stores: list[int] = field(default_factory=list)

    def is_local(self, address: int) -> bool:
        base = self.config.memory_map.local
        return base <= address < base + self.config.local_bytes

    def run(self, program: Sequence[Access], bad: Callable[[int], bool] = lambda line: False) -> None:
        for index, access in enumerate(program):
            if access.cancel or access.misaligned:
                continue
            self._lines(index, access)
            if access.store:
                self.stores.append(index)
            for lane in access.lanes:
                self._lane(index, access, lane, bad)

    def _lane(self, index: int, access: Access, lane: int, bad: Callable[[int], bool]) -> None:
        address = access.address[lane]
        space = self.local if self.is_local(address) else self.memory
        address = to_bus(self.config, address)
        if space is self.memory and bad(address // LINE):
            space = self.refused
        places = range(address, address + access.size)
        if access.store:
            for place, byte in zip(places, access.data[lane].to_bytes(4, "little"), strict=False):
                space[place] = byte
        else:
            raw = bytes(space.get(place, 0) for place in places)
            self.loads.setdefault(index, {})[lane] = access.extend(raw)

    def _lines(self, index: int, access: Access) -> None:
        lines: dict[int, list[int]] = {}
        for lane in access.lanes:
            if not self.is_local(access.address[lane]):
                lines.setdefault(to_bus(self.config, access.address[lane]) // LINE, []).append(lane)
        for line, lanes in lines.items():
            written: dict[int, int] = {}
            if access.store:
                for lane in lanes:
                    first = to_bus(self.config, access.address[lane]) % LINE
                    for byte in range(access.size):
                        written[first + byte] = access.data[lane] >> 8 * byte & 255
            self.lines.append(LineAccess(line, access.store, tuple(sorted(written.items())), index, tuple(lanes)))


@dataclass
class Traffic:
    """How the surroundings behave: probabilities per cycle, and the memory's latency in cycles (1 is the shortest)."""

    latency: Callable[[random.Random, bool], int] = lambda rng, write: 1
    take: float = 1.0
    request_ready: float = 1.0
    response: float = 1.0
    wb_ready: float = 1.0
    reorder: bool = False
    bad: Callable[[int], bool] = lambda line: False


@dataclass
class _Outstanding:
    number: int
    tag: int
    line: int
    write: bool
    written: tuple[tuple[int, int], ...]
    due: int
    data: bytes | None


class Simulation:
    """One unit, elaborated and compiled once (which takes seconds), for many runs that each begin with power-up.

    ``wrap`` makes of the unit the design that is simulated.
    """

    def __init__(self, config: SmConfig, wrap: Callable = lambda unit: unit) -> None:
        self.dut = Lsu(config)
        self._simulator = Simulator(wrap(self.dut))
        self._simulator.add_clock(1e-6)
        self._simulator.add_testbench(self._play)
        self._testbench: Callable | None = None

    async def _play(self, ctx: SimulatorContext) -> None:
        await self._testbench(ctx)

    def run(self, testbench: Callable) -> None:
        if self._testbench is not None:
            self._simulator.reset()
        self._testbench = testbench
        self._simulator.run()

    @staticmethod
    @functools.cache
    def of(config: SmConfig) -> Simulation:
        """The one of ``config``."""
        return Simulation(config)


class LsuBench:
    """Drives an :class:`Lsu` with a program and checks all that it does against :class:`Reference`.

    After :meth:`run`: ``takes`` and ``requests`` are cycles by access and by line request, ``asked`` the requests as
    (line, write), ``wb`` the writebacks as (cycle, warp, rd, {lane: value}, last), ``faults`` the faults as (cycle,
    cause, warp, pc, address), ``answers`` the cycle of the answer to each line request, ``pending`` the unit's
    ``stores_pending`` of each cycle and ``lookups`` its lookup events as (cycle, event).
    """

    def __init__(
        self, config: SmConfig, *, seed: int = 0, traffic: Traffic | None = None, simulation: Simulation | None = None
    ) -> None:
        """``simulation``: of a unit of its own, if it is not the usual one."""
        self.config = config
        self.rng = random.Random(seed)
        self.seed = seed
        self.traffic = Traffic() if traffic is None else traffic
        self._simulation = Simulation.of(config) if simulation is None else simulation
        self.dut = self._simulation.dut
        self.memory: dict[int, int] = {}
        self.clear()

    def clear(self) -> None:
        """Forget the run before, but not the memory."""
        self.cycle = 0
        self.takes: dict[int, int] = {}
        self.requests: list[int] = []
        self.asked: list[tuple[int, bool]] = []
        self.lookups: list[tuple[int, object]] = []
        self.answers: dict[int, int] = {}
        self.wb: list[tuple[int, int, int, dict[int, int], bool]] = []
        self.faults: list[tuple[int, int, int, int, int]] = []
        self.store_events: list[tuple[int, int, int, int, tuple[tuple[int, int], ...]]] = []
        self.results: dict[int, dict[int, int]] = {}
        self._flying: list[_Outstanding] = []
        self._answer: _Outstanding | None = None
        self._loads: dict[tuple[int, int], int] = {}
        self._lines_left: dict[int, int] = {}
        self._later: list[int | None] = [None, None]
        self.pending: list[int] = []
        self._held: dict[str, object] = {}

    def fail(self, text: str) -> None:
        raise AssertionError(f"seed {self.seed}, cycle {self.cycle}: {text}")

    def check(self, condition: bool, text: str) -> None:
        if not condition:
            self.fail(text)

    def simulate(self, testbench: Callable) -> None:
        """Run ``testbench(ctx)`` against the unit."""
        self._simulation.run(testbench)

    def run(self, program: Sequence[Access], *, limit: int = 20_000) -> Reference:
        """Run the whole program in a fresh unit and check it."""
        reference = Reference(self.config)

        async def testbench(ctx: SimulatorContext) -> None:
            await self.play(ctx, program, reference, limit=limit)

        self.simulate(testbench)
        return reference

    async def play(
        self, ctx: SimulatorContext, program: Sequence[Access], reference: Reference, *, limit: int = 20_000
    ) -> None:
        """Drive ``program`` until the unit is idle; check it against ``reference``, which knows what went before."""
        self.clear()
        first = len(reference.lines)
        done_stores = len(reference.stores)
        reference.run(program, self.traffic.bad)
        self._expected = reference.lines[first:]
        for access in self._expected:
            self._lines_left[access.access] = self._lines_left.get(access.access, 0) + 1
        self.memory_check = MemoryCheck(self, self._expected)
        position = 0
        while position < len(program) or not self._quiet(ctx):
            self.check(self.cycle < limit, f"does not end; {position} of {len(program)} taken")
            position = self._drive(ctx, program, position)
            self._observe(ctx, program)
            await ctx.tick()
            self.cycle += 1
        self._finish(ctx, program, reference, reference.stores[done_stores:])

    def _quiet(self, ctx: SimulatorContext) -> bool:
        return bool(ctx.get(self.dut.idle)) and self._later == [None, None] and not self._flying

    def _drive(self, ctx: SimulatorContext, program: Sequence[Access], position: int) -> int:
        """Set the inputs of this cycle; the next position in the program."""
        dut, rng, traffic = self.dut, self.rng, self.traffic
        self.check(position < len(program) or not any(index is not None for index in self._later)
                   or not ctx.get(dut.idle), "idle with a request on its way")
        access = program[position] if position < len(program) else None
        take = (
            access is not None and bool(ctx.get(dut.ready)) and rng.random() < traffic.take
            and (access.store or not access.writes_rd or (access.warp, access.rd) not in self._loads)
        )
        ctx.set(dut.take, take)
        if take:
            ctx.set(dut.take_warp, access.warp)
            ctx.set(dut.take_store, access.store)
            self.takes[position] = self.cycle
            if not access.store and access.writes_rd and not access.cancel and not access.misaligned:
                self._loads[access.warp, access.rd] = position
        arriving = self._later.pop(0)
        self._later.append(position if take else None)
        self._request(ctx, None if arriving is None else program[arriving])
        self._memory_inputs(ctx)
        ctx.set(dut.wb.ready, rng.random() < traffic.wb_ready)
        return position + take

    def _request(self, ctx: SimulatorContext, access: Access | None) -> None:
        dut = self.dut
        ctx.set(dut.request_valid, access is not None and not access.cancel)
        ctx.set(dut.cancel, access is not None and access.cancel)
        if access is None or access.cancel:
            return
        ctx.set(dut.request, {
            "warp": access.warp, "pc": access.pc, "op": access.op.value, "rd": access.rd,
            "writes_rd": int(access.writes_rd), "mask": access.mask, "offset": access.offset & MASK32,
            "base": [(address - access.offset) & MASK32 for address in access.address],
            "data": list(access.data) if access.data else [0] * self.config.threads,
        })

    def _memory_inputs(self, ctx: SimulatorContext) -> None:
        """Offer an answer that is due (and keep it until it is accepted), and readiness for a request."""
        rng, response = self.rng, self.dut.mem.response
        ctx.set(self.dut.mem.request.ready, rng.random() < self.traffic.request_ready)
        if self._answer is None:
            due = [entry for entry in self._flying if entry.due <= self.cycle]
            if due and rng.random() < self.traffic.response:
                self._answer = rng.choice(due) if self.traffic.reorder else due[0]
        ctx.set(response.valid, self._answer is not None)
        if self._answer is not None:
            answer = self._answer
            data = self._read(answer.line) if answer.data is None else answer.data
            ctx.set(response.payload, {
                "tag": answer.tag, "error": int(self.traffic.bad(answer.line)),
                "data": int.from_bytes(data, "little"),
            })

    def _read(self, line: int) -> bytes:
        return bytes(self.memory.get(LINE * line + byte, 0) for byte in range(LINE))

    def _observe(self, ctx: SimulatorContext, program: Sequence[Access]) -> None:
        dut = self.dut
        self.check(not ctx.get(dut.overflow), "overflow")
        self._observe_stores(ctx, program)
        self._stable(ctx, "mem.request", dut.mem.request)
        self._stable(ctx, "wb", dut.wb)
        if ctx.get(dut.mem.response.ready) and self._answer is not None:
            self._complete()
        if ctx.get(dut.mem.request.valid) and ctx.get(dut.mem.request.ready):
            self._accept(ctx.get(dut.mem.request.payload))
        if ctx.get(dut.wb.valid) and ctx.get(dut.wb.ready):
            self._writeback(ctx.get(dut.wb.payload), program)
        if ctx.get(dut.fault_valid):
            fault = ctx.get(dut.fault)
            self.faults.append((self.cycle, fault.cause, fault.warp, fault.pc, fault.address))
        lookup = ctx.get(dut.lookup_event)
        if lookup.access or lookup.fill or lookup.wait:
            self.lookups.append((self.cycle, lookup))
        event = ctx.get(dut.store_event)
        if event.valid:
            lanes = tuple((event.address[lane], event.data[lane]) for lane in range(self.config.threads)
                          if event.mask >> lane & 1)
            self.store_events.append((event.warp, event.pc, event.size, event.mask, lanes))

    def _stable(self, ctx: SimulatorContext, name: str, stream: object) -> None:
        """What a stream offered and nobody took must still be offered."""
        valid = ctx.get(stream.valid)
        payload = ctx.get(stream.payload) if valid else None
        if valid and stream is self.dut.mem.request and not payload.write:
            payload = payload.line, payload.tag
        if name in self._held:
            self.check(bool(valid) and payload == self._held[name], f"{name} withdrew or changed its payload")
        self._held.pop(name, None)
        if valid and not ctx.get(stream.ready):
            self._held[name] = payload

    def _observe_stores(self, ctx: SimulatorContext, program: Sequence[Access]) -> None:
        """A store that memory has not completed must be seen from the cycle after its take on."""
        pending = ctx.get(self.dut.stores_pending)
        self.pending.append(pending)
        for index, cycle in self.takes.items():
            access = program[index]
            if access.store and self._lines_left.get(index) and cycle < self.cycle:
                self.check(bool(pending >> access.warp & 1), f"store {index} of warp {access.warp} is not pending")
        if ctx.get(self.dut.idle):
            self.check(pending == 0, f"idle with stores pending: {pending:#b}")
            self.check(not self._flying, "idle with lines outstanding")

    def _accept(self, payload: object) -> None:
        number = len(self.requests)
        write = bool(payload.write)
        self.requests.append(self.cycle)
        self.asked.append((payload.line, write))
        raw = payload.data.to_bytes(LINE, "little")
        written = tuple((byte, raw[byte]) for byte in range(LINE) if payload.byte_mask >> byte & 1) if write else ()
        self.check(all(entry.tag != payload.tag for entry in self._flying), f"tag {payload.tag} used twice")
        self.memory_check.accept(payload.line, write, written, self._flying)
        latency = self.traffic.latency(self.rng, write)
        early = None if write or self.rng.random() < 0.5 else self._read(payload.line)
        self._flying.append(
            _Outstanding(number, payload.tag, payload.line, write, written, self.cycle + latency, early)
        )

    def _complete(self) -> None:
        answer, self._answer = self._answer, None
        self._flying.remove(answer)
        self.answers[answer.number] = self.cycle
        if answer.write:
            for index in self.memory_check.complete(answer.line):
                self._lines_left[index] -= 1
            if not self.traffic.bad(answer.line):
                for byte, value in answer.written:
                    self.memory[LINE * answer.line + byte] = value

    def _writeback(self, payload: object, program: Sequence[Access]) -> None:
        key = payload.warp, payload.rd
        self.check(key in self._loads, f"writeback to warp {key[0]} register {key[1]} that nothing asked for")
        index = self._loads[key]
        lanes = {lane: payload.data[lane] for lane in range(self.config.threads) if payload.mask >> lane & 1}
        result = self.results.setdefault(index, {})
        self.check(not result.keys() & lanes.keys(), f"load {index}: a lane came twice")
        result.update(lanes)
        self.wb.append((self.cycle, *key, lanes, bool(payload.last)))
        if payload.last:
            del self._loads[key]

    def _finish(
        self, ctx: SimulatorContext, program: Sequence[Access], reference: Reference, stores: Sequence[int]
    ) -> None:
        self.check(not self._loads, f"loads without a last part: {self._loads}")
        self.memory_check.finish()
        refused = self._refused_lanes(program, reference)
        for index, access in enumerate(program):
            if not access.store and access.writes_rd and not access.cancel and not access.misaligned:
                expected = {lane: value for lane, value in reference.loads.get(index, {}).items()
                            if (index, lane) not in refused}
                got = self.results.get(index, {})
                self.check(got == expected, f"load {index} ({access}) gives {got} instead of {expected}")
            else:
                self.check(index not in self.results, f"access {index} wrote back")
        zero = {place: byte for place, byte in self.memory.items() if byte}
        self.check(zero == {place: byte for place, byte in reference.memory.items() if byte}, "memory differs")
        events = []
        for index in stores:
            access = program[index]
            lanes = tuple((access.address[lane], access.data[lane]) for lane in access.lanes)
            events.append((access.warp, access.pc, access.size.bit_length() - 1, access.mask, lanes))
        self.check(self.store_events == events, "store events differ")
        self._check_faults(program, refused)
        self.check(bool(ctx.get(self.dut.idle)), "not idle at the end")

    def _refused_lanes(self, program: Sequence[Access], reference: Reference) -> set[tuple[int, int]]:
        """(load, lane) of the lanes that got nothing because memory refuses their line.

        Where the bytes of a load are still in the write buffer they come from there; the store's fault tells of it.
        """
        refused = set()
        for line in self._expected:
            if self.traffic.bad(line.line) and not line.write:
                got = self.results.get(line.access, {})
                tracked = program[line.access].writes_rd
                if not tracked or not set(line.lanes) <= got.keys():
                    refused |= {(line.access, lane) for lane in line.lanes}
        return refused

    def _check_faults(self, program: Sequence[Access], refused: set[tuple[int, int]]) -> None:
        """One fault for each misaligned access, each refused part of a load and each refused write request.

        The fault of a write is laid to the first of the stores that it is made of.
        """
        expected = []
        for access in program:
            if access.misaligned and not access.cancel:
                cause = FaultCause.STORE_MISALIGNED if access.store else FaultCause.LOAD_MISALIGNED
                expected.append((cause, access.warp, access.pc, access.address[access.misaligned[0]]))
        optional = []
        for line in self._expected:
            access = program[line.access]
            fault = (FaultCause.LOAD_ACCESS, access.warp, access.pc, access.address[line.lanes[0]])
            if (line.access, line.lanes[0]) in refused:
                (expected if access.writes_rd else optional).append(fault)
        for firsts in self.memory_check.refused_writes(self.traffic.bad):
            faults = {(FaultCause.STORE_ACCESS, program[line.access].warp, program[line.access].pc,
                       program[line.access].address[line.lanes[0]]) for line in firsts}
            told = [fault[1:] for fault in self.faults if fault[1:] in faults]
            self.check(bool(told), f"no fault of {faults}")
            expected.append(told[0])
        got = [fault[1:] for fault in self.faults]
        missing = [fault for fault in expected if got.count(fault) < expected.count(fault)]
        more = [fault for fault in got if got.count(fault) > expected.count(fault) + optional.count(fault)]
        self.check(not missing and not more, f"faults {got}: {missing} missing, {more} too many")
