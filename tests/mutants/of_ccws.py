"""Mutants of the policy ccws and its victim tags: see :mod:`tests.mutants`."""

from tests.mutants.mutant import Mutant

__all__ = ["CCWS"]

_VICTIMS = "metronome.hdl.memory.l1.victim_tags:VictimTags"
_CCWS = "metronome.hdl.policies.ccws:CacheConscious"
_TOLD_LOST = ("tests/hdl/memory/l1/test_victim_tags.py::test_random[1-4-3]",)
_SCORED = ("tests/hdl/policies/test_policies.py::test_some_states_of_ccws[2-7-1-5]",
           "tests/hdl/policies/test_policies.py::test_some_states_of_ccws[4-2-8-2]")
_SCORED_OF_FOUR = _SCORED[1:]

#: What is lost, and what it counts.
CCWS = (
    Mutant("a line goes into the tags of the warp that drives it out", f"{_VICTIMS}._go", "owner.eq(goes.data.warp)",
           "owner.eq(asked.data)", _TOLD_LOST),
    Mutant("a line belongs to the warp in the lookup", f"{_VICTIMS}._go", "comes.data.warp.eq(asked.data)",
           "comes.data.warp.eq(self.lookup.held.part.warp)", _TOLD_LOST),
    Mutant("a place that was empty gives a tag", f"{_VICTIMS}._go",
           "self.fill.install & held.bit_select(self.place, 1)", "self.fill.install", _TOLD_LOST),
    Mutant("a tag that was found stays", f"{_VICTIMS}._tags", "taken[w] & ~Mux(asker[w], found, 0)", "taken[w]",
           _TOLD_LOST),
    Mutant("the ring of tags forgets its first place", f"{_VICTIMS}._tags", "Mux(place.data == count - 1, 0,",
           "Mux(place.data == count - 1, 1,", _TOLD_LOST),
    Mutant("another warp's tags are looked at", f"{_VICTIMS}._tags", "read.addr.eq(part.warp)", "read.addr.eq(owner)",
           _TOLD_LOST),
    Mutant("the lowest scores go first", f"{_CCWS}._held_back", "lambda v, w: first[v, w]", "lambda v, w: ~first[v, w]",
           _SCORED),
    Mutant("the warp of the highest score is held back, too", f"{_CCWS}._held_back", "(before & queued).any() & ", "",
           _SCORED),
    Mutant("what just reaches the cutoff is too much", f"{_CCWS}._held_back",
           "~(Const(0, 1) + self.warps * base).as_signed()", "-(Const(0, 1) + self.warps * base)", _SCORED),
    Mutant("warps at a barrier count for the cutoff", f"{_CCWS}._held_back", "_queue(inputs)", "inputs.active",
           _SCORED),
    Mutant("a warp that is not in the queue does not count", f"{_CCWS}._held_back",
           "Mux(before[v], state.score[v], 0), base)", "Mux(before[v], state.score[v], 0), 0)", _SCORED_OF_FOUR),
    Mutant("equal results of a division: the higher warp goes first", f"{_CCWS}._order", "gets[w] | below[w]",
           "below[w]", _SCORED_OF_FOUR),
    Mutant("a score that falls to the result is above it", f"{_CCWS}._order", "score <= more", "score < more",
           _SCORED_OF_FOUR),
    Mutant("a score that falls below the result is above it", f"{_CCWS}._order", "score > quotient",
           "score >= quotient", _SCORED),
    Mutant("scores that reach the base keep their order", f"{_CCWS}._order", "(score == base) | (score == base + 1)",
           "score == base", _SCORED),
    Mutant("a large result has a small order", f"{_CCWS}._order", "large | (score <= more)", "score <= more", _SCORED),
    Mutant("a warp that has ended keeps its place in the order", f"{_CCWS}._order", "inputs.active[v] & Mux(", "Mux(",
           _SCORED),
    Mutant("the first digit is always 0", f"{_CCWS}._divide", "dividend[-1] & (state.divisor == 1)", "Const(0, 1)",
           _SCORED_OF_FOUR),
    Mutant("a loss in the last cycle of a division is forgotten", f"{_CCWS}._score",
           "(Mux(state.left == 1, 0, state.owed) | inputs.lost)", "Mux(state.left == 1, 0, state.owed | inputs.lost)",
           _SCORED),
    Mutant("scores fall below the base", f"{_CCWS}._score", "score != base", "score != 0", _SCORED),
    Mutant("a warp that has ended keeps its score", f"{_CCWS}._score", "m.If(~inputs.active[w])", "m.If(0)", _SCORED),
    Mutant("one total is halved alone", f"{_CCWS}._count_totals", "Mux(over, losses >> 1, losses)",
           "Mux(losses[self.total_bits], losses >> 1, losses)", _SCORED),
    Mutant("a digit of 1 only if something is left", f"{_CCWS}._divide", "rest >= state.divisor",
           "rest > state.divisor", _SCORED),
)
