"""P10 (docs/proof.md): what a partition does is the same whatever the others do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from amaranth.hdl import Assume, Cat, ClockDomain, Const, Instance, Module, Signal, Value
from amaranth.lib import wiring

from metronome.hdl.config import SmConfig

from .claims import Claims
from .machine import Machine, Partition, ports

__all__ = ["SeparationModel"]

#: The inputs of the SM that are constant while it runs, or begin a run.
_LAUNCH = ("start", "start_pc", "arg", "policy", "fetch_policy")
#: The inputs of a partition's own parts on which their outputs depend in the same cycle; all others are registered.
_AT_ONCE = {
    "I-cache": ("lookup_valid", "lookup_pc"), "registers": (), "units": ("write_unit", "scalar", "add_lane"),
    "predictors": ("valid", "warp", "pc", "instruction", "direct", "usual", "start", "restore", "outcome"),
}
_Pair = tuple[Partition, Partition]


def _same(one: Any, other: Any) -> Value:
    return Value.cast(one) == Value.cast(other)


def _all(conditions: Sequence[Value]) -> Value:
    return Cat(conditions).all()


class SeparationModel(Claims):
    """Two SMs, of which the partition in question (``which``) gets the same, and all others get anything.

    ``which`` is an arbitrary but constant number, so what is proved holds for each partition.
    """

    def __init__(
        self, config: SmConfig, *, lemmas: bool = True, asserts: Callable[[str], bool] = lambda text: True,
    ) -> None:
        self.config, self.asserts = config, asserts
        self.m = m = Module()
        self.clock = ClockDomain("sync", reset_less=True)
        m.domains += self.clock
        self.claims, self.columns = {}, []
        self.machines = [Machine(config) for _ in range(2)]
        for name, machine in zip(("first", "second"), self.machines, strict=True):
            m.submodules[name] = machine.inside.fragment
        self.which = Signal(range(config.schedulers))
        m.submodules.which = Instance("$anyconst", p_WIDTH=len(self.which), o_Y=self.which)
        self.pairs: list[_Pair] = list(zip(*(machine.partitions for machine in self.machines), strict=True))
        self._start()
        for pair in self.pairs:
            self._assume(pair)
        self._show()
        if lemmas:
            self._lemmas()
        self._claims()

    def ports(self) -> list[Value]:
        """Return the clock and all free inputs."""
        clock: Signal = self.clock.clk  # type: ignore[attr-defined]  # the stubs give a domain no signals
        return [clock, *chain.from_iterable(machine.free for machine in self.machines)]

    def of_which(self, of: Callable[[_Pair], Value]) -> Value:
        """``of`` the partition in question, in both SMs."""
        return _all([~self._is(pair) | of(pair) for pair in self.pairs])

    def _is(self, pair: _Pair) -> Value:
        return self.which == pair[0].number

    def _start(self) -> None:
        """The launch is the same, faults stop both, and memory takes every line that an I-cache requests at once."""
        one, other = self.machines
        self.m.d.comb += [
            Assume(_all([_same(getattr(one.sm, name), getattr(other.sm, name)) for name in _LAUNCH
                         if hasattr(one.sm, name)])),
            Assume(_same(one.faults.valid, other.faults.valid)),
        ]
        for machine in self.machines:
            for p in machine.partitions:
                request = p.front.mem.request
                self.m.d.comb += Assume(~(request.valid & (machine.fetch_turn() == p.number)) | request.ready)

    def _assume(self, pair: _Pair) -> None:
        """What the partition gets from its own parts, and from those that it shares, is the same."""
        conditions = [*self._from_own(pair), *self._from_memory(pair), *self._from_masks(pair), *self._from_csrs(pair)]
        self.m.d.comb += [Assume(~self._is(pair) | condition) for condition in conditions]

    def _from_own(self, pair: _Pair) -> list[Value]:
        """Its own parts that are cut out: with the same inputs, the same outputs."""
        one, other = pair
        found = []
        for name, part in one.own.items():
            its = other.own[name]
            at_once = [_same(getattr(part, port), getattr(its, port)) for port in _AT_ONCE[name]]
            outputs = [_same(a, b) for a, b in zip(*(ports(each, wiring.Out) for each in (part, its)), strict=True)]
            found.append(~_all([*at_once, Const(1)]) | _all(outputs))
        for (_, memory), (_, its) in zip(one.memories, other.memories, strict=True):
            found += [~_same(a._addr, b._addr) | _same(a._data, b._data)
                      for a, b in zip(memory._read_ports, its._read_ports, strict=True)]
        return found

    def _from_memory(self, pair: _Pair) -> list[Value]:
        """The answers to its I-cache, and the LSU: whether it takes more, stores under way, and loaded values."""
        (first, second), (one, other) = self.machines, pair
        answers = [each.front.mem.response for each in pair]
        loads = [each.issue.load for each in pair]
        return [
            *(_same(a.valid, b.valid) & (~a.valid | _same(a.payload, b.payload)) for a, b in (answers, loads)),
            _same(one.front.flow.invalidate, other.front.flow.invalidate),
            ~one.turn | _same(first.lsu.ready, second.lsu.ready),
            _same(one.owned(first.lsu.stores_pending), other.owned(second.lsu.stores_pending)),
            *([_same(one.front.lost, other.front.lost)] if self.config.watches_locality else []),
        ]

    def _from_masks(self, pair: _Pair) -> list[Value]:
        """Thread masks, starts and barriers of its warps, and the answer to its own SIMT instruction."""
        (first, second), (one, other) = self.machines, pair
        starts = [each.owned(machine.simt.activation.warps) for each, machine in zip(pair, self.machines, strict=True)]
        step = self.config.schedulers
        names = ("result", "redirect", "target", "waits", "ended", "fault", "cause")
        return [
            *(_same(one.owned(getattr(first.simt, name)), other.owned(getattr(second.simt, name)))
              for name in ("active", "waiting", "release")),
            *(_same(first.simt.masks[w], second.simt.masks[w]) for w in range(one.number, self.config.warps, step)),
            _same(*starts),
            ~starts[0].any() | _same(first.simt.activation.pc, second.simt.activation.pc),
            ~one.unit.simt.valid | _all([_same(getattr(first.simt, name), getattr(second.simt, name)) for name in names]),
        ]

    def _from_csrs(self, pair: _Pair) -> list[Value]:
        """The rounding modes of its warps, the answer to its own access, and ``mpolicy``."""
        (first, second), (one, _) = self.machines, pair
        step, names = self.config.schedulers, ("value", "add_lane", "unknown")
        return [
            *(_same(first.csr.modes[w], second.csr.modes[w]) for w in range(one.number, self.config.warps, step)),
            ~one.unit.csr.valid | _all([_same(getattr(first.csr, name), getattr(second.csr, name)) for name in names]),
            *([_same(first.csr.change, second.csr.change)] if self.config.policy_csr else []),
        ]

    def _lemmas(self) -> None:
        """All registers of the partition, and those of the turns, are the same."""
        self.claim("the registers of the turns are the same",
                   _all([_same(a, b) for a, b in zip(*(machine.turns() for machine in self.machines), strict=True)]))
        for pair in self.pairs:
            for (place, ours), (_, theirs) in zip(*(each.registers() for each in pair), strict=True):
                self.claim(f"partition {pair[0].number}: the registers of the {place} are the same",
                           ~self._is(pair) | _all([_same(a, b) for a, b in zip(ours, theirs, strict=True)]))

    def _claims(self) -> None:
        def both(text: str, *of: Callable[[Partition], Any]) -> None:
            self.claim(text, self.of_which(lambda pair: _all([_same(each(pair[0]), each(pair[1])) for each in of])))

        both("the partition has its turns in the same cycles", lambda p: p.turn)
        both("it selects the same warps in the same cycles",
             lambda p: p.front.selection.select, lambda p: p.front.selection.nop)
        both("it fetches the same instructions in the same cycles",
             lambda p: p.front.event.fetch, lambda p: p.own["I-cache"].lookup_valid,
             lambda p: p.own["I-cache"].lookup_pc)
        both("it requests the same lines in the same cycles",
             lambda p: p.front.mem.request.valid, lambda p: p.front.mem.request.payload.line)
        both("its requests are accepted in the same cycles",
             lambda p: p.front.mem.request.valid & p.front.mem.request.ready)
        both("it selects loads and stores in the same cycles", lambda p: p.issue.lsu_take)
        both("the same instructions are executed in the same cycles, with the same values", lambda p: p.issue.operands)
        both("it asks the shared units for the same in the same cycles",
             lambda p: p.unit.simt.valid, lambda p: p.unit.csr.valid)
        both("its control flow is resolved in the same cycles", lambda p: p.front.flow.resolution)
        both("it writes the same results in the same cycles", lambda p: p.issue.write_event)
        for name in self.pairs[0][0].own:
            self.claim(f"its {name} get{'' if name.endswith('s') else 's'} the same", self.of_which(lambda pair, name=name: _all(
                [_same(a, b) for a, b in zip(*(ports(each.own[name], wiring.In) for each in pair), strict=True)])))
        self.claim("its memories get the same", self.of_which(lambda pair: _all([
            _same(a._en, b._en) & (~a._en.any() | _same(a._addr, b._addr) & _same(a._data, b._data))
            for (_, memory), (_, its) in zip(pair[0].memories, pair[1].memories, strict=True)
            for a, b in zip(memory._write_ports, its._write_ports, strict=True)
        ])))

    def _show(self) -> None:
        self.show("partition in question", self.which)
        for name, machine in zip(("", "'"), self.machines, strict=True):
            for p in machine.partitions:
                title = f"{p.number}{name}"
                self.show(f"turn {title}", p.turn, p.turn)
                self.show(f"selects {title}", p.front.selection.select, p.front.selection.select.any(), kind="mask")
                self.show(f"load {title}", p.issue.lsu_take, p.issue.lsu_take)
                self.show(f"requests {title}", p.front.mem.request.valid, p.front.mem.request.valid)
                self.show(f"executes {title}", p.issue.operands.warp, p.issue.operands.valid)
