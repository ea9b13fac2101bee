"""P10 (docs/proof.md): what a partition does is the same whatever the others do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from amaranth.hdl import Assume, Cat, ClockDomain, Module, Signal, Value
from amaranth.hdl._ast import SignalDict
from amaranth.lib import wiring

from metronome.hdl.config import SmConfig
from metronome.hdl.isa.sharing import shares_units
from metronome.hdl.lib.partitions import named

from .claims import Claims
from .machine import Machine, Partition, ports
from .shared_reads import read_instead

__all__ = ["SeparationModel"]

#: The inputs of the SM that are constant while it runs, or begin a run.
_LAUNCH = ("start", "start_pc", "arg", "policy", "fetch_policy")


def _same(one: Any, other: Any) -> Value:
    return Value.cast(one) == Value.cast(other)


def _all(conditions: Sequence[Value]) -> Value:
    return Cat(conditions).all()


class SeparationModel(Claims):
    """Two SMs. One ``partition`` gets the same in both, and all others get anything.

    With ``lemmas``, every signal of the partition is claimed to be the same, and all that reads it in the second SM
    reads that of the first. So each claim is about one assignment, and the solver need not find out that two
    copies of a front end compute the same. Signals depend on each other without circles: if all claims hold, the
    second SM does what it does with its own signals.
    """

    def __init__(
        self, config: SmConfig, partition: int, *, lemmas: bool = True,
        asserts: Callable[[str], bool] = lambda text: True,
    ) -> None:
        self.config, self.asserts = config, asserts
        self.m = m = Module()
        self.clock = ClockDomain("sync", reset_less=True)
        m.domains += self.clock
        self.claims, self.columns = {}, []
        self.machines = [Machine(config) for _ in range(2)]
        for name, machine in zip(("first", "second"), self.machines, strict=True):
            m.submodules[name] = machine.inside.fragment
        self.pair = self.machines[0].partitions[partition], self.machines[1].partitions[partition]
        self.m.d.comb += [Assume(condition) for condition in (
            *self._from_launch(), *self._from_port(), *self._from_own(), *self._from_memory(), *self._from_masks(),
            *self._from_csrs(), *self._from_units(),
        )]
        self._show()
        if lemmas:
            self._lemmas()
        self._claims()

    def ports(self) -> list[Value]:
        """Return the clock and all free inputs."""
        clock: Signal = self.clock.clk  # type: ignore[attr-defined]  # the stubs give a domain no signals
        return [clock, *chain.from_iterable(machine.free for machine in self.machines)]

    def _from_launch(self) -> list[Value]:
        """The launch is the same, and a fault stops both SMs at the same time."""
        one, other = self.machines
        ports = [(getattr(one.sm, name), getattr(other.sm, name)) for name in _LAUNCH if hasattr(one.sm, name)]
        return [*(_same(a, b) for a, b in ports), _same(one.faults.valid, other.faults.valid)]

    def _from_port(self) -> list[Value]:
        """Memory takes every line that an I-cache requests, of any partition, at once."""
        return [~(p.front.mem.request.valid & (machine.fetch_turn() == p.number)) | p.front.mem.request.ready
                for machine in self.machines for p in machine.partitions]

    def _from_own(self) -> list[Value]:
        """Its own parts that are cut out are claimed to get the same, so they give the same; memories likewise."""
        one, other = self.pair
        reads = [(a, b) for (_, memory), (_, its) in zip(one.memories, other.memories, strict=True)
                 for a, b in zip(memory._read_ports, its._read_ports, strict=True)]
        return [
            *(_same(a, b) for a, b in zip(one.gets(), other.gets(), strict=True)),
            *(~_same(a._addr, b._addr) | _same(a._data, b._data) for a, b in reads),
        ]

    def _from_memory(self) -> list[Value]:
        """The answers to its I-cache, and the LSU: whether it takes more, stores under way, and loaded values."""
        (first, second), (one, other) = self.machines, self.pair
        streams = [[each.answers() for each in self.pair], [each.loads() for each in self.pair]]
        return [
            *(_same(valid, its) & (~valid | _same(data, same)) for (valid, data), (its, same) in streams),
            _same(one.front.flow.invalidate, other.front.flow.invalidate),
            ~one.turn | _same(first.lsu.ready, second.lsu.ready),
            _same(one.owned(first.lsu.stores_pending), other.owned(second.lsu.stores_pending)),
            *([_same(one.front.lost, other.front.lost)] if self.config.watches_locality else []),
        ]

    def _from_masks(self) -> list[Value]:
        """Thread masks, starts and barriers of its warps, and the answer to its own SIMT instruction."""
        (first, second), (one, other) = self.machines, self.pair
        starts = [one.owned(first.simt.activation.warps), other.owned(second.simt.activation.warps)]
        step = self.config.schedulers
        names = ("result", "redirect", "target", "waits", "ended", "fault", "cause")
        return [
            *(_same(one.owned(getattr(first.simt, name)), other.owned(getattr(second.simt, name)))
              for name in ("active", "waiting", "release")),
            *(_same(first.simt.masks[w], second.simt.masks[w]) for w in range(one.number, self.config.warps, step)),
            _same(*starts),
            ~starts[0].any() | _same(first.simt.activation.pc, second.simt.activation.pc),
            ~one.unit.simt.valid | _all([_same(getattr(first.simt, its), getattr(second.simt, its)) for its in names]),
        ]

    def _from_csrs(self) -> list[Value]:
        """The rounding modes of its warps, the answer to its own access, and ``mpolicy``."""
        (first, second), (one, _) = self.machines, self.pair
        step, names = self.config.schedulers, ("value", "add_lane", "unknown")
        return [
            *(_same(first.csr.modes[w], second.csr.modes[w]) for w in range(one.number, self.config.warps, step)),
            ~one.unit.csr.valid | _all([_same(getattr(first.csr, name), getattr(second.csr, name)) for name in names]),
            *([_same(first.csr.change, second.csr.change)] if self.config.policy_csr else []),
        ]

    def _from_units(self) -> list[Value]:
        """The result of its own instruction, if the units are shared: by P9, no other instruction meets it there."""
        if not shares_units(self.config):
            return []
        due = [machine.inside.component(f"{named('issue', each.number)}.schedule").out.due
               for machine, each in zip(self.machines, self.pair, strict=True)]
        units = [machine.inside.component("compute") for machine in self.machines]
        return [~due[0] | _all([_same(*(getattr(its, named(name, self.pair[0].number)) for its in units))
                                for name in ("result", "flags")])]

    def _lemmas(self) -> None:
        """All signals of the partition are the same, and the registers of the turns."""
        one, other = self.pair
        instead = SignalDict((theirs, ours) for ours, theirs in zip(one.gets(), other.gets(), strict=True))
        groups: list[tuple[str, list[Signal], list[Signal]]] = [
            ("registers of the turns", self.machines[0].turns(), self.machines[1].turns())]
        signals = zip(one.signals(), other.signals(), strict=True)
        groups += [(name, ours, theirs) for (name, ours), (_, theirs) in signals]
        for name, ours, theirs in groups:
            if [(each.name, each.init) for each in ours] != [(each.name, each.init) for each in theirs]:
                raise LookupError(f"the {name} differ in two copies of the design")
            for its, second in zip(ours, theirs, strict=True):
                # A claim for each is far easier for a solver than one for all.
                self.claim(f"the {name}: {its.name} is the same", _same(its, second))
                instead[second] = its
        read_instead(self.machines[1].inside.fragment, instead)

    def _claims(self) -> None:
        def both(text: str, *of: Callable[[Partition], Any]) -> None:
            self.claim(text, _all([_same(each(self.pair[0]), each(self.pair[1])) for each in of]))

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
        one, other = self.pair
        for name, part in one.own.items():
            inputs = zip(ports(part, wiring.In), ports(other.own[name], wiring.In), strict=True)
            self.claim(f"its own parts get the same: {name}", _all([_same(a, b) for a, b in inputs]))
        writes = [(a, b) for (_, memory), (_, its) in zip(one.memories, other.memories, strict=True)
                  for a, b in zip(memory._write_ports, its._write_ports, strict=True)]
        self.claim("its memories get the same", _all([
            _same(a._en, b._en) & (~a._en.any() | _same(a._addr, b._addr) & _same(a._data, b._data)) for a, b in writes
        ]))

    def _show(self) -> None:
        for name, machine in zip(("", "'"), self.machines, strict=True):
            for p in machine.partitions:
                title = f"{p.number}{name}"
                self.show(f"turn {title}", p.turn, p.turn)
                self.show(f"selects {title}", p.front.selection.select, p.front.selection.select.any(), kind="mask")
                self.show(f"load {title}", p.issue.lsu_take, p.issue.lsu_take)
                self.show(f"requests {title}", p.front.mem.request.valid, p.front.mem.request.valid)
                self.show(f"executes {title}", p.issue.operands.warp, p.issue.operands.valid)
