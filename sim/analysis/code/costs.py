"""What an instruction costs in the pipeline: asked of the predictor's tables, not written again (sim.predict.model)."""

from __future__ import annotations

from dataclasses import dataclass

from metronome.hdl.config import SmConfig
from metronome.hdl.isa.latencies import unit_latencies
from metronome.hdl.isa.ops import BranchOp, SystemOp, Unit

from ...machine.events import DEPTH
from ...predict.model.code import CodeTable
from ...predict.model.records import CODE
from ...predict.model.scoreboard import ISSUE_TO_EXECUTE
from .decoding import decode
from .loops import target_of

__all__ = ["DEPTH", "LOAD", "MISS", "RESOLUTION", "SHORTEST", "STORE", "Cost", "Costs"]

_NEXT = 4
#: R: a branch that is issued in t resolves in t + R (design.md section 3).
RESOLUTION = 3
#: t_F: a fetch made in t is decoded in t + t_F, so behind a jump that is followed there so many may become NOPs.
DECODED_AFTER = DEPTH - 1
#: From a load that hits to its dependent: stage X, queue, lookup, response (memory.md, "The load/store unit").
LOAD = 7
#: From an instruction to its dependent, if it is one of the quickest.
SHORTEST = ISSUE_TO_EXECUTE + 1
#: What a miss adds to that, and what goes by from a store's lookup to its completion, without memory's latency.
MISS, STORE = 3, 5


@dataclass(frozen=True)
class Cost:
    """One instruction.

    ``reads``: the registers that must not be pending, the destination included. ``writes``: the destination or None.
    ``result``: cycles from its issue to that of what depends on it, in the best case. ``busy``: cycles for which its
    unit takes no other operation, 0 if it is pipelined. ``slot``: it writes in a fixed cycle. ``waits``: its warp waits
    until it has resolved. ``followed``: the front end follows it at decode. ``drains``: it waits for its warp's
    registers, ``fences``: for its warp's stores. ``flushes``: the I-cache is empty behind it. ``always``: it redirects
    even if the warp goes on at the next instruction.
    """

    reads: tuple[int, ...]
    writes: int | None
    result: int
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

    def redirects(self, pc: int, following: int) -> bool:
        """Whether its resolution redirects the warp, at ``pc``, if it goes on at ``following`` (-1: it ends)."""
        if following < 0 or self.always:
            return True
        return self.waits and (following != pc + 4 & 0xFFFF_FFFF) != self.followed

    def nops(self, pc: int, following: int) -> int:
        """The NOPs behind it, at most, if it is at ``pc`` and the warp goes on at ``following``.

        A redirect leaves exactly d (P5), those among them that were NOPs already. Of the fetches behind a jump that is
        followed at decode as many become NOPs as are made until then: how many tells only the schedule.
        """
        if self.redirects(pc, following):
            return DEPTH
        return DECODED_AFTER if self.followed else 0


class Costs:
    """The costs of words on one machine."""

    def __init__(self, config: SmConfig) -> None:
        self._table = CodeTable(config)
        self._latencies = unit_latencies(config)
        self._known: dict[int, Cost] = {}

    def of(self, word: int) -> Cost:
        """The cost of an instruction word."""
        cost = self._known.get(word)
        if cost is None:
            cost = self._known[word] = self._make(word)
        return cost

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
        # A jump is one, wherever it goes.
        to_next = decoded is not None and decoded.unit is Unit.BRANCH and target_of(decoded, 0) == _NEXT
        return Cost(
            reads=tuple(register for register in range(64) if uses >> register & 1), writes=writes,
            result=LOAD if access else ISSUE_TO_EXECUTE + latency, busy=latency if alone else 0,
            load=access and not row["store"] and writes is not None, store=bool(row["store"]),
            slot=bool(row["takes_slot"]),
            waits=bool(row["control"]), followed=bool(row["predicted"]), drains=bool(row["drain"]),
            fences=bool(row["fence"]), flushes=flushes,
            always=flushes or to_next or (unit is Unit.BRANCH and row["op"] == BranchOp.JALR.value), unit=unit,
        )
