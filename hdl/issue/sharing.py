"""The turns, units and writeback ports of several partitions."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..config import Turns as TurnRule
from ..config_checks import SLOTS_OF_TURNS
from ..isa.latencies import unit_latencies
from ..isa.ops import ROUNDED_UNITS, Unit
from ..isa.sharing import DIVISION_WINDOW, partitions_of_a_port, partitions_of_an_alu, reserves, turn_groups
from ..layouts.signatures import sharing_signature
from ..lib.component import Component
from ..lib.onehot import or_all
from ..lib.partitions import named
from .reservations import UNPIPELINED, UnitSchedule
from .turns import Turns

__all__ = ["Sharing"]


class Sharing(Component):
    """Tells each partition's issue stage what it may use in a cycle (design.md, "Several schedulers").

    Groups of units have turns (:func:`hdl.isa.sharing.turn_groups`), as the rule of the configuration says. ALUs and
    writeback ports of which there are fewer than partitions always have fixed turns. With fixed turns everywhere, all
    that a partition gets depends on the cycles since the launch alone.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        super().__init__({
            "start": In(1),  # launch, one cycle
            #: The partition whose SIMT instruction or CSR access may be in X in the next cycle.
            "peek": Out(range(config.schedulers)),
            #: The issue stage of each partition.
            **{named("partition", p): In(sharing_signature(config)) for p in range(config.schedulers)},
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, groups = self._config, turn_groups(self._config)
        self._partitions = [getattr(self, named("partition", p)) for p in range(config.schedulers)]
        computed = config.turns is TurnRule.OLDER
        m.submodules.turns = turns = Turns(
            partitions=config.schedulers, phases=[group.phase for group in groups], period=SLOTS_OF_TURNS,
            computed=computed,
        )
        m.d.comb += turns.start.eq(self.start)
        for p, partition in enumerate(self._partitions):
            own = {unit: turns.turn[g] == p for g, group in enumerate(groups) for unit in group.units}
            if partitions_of_an_alu(config) > 1:
                own[Unit.ALU] = self._fixed(turns.fixed, p, partitions_of_an_alu(config))
            if config.divides_time:
                self._divide(turns, p, own)
            m.d.comb += partition.turn.eq(Cat(own.get(unit, Const(1)) for unit in Unit))
        soon: Value = Const(-1, len(Unit))
        if reserves(config):
            m.submodules.units = units = UnitSchedule(config)
            soon = units.soon
            for p, partition in enumerate(self._partitions):
                m.d.comb += [units.begins[p].eq(partition.begins), partition.free.eq(units.free)]
        if computed:
            self._ask(m, turns, soon)
        if partitions_of_a_port(config) > 1:
            if config.divides_time:
                self._divide_ports(m, turns)
            else:
                self._share_ports(m, turns)
        self._peek(m, turns)
        return m

    def _fixed(self, turn: Value, p: int, count: int) -> Value:
        """Whether a partition has the fixed ``turn`` of what ``count`` partitions share."""
        return turn[:(count - 1).bit_length()] == p % count if count > 1 else Const(1, 1)

    def _divide(self, turns: Turns, p: int, own: dict[Unit, Value]) -> None:
        """Keep the partition's results and divisions within its own cycles; ``own``: its turns by unit.

        Results of the rounder come in the partition's turns, if they all do before those of the next period. A
        division begins and ends in a window of the partition.
        """
        latencies, number = unit_latencies(self._config), turns.number
        least = min(latencies[unit] for unit in ROUNDED_UNITS)
        for unit in ROUNDED_UNITS:
            own[unit] = own[unit] & self._in_time(turns, latencies[unit] - least)
        window, within = number // DIVISION_WINDOW, number % DIVISION_WINDOW
        for unit in UNPIPELINED:
            begins = self._fixed(window, p, self._config.schedulers) & (number < SLOTS_OF_TURNS - 1) & (
                within <= DIVISION_WINDOW - latencies[unit])
            own[unit] = own.get(unit, Const(1, 1)) & begins

    def _in_time(self, turns: Turns, later: int) -> Value:
        """Whether what happens so much ``later`` than the first result of a selection does so in this period."""
        return turns.number < SLOTS_OF_TURNS - later if later else Const(1, 1)

    def _ask(self, m: Module, turns: Turns, soon: Value) -> None:
        for p, partition in enumerate(self._partitions):
            port = self._fixed(turns.following, p, partitions_of_a_port(self._config))
            for g, group in enumerate(turn_groups(self._config)):
                numbers = [unit.value for unit in group.units]
                asks = or_all(partition.asks[n] & soon[n] for n in numbers)
                m.d.comb += [
                    turns.asks[p][g].eq(asks & port if group.with_port else asks),
                    turns.ready[p][g].eq(or_all(partition.ready[n] for n in numbers)),
                ]

    def _divide_ports(self, m: Module, turns: Turns) -> None:
        """Give a writeback port to each of its partitions in turn. The turn of W counts, the cycle of the write."""
        config, count = self._config, partitions_of_a_port(self._config)
        latencies = unit_latencies(config)
        least = min(latencies.values())
        # The turn in which an instruction was selected whose result may be written in the next cycle.
        before: Value = turns.fixed
        for stage in range(config.issue_latency + least - 1):
            # A launch begins a period, as if there had been one before.
            first = (SLOTS_OF_TURNS - 1 - stage) % config.schedulers
            later = Signal.like(turns.fixed, name=f"port_turn_{stage}", init=first)
            m.d.sync += later.eq(Mux(self.start, first, before))
            before = later
        for p, partition in enumerate(self._partitions):
            own = {
                unit: self._fixed(turns.fixed + (latency - least), p, count) & self._in_time(turns, latency - least)
                for unit, latency in latencies.items()
            }
            m.d.comb += [
                # A load needs no slot before it has its values.
                partition.slot_turn.eq(Cat(own.get(unit, Const(1)) for unit in Unit)),
                partition.load_slot.eq(self._fixed(before, p, count)),
            ]

    def _share_ports(self, m: Module, turns: Turns) -> None:
        """Let the partitions on a writeback port see each other's results."""
        count = partitions_of_a_port(self._config)
        for p, partition in enumerate(self._partitions):
            first = p - p % count
            others: list[Any] = [self._partitions[q] for q in range(first, first + count) if q != p]
            own = self._fixed(turns.fixed, p, count)
            m.d.comb += [
                partition.slot_turn.eq(Cat(Const(1) if unit == Unit.LSU else own for unit in Unit)),
                partition.slots.eq(~or_all(~other.slot_free for other in others)),
                partition.load_slot.eq(~or_all(~other.load_free for other in others)),
            ]

    def _peek(self, m: Module, turns: Turns) -> None:
        """An instruction that comes into X in the next cycle was selected issue_latency - 1 cycles ago."""
        before = next(turns.turn[g] for g, group in enumerate(turn_groups(self._config)) if Unit.SIMT in group.units)
        for stage in range(1, self._config.issue_latency):
            later = Signal(range(self._config.schedulers), name=f"turn_{stage}")
            m.d.sync += later.eq(before)
            before = later
        m.d.comb += self.peek.eq(before)
