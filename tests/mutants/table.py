"""The table of mutants: see :mod:`tests.mutants`."""

from tests.mutants.mutant import Mutant
from tests.mutants.of_ccws import CCWS
from tests.mutants.of_changes import CHANGES
from tests.mutants.of_gpu import GPU
from tests.mutants.of_timing import TIMING

__all__ = ["MUTANTS", "Mutant"]

_MEMORY = "metronome.hdl.memory"
_LOOKUP = f"{_MEMORY}.l1.lookup:LookupStage"
_MSHRS = f"{_MEMORY}.l1.mshrs:Mshrs.elaborate"
_PARTS = f"{_MEMORY}.l1.parts:PartTable.elaborate"
_FILL = f"{_MEMORY}.l1.fill:FillStage.elaborate"
_REQUESTS = f"{_MEMORY}.l1.requests:LineRequests.elaborate"
_BUFFER = f"{_MEMORY}.l1.write_buffer:WriteBuffer"
_ORDER = f"{_MEMORY}.l1.store_order:StoreOrder"
_RESPONSE = f"{_MEMORY}.lanes.response:ResponseStage"
_ENTRANCE = f"{_MEMORY}.lanes.entrance:Entrance.elaborate"
_COALESCER = f"{_MEMORY}.lanes.coalescer:Coalescer.elaborate"
_LSU = f"{_MEMORY}.lsu:Lsu"
_SHARE_PORT = f"{_MEMORY}.arbiter:share_port"
_TAGS = "metronome.hdl.lib.tags:CacheTags._replacement"
_MISSES = "metronome.hdl.frontend.misses:MissUnit"
_COUNTERS = "metronome.hdl.observe.counters:Counters._steps_of"
_STALLS = "metronome.hdl.observe.counters:StallAttribution.elaborate"

_LISTED = f"{_MEMORY}.order.unit:OrderUnit"
_CHANNEL_RING = f"{_MEMORY}.order.ring:Ring"
_LIST_READER = f"{_MEMORY}.order.reader:ListReader.elaborate"
_UNIT = "tests/hdl/memory/l1"
_RANDOM = "tests/hdl/memory/test_lsu.py::test_random_program_equals_sequential_execution"
_RATES = "tests/hdl/memory/test_lsu_rates.py"
_DEPTHS = "tests/hdl/memory/test_lsu_depths.py"
_WRITTEN_BACK = "tests/hdl/memory/lanes/test_response.py"
_LOOKED_UP = (f"{_UNIT}/test_lookup.py::test_random_accesses[True]",)
_ORDER_TESTS = "tests/hdl/memory/order"
_CHANNEL_COUNTS = f"{_ORDER_TESTS}/test_ring.py::test_random_traffic"
_LISTED_UNIT = "tests/hdl/memory/test_order.py"
_LISTS = f"{_LISTED_UNIT}::test_programs_with_lists_and_without"
_PLACES = f"{_LISTED_UNIT}::test_lines_take_each_others_places"
_WRONG_LIST = f"{_LISTED_UNIT}::test_a_wrong_list_is_one_fault"
_FETCH = "tests/hdl/frontend/test_misses.py"
_COUNTED = ("tests/hdl/observe/test_counter_unit.py::test_random_cycles[3-4-True]",)
_REASONS = ("tests/hdl/observe/test_stall_attribution.py::test_attribution[3]",)

_CHANNELS = f"{_MEMORY}.channels:Channels"
_CHANNEL = f"{_MEMORY}.channel"
_PASSING = ("tests/hdl/memory/test_channels.py::test_what_loads_see[shape0]",)

_CHECKER = "metronome.sim.run.memcheck.checker:MemCheck"
_STACKS = "metronome.sim.run.memcheck.stacks:Stacks"
_BUG = "tests/sim/run/memcheck/test_bugs.py::test_a_planted_bug_is_found_at_its_line"
_SMALL = "tests/sim/run/memcheck/test_checker.py"
_CLEAN = "tests/sim/run/memcheck/test_no_reports.py"

MUTANTS = (
    # The lookup: who waits, for how long, and why.
    Mutant("a store waits for any line that arrives", f"{_LOOKUP}.elaborate",
           "~(fill.accepts & mshrs.requested)", "~fill.accepts", (*_LOOKED_UP,
           f"{_RATES}::test_stores_between_lines_that_arrive[5]")),
    Mutant("a store waits while its line is requested", f"{_LOOKUP}.elaborate",
           "~(fill.accepts & mshrs.requested)", "~mshrs.requested", _LOOKED_UP),
    Mutant("a store does not wait for a line that arrives", f"{_LOOKUP}.elaborate",
           "buffer.ready & still & ~(fill.accepts & mshrs.requested)", "buffer.ready & still",
           _LOOKED_UP),
    Mutant("a store waits only for its own line", f"{_LOOKUP}.elaborate",
           "out.write.eq(store & buffer.ready & still &", "out.write.eq(store & buffer.ready &", _LOOKED_UP),
    Mutant("a load that joins waits for a register", f"{_LOOKUP}.elaborate",
           "& (shares | (~mshrs.full &", "& ~mshrs.full & (shares | (",
           (*_LOOKED_UP, f"{_DEPTHS}::test_joins_while_all_registers_are_taken")),
    Mutant("a load that the write buffer has waits while its line is requested", f"{_LOOKUP}.elaborate",
           "buffer.covers & can_answer", "buffer.covers & ~mshrs.requested & can_answer", _LOOKED_UP),
    Mutant("a load that writes no register waits for the writeback", f"{_LOOKUP}.elaborate",
           "can_answer.eq(self.slot_free | ~held.part.writes_rd)", "can_answer.eq(self.slot_free)", _LOOKED_UP),
    Mutant("everything waits while a line goes into the cache", f"{_LOOKUP}.elaborate",
           "blocked.eq(self._same_set(m, fill))", "blocked.eq(fill.install)",
           (*_LOOKED_UP, f"{_RATES}::test_hits_in_a_row_while_lines_arrive")),
    Mutant("the lookup takes an access in every second cycle", f"{_LOOKUP}.elaborate",
           "self.access.ready.eq(~out.held_valid | goes_on)",
           "self.access.ready.eq(~out.held_valid)",
           (f"{_UNIT}/test_lookup.py::test_one_access_a_cycle[{{}}-0]", f"{_RATES}::test_one_miss_a_cycle[1]")),
    Mutant("an uncached load does not wait for an older one", f"{_LOOKUP}.elaborate",
           "~mshrs.full & ~(out.uncached & mshrs.requested)", "~mshrs.full", _LOOKED_UP),
    Mutant("parts and registers change places as reasons", f"{_LOOKUP}._event",
           "Mux(self.parts_full, LookupWait.PARTS, LookupWait.MSHR)",
           "Mux(mshrs.full, LookupWait.MSHR, LookupWait.PARTS)", _LOOKED_UP),
    Mutant("a store that waits for a line is said to wait for the buffer", f"{_LOOKUP}._event",
           "Mux(buffer.ready, LookupWait.FILL, LookupWait.BUFFER)", "LookupWait.BUFFER", _LOOKED_UP),
    Mutant("without a cache loads are said to share a request", f"{_LOOKUP}._event",
           "out.add & shares", "out.add & mshrs.requested",
           (f"{_UNIT}/test_lookup.py::test_random_accesses[False]",)),
    # Registers, parts, entries, the queue: one more or less, a cycle early or late.
    Mutant("one miss register is never used", _MSHRS, "out.full.eq(valid.all())", "out.full.eq(valid[1:].all())",
           (f"{_UNIT}/test_mshrs.py::test_depth_and_first_request[3]",
           f"{_DEPTHS}::test_lines_that_loads_wait_for[(8, 3, 2)]")),
    Mutant("a miss register is free a cycle late", _MSHRS,
           "m.d.sync += valid.eq((valid & ~freed) | allocated)",
           "late = Signal(count); m.d.sync += late.eq(freed)\n"
           "    m.d.sync += valid.eq((valid & ~late) | allocated)",
           (f"{_UNIT}/test_mshrs.py::test_depth_and_first_request[1]",
            f"{_RATES}::test_the_rate_with_few_registers_or_entries[LsuOp.LW]")),
    Mutant("a miss is requested a cycle late", _MSHRS,
           "unsent = SyncFIFO(", 'unsent = __import__("amaranth.lib.fifo", fromlist=["fifo"]).SyncFIFOBuffered(',
           (f"{_UNIT}/test_mshrs.py::test_depth_and_first_request[3]", f"{_RATES}::test_hits_between_misses")),
    Mutant("one place for a part is never used", _PARTS, "self.full.eq(valid.all())", "self.full.eq(valid[1:].all())",
           (f"{_UNIT}/test_parts.py::test_depth[2]", f"{_UNIT}/test_parts.py::test_random_traffic[4]")),
    Mutant("a part that comes now counts as one that is left", _PARTS,
           "self.left.eq(of_filled.any())",
           "self.left.eq(of_filled.any() | (lookup.add & (self.mshrs.joined == fill.filled)))",
           (f"{_UNIT}/test_parts.py::test_one_part_comes_and_one_leaves_in_every_cycle",)),
    Mutant("one entry of the write buffer is never used", f"{_BUFFER}.elaborate",
           "full.eq(valid.all())", "full.eq(valid[1:].all())",
           (f"{_UNIT}/test_write_buffer.py::test_depth[2]", f"{_DEPTHS}::test_lines_with_stores[(8, 3, 2)]")),
    Mutant("a store that joins waits for a free entry", f"{_BUFFER}.elaborate",
           "out.ready.eq(out.joins | ~full)", "out.ready.eq(~full)",
           (f"{_UNIT}/test_write_buffer.py::test_random_traffic[3]",
           f"{_DEPTHS}::test_stores_of_one_line_take_two_entries")),
    Mutant("one slot of the queue is never used", _ENTRANCE, "used < self.depth", "used < self.depth - 1",
           (f"{_DEPTHS}::test_lines_with_stores[(2, 5, 1)]", f"{_DEPTHS}::test_local_accesses_in_the_queue")),
    # The write buffer: when an entry is sent, and which.
    Mutant("the lowest entry goes first", f"{_BUFFER}._send",
           "Mux(later.any(), *candidates)", "candidates[1]",
           (f"{_UNIT}/test_write_buffer.py::test_entries_take_turns",
           f"{_UNIT}/test_write_buffer.py::test_random_traffic[3]")),
    Mutant("an entry is chosen only when the one before has gone", f"{_BUFFER}._send",
           "sends.eq(~request.valid | request.ready)", "sends.eq(~request.valid)",
           (f"{_UNIT}/test_write_buffer.py::test_one_store_a_cycle",
            "tests/hdl/memory/test_lsu_cycles.py::test_one_store_a_cycle_to_different_lines")),
    Mutant("an entry goes a cycle late after the load's line", f"{_ORDER}._loads",
           "m.d.comb += [freed.eq(followers[0]), ", "m.d.sync += freed.eq(followers[0]); m.d.comb += [",
           (f"{_UNIT}/test_write_buffer.py::test_when_a_store_is_offered[a load]",)),
    Mutant("an entry waits for one that is over in its first cycle", f"{_ORDER}._stores",
           "self.behind & ~over\n", "self.behind\n", (f"{_UNIT}/test_write_buffer.py::test_random_traffic[3]",)),
    Mutant("a store joins an entry that is just sent", f"{_BUFFER}.elaborate",
           "same & ~sent & ~chosen &", "same & ~sent &", (f"{_UNIT}/test_write_buffer.py::test_random_traffic[3]",)),
    Mutant("an entry of an uncached line waits for all entries", f"{_MEMORY}.l1.match:entries_with_line",
           "same.eq(valid & (equal | (uncached & lookup.uncached.replicate(count))))",
           "same.eq(valid & (equal | lookup.uncached.replicate(count)))",
           (f"{_UNIT}/test_write_buffer.py::test_random_traffic[3]",)),
    # Loads and stores at the port.
    Mutant("loads go first", _REQUESTS, "store.valid & ~(load.valid & stored)", "store.valid & ~load.valid",
           (f"{_UNIT}/test_requests.py::test_one_request_a_cycle_in_turn",
           f"{_RATES}::test_misses_and_stores_in_turn")),
    Mutant("stores go first", _REQUESTS, "store.valid & ~(load.valid & stored)", "store.valid",
           (f"{_UNIT}/test_requests.py::test_one_request_a_cycle_in_turn",
            f"{_UNIT}/test_requests.py::test_random_traffic[4-2]")),
    Mutant("an idle cycle gives stores the turn", _REQUESTS, "m.If(request.valid)", "m.If(request.valid | 1)",
           (f"{_UNIT}/test_requests.py::test_random_traffic[4-2]",)),
    Mutant("what was offered may change", _REQUESTS, "held.eq(~request.ready)", "held.eq(0)",
           (f"{_UNIT}/test_requests.py::test_what_is_offered_stays[2]",)),
    Mutant("the LSU goes before the I-cache, and the list before the L1", _SHARE_PORT, "held | ~first.request.valid",
           "held | second.request.valid",
           ("tests/hdl/memory/test_arbiter.py::test_icache_first_and_one_request_a_cycle",
            f"{_ORDER_TESTS}/test_port.py::test_random_requests")),
    Mutant("the LSU keeps the port a cycle longer", _SHARE_PORT,
           "second.request.valid & ~requests.ready", "second.request.valid",
           ("tests/hdl/memory/test_arbiter.py::test_random_traffic[4-16]",)),
    # Memory's answers.
    Mutant("a line waits until the one before is gone", _FILL, "room.eq(~valid | out.release)",
           "room.eq(~valid)", (f"{_UNIT}/test_fill.py::test_one_line_a_cycle",
           f"{_RATES}::test_one_miss_a_cycle[1]")),
    Mutant("a line's register is released a cycle late", _FILL, "valid & ~self.left &",
           "valid & ~fresh & ~self.left &",
           (f"{_UNIT}/test_fill.py::test_one_line_a_cycle", f"{_RATES}::test_one_miss_a_cycle[10]")),
    Mutant("any load that joins keeps the register", _FILL, "mshrs.joined == out.filled",
           "mshrs.joined == mshrs.joined",
           (f"{_UNIT}/test_fill.py::test_random_traffic[3-1]",)),
    Mutant("a line waits for the writeback", _FILL, "room.eq(~valid | out.release)",
           "room.eq((~valid | out.release) & self.slot_free)",
           (f"{_UNIT}/test_fill.py::test_random_traffic[3-1]",)),
    Mutant("completions wait for the line", _FILL, "Mux(completion, self.fault_free, room)",
           "room & (self.fault_free | ~completion)",
           (f"{_UNIT}/test_fill.py::test_completions_pass_a_line_that_stays",)),
    # The writeback.
    Mutant("a slot is free a cycle late", f"{_RESPONSE}.elaborate", "eq(~taken | leaves)", "eq(~taken)",
           (f"{_WRITTEN_BACK}::test_one_part_a_cycle[hit]", f"{_RATES}::test_hits_in_a_row_while_lines_arrive")),
    Mutant("the writeback is loaded only when it is empty", f"{_RESPONSE}.elaborate",
           "(~self.wb.valid | self.wb.ready)", "~self.wb.valid", (f"{_WRITTEN_BACK}::test_one_part_a_cycle[local]",
            f"{_RATES}::test_one_miss_a_cycle[1]")),
    Mutant("local loads do not count as younger", f"{_RESPONSE}._order", "m.If(pushes.any())",
           "m.If(pushes[0] | pushes[1])",
           (f"{_WRITTEN_BACK}::test_the_older_goes_first", f"{_WRITTEN_BACK}::test_random_traffic[2]")),
    Mutant("of two that come together the line from memory is the younger", f"{_RESPONSE}._order",
           "for slot in range(3):", "for slot in reversed(range(3)):", (f"{_WRITTEN_BACK}::test_random_traffic[2]",
            f"{_RANDOM}[1-cached-0]")),
    # The way to the lookup.
    Mutant("an instruction begins a cycle late", _COALESCER, "may_start.eq(aligned &",
           "may_start.eq(aligned & started &",
           (f"{_RATES}::test_one_miss_a_cycle[1]",)),
    Mutant("a misaligned instruction waits for the writeback", f"{_LSU}._faults",
           "coalescer.fault_ready.eq(~told)", "coalescer.fault_ready.eq(~told & ~self.wb.valid)",
           (f"{_RANDOM}[1-uncached-0]",)),
    # The data cache's order.
    Mutant("a use in the cycle of a fill is lost", _TAGS,
           'lru_touch(Mux(both, touched, order["filled"]), self.victim, ways)',
           'lru_touch(order["filled"], self.victim, ways)',
           ("tests/hdl/memory/test_dcache.py::test_every_access_is_what_the_reference_says[(512, 4, 3, 4)-4-3]",)),
    # The misses of the fetch.
    Mutant("a warp that is redirected as it asks gets no register", f"{_MISSES}._allocate",
           "Mux(warp.any(), Mux(same.any(), same, free), 0)",
           "Mux((warp & ~self.release).any(), Mux(same.any(), same, free), 0)",
           (f"{_FETCH}::test_a_warp_that_waits_and_is_redirected[5-True]",
           f"{_FETCH}::test_random_briefly[6_warps_1_registers]")),
    Mutant("a warp that misses asks only if nobody waits", f"{_MISSES}._choose",
           "missed.eq(self.lookup_missed & self.lookup.any())",
           "missed.eq(self.lookup_missed & self.lookup.any() & ~self._waiting.any())",
           (f"{_FETCH}::test_random_briefly[6_warps_1_registers]",)),
    Mutant("a request is offered a cycle late", f"{_MISSES}._request", "unsent = valid & ~sent",
           'older = Signal(self._count); m.d.sync += older.eq(valid); unsent = valid & older & ~sent',
           (f"{_FETCH}::test_request_follows_its_miss_by_two_cycles",)),
    Mutant("without an I-cache the lowest warp's request goes first", f"{_MISSES}._request",
           "following = pick_after(last, unsent)", "following = lowest_one(unsent)",
           (f"{_FETCH}::test_without_a_cache_no_warp_keeps_another_from_memory",
           f"{_FETCH}::test_random_briefly[4_warps_own_registers]")),
    Mutant("a request that was offered may change", f"{_MISSES}._request", "locked.eq(offered)", "locked.eq(0)",
           (f"{_FETCH}::test_random_briefly[4_warps_own_registers]",)),
    # Counters.
    Mutant("NOPs count outside the region", _COUNTERS, "region & front.select_valid & front.select_nop,",
           "front.select_valid & front.select_nop,", _COUNTED),
    Mutant("NOPs count as loads", _COUNTERS, "memory = instruction &",
           "memory = region & front.select_valid &", _COUNTED),
    Mutant("one warp's wait counts once for all", _COUNTERS, "Mux(region, waits, 0)", "Mux(region, waits != 0, 0)",
           _COUNTED),
    Mutant("lanes count as one", _COUNTERS, "control.retired, 0)",
           "control.retired != 0, 0)", _COUNTED),
    Mutant("the highest reason counts", _STALLS, "sorted(found, reverse=True)", "sorted(found)", _REASONS),
    # The memory checker.
    Mutant("a barrier orders nobody", f"{_CHECKER}.barrier",
           "self._order.meet([warp + self._first for warp in warps])", "pass",
           (f"{_CLEAN}::test_no_report_on_a_kernel[psum-int32-BASE]",)),
    Mutant("who has read is forgotten", f"{_CHECKER}._check_order", "if store and not flag:", "if store and flag:",
           (f"{_SMALL}::test_a_store_long_after_a_load_races_with_it",)),
    Mutant("who has written is forgotten", f"{_CHECKER}._check_order", "if races.any() and not flag:",
           "if races.any() and flag:", (f"{_BUG}[race-1]",)),
    Mutant("a flag is a race", f"{_CHECKER}._check_order", "warp in self._fenced", "warp not in self._fenced",
           (f"{_SMALL}::test_a_fence_and_a_flag_order",)),
    Mutant("the end of a warp orders nobody", "metronome.sim.run.memcheck.order:Order.learn", "[warp, *ended]",
    "[warp]",
           (f"{_SMALL}::test_the_end_of_a_warp_orders",)),
    Mutant("bytes do not know what their word did", "metronome.sim.run.memcheck.shadow:Cells.of",
           "np.repeat(self.writes, WORD_BYTES)", "np.zeros(4 * len(self.writes), np.uint32)",
           (f"{_SMALL}::test_what_was_seen_of_words_is_known_of_their_bytes[sb]",)),
    Mutant("what a function leaves behind counts as written", f"{_CHECKER}._move", "self._flags.forget(first, end)",
           "pass", (f"{_BUG}[unwritten-6]", f"{_BUG}[unwritten-7]")),
    Mutant("a word outside by one byte is inside", f"{_CHECKER}._check_flags", "flags & declared != declared",
           "flags & declared == 0", (f"{_SMALL}::test_a_word_must_be_declared_to_the_byte",)),
    Mutant("the stacks of others are free", f"{_STACKS}.judge", "foreign & ~lives & used", "foreign & lives & used",
           (f"{_BUG}[stack-8]", f"{_BUG}[stack-10]")),
    Mutant("main's stack is main's alone", f"{_STACKS}.share", "bool(mask >> lane & 1)", "False",
           ("tests/sim/run/memcheck/test_bugs.py::test_what_is_right_is_not_reported[0-2]",)),
    Mutant("only a relative move overflows", f"{_STACKS}.move", "(relative | (values > ends - _NEAR))", "relative",
           (f"{_BUG}[stack-5]",)),
    # Channels: who may pass whom, and what is left behind.
    Mutant("an access passes one that it conflicts with", f"{_CHANNELS}.elaborate",
           "(room & warp).any() & ~(conflicts & ~warp).any()", "(room & warp).any()", _PASSING),
    Mutant("a warp's youngest access overtakes the others", f"{_CHANNELS}.elaborate",
           "stored = (there & ~current) | (more & current)", "stored = more & current", _PASSING),
    Mutant("two uncached accesses pass each other", f"{_CHANNEL}:conflict",
           "(one.uncached & other.uncached) | (common", "(common", _PASSING),
    Mutant("stores in a channel are forgotten", f"{_CHANNEL}:Channel.elaborate",
           "(Cat(claim.write for claim in claims) & valid).any()", "0", _PASSING),
    Mutant("an access that waits is as good as done", f"{_LOOKUP}.elaborate", "self.done.eq(goes)",
           "self.done.eq(goes_on)", _PASSING),
    *CCWS,
    *CHANGES,
    *GPU,
    *TIMING,
    # Ordered channels: the list, its reader, the warps' channels, and places in the cache before their lines.
    Mutant("an entry is one access", f"{_LISTED}.elaborate", "known & goes & (line + 1 == reader.entry.lines)",
           "known & goes", (f"{_LISTS}[(2, 3, 'tight', 2)-1]", f"{_LISTS}[(4, 4, 'cached', 7)-1]")),
    Mutant("what comes overtakes its warp's channel", f"{_LISTED}.elaborate", "~self._on | ~(whose & there).any()",
           "~self._on | (whose & arrives).any()", (f"{_LISTS}[(2, 3, 'tight', 2)-1]",)),
    Mutant("what comes goes into the channel first", f"{_LISTED}.elaborate", "(whose & there).any() | fresh",
           "(whose & there).any()", (f"{_LISTED_UNIT}::test_quick_memory_costs_no_cycle",)),
    Mutant("of what comes too much its pc does not count", f"{_LISTED}.elaborate",
           "(access.part.pc[2:] == reader.entry.pc.word) & ", "", (f"{_WRONG_LIST}[pc]",)),
    Mutant("a fault tells where the entry is", f"{_LISTED}._judge", "Mux(unexpected, entry.pc.word << 2, reader.place)",
           "reader.place", (f"{_WRONG_LIST}[kind]", f"{_WRONG_LIST}[too few]")),
    Mutant("an entry that is left is no fault", f"{_LISTED}._judge", "(reader.stop & ~reader.end) | ", "",
           (f"{_WRONG_LIST}[too many]",)),
    Mutant("patience is lost in spite of selections", f"{_LISTED}._judge", "self.selects | goes", "goes",
           (f"{_LISTED_UNIT}::test_patience_counts_cycles_without_a_selection",)),
    Mutant("a refused line of the list is no fault", f"{_LISTED}._judge", "(present | self._closing)", "self._closing",
           (f"{_LISTED_UNIT}::test_a_line_of_the_list_that_memory_refuses[2]",)),
    Mutant("what does not come keeps its claim", f"{_LSU}._order", "Mux(self.cancel, ", "Mux(0, ",
           (f"{_LISTS}[(2, 3, 'tight', 2)-1]",)),
    Mutant("one place of a channel is never used", f"{_CHANNEL_RING}.elaborate", "most <= depth", "most < depth",
           (f"{_CHANNEL_COUNTS}[1-1]", f"{_CHANNEL_COUNTS}[5-2]")),
    Mutant("a channel has one place more", f"{_CHANNEL_RING}._after", "self._places - 1", "self._places",
           (f"{_CHANNEL_COUNTS}[3-1]",)),
    Mutant("a store that leaves a channel is still there", f"{_CHANNEL_RING}.elaborate",
           " - (self.pop & self.pop_store)", "", (f"{_CHANNEL_COUNTS}[5-2]",)),
    Mutant("lines of a list are asked for one by one", _LIST_READER, "asked.bit_select(tail | self.burst - 1, 1)),",
           "asked.bit_select(tail, 1)),", (f"{_ORDER_TESTS}/test_reader.py::test_bursts",)),
    Mutant("a list is read on until its end is next", _LIST_READER, "(self.quit | over | last)",
           "(self.quit | (self.valid & (self.end | self.error)))",
           (f"{_ORDER_TESTS}/test_reader.py::test_one_entry_a_cycle",)),
    Mutant("a line of a list is used a cycle late", _LIST_READER,
           "arrived = Mux(response.valid, 1 << response.payload.tag[: self._slot_bits], 0)",
           "arrived = Signal(ahead); "
           "m.d.sync += arrived.eq(Mux(response.valid, 1 << response.payload.tag[: self._slot_bits], 0))",
           (f"{_ORDER_TESTS}/test_reader.py::test_one_entry_a_cycle",)),
    Mutant("a list that ends withdraws its request", _LIST_READER, " & ~(request.valid & ~request.ready)", "",
           (f"{_ORDER_TESTS}/test_reader.py::test_what_is_offered_stays_and_a_list_can_be_left",)),
    Mutant("the list's request gives way", _SHARE_PORT,
           "held.eq(use_second & second.request.valid & ~requests.ready)", "held.eq(0)",
           (f"{_ORDER_TESTS}/test_port.py::test_random_requests",)),
    Mutant("a place that waits for its line is given away", f"{_MEMORY}.l1.l1:L1._places", " & ~places.taken", "",
           (f"{_PLACES}[1]", f"{_PLACES}[2]")),
    Mutant("the use of the cycle before is forgotten", f"{_MEMORY}.l1.l1:L1._places", "~cache.recent & ", "",
           (f"{_LISTS}[(4, 4, 'cached', 7)-1]", f"{_PLACES}[2]")),
    Mutant("a load that joins does not use its line", f"{_LOOKUP}.elaborate", "(answered | out.add | out.write)",
           "(answered | out.write)", (f"{_PLACES}[2]",)),
    Mutant("the write buffer answers with ordered channels", f"{_LOOKUP}.elaborate", "0 if self.config.ordered else ",
           "", (f"{_PLACES}[1]",)),
)
