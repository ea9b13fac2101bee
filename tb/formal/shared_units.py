"""The claims of P9 (docs/proof.md) about one set of units: no two partitions ever meet in them.

With fixed turns, all that a partition may use depends on the number of turns in this period. So each result that is
under way tells which turns there were: the lemmas state this for every cycle in which one can be due. With computed
turns, each cycle in which a result is due is reserved, and the lemmas state that at most one partition has reserved it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from amaranth.hdl import Assume, Cat, Const, Module, Mux, Signal, Value

from metronome.hdl.config_checks import SLOTS_OF_TURNS
from metronome.hdl.isa.latencies import unit_latencies
from metronome.hdl.isa.ops import FLOAT_UNITS, ROUNDED_UNITS, Unit
from metronome.hdl.isa.sharing import DIVISION_WINDOW, partitions_of_a_port, partitions_of_an_alu, turn_groups
from metronome.hdl.issue.reservations import UNPIPELINED
from metronome.hdl.issue.writeback import takes_slot
from metronome.hdl.lib.onehot import or_all
from metronome.hdl.lib.partitions import named

from .invariants import at_most_one
from .machine import Machine, Partition

__all__ = ["SharedUnitsClaims"]

_Claim = Callable[[str, Value], None]


class _Resource(NamedTuple):
    """One result a cycle: the partition p of ``among`` has it whose turn it was ``least`` cycles before X.

    ``phase``: the partition that has the turn number 0.
    """

    name: str
    least: int
    phase: int
    among: Sequence[Partition]


class SharedUnitsClaims:
    """Adds its claims to P9: with ``claim``, or with ``lemma`` if only the induction needs them.

    ``issued``: by partition, whether it selected an instruction in the last cycle, and the data of this instruction.
    """

    def __init__(
        self, m: Module, machine: Machine, issued: dict[int, tuple[Signal, Any]], claim: _Claim, lemma: _Claim,
    ) -> None:
        self._m, self._machine, self._config = m, machine, machine.config
        self._issued, self._claim, self._lemma = issued, claim, lemma
        self._turns = machine.inside.component("sharing.turns")
        self._number: Value = self._turns.number
        self._latencies = unit_latencies(self._config)
        self._fixed = self._config.divides_time
        # The SM is reset before a launch, so nothing is in flight.
        divisions = [self._left(p, unit).any() for p in machine.partitions for unit in UNPIPELINED]
        in_flight = Cat(machine.sm.busy, machine.lsu.wb.valid, *divisions).any()
        m.d.comb += Assume(~machine.sm.start | ~in_flight)
        self._due = {p.number: self._under_way(p, "result", tuple(self._latencies)) for p in machine.partitions}
        self._rounded = {p.number: self._under_way(p, "rounded", ROUNDED_UNITS) for p in machine.partitions}
        for p in machine.partitions:
            self._reserves(p)
        if self._fixed:
            self._in_own_cycles()
        else:
            self._in_reserved_cycles()
        self._never_meet()
        for p in machine.partitions:
            self._starts(p)
            self._writes(p)

    def _under_way(self, p: Partition, name: str, units: Sequence[Unit]) -> Signal:
        """Bit k: a result of these units is due k cycles from now."""
        selection = p.front.selection
        begins = selection.select.any() & ~selection.nop & takes_slot(selection.info)
        due = Signal(self._config.issue_latency + max(self._latencies[unit] for unit in units) + 1,
                     name=f"expect_{name}_{p.number}")
        new: list[Value] = [Const(0, 1)] * len(due)
        for unit in units:
            place = self._config.issue_latency + self._latencies[unit]
            new[place] = new[place] | begins & (selection.info.unit == unit)
        self._m.d.sync += due.eq((due | Cat(new)) >> 1)
        return due

    def _reserves(self, p: Partition) -> None:
        """The partition's own schedule knows of its results."""
        number = p.number
        schedule = self._machine.inside.component(f"{named('issue', number)}.schedule")
        reserved = self._machine.inside.signal(f"{named('issue', number)}.schedule", "reserved")
        issued, info = self._issued[number]
        if self._config.operand_register:
            # The schedule learns of an instruction a cycle after its selection.
            for unit in self._latencies:
                self._lemma(f"partition {number}: it is known that {unit.name} was selected",
                            schedule.reserve[unit.value] == (issued & takes_slot(info) & (info.unit == unit)))
            reserved = self._with_last(reserved, tuple(self._latencies), schedule.reserve)
        due = self._due[number]
        self._lemma(f"partition {number}: its schedule knows each result", reserved == due)
        self._lemma(f"partition {number}: results of the rounder are results",
                    (self._rounded[number] & ~due[:len(self._rounded[number])]) == 0)

    def _with_last(self, reserved: Signal, units: Sequence[Unit], begins: Value) -> Value:
        """The cycles reserved, with an operand register also by the instruction that was selected in the last one."""
        taken: list[Value] = [Const(0, 1)] * len(reserved)
        for unit in units:
            place = self._config.issue_latency + self._latencies[unit] - 1
            taken[place] = taken[place] | begins[unit.value]
        return reserved | Cat(taken)

    def _belongs(self, resource: _Resource, cycles: int, p: Partition) -> Value:
        """Whether the resource is the partition's in so many ``cycles``."""
        bits = (len(resource.among) - 1).bit_length()
        place = p.number % len(resource.among)
        turns = cycles - self._config.issue_latency - resource.least

        def of(number: Value) -> Value:
            return ((number + resource.phase) % len(resource.among) if bits else Const(0)) == place

        if turns >= 0:
            return (self._number + turns < SLOTS_OF_TURNS) & of(self._number + turns)
        # A period ago, the last turn had this number.
        return Mux(self._number >= -turns, of(self._number + turns % len(resource.among)),
                   of(self._number + (turns + SLOTS_OF_TURNS) % len(resource.among)))

    def _ports(self) -> list[Sequence[Partition]]:
        """The partitions of each writeback port that several share."""
        parts, count = self._machine.partitions, partitions_of_a_port(self._config)
        return [parts[first:first + count] for first in range(0, len(parts), count)] if count > 1 else []

    def _in_own_cycles(self) -> None:
        """With fixed turns, a result is due in a cycle of its partition, and a division ends in its window."""
        self._lemma("turns go by their number", self._turns.fixed == self._number[:len(self._turns.fixed)])
        self._lemma("the number of turns is that of a period", self._number < SLOTS_OF_TURNS)
        phase = next(group.phase for group in turn_groups(self._config) if Unit.FMA in group.units)
        least = min(self._latencies[unit] for unit in ROUNDED_UNITS)
        self._own(_Resource("rounder", least, phase, self._machine.partitions), self._rounded)
        for number, among in enumerate(self._ports()):
            port = _Resource(f"port {number}", min(self._latencies.values()), 0, among)
            self._own(port, self._due)
            for p in among:
                self._lemma(f"partition {p.number}: a loaded value is written in its turn",
                            ~self._loaded(p) | self._belongs(port, 0, p))
            for stage in range(self._config.issue_latency):
                turn = self._machine.inside.signal("sharing", f"port_turn_{stage}")
                cycles = self._config.issue_latency + port.least - stage - 1
                self._lemma(f"the turn {stage + 1} cycles ago is known", Cat(
                    ((turn % len(among)) == place) == self._belongs(port, cycles, p) for place, p in enumerate(among)
                ).all())
        for p in self._machine.partitions:
            self._divides(p)

    def _own(self, resource: _Resource, results: dict[int, Signal]) -> None:
        for p in resource.among:
            for cycles in range(len(results[p.number])):
                self._lemma(f"partition {p.number}: the {resource.name} is its own in {cycles} cycles",
                            ~results[p.number][cycles] | self._belongs(resource, cycles, p))

    def _in_reserved_cycles(self) -> None:
        """With computed turns, at most one partition has reserved a cycle; all others know it, and so do loads."""
        for among in self._ports():
            for cycles in range(len(self._due[0])):
                self._lemma(f"one partition writes at the port of {among[0].number} in {cycles} cycles",
                            at_most_one([self._due[p.number][cycles] for p in among]))
            for p in among:
                others = [self._due[q.number][0] for q in among if q is not p]
                self._lemma(f"partition {p.number}: nobody else has a result when a loaded value is written",
                            ~self._loaded(p) | ~Cat(others).any())
            self._lemma(f"one partition writes a loaded value at the port of {among[0].number}",
                        at_most_one([self._loaded(p) for p in among]))
        rounded = list(self._rounded.values())
        for cycles in range(len(rounded[0])):
            self._lemma(f"one partition has a result in the rounder in {cycles} cycles",
                        at_most_one([its[cycles] for its in rounded]))
        reserved = self._machine.inside.signal("sharing.units", "reserved")
        if self._config.operand_register:
            begins = or_all(self._machine.inside.component("sharing.units").begins)
            reserved = self._with_last(reserved, ROUNDED_UNITS, begins)
            for unit in (*ROUNDED_UNITS, Unit.DIV):
                its = [issued & (info.unit == unit) for issued, info in self._issued.values()]
                self._lemma(f"it is known that {unit.name} was selected", begins[unit.value] == Cat(its).any())
        self._lemma("the rounder's cycles are reserved", reserved == or_all(rounded))

    def _never_meet(self) -> None:
        """At most one partition has a result in the rounder, writes at a port, or has a division in progress."""
        parts = self._machine.partitions
        self._exclusive("has a result in the rounder", [self._rounded[p.number][0] for p in parts])
        for number, among in enumerate(self._ports()):
            self._exclusive(f"writes at port {number}", [self._loaded(p) | self._due[p.number][0] for p in among])
        for unit in UNPIPELINED:
            if self._fixed:
                self._exclusive(f"has a division in {unit.name}", [self._divisions(p, unit) for p in parts])
                continue
            for p in parts:
                selects = p.front.selection.select.any() & ~p.front.selection.nop
                self._claim(f"partition {p.number}: a division in {unit.name} begins when the last one is over",
                            ~(selects & (p.front.selection.info.unit == unit)) | ~self._divisions(p, unit))

    def _loaded(self, p: Partition) -> Value:
        """Whether a loaded value of the partition is written in this cycle, if it has no result."""
        return self._machine.inside.signal(f"{named('issue', p.number)}.writeback", "load_valid")

    def _exclusive(self, what: str, conditions: Sequence[Value]) -> None:
        self._claim(f"at most one partition {what}", at_most_one(conditions))

    def _left(self, p: Partition, unit: Unit) -> Value:
        """The cycles left of a division: with fixed turns each partition counts its own."""
        return self._machine.inside.signal(named("issue", p.number) if self._fixed else "sharing.units",
                                           f"{unit.name.lower()}_left")

    def _divisions(self, p: Partition, unit: Unit) -> Value:
        """Whether a division is in progress, with fixed turns one of the partition."""
        began = [issued & (info.unit == unit) for number, (issued, info) in self._issued.items()
                 if number == p.number or not self._fixed]
        return (self._left(p, unit) != 0) | (Cat(began).any() if self._config.operand_register else Const(0, 1))

    def _divides(self, p: Partition) -> None:
        """A division that is in progress ends in the window in which it began."""
        number = self._number
        owner = (number // DIVISION_WINDOW) % self._config.schedulers == p.number
        for unit in UNPIPELINED:
            left, what = self._left(p, unit), f"partition {p.number}: a division in {unit.name}"
            self._lemma(f"{what} ends in its window", (left == 0) | (
                owner & (number < SLOTS_OF_TURNS - 1) & (number % DIVISION_WINDOW + left <= DIVISION_WINDOW)))
            if self._config.operand_register:
                issued, info = self._issued[p.number]
                before, latency = number - 1, self._latencies[unit]
                missed, if_missed, if_hit = (self._machine.inside.signal(named("issue", p.number), name) for name in (
                    "missed_before", "began_if_missed", "began_if_hit"))
                self._lemma(f"{what} began in the last cycle if it was selected then",
                            Mux(missed, if_missed, if_hit)[unit.value] == (issued & (info.unit == unit)))
                self._lemma(f"{what} begins in its window", ~(issued & (info.unit == unit)) | (
                    (number > 0) & ((before // DIVISION_WINDOW) % self._config.schedulers == p.number)
                    & (before % DIVISION_WINDOW + latency <= DIVISION_WINDOW)))

    def _components(self) -> list[tuple[tuple[Unit, ...], Any, Sequence[Partition]]]:
        """The units with their names in :class:`Unit`, and the partitions that use them."""
        inside, parts, count = self._machine.inside, self._machine.partitions, partitions_of_an_alu(self._config)
        alus = [((Unit.ALU,), inside.component(f"compute.{named('alu', first // count)}"), parts[first:first + count])
                for first in range(0, len(parts), count)]
        return [*alus, ((Unit.MUL,), inside.component("compute.mul"), parts),
                ((Unit.DIV,), inside.component("compute.div"), parts),
                (ROUNDED_UNITS, inside.component("compute.float"), parts),
                ((Unit.FMISC,), inside.component("compute.fmisc"), parts)]

    def _starts(self, p: Partition) -> None:
        """A unit gets the partition's instruction in X, with its operands."""
        x = p.issue.operands
        decoded = x.entry.decoded
        for names, unit, _ in (each for each in self._components() if p in each[2]):
            its = x.valid & Cat(decoded.info.unit == name for name in names).any()
            same = [unit.valid, unit.op == decoded.op, unit.mask == x.mask]
            if Unit.ALU in names:
                for lane in range(self._config.threads):
                    same += [unit.a[lane] == Mux(decoded.use_pc, x.entry.pc, x.rs1[lane]),
                             unit.b[lane] == Mux(decoded.use_imm, decoded.imm, x.rs2[lane])]
            else:
                same += [Value.cast(unit.a) == Value.cast(x.rs1), Value.cast(unit.b) == Value.cast(x.rs2)]
            if names[0] in FLOAT_UNITS:
                same.append(unit.rm == getattr(self._machine.control, named("rm", p.number)))
            if names == ROUNDED_UNITS:
                same += [Value.cast(unit.c) == Value.cast(x.rs3), unit.op_unit == decoded.info.unit]
            self._claim(f"partition {p.number}: {'/'.join(name.name for name in names)} gets its instruction",
                        ~its | Cat(same).all())

    def _writes(self, p: Partition) -> None:
        """In W the partition gets the result of its unit."""
        due = self._due[p.number][0]
        self._lemma(f"partition {p.number}: it writes when a result is due",
                    self._machine.inside.component(f"{named('issue', p.number)}.schedule").out.due == due)
        for names, unit, _ in (each for each in self._components() if p in each[2]):
            its = due & Cat(p.issue.write_unit == name for name in names).any()
            flags: list[Value] = []
            if names[0] in FLOAT_UNITS:
                every = or_all(unit.flags[lane] for lane in range(self._config.threads))
                flags.append(self._given("flags", p) == every)
            self._claim(f"partition {p.number}: it gets the result of {'/'.join(name.name for name in names)}",
                        ~its | Cat(Value.cast(self._given("result", p)) == Value.cast(unit.result), *flags).all())

    def _given(self, name: str, p: Partition) -> Any:
        return getattr(self._machine.inside.component("compute"), named(name, p.number))

