"""Mutants of the CSR mpolicy, and of the policies whose parameters it changes: see :mod:`tests.mutants`."""

from tests.mutants.mutant import Mutant

__all__ = ["CHANGES"]

_CSR = "metronome.hdl.execute.csr:CsrUnit._change"
_TWO_LEVEL = "metronome.hdl.policies.two_level:TwoLevelRoundRobin.update"
_RATE = "metronome.hdl.policies.variable_rate:VariableRateStrict"
_CCWS = "metronome.hdl.policies.ccws:CacheConscious._change"
_TESTS = "tests/hdl/policies/test_changes.py::test_some_states"
_WRITTEN = ("tests/hdl/execute/test_csr.py::test_mpolicy_is_told_one_cycle_later[1]",)
_GROUPS = (f"{_TESTS}[two_level-4]", f"{_TESTS}[two_level-6]")
_SLOTS = (f"{_TESTS}[variable_rate-4-5+3+1+2]", f"{_TESTS}[variable_rate_strict-3-2+1+3]")
_SCORES = (f"{_TESTS}[ccws-3-5-3-4]", f"{_TESTS}[ccws-2-7-2-5]")

#: When a write is told, and what comes of it.
CHANGES = (
    Mutant("a write of mpolicy is told a cycle late", _CSR, "m.d.sync += told.eq(writes)",
           "late = Signal()\n    m.d.sync += [late.eq(writes), told.eq(late)]", _WRITTEN),
    Mutant("a write of mpolicy is told at once", _CSR, "Mux(told, self._policy.as_value(), 0)",
           "Mux(writes, written, 0)", _WRITTEN),
    Mutant("a write of mpolicy is told for ever", _CSR, "told.eq(writes)", "told.eq(told | writes)", _WRITTEN),
    Mutant("mpolicy keeps its first value", _CSR, "m.If(writes)", "m.If(writes & (self._policy.as_value() == 0))",
           _WRITTEN),
    Mutant("a new size leaves the round robin where it was", _TWO_LEVEL, "self._first(size).items()",
           '[("size", self._first(size)["size"])]', _GROUPS),
    Mutant("the low bits of a size are enough", _TWO_LEVEL, "change.value == size", "change.value[:8] == size",
           _GROUPS),
    Mutant("any parameter is a size", _TWO_LEVEL, "change.parameter == PolicyParameter.GROUP_WARPS",
           "change.parameter != 0", _GROUPS),
    Mutant("the slot behind the one that is named", f"{_RATE}._change", "change.slot == slot",
           "change.slot + 1 == slot", _SLOTS),
    Mutant("a slot for a warp that there is not", f"{_RATE}._change", "change.value < self.warps",
           "change.value <= self.warps", (_SLOTS[1],)),
    Mutant("a frame is never as long as it was", f"{_RATE}._change", "change.value <= len(self.owners)",
           "change.value < len(self.owners)", _SLOTS),
    Mutant("a frame may have no slot", f"{_RATE}._change", "change.value != 0", "1", _SLOTS),
    Mutant("a frame that gets shorter goes on to its old end", f"{_RATE}.update", "state.slot + 1 >= state.length",
           "(state.slot + 1 == state.length) | (state.slot + 1 == len(self.owners))", _SLOTS),
    Mutant("a new base leaves the scores", _CCWS, "state.score[w].eq(change.value)", "state.base.eq(change.value)",
           _SCORES),
    Mutant("a throttle above the greatest", _CCWS, "change.value <= self.throttle", "change.value <= self.throttle + 1",
           _SCORES[:1]),
    Mutant("the throttle is the base", _CCWS, "state.throttle.eq(change.value)", "state.base.eq(change.value)",
           _SCORES),
)
