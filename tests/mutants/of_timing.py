"""Mutants that move a cycle where several things meet: misses in line, swaps, entries made again, two schedulers."""

from tests.mutants.mutant import Mutant

__all__ = ["TIMING"]

_FRONT = "metronome.hdl.frontend"
_REQUEST = f"{_FRONT}.misses:MissUnit._request"
_LOOKED_UP = f"{_FRONT}.fetch:FetchPipeline._lookup"
_BUFFER = "metronome.hdl.memory.l1.write_buffer:WriteBuffer"
_SEND = f"{_BUFFER}._send"
_SWAP = "metronome.hdl.memory.l1.lookup:LookupStage.elaborate"
_COORDINATE = f"{_FRONT}.frontend:FrontEnd._coordinate"
_BASELINE = f"{_FRONT}.baseline:BaselineCoordination.elaborate"
_ORACLES = f"{_FRONT}.coordination:connect_oracles"

_MISSES = ("tests/hdl/frontend/test_misses.py::test_random[dense-4_warps_4_registers]",)
_FETCHES = ("tests/system/test_prediction_rtl.py::test_misses_of_instructions_are_predicted",)
_PROGRAMS = ("tests/system/test_prediction_rtl.py::test_random_programs_are_predicted[SMALL-40]",)
_MADE_AGAIN = "tests/hdl/memory/l1/test_write_buffer.py::test_the_last_entry_is_made_again_as_another_becomes_free"
_TWO_CYCLES = "tests/hdl/memory/test_lookup_latency.py"
_TWO_SCHEDULERS = ("tests/system/test_oracles_rtl.py::test_every_cycle[ONE-baseline-btfn-cached]",)

TIMING = (
    # Several misses that memory has not taken.
    Mutant("the highest miss is offered first", _REQUEST, "following = lowest_one(unsent)",
           "following = lowest_one(unsent[::-1])[::-1]", _MISSES),
    Mutant("misses are offered in turn although there is an I-cache", _REQUEST, "if not self._shares:", "if True:",
           _MISSES),
    # A miss that is squashed in the cycle in which a warp that waits might be chosen.
    Mutant("a squashed miss keeps a warp that waits from asking", _LOOKED_UP,
           "misses.lookup.eq(self.lookup.warps & ~squash)", "misses.lookup.eq(self.lookup.warps)", _FETCHES),
    Mutant("a miss that a jump squashes keeps a warp that waits from asking", _LOOKED_UP,
           "misses.lookup.eq(self.lookup.warps & ~squash)",
           "misses.lookup.eq(self.lookup.warps & ~self.squash)", _FETCHES),
    Mutant("a lookup that is none keeps a warp that waits from asking", f"{_FRONT}.misses:MissUnit._choose",
           "missed.eq(self.lookup_missed & self.lookup.any())", "missed.eq(self.lookup_missed)",
           ("tests/hdl/frontend/test_misses.py::test_random_briefly[6_warps_1_registers]", *_FETCHES)),
    # The write buffer's entry that was sent last is made again, and another is held back no more.
    Mutant("the entry sent last goes before a higher one", _SEND, "behind = from_lowest(last) & ~last",
           "behind = from_lowest(last)", (f"{_MADE_AGAIN}[1]",)),
    Mutant("the entry sent last goes before a higher one, two cycles to the lookup", _SEND,
           "from_lowest(may_go)) << 1)", "from_lowest(may_go)))", _PROGRAMS),
    Mutant("the entry sent last goes before a lower one", _SEND, "[lowest_one(later), lowest_one(may_go)]",
           "[lowest_one(later), Mux((may_go & last).any(), last, lowest_one(may_go))]", (f"{_MADE_AGAIN}[0]",)),
    Mutant("an entry that is made again frees the follower that it had before",
           "metronome.hdl.memory.l1.store_order:StoreOrder._stores", "forget=self.made", "forget=0",
           ("tests/hdl/memory/l1/test_write_buffer.py::test_random_traffic[3]", *_PROGRAMS)),
    # Two cycles to the lookup: the bytes of the write buffer have one read port.
    Mutant("an entry is read for memory while a line arrives", _SEND,
           "space = (~request.valid | request.ready) & ~self._arrives", "space = ~request.valid | request.ready",
           (f"{_TWO_CYCLES}::test_a_line_arrives_around_a_store",)),
    Mutant("a load reads the write buffer while others do", f"{_BUFFER}.elaborate",
           "out.readable.eq(~(self._waits | self._arrives) if self._early else 1)", "out.readable.eq(1)",
           (f"{_TWO_CYCLES}::test_crowded_programs[cached]",)),
    # A swap in the cycle in which a line goes into the cache.
    Mutant("an access that a line holds up makes room", _SWAP,
           "soon = blocked | Mux(held.write,", "soon = Mux(held.write,", _PROGRAMS),
    Mutant("a store makes room while any line goes into the cache", _SWAP, "Mux(held.write, buffer.ready, self.hit |",
           "Mux(held.write, buffer.ready & ~fill.install, self.hit |", _PROGRAMS),
    # Room in the buffers of a baseline.
    Mutant("squashed fetches take room", _COORDINATE, "fetch.kept_in_flight[w] for", "fetch.in_flight[w] for",
           _TWO_SCHEDULERS),
    Mutant("what a jump squashes takes no room in the cycle of the jump", _COORDINATE,
           "buffers.occupancy[w] + fetch.kept_in_flight[w] for",
           "buffers.occupancy[w] + Mux(fetch.turn.warps[w], 1, fetch.kept_in_flight[w]) for", _TWO_SCHEDULERS),
    # The oracles of a baseline.
    Mutant("a miss keeps the oracles of a baseline from a warp", _BASELINE, "may_issue=may_issue",
           "may_issue=may_issue & ~self.lookup.suspended", _TWO_SCHEDULERS),
    Mutant("a jump followed at decode is no excuse", _ORACLES, "scheme.redirected | scheme.turn.warps",
           "scheme.redirected", _TWO_SCHEDULERS),
    Mutant("a resolution without a redirect is an excuse", _ORACLES, "scheme.redirected | scheme.turn.warps",
           "scheme.redirected | scheme.turn.warps | scheme.resolved", _TWO_SCHEDULERS),
)
