"""A whole SM in Amaranth's simulator: runs a program and records every cycle."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from amaranth.hdl import Module
from amaranth.lib import data
from amaranth.sim import Simulator

from hdl.config import FaultCause, SmConfig
from hdl.layouts.memory import memory_response_layout
from hdl.layouts.probe import ASSERTIONS, StallReason, probe_layout
from hdl.sm import Sm
from sim.asm import Program, tmc, wspawn
from sim.memory.store import AccessError, SparseMemory
from tests.hdl.sm_records import Cycle, Fault, Issued, Request, Run

__all__ = ["START", "USER", "Cycle", "Fault", "Issued", "Request", "Run", "finish", "run_program", "spawn"]

START = 0x8000_0000
USER = 0x0001_0000
LINE = 64

#: Cycles that are recorded after ``busy`` has fallen: nothing may happen in them.
TAIL = 6


Latency = int | Callable[[Request], int]


class _Memory:
    """Answers requests after their latency, one a cycle, the one due first first.

    A fetch carries what was in memory when it was requested (so that a stale one shows); the LSU's accesses happen
    when they are answered.
    """

    def __init__(self, config: SmConfig, latency: Latency, store: SparseMemory) -> None:
        # The tag's highest bit names the source: 0 for the instruction cache, 1 for the LSU.
        self._lsu_tags = 1 << (config.mem_tag_bits - 1)
        self._latency = latency
        self._store = store
        #: When it is due, number, request, and the answer of a fetch.
        self._pending: list[tuple[int, int, Any, dict[str, int] | None]] = []
        self.requests: list[Request] = []
        self.answered: tuple[int, int] | None = None
        self._arrived: tuple[int, int] | None = None

    def take(self, cycle: int, payload: Any) -> None:
        request = Request(cycle, len(self.requests), payload.line * LINE, bool(payload.write))
        self.requests.append(request)
        latency = self._latency if isinstance(self._latency, int) else self._latency(request)
        assert latency >= 1
        fetched = self._access(payload) if payload.tag < self._lsu_tags else None
        self._pending.append((cycle + latency, request.number, payload, fetched))

    def answer(self, cycle: int) -> dict[str, int] | None:
        """The response of ``cycle``; ``answered``: line and tag of the last cycle's if a fetch asked for it.

        It takes up an answer in the cycle after.
        """
        self.answered, self._arrived = self._arrived, None
        due = min((p for p in self._pending if p[0] <= cycle), default=None, key=lambda p: p[:2])
        if due is None:
            return None
        self._pending.remove(due)
        _, _, payload, fetched = due
        if fetched is None:
            return self._access(payload)
        self._arrived = payload.line * LINE, payload.tag
        return fetched

    def _access(self, payload: Any) -> dict[str, int]:
        address, data = payload.line * LINE, 0
        try:
            if payload.write:
                self._store.write_line(address, payload.data.to_bytes(LINE, "little"), payload.byte_mask)
            else:
                data = int.from_bytes(self._store.read_line(address), "little")
        except AccessError:
            return {"tag": payload.tag, "error": 1, "data": 0}
        return {"tag": payload.tag, "error": 0, "data": data}


class _OpenSm(Sm):
    """The SM, with the fetch pcs of its front end in sight: the one thing here that no port shows."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        self.fetch_pcs = m.submodules.frontend.pc
        return m


class _Harness:
    """One elaborated SM; it is reset between programs."""

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        self._sm = _OpenSm(config)
        self._probe = _extractor(probe_layout(config))
        self._answer = memory_response_layout(config)
        self._sim = Simulator(self._sm)
        self._sim.add_clock(1e-6)
        self._sim.add_testbench(self._testbench)
        self._used = False

    def run(self, memory: _Memory, store: SparseMemory, max_cycles: int, policy: int, argument: int) -> Run:
        if self._used:
            self._sim.reset()
        self._used = True
        self._job = (memory, max_cycles, policy, argument)
        self._result = Run(self._config, [], {}, store, self._config.policies[policy], None, False, memory.requests)
        self._sim.run()
        return self._result

    async def _testbench(self, ctx: Any) -> None:
        sm, run = self._sm, self._result
        memory, max_cycles, policy, argument = self._job
        await ctx.tick()
        ctx.set(sm.start_pc, START)
        ctx.set(sm.arg, argument)
        if len(self._config.policies) > 1:
            ctx.set(sm.policy, policy)
        ctx.set(sm.mem.req.ready, 1)
        tail = TAIL
        for number in range(max_cycles):
            ctx.set(sm.start, number == 0)
            answer = memory.answer(number)
            ctx.set(sm.mem.resp.valid, answer is not None)
            if answer is not None:
                ctx.set(sm.mem.resp.payload, self._answer.const(answer))
            if ctx.get(sm.mem.req.valid):
                memory.take(number, ctx.get(sm.mem.req.payload))
            cycle = self._record(ctx, number, memory.answered)
            run.cycles.append(cycle)
            # The counters are registers: the tick lets them take in the last cycle.
            await ctx.tick()
            tail -= number > 0 and not cycle.busy
            if tail == 0:
                run.ended = True
                break
        self._finish(ctx)

    def _record(self, ctx: Any, number: int, answer: tuple[int, int] | None) -> Cycle:
        sm, config = self._sm, self._config
        p = self._probe(ctx.get(sm.probe.as_value()))
        pcs = ctx.get(sm.fetch_pcs.as_value())
        lanes = range(config.threads)
        return Cycle(
            number=number,
            select=p("front.select_warp") if p("front.select") else None,
            nop=bool(p("front.select") and p("front.select_nop")),
            stall=p("front.stall"),
            miss=p("front.miss_warp") if p("front.miss") else None,
            refill=p("front.refill_line") * LINE if p("front.refill") else None,
            resolve=p("front.resolve_warp") if p("front.resolve") else None,
            redirect=bool(p("front.resolve") and p("front.redirect")),
            turn=p("front.turn"),
            eligible=p("front.eligible"),
            active=p("front.active"),
            activate=p("front.activate"),
            issue=Issued(p("issue.warp"), p("issue.pc"), p("issue.instruction"), p("issue.mask"))
            if p("issue.valid") else None,
            write=(p("wb.value.warp"), p("wb.value.rd"),
                   {i: p(f"wb.value.data.{i}") for i in lanes if p("wb.value.mask") >> i & 1})
            if p("wb.valid") else None,
            store=(p("store.warp"), p("store.pc"),
                   {i: (p(f"store.address.{i}"), p(f"store.data.{i}")) for i in lanes if p("store.mask") >> i & 1})
            if p("store.valid") else None,
            reasons=tuple(p(f"front.reason.{w}") for w in range(config.warps)),
            pcs=tuple(pcs >> (32 * w) & 0xFFFF_FFFF for w in range(config.warps)),
            busy=bool(ctx.get(sm.busy)),
            fault=bool(ctx.get(sm.fault_valid)),
            answer=answer,
        )

    def _finish(self, ctx: Any) -> None:
        sm, run = self._sm, self._result
        raised = ctx.get(sm.assertions)
        assert raised == 0, [text for bit, text in enumerate(ASSERTIONS) if raised >> bit & 1]
        counters = ctx.get(sm.counters)
        run.counters = {name: counters[name] for name, _ in counters.shape() if name != "stalls"}
        run.counters["stalls"] = {reason: counters.stalls[reason] for reason in StallReason}
        if ctx.get(sm.fault_valid):
            fault = ctx.get(sm.fault)
            run.fault = Fault(FaultCause(fault.cause), fault.warp, fault.pc, fault.address)


def _extractor(layout: data.Layout) -> Callable[[int], Callable[[str], int]]:
    """Fields of a packed record by their dotted path: much faster than a constant view in every cycle."""
    places: dict[str, tuple[int, int]] = {}

    def walk(shape: Any, offset: int, path: str) -> None:
        if isinstance(shape, data.Layout):
            for key, part in shape:
                walk(part.shape, offset + part.offset, f"{path}.{key}" if path else str(key))
        else:
            places[path] = (offset, (1 << data.Field(shape, 0).width) - 1)

    walk(layout, 0, "")

    def extract(value: int) -> Callable[[str], int]:
        def get(path: str) -> int:
            offset, mask = places[path]
            return value >> offset & mask

        return get

    return extract


@functools.lru_cache(maxsize=8)
def _harness(config: SmConfig) -> _Harness:
    return _Harness(config)


def run_program(config: SmConfig, program: Program, *, latency: Latency = 4, max_cycles: int = 2000,
                policy: str = "lrr", memory: SparseMemory | None = None, argument: int = USER,
                may_hang: bool = False) -> Run:
    """Runs ``program`` from :data:`START` on an SM fresh from reset, and checks the hardware assertions.

    ``latency`` (cycles from a request to its response, at least 1) may depend on the request. Fails if the program has
    not ended after ``max_cycles``, unless ``may_hang``.
    """
    store = SparseMemory() if memory is None else memory
    store.write(START, program.assemble())
    port = _Memory(config, latency, store)
    run = _harness(config).run(port, store, max_cycles, config.policies.index(policy), argument)
    assert run.ended or may_hang, f"still busy after {max_cycles} cycles; reasons {run.cycles[-1].reasons}"
    return run


def finish(program: Program) -> None:
    """Ends the warp: li x31, 0; tmc x31."""
    program.li(31, 0)
    program.add(tmc(31))


def spawn(program: Program, warps: int, label: str) -> None:
    """Starts warps 1..warps-1 at ``label``; uses x29 and x30."""
    program.li(29, warps)
    program.la(30, label)
    program.add(wspawn(29, 30))
