"""P9 (docs/proof.md): a unit that partitions share serves one of them at a time, the one whose turn it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from amaranth.hdl import Assume, Cat, ClockDomain, Module, Signal, Value

from metronome.hdl.config import SmConfig
from metronome.hdl.isa.ops import Unit
from metronome.hdl.isa.sharing import DIVISION_WINDOW, partitions_of_an_alu, shares_units, turn_groups
from metronome.hdl.issue.scoreboard import head_layout
from metronome.hdl.issue.writeback import UNPIPELINED, takes_slot
from metronome.hdl.layouts.decoded import IssueInfo
from metronome.hdl.lib.partitions import named
from metronome.hdl.policies import POLICIES

from .claims import Claims
from .invariants import at_most_one, one
from .machine import Machine, Partition
from .shared_units import SharedUnitsClaims

__all__ = ["TurnsModel"]

class _Group(NamedTuple):
    """Units of which one partition of each of ``among`` may select an instruction in a cycle.

    ``turns[k]``: a bit for each partition, whether it had its turn k cycles ago.
    """

    name: str
    units: tuple[Unit, ...]
    among: Sequence[Sequence[int]]
    turns: list[Value]


def _of(units: Sequence[Unit], unit: Any) -> Value:
    return Cat(unit == its for its in units).any()


class TurnsModel(Claims):
    """An SM whose partitions run anything.

    It assumes P2 and P4 of each partition: no instruction arrives at the head of a buffer, and the instruction that
    comes in the cycle after a selection is the one that was judged.
    """

    def __init__(
        self, config: SmConfig, *, lemmas: bool = True, asserts: Callable[[str], bool] = lambda text: True,
    ) -> None:
        self.config, self.asserts, self._with_lemmas = config, asserts, lemmas
        self.m = m = Module()
        self.clock = ClockDomain("sync", reset_less=True)
        m.domains += self.clock
        self.claims, self.columns = {}, []
        self.machine = machine = Machine(config, units=True)
        m.submodules.sm = machine.inside.fragment
        self.partitions = machine.partitions
        self._show()
        self._groups = [self._group(*each) for each in self._what_has_turns()]
        self._turns = next(group.turns for group in self._groups if Unit.SIMT in group.units)
        self._asked_before = Signal.like(machine.simt.peek_warp, name="expect_peek")
        m.d.sync += self._asked_before.eq(machine.simt.peek_warp)
        for group in self._groups:
            for k, turns in enumerate(group.turns):
                for among in group.among:
                    self.claim(f"one partition had the turn of {group.name} {k} cycles ago",
                               one(Cat(turns[p] for p in among)))
        if lemmas:
            for k in range(1, config.issue_latency):
                said = machine.inside.signal("sharing", f"turn_{k}")
                self.claim(f"the SM knows whose turn it was {k} cycles ago",
                           Cat(said == p.number for p in self.partitions) == self._turns[k])
        #: By partition, whether it selected an instruction in the last cycle, and the data of this instruction.
        self._before: dict[int, tuple[Signal, Any]] = {}
        for p in self.partitions:
            self._ready(p)
            self._selects(p)
            self._executes(p)
        for name, valid in (
            ("selects a load or store", [p.issue.lsu_take for p in self.partitions]),
            ("executes a load or store", [self._in_x(p, Unit.LSU) for p in self.partitions]),
            ("executes a SIMT instruction", [p.unit.simt.valid for p in self.partitions]),
            ("accesses a CSR", [p.unit.csr.valid for p in self.partitions]),
        ):
            self.claim(f"at most one partition {name}", at_most_one(valid))

        if shares_units(config):
            SharedUnitsClaims(m, machine, self._before, self.claim,
                              self.claim if lemmas else lambda text, holds: None)

    def ports(self) -> list[Value]:
        """Return the clock and all free inputs."""
        clock: Signal = self.clock.clk  # type: ignore[attr-defined]  # the stubs give a domain no signals
        return [clock, *self.machine.free]

    def _what_has_turns(self) -> Iterator[tuple[str, tuple[Unit, ...], Sequence[Sequence[int]], Value]]:
        """Yield names, units, the partitions that share each of them, and by partition whether it has its turn."""
        config, every = self.config, range(self.config.schedulers)
        turns = self.machine.inside.component("sharing.turns")
        for number, group in enumerate(turn_groups(config)):
            name = "/".join(unit.name for unit in group.units)
            yield name, group.units, [every], Cat(turns.turn[number] == p for p in every)
        if not shares_units(config):
            return
        if config.divides_time:
            window = turns.number // DIVISION_WINDOW
            yield "DIV", (Unit.DIV,), [every], Cat((window % config.schedulers) == p for p in every)
        count = partitions_of_an_alu(config)
        alus = [every[first:first + count] for first in range(0, len(every), count)]
        yield "ALU", (Unit.ALU,), alus, Cat((turns.fixed % count) == p % count for p in every)

    def _group(self, name: str, units: tuple[Unit, ...], among: Sequence[Sequence[int]], turn: Value) -> _Group:
        """Remember turns: a launch has not shifted these, so it may change whose turn it is at any time."""
        turns: list[Value] = [turn]
        for k in range(1, self.config.issue_latency + 1):
            before = Signal(self.config.schedulers, name=f"expect_turn_{units[0].name}_{k}",
                            init=sum(1 << part[0] for part in among))
            self.m.d.sync += before.eq(turns[-1])
            turns.append(before)
        return _Group(name, units, among, turns)

    def _lemma(self, p: Partition, text: str, holds: Value) -> None:
        if self._with_lemmas:
            self.claim(f"partition {p.number}: {text}", holds)

    def _claim(self, p: Partition, text: str, holds: Value) -> None:
        self.claim(f"partition {p.number}: {text}", holds)

    def _in_x(self, p: Partition, unit: Unit) -> Value:
        x = p.issue.operands
        return x.valid & (x.entry.decoded.info.unit == unit)

    def _ready(self, p: Partition) -> None:
        """The turn is a part of readiness, for instructions that need what is shared, and for no others."""
        board = self.machine.inside.component(f"{named('issue', p.number)}.scoreboard")
        free, nops = board.unit_free, p.front.event.head_nop
        path = f"{named('issue', p.number)}.scoreboard"
        if self.config.operand_register:
            buffers = self.machine.inside.component(f"{named('frontend', p.number)}.buffers")
            self.m.d.comb += Assume(buffers.fills_head == 0)
            layout = head_layout()
            for w in range(self.config.partition.warps):
                now = self.machine.inside.signal(path, f"now_{w}", layout)
                head = p.front.selection.heads[w]
                self._lemma(p, f"the unit of the head of warp {w} is known, and whether it needs a slot",
                            nops[w] | (now.unit.as_value() == head.unit.as_value()) & (now.slot == takes_slot(head)))
        for w in range(self.config.partition.warps):
            for group in self._groups:
                needs = _of(group.units, p.front.selection.heads[w].unit) & ~nops[w]
                self._claim(p, f"if the next instruction of warp {w} needs {group.name}, it is ready only in its turn",
                            ~needs | ~p.front.selection.ready[w] | group.turns[0][p.number])
        self._claim(p, "in its turn, the SIMT unit and the CSRs are free",
                    ~self._turns[0][p.number] | free[Unit.SIMT.value] & free[Unit.CSR.value])
        self._claim(p, "in its turn, the LSU is free if it takes more",
                    ~p.turn | (free[Unit.LSU.value] == self.machine.lsu.ready))
        shared = {unit for group in self._groups for unit in group.units}
        own = [free[unit.value] for unit in Unit if unit not in {*shared, *UNPIPELINED}]
        self._claim(p, "its pipelined units are free in every cycle", Cat(own).all())

    def _selects(self, p: Partition) -> None:
        selection, lsu = p.front.selection, self.machine.lsu
        path = f"{named('frontend', p.number)}.scheme.scheduler"
        policy = self.config.policies[0]
        layout = POLICIES[policy].of(self.config.partition).state_layout()
        state = self.machine.inside.signal(path, f"{policy}_state", layout)
        self._lemma(p, "the policy remembers one warp", one(state.last))
        self._lemma(p, "at most one warp is selected", (selection.select & (selection.select - 1)) == 0)
        issues = selection.select.any() & ~selection.nop
        for group in self._groups:
            self._claim(p, f"it selects an instruction that needs {group.name} only in its turn",
                        ~(issues & _of(group.units, selection.info.unit)) | group.turns[0][p.number])
        self._claim(p, "it tells the LSU of each load or store that it selects",
                    p.issue.lsu_take == (issues & (selection.info.unit == Unit.LSU)))
        self._claim(p, "the LSU takes it", ~p.issue.lsu_take | lsu.take & (
            lsu.take_warp == p.global_warp(selection.warp)) & (lsu.take_store == selection.info.store))

    def _executes(self, p: Partition) -> None:
        """From the selection to X, where the shared unit serves the partition's instruction."""
        m, selection, number = self.m, p.front.selection, p.number
        issued, info = Signal(name=f"expect_issued_{number}"), Signal(IssueInfo, name=f"expect_info_{number}")
        self._before[number] = issued, info
        m.d.sync += [issued.eq(selection.select.any() & ~selection.nop), info.eq(selection.info)]
        came = selection.entry.decoded.info
        m.d.comb += Assume(~issued | (came.as_value() == info.as_value()))
        operands = f"{named('issue', number)}.operands"
        reading = self.machine.inside.signal(operands, "reading")
        read, x = self.machine.inside.component(operands).read, p.issue.operands
        self._lemma(p, "R: an instruction was selected", reading == issued)
        for group in self._groups:
            for stage, valid, unit, turns in (
                ("R", issued, info.unit, group.turns[1]),
                ("t+2", read.valid, read.entry.decoded.info.unit, group.turns[2]),
                ("X", x.valid, x.entry.decoded.info.unit, group.turns[-1]),
            ):
                self._lemma(p, f"{stage}: what needs {group.name} was selected in its turn",
                            ~(valid & _of(group.units, unit)) | turns[number])
        warp = p.global_warp(x.warp)
        self._lemma(p, "X: the masks were looked up for its warp, if it was its turn",
                    ~(x.valid & self._turns[-1][number]) | (self._asked_before == warp))
        machine, asks, access = self.machine, p.unit.simt, p.unit.csr
        self._claim(p, "the mask unit serves its SIMT instruction, looked up a cycle before", ~asks.valid | _all([
            machine.simt.valid, machine.simt.warp == warp, self._asked_before == warp,
            *(getattr(machine.simt, name) == getattr(asks, name) for name in ("op", "mask", "pc", "leader_rs1")),
        ]))
        self._claim(p, "the CSRs serve its access", ~access.valid | _all([
            machine.csr.valid, machine.csr.warp == warp,
            *(getattr(machine.csr, name) == getattr(access, name) for name in ("op", "immediate", "rs1")),
        ]))
        request = machine.lsu.request
        self._claim(p, "the LSU gets its load or store", ~self._in_x(p, Unit.LSU) | _all([
            machine.lsu.request_valid, request.warp == warp, request.pc == x.entry.pc,
            request.rd == x.entry.decoded.info.rd, request.mask == x.mask, request.base.as_value() == Value.cast(x.rs1),
            request.offset == x.entry.decoded.imm, request.data.as_value() == Value.cast(x.rs2),
        ]))

    def _show(self) -> None:
        for p in self.partitions:
            selection, x = p.front.selection, p.issue.operands
            self.show(f"turn {p.number}", p.turn, p.turn)
            self.show(f"selects {p.number}", selection.select, selection.select.any(), kind="mask")
            self.show(f"NOP {p.number}", selection.nop, selection.select.any())
            self.show(f"unit {p.number}", selection.info.unit, selection.select.any() & ~selection.nop)
            self.show(f"executes {p.number}", x.warp, x.valid)


def _all(conditions: Sequence[Value]) -> Value:
    return Cat(conditions).all()
