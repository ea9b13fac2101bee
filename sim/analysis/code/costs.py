"""The cost of each instruction in the pipeline, from the predictor's tables (sim.predict.model)."""

from __future__ import annotations

from dataclasses import dataclass

from metronome.hdl.config import SmConfig
from metronome.hdl.isa.latencies import unit_latencies
from metronome.hdl.isa.ops import SystemOp, Unit

from ...machine.events import DEPTH
from ...predict.model.code import CodeTable
from ...predict.model.records import CODE
from .decoding import decode
from .loops import target_of

__all__ = ["DEPTH", "MISS", "Cost", "Costs", "load_distance", "longest_result", "shortest_write"]

_NEXT = 4
#: t_F: a fetch in cycle t is decoded in t + t_F, so up to t_F fetches after a jump followed at decode become NOPs.
DECODED_AFTER = DEPTH - 1
#: The cycles from an instruction of fixed latency to its dependent, without the latency itself.
_TO_DEPENDENT = 2
#: Cycles that a miss adds, and cycles from a store's lookup to its completion, both without memory's latency.
MISS, STORE = 3, 5


def load_distance(config: SmConfig) -> int:
    """The cycles from a load that hits to its dependent: stage X, queue, lookup, response (memory.md)."""
    return config.issue_latency + config.lookup_latency + 4


def longest_result(config: SmConfig) -> int:
    """Return the longest time from an issue to its result, without misses."""
    return config.issue_latency + max(config.latency_div, config.latency_fdiv, load_distance(config))


def shortest_write(config: SmConfig) -> int:
    """The fewest cycles from an instruction to the cycle in which it writes its register."""
    return config.issue_latency + 1


@dataclass(frozen=True)
class Cost:
    """The cost of one instruction.

    - ``reads``: the registers that must not be pending, including the destination. ``writes``: the destination or None.
    - ``result``: the least cycles from its issue to the issue of a dependent instruction. ``written``: those to the
      cycle in which it writes its register.
    - ``busy``: the cycles in which its unit accepts no other operation; 0 if the unit is pipelined.
    - ``slot``: it writes its result in a fixed cycle.
    - ``waits``: its warp waits until it has resolved. ``followed``: the front end follows it at decode, or would
      without what the warp has learned.
    - ``conditional``, ``indirect``: it is a branch or ``jalr`` whose prediction depends on what the warp has learned.
      ``pushes``, ``pops``: it pushes its return address, or pops one first, on the warp's stack.
    - ``drains``: it waits for all registers of its warp. ``fences``: it waits for all stores of its warp.
    - ``flushes``: it empties the I-cache.
    - ``always``: it redirects even if the warp continues at the next instruction.
    """

    reads: tuple[int, ...]
    writes: int | None
    result: int
    written: int
    busy: int
    load: bool
    store: bool
    slot: bool
    waits: bool
    followed: bool
    drains: bool
    fences: bool
    flushes: bool
    always: bool
    unit: Unit
    conditional: bool = False
    indirect: bool = False
    pushes: bool = False
    pops: bool = False

    @property
    def shared(self) -> bool:
        """Whether the partitions of an SM share its unit, in turns (docs/design.md)."""
        return self.unit in (Unit.LSU, Unit.SIMT, Unit.CSR)

    @property
    def learned(self) -> bool:
        """Whether its prediction depends on what the warp has learned."""
        return self.conditional or self.indirect

    def redirects(self, pc: int, following: int, *, wrong: bool = False) -> bool:
        """Return whether it redirects the warp, from ``pc`` to ``following`` (-1: the warp ends).

        ``wrong``: whether a :attr:`learned` prediction is wrong.
        """
        if following < 0 or self.always:
            return True
        if self.learned:
            return wrong
        return self.waits and (following != pc + 4 & 0xFFFF_FFFF) != self.followed

    def nops(self, pc: int, following: int, *, wrong: bool = False) -> int:
        """Return the most NOPs after the instruction, if it is at ``pc`` and the warp continues at ``following``.

        A redirect leaves exactly d NOPs (P5), including those that were NOPs before. If a jump is followed at decode,
        the fetches before its decode become NOPs; their number depends on the schedule.
        """
        if self.redirects(pc, following, wrong=wrong):
            return DEPTH
        taken = self.indirect or following != pc + 4 & 0xFFFF_FFFF if self.learned else self.followed
        return DECODED_AFTER if taken else 0


class Costs:
    """The costs of instruction words on one machine."""

    def __init__(self, config: SmConfig) -> None:
        self._table, self._learns = CodeTable(config), config.learns
        self._latencies = unit_latencies(config)
        self._to_execute = config.issue_latency
        #: The cycles from a load that hits to its dependent; the fewest from an instruction to its write.
        self.load, self.shortest = load_distance(config), shortest_write(config)
        #: R: a branch issued in cycle t redirects in t + R (design.md section 3).
        self._redirects = config.resolve_latency
        #: The cycles that the longer way to the lookup adds to a store, a local access and other steps (memory.md).
        self.late = config.lookup_latency - 1
        #: From a store's lookup to its completion, without memory's latency. With the longer way, the bytes of a line
        #: that arrives may be read in the cycle in which those of the store would be.
        self.store = STORE + 2 * self.late
        # With an operand register, a branch that does not redirect is over in stage X.
        self._continues = config.issue_latency if config.operand_register else config.resolve_latency
        self._known: dict[int, Cost] = {}

    def of(self, word: int) -> Cost:
        """Return the cost of an instruction word."""
        cost = self._known.get(word)
        if cost is None:
            cost = self._known[word] = self._make(word)
        return cost

    def resolution(self, cost: Cost, *, redirects: bool) -> int:
        """Return the cycles in which the instruction's warp cannot issue until its control flow has resolved."""
        if not cost.waits:
            return 0
        # The warps of a barrier or wspawn continue only in the cycle after its stage X.
        return self._redirects if redirects or cost.unit is Unit.SIMT else self._continues

    def _make(self, word: int) -> Cost:
        row = dict(zip(CODE.names or (), self._table.decode(word), strict=True))
        unit = Unit(row["unit"])
        latency = self._latencies.get(unit, 0)
        writes = None if row["register"] < 0 else int(row["register"])
        uses = int(row["uses"]) & (1 << 64) - 1
        access = unit is Unit.LSU
        alone = unit in (Unit.DIV, Unit.FDIV)
        flushes = unit is Unit.SYSTEM and row["op"] == SystemOp.FENCE_I.value
        decoded = decode(word)
        # A jump to the next instruction still redirects, or may.
        to_next = decoded is not None and decoded.unit is Unit.BRANCH and target_of(decoded, 0) == _NEXT
        learned, jalr = self._learns, bool(row["indirect"])
        return Cost(
            reads=tuple(register for register in range(64) if uses >> register & 1), writes=writes,
            result=self.load if access else _TO_DEPENDENT + latency,
            written=self.load if access else self._to_execute + latency, busy=latency if alone else 0,
            load=access and not row["store"] and writes is not None, store=bool(row["store"]),
            slot=bool(row["takes_slot"]),
            waits=bool(row["control"]), followed=bool(row["predicted"]), drains=bool(row["drain"]),
            fences=bool(row["fence"]), flushes=flushes,
            always=flushes or to_next or (jalr and not learned), unit=unit,
            conditional=learned and bool(row["conditional"]), indirect=learned and jalr,
            pushes=learned and bool(row["pushes"]), pops=learned and bool(row["pops"]),
        )
