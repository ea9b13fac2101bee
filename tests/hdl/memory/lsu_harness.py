"""A cycle-level bench for the load/store unit: program, reference execution, adversarial memory."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Sequence

from amaranth.sim import SimulatorContext

from metronome.hdl.config import SmConfig
from metronome.hdl.layouts.probe import LookupWait
from metronome.hdl.memory.lsu import Lsu
from tests.hdl.lib import simulate
from tests.hdl.lib.simulate import drive
from tests.hdl.memory.lsu_end import check_end
from tests.hdl.memory.lsu_model import LsuModel
from tests.hdl.memory.lsu_reference import LINE, MASK32, Access, Reference
from tests.hdl.memory.lsu_traffic import Outstanding, Traffic
from tests.hdl.memory.memory_check import MemoryCheck
from tests.hdl.memory.queue_model import Inputs


class Simulation(simulate.Simulation):
    """One unit, for many runs; ``wrap`` makes of it the design that is simulated."""

    def __init__(self, config: SmConfig, wrap: Callable = lambda unit: unit) -> None:
        self.dut = Lsu(config)
        super().__init__(wrap(self.dut))

    @staticmethod
    @functools.cache
    def of(config: SmConfig) -> Simulation:
        """The one of ``config``."""
        return Simulation(config)


class LsuBench:
    """Drives an :class:`Lsu` with a program and checks what it does, and when.

    What is right whatever the timing is :class:`Reference`'s and :class:`MemoryCheck`'s to say; the cycle of
    everything, and who waits in the lookup for what, :class:`LsuModel`'s.

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
        self.power_up()
        self.clear()

    def power_up(self) -> None:
        """The unit is as after power-up, or after a reset."""
        self.model = LsuModel(self.config)

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
        self._flying: list[Outstanding] = []
        self._answer: Outstanding | None = None
        self.loads: dict[tuple[int, int], int] = {}
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
        """Run ``testbench(ctx)`` against the unit, from power-up."""
        self.power_up()
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
        self.expected = reference.lines[first:]
        for access in self.expected:
            self._lines_left[access.access] = self._lines_left.get(access.access, 0) + 1
        self.program = program
        self.memory_check = self.judge()
        position = 0
        while position < len(program) or not self._quiet(ctx):
            self.check(self.cycle < limit, f"does not end; {position} of {len(program)} taken")
            position = self._drive(ctx, program, position)
            self._follow(ctx)
            self._observe(ctx, program)
            await ctx.tick()
            self.cycle += 1
        self.check_end(reference, reference.stores[done_stores:])
        self.check(bool(ctx.get(self.dut.idle)), "not idle at the end")

    def judge(self) -> MemoryCheck:
        """What memory may see of the accesses that are ``expected`` of ``program``."""
        return MemoryCheck(self, self.expected)

    def check_end(self, reference: Reference, stores: Sequence[int]) -> None:
        """What was seen of the whole program, whose stores are ``stores``."""
        check_end(self, self.program, reference, stores)

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
            and (access.store or not access.writes_rd or (access.warp, access.rd) not in self.loads)
        )
        ctx.set(dut.take, take)
        if take:
            drive(ctx, dut, take_warp=access.warp, take_store=access.store)
            self.takes[position] = self.cycle
            if not access.store and access.writes_rd and not access.cancel and not access.misaligned:
                self.loads[access.warp, access.rd] = position
        number = self._later.pop(0)
        self._later.append(position if take else None)
        arriving = None if number is None else program[number]
        self._request(ctx, arriving)
        memory_ready = self._memory_inputs(ctx)
        wb_ready = rng.random() < traffic.wb_ready
        ctx.set(dut.wb.ready, wb_ready)
        cancelled = arriving is not None and arriving.cancel
        self._inputs = Inputs(
            take=access if take else None, request=None if cancelled else arriving,
            cancel=arriving if cancelled else None, memory_ready=memory_ready, wb_ready=wb_ready,
            answer=None if self._answer is None else self._answer.seen_by_the_unit(self.config, self.traffic.bad),
        )
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

    def _memory_inputs(self, ctx: SimulatorContext) -> bool:
        """Offer an answer that is due (and keep it until it is accepted), and readiness for a request."""
        rng, response = self.rng, self.dut.mem.response
        ready = rng.random() < self.traffic.request_ready
        ctx.set(self.dut.mem.request.ready, ready)
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
        return ready

    def _read(self, line: int) -> bytes:
        return bytes(self.memory.get(LINE * line + byte, 0) for byte in range(LINE))

    def _follow(self, ctx: SimulatorContext) -> None:
        """Everything happens in the cycle in which the model says so."""
        dut, event = self.dut, ctx.get(self.dut.lookup_event)
        request, wb = ctx.get(dut.mem.request.payload), ctx.get(dut.wb.payload)
        number = request.tag & ((1 << self.config.l1_tag_bits - 1) - 1)
        got = {
            "ready": bool(ctx.get(dut.ready)), "idle": bool(ctx.get(dut.idle)), "fault": bool(ctx.get(dut.fault_valid)),
            "stores pending": ctx.get(dut.stores_pending),
            "wait": LookupWait(event.wait), "access": bool(event.access),
            "fill": event.fill_line if event.fill else None,
            "wb": (wb.warp, wb.rd, wb.mask) if ctx.get(dut.wb.valid) else None,
            "request": (bool(request.write), request.line, number) if ctx.get(dut.mem.request.valid) else None,
            "response ready": self._answer is not None and bool(ctx.get(dut.mem.response.ready)),
        }
        got |= {name: getattr(event, name) for name in
                ("line", "store", "warp", "first", "uncached", "hit", "merge", "forward")} if event.access else {}
        expected = self.model.step(self._inputs)
        if got != expected:
            names = sorted(name for name in got | expected if got.get(name) != expected.get(name))
            self.fail("; ".join(f"{name} is {got.get(name)} instead of {expected.get(name)}" for name in names))

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
        self._flying.append(Outstanding(number, payload.tag, payload.line, write, written, self.cycle + latency, early))

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
        self.check(key in self.loads, f"writeback to warp {key[0]} register {key[1]} that nothing asked for")
        index = self.loads[key]
        lanes = {lane: payload.data[lane] for lane in range(self.config.threads) if payload.mask >> lane & 1}
        result = self.results.setdefault(index, {})
        self.check(not result.keys() & lanes.keys(), f"load {index}: a lane came twice")
        result.update(lanes)
        self.wb.append((self.cycle, *key, lanes, bool(payload.last)))
        if payload.last:
            del self.loads[key]
