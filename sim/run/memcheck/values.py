"""Undefined bits in registers: carried along by copies and arithmetic, reported where they affect a decision."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from metronome.hdl.config import SmConfig

from ...machine.golden.decode import decode
from ...machine.golden.view import View
from .origins import COMPUTED, WHOLE
from .plan import Plan, Use, plan_of
from .rules import compared, everywhere

__all__ = ["Values"]

#: Called with warp, pc, the use of the value, the lanes that use it, and the origin of each lane's value.
Decided = Callable[[int, int, str, np.ndarray, np.ndarray], None]

_REGISTERS = 64
_SIMT_VERBS = {
    "tmc": "sets its mask from", "pred": "sets its mask from", "split": "splits on", "join": "joins by",
    "bar": "waits at a barrier by", "wspawn": "starts warps by",
}  # fmt: skip
_ALL = 0xFFFF_FFFF


class Values:
    """The undefined bits of every register, and the decisions that depend on them.

    ``bits`` and ``origins`` are uint32 (warps, 64, threads): the undefined bits, and their origins
    (:class:`.origins.Origins`). ``marked``: for each warp, a bit mask of the registers that have any in some lane.

    A value counts as defined once it has been reported, so that one mistake is reported only once.
    """

    def __init__(self, config: SmConfig, decided: Decided) -> None:
        shape = (config.warps, _REGISTERS, config.threads)
        self.bits = np.zeros(shape, np.uint32)
        self.origins = np.zeros(shape, np.uint32)
        self.marked = [0] * config.warps
        self._decided = decided
        #: Plans by instruction word, added by :meth:`before`.
        self.plans: dict[int, Plan] = {}
        self._lanes = np.arange(config.threads)
        self._lane_mask = (1 << config.threads) - 1
        self._uses = {
            Use.RESULT: self._result, Use.LOAD: self._load, Use.STORE: self._store, Use.BRANCH: self._branch,
            Use.JUMP: self._jump, Use.CSR: self._csr, Use.SIMT: self._simt,
        }  # fmt: skip

    def before(self, view: View, pc: int, word: int) -> Plan:
        """Handle the instruction ``word`` that the warp of ``view`` is about to execute.

        Does nothing if none of the registers that it touches is ``marked`` and its plan is in ``plans``.
        """
        plan = self.plans.get(word)
        if plan is None:
            plan = self.plans[word] = plan_of(decode(word))
        warp = view.first_row
        marked = self.marked[warp]
        if marked & plan.touched:
            if marked & plan.read:
                self._uses[plan.use](view, pc, plan)
            elif plan.rd is not None:
                self._clear(warp, plan.rd, view.index)
        return plan

    def write(self, warp: int, register: int, lanes: np.ndarray, bits: np.ndarray, origins: np.ndarray) -> None:
        """Set the undefined ``bits`` of ``lanes`` of a register."""
        self.bits[warp, register, lanes] = bits
        self.origins[warp, register, lanes] = origins
        self._mark(warp, register)

    def _mark(self, warp: int, register: int) -> None:
        if self.bits[warp, register].any():
            self.marked[warp] |= 1 << register
        else:
            self.marked[warp] &= ~(1 << register)

    def _clear(self, warp: int, register: int, lanes: np.ndarray) -> None:
        if self.marked[warp] >> register & 1:
            self.bits[warp, register, lanes] = 0
            self._mark(warp, register)

    def _result(self, view: View, pc: int, plan: Plan) -> None:
        if plan.rd is None:
            return
        warp, sources = view.first_row, plan.sources
        first = sources[0]
        bits, origins = self.bits[warp], self.origins[warp]
        undefined = [bits[source] for source in sources]
        if plan.immediate is not None:
            second, undefined = plan.immediate, [*undefined, np.zeros_like(undefined[0])]
        else:
            second = view.flat[sources[-1]]
        if plan.rule is None:
            result = everywhere(np.bitwise_or.reduce(undefined))
        else:
            result = plan.rule(view.flat[first], undefined[0], second, undefined[-1])
        origin = np.zeros_like(result)
        for source in reversed(sources):
            origin = np.where(bits[source] != 0, origins[source], origin)
        if not plan.copies:
            origin = origin | np.uint32(WHOLE if plan.moves else COMPUTED)
        lanes = view.index
        self.write(warp, plan.rd, lanes, result[lanes], origin[lanes])

    def _report(self, view: View, pc: int, verb: str, bad: np.ndarray, sources: tuple[int, ...]) -> None:
        """Report that the lanes in ``bad`` (threads,) use the values of ``sources``."""
        if not bad.any():
            return
        warp, lanes = view.first_row, np.flatnonzero(bad)
        origin = np.zeros(len(lanes), np.uint32)
        for source in reversed(sources):
            origin = np.where(self.bits[warp, source, lanes] != 0, self.origins[warp, source, lanes], origin)
        self._decided(warp, pc, verb, lanes, origin)
        for source in set(sources):
            self._clear(warp, source, lanes)

    def _active(self, view: View, bad: np.ndarray) -> np.ndarray:
        return bad & view.mask.reshape(-1)

    def _load(self, view: View, pc: int, plan: Plan) -> None:
        bad = self._active(view, self.bits[view.first_row, plan.sources[0]] != 0)
        self._report(view, pc, "loads at an address from", bad, plan.sources)
        if plan.rd is not None:
            self._clear(view.first_row, plan.rd, view.index)

    def _store(self, view: View, pc: int, plan: Plan) -> None:
        bad = self._active(view, self.bits[view.first_row, plan.sources[0]] != 0)
        self._report(view, pc, "stores at an address from", bad, plan.sources[:1])

    def _branch(self, view: View, pc: int, plan: Plan) -> None:
        a, b = plan.sources
        bits, values = self.bits[view.first_row], view.flat
        bad = self._active(view, compared(plan.name, values[a], bits[a], values[b], bits[b]))
        self._report(view, pc, "branches on", bad, plan.sources)

    def _jump(self, view: View, pc: int, plan: Plan) -> None:
        bad = self._active(view, self.bits[view.first_row, plan.sources[0]] != 0)
        self._report(view, pc, "jumps to", bad, plan.sources)
        if plan.rd is not None:
            self._clear(view.first_row, plan.rd, view.index)

    def _csr(self, view: View, pc: int, plan: Plan) -> None:
        # Lane 0 gives the value, active or not.
        self._report(view, pc, "writes a CSR from", self._of(view, plan.sources[0], 0, _ALL), plan.sources)
        if plan.rd is not None:
            self._clear(view.first_row, plan.rd, view.index)

    def _of(self, view: View, register: int, lane: int, used: int) -> np.ndarray:
        """Return ``lane`` as a mask if one of the ``used`` bits of its register is undefined."""
        return (self.bits[view.first_row, register] & np.uint32(used) != 0) & (self._lanes == lane)

    def _simt(self, view: View, pc: int, plan: Plan) -> None:
        name, sources, leader = plan.name, plan.sources, int(view.index[-1])
        verb = _SIMT_VERBS[name]
        if name in ("split", "pred"):
            bad = self._active(view, self.bits[view.first_row, sources[0]] & 1 != 0)
            self._report(view, pc, verb, bad, sources[:1])
            if plan.rd is not None:
                self._clear(view.first_row, plan.rd, view.index)
            # pred: if no lane is left, its second operand is the mask.
            sources = () if name == "split" or self._keeps(view, plan) else sources[1:]
        used = self._lane_mask if name in ("tmc", "pred") else _ALL
        for source in sources:
            self._report(view, pc, verb, self._of(view, source, leader, used), (source,))

    def _keeps(self, view: View, plan: Plan) -> bool:
        """Return whether the predicate of a pred keeps a lane."""
        negate = plan.word >> 7 & 1
        return bool(self._active(view, view.flat[plan.sources[0]] & 1 != negate).any())
