"""Cycles reserved at selection: when units and writeback ports are free."""

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..isa.latencies import unit_latencies
from ..isa.ops import ROUNDED_UNITS, Unit
from ..lib.component import Component
from ..lib.onehot import or_all

__all__ = ["UNPIPELINED", "UnitSchedule", "operations_left", "reservations"]

#: Units that take one operation at a time: each keeps its own class waiting, and nothing else.
UNPIPELINED = (Unit.DIV, Unit.FDIV)


def reservations(m: Module, config: SmConfig, latencies: dict[Unit, int], begins: Value) -> tuple[Signal, Signal]:
    """Return the results that are due by cycles from now, and those of them that ``begins`` adds.

    ``begins``: by Unit, the instruction selected in this cycle; with an operand register, in the last one.
    """
    to_execute = config.issue_latency
    last = to_execute + max(latencies.values())
    reserved = Signal(last + 1)
    taken = Signal(last + 1)
    since = int(config.operand_register)  # cycles from the selection to `begins`
    for latency in sorted(set(latencies.values())):
        its = [begins[unit.value] for unit, own in latencies.items() if own == latency]
        m.d.comb += taken[to_execute + latency - since].eq(Cat(its).any())
    m.d.sync += reserved.eq((reserved | taken) >> 1)
    return reserved, taken


def operations_left(m: Module, config: SmConfig, unit: Unit, begins: Value) -> tuple[Value, Value]:
    """Return whether a unit that is not pipelined is free, and whether it is in the next cycle if none begins now.

    It is busy for its latency after each operation. With an operand register, ``begins`` is of the last cycle.
    """
    latency, since = unit_latencies(config)[unit], int(config.operand_register)
    left = Signal(range(latency), name=f"{unit.name.lower()}_left")
    with m.If(begins):
        m.d.sync += left.eq(latency - 1 - since)
    with m.Elif(left != 0):
        m.d.sync += left.eq(left - 1)
    if since:
        return (left == 0) & ~begins, (left <= 1) & ~begins
    return left == 0, left <= 1


class UnitSchedule(Component):
    """When the units are free that partitions share.

    DIV and FDIV take one operation at a time. FMA, FCVT and FDIV have one result: an instruction may be selected only
    if no other one's result is due in the same cycle. All outputs come from registers; with an operand register also
    from ``begins``. Reset: all are free.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        units = len(Unit)
        super().__init__({
            #: By partition and Unit: the instruction selected in this cycle (t); with an operand register, in the last
            #: one. At most one partition may have an instruction for a shared unit.
            "begins": In(data.ArrayLayout(units, config.schedulers)),
            "free": Out(units),  # in t, by Unit: an instruction may be selected
            #: In t, by Unit: an instruction may be selected in t+1, if none begins now, and as far as only its own unit
            #: matters.
            "soon": Out(units),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        begins = Signal(len(Unit))
        m.d.comb += begins.eq(or_all(self.begins[p] for p in range(config.schedulers)))
        latencies = {unit: latency for unit, latency in unit_latencies(config).items() if unit in ROUNDED_UNITS}
        reserved, taken = reservations(m, config, latencies, begins)
        known = reserved | taken if config.operand_register else reserved
        free: dict[Unit, Value] = {
            unit: ~known[config.issue_latency + latency] for unit, latency in latencies.items()
        }
        soon: dict[Unit, Value] = {}
        for unit in UNPIPELINED:
            now, soon[unit] = operations_left(m, config, unit, begins[unit.value])
            free[unit] = free[unit] & now if unit in free else now
        m.d.comb += [
            self.free.eq(Cat(free.get(unit, Const(1)) for unit in Unit)),
            self.soon.eq(Cat(soon.get(unit, Const(1)) for unit in Unit)),
        ]
        return m
