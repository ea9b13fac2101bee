"""The state of the predicted machine: one record for each unit, large enough for every configuration.

All fields are integers (int64); sets are bit masks, flags are 0 or 1, NONE is -1. One compiled program serves all
configurations, because no record depends on one; structures of free size, such as the caches, are separate arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...machine.events import DEPTH, LANES, MSHRS, PARTS, REGISTERS, STORES, WARPS, Reason, Wait
from .compiled import inlined
from .observer import COUNTED

__all__ = [
    "AHEAD", "BURST", "CHANNEL", "CHOSEN", "CODE", "CONFIG", "CONTROL", "FRAME", "FRONT", "ISSUE", "ISSUED",
    "LINE_WORDS", "LIST_WORDS", "LOADS", "LSU", "OBSERVER", "PORT", "QUEUE", "RING", "SLOTS", "STEP", "TARGETS",
    "VICTIMS", "WHOLE", "Answer", "Decisions", "Machine", "Request",
    "partition", "record",
]

LINE_WORDS = 16
#: The most loads and stores that are selected but not yet through the coalescer (docs/memory.md).
QUEUE = 8
#: The cycles ahead for which writeback slots can be reserved: more than the longest latency plus 3.
SLOTS = 64
#: Places for requests and for answers between the machine and a memory model: more than the number of tags.
RING = 512
#: Line accesses between the coalescer and the lookup, if ``lookup_latency`` is 2.
CHOSEN = 2
#: Accesses that a warp's channel holds: the largest depth, and CHOSEN if it is ordered.
CHANNEL = 34
#: Loads that may be in flight at once: more than load_parts + 6 + CHOSEN + WARPS * CHANNEL.
LOADS = 2304
#: Lines of a list of accesses that are read ahead; lines in a burst of reads; entries in a line.
AHEAD, BURST, LIST_WORDS = 16, 8, 8
#: Partitions, and the turns that they take in what they share.
PARTITIONS, GROUPS = 4, 8
#: Slots of variable_rate.
FRAME = 256
#: Victim tags of a warp.
VICTIMS = 64
#: Entries of each predictor of a warp; two-bit counters of a warp.
TARGETS, COUNTERS = 16, 64


def record(names: str = "", **arrays: int | tuple[int, ...]) -> np.dtype:
    """Return a record type of integers: scalar fields for ``names``, array fields for the keywords."""
    return np.dtype(
        [(name, np.int64) for name in names.split()] + [(name, np.int64, shape) for name, shape in arrays.items()]
    )


#: Parameters from the configuration and the request. ``to_execute``: cycles from selection to stage X. ``latency``: by
#: unit, NONE if it is not fixed. ``ring``: the places for each warp's instructions, less 1, if they arrive one by one;
#: 0 if all are known. ``supplied``: nothing is fetched, and a warp always has its next instruction (docs/comparison.md,
#: "Value of the guarantee"). ``frame``: the slots of variable_rate; ``owner``: the warp of each. ``channels``,
#: ``ordered``: the depth of free and of ordered channels, 0 without them. ``list_bit``: set in the tags of a list's
#: lines. ``slots_of_turns``: after this many turns, one partition has two. ``reserves``: partitions find units and
#: ports reserved by others. ``divides_time``: these belong to partitions in fixed cycles; ``window``: the cycles for
#: divisions of one partition; ``later``: by unit, the cycles from the rounder's first possible result to this unit's.
#: ``group``: by unit, its turn, NONE without one; ``phase``: for each turn, the partition that has it first;
#: ``with_port``: whether it is given with that of the port. ``victim_tags``: for each warp, 0 without ccws;
#: ``locality_most``: the greatest score; ``locality_steps``: the cycles that the division of a score takes.
#: ``in_gpu``: it is one of several SMs. Policy parameters are initial values and upper limits (FRONT has the current
#: ones).
CONFIG = record(
    "schedulers reserves divides_time window older groups partitions_of_an_alu partitions_of_a_port slots_of_turns"
    " warps threads policy max_cycles barriers icache icache_sets icache_ways fetch_requests"
    " dcache dcache_sets dcache_bits dcache_ways line_requests store_buffer load_parts user_line local local_bytes"
    " channels ordered list_bit lookup_latency"
    " stacks stacks_end stack_block stack_words source_bit kind_bit ring supplied events group_warps frame"
    " victim_tags locality_base locality_throttle locality_most locality_steps reads to_execute"
    " learns return_stack jump_targets branch_runs two_bit in_gpu",
    latency=16, owner=FRAME, group=16, phase=GROUPS, with_port=GROUPS, later=16,
)

#: A decoded word. ``uses``: a bit for each register that must not be pending, the destination's included;
#: ``register``: the destination or NONE. ``written``: the program stores there.
CODE = record(
    "unit op word uses register control fence drain store takes_slot predicted conditional indirect pushes"
    " pops offset size volatile written"
)

#: An executed instruction of a warp. ``next``: the pc after it. ``lanes``: the number of lanes that execute it;
#: ``after``: the number active after it (0: the warp has ended). ``taken``: the next pc is not pc + 4. ``fault``: a
#: FaultCause or NONE, with its ``address``. ``row``: the row of its lanes' addresses. ``a``, ``b``: barrier and count
#: of a bar; count and pc of a wspawn; the new mregion of a CSR instruction that writes it (``b`` is 1, or the address
#: of the list of accesses that begins, in row ``address``), or the new mpolicy (``b`` is 1). ``shared``: it touches a
#: word that several warps touch and at least one writes; ``sees``: the expected result of
#: sim.predict.model.races.see for a load. ``code``: its CODE if it is supplied.
STEP = np.dtype([
    ("pc", np.uint32), ("next", np.uint32), ("mask", np.uint32), ("row", np.int32), ("a", np.uint32), ("b", np.uint32),
    ("address", np.uint32), ("lanes", np.int8), ("after", np.int8), ("taken", np.int8), ("fault", np.int8),
    ("shared", np.int8), ("sees", np.uint64), ("code", np.int32),
], align=True)

FRONT = record(
    # The fetch pipeline by stage: requested in the last cycle (in lookup), one later, two later (in decode).
    "valid1 squashed1 warp1 slot1 pc1 valid2 squashed2 warp2 slot2 pc2 code2 valid3 squashed3 warp3 slot3 pc3 code3"
    # Whether the jump or branch in decode is predicted taken, and its target.
    " predicted3 target3"
    # Misses: memory's answer in the last cycle, the warp that asks for an MSHR, the offer to memory.
    " answered answered_code refill_line missed_before missing_warp missing_line chosen_warp chosen_line locked"
    " sent_last used_place hit_place looked_up stamp stale"
    # The policy's state (docs/policies.md). ``passed``: the last warp that got a slot its owner could not use.
    " last pointer slot passed"
    # A policy in Python: the warp that it has chosen, and the cycle of the choice.
    " choice chosen_at"
    # Its kept choices (choices.py): the number of its state (0: choices are not kept), that of the state before the
    # latest choice by Python, and whether to keep this choice.
    " policy_state state_before keeps"
    # The state of ccws: the warps held back, the warps owed a score, the totals, and the division.
    " held owed losses selections left dividend divisor"
    # The current parameters, by their names in CONFIG, with ``owner`` below.
    " group_warps frame locality_base locality_throttle"
    # Sets of warps: with unresolved control flow; with an outstanding miss; of the latter, those without an MSHR.
    " unresolved suspended unasked"
    # This cycle, for the later units and for observers.
    " eligible selected selected_nop selected_code selected_pc selected_predicted selected_target missed miss turned"
    " issues offered slot_claimed"
    # Sets of turns: asked for, and those that could be used (turns.py).
    " asks could"
    " refilled refilled_line invalidate",
    pc=WARPS,
    head=WARPS, nop=(WARPS, DEPTH), filled=(WARPS, DEPTH), code=(WARPS, DEPTH), at=(WARPS, DEPTH),
    predicted=(WARPS, DEPTH), target=(WARPS, DEPTH),
    # The predictors of each warp (private.py); what is kept twice begins with 2.
    stack=(2, WARPS, TARGETS), stacked=(2, WARPS), decoded=WARPS, stack_top=(2, WARPS), jump_target=(WARPS, TARGETS),
    run_tag=(WARPS, TARGETS), run_next=(WARPS, TARGETS), run_length=(WARPS, TARGETS, 2),
    run_taken=(2, WARPS, TARGETS), run_count=(2, WARPS, TARGETS), disagrees=(2, WARPS, COUNTERS),
    mshr_line=WARPS, mshr_sent=WARPS, mshr_stale=WARPS,
    score=WARPS, age=WARPS, activated=WARPS, group_last=WARPS, owner=FRAME, held_line=WARPS, held_code=WARPS,
)

ISSUE = record(
    # Stages R, O (only with an operand register) and X: an instruction by warp (NONE), code, pc and its STEP.
    "warp_r code_r pc_r step_r slot_r warp_o code_o pc_o step_o slot_o warp_x code_x pc_x step_x slot_x"
    " predicted_r target_r predicted_o target_o predicted_x target_x"
    " div_left fdiv_left load_valid load_warp load_register load_last"
    # The register write of this cycle: warp and register (NONE: none), and whether it is the last part.
    " written_warp written_register written_last",
    pending=WARPS, by_load=WARPS, under_way=WARPS, position=WARPS,
    # Writeback slots by cycle modulo SLOTS: warp (NONE: free), register (NONE: flags only), whether it is killed.
    slot_warp=SLOTS, slot_register=SLOTS, slot_killed=SLOTS,
    # In the first partition's record: whether a result of the one rounder is due.
    rounder_slot=SLOTS,
)

CONTROL = record(
    "resolves resolved_warp redirects target released activates"
    # A branch or jump in stage X: whether its prediction was wrong.
    " settles wrong"
    " next_resolves next_resolved_warp next_redirects next_target next_released"
    # The warp whose control flow is over in stage X, as a set.
    " onward"
    " active waiting x_fault invalidates retired jumps",
    lanes=WARPS,
)

#: State of the whole SM. Sets of warps use the warp numbers of the SM.
WHOLE = record(
    "activates activation_pc active waiting halted region spawners spawned spawn_targets spawn_pc next_released"
    # The word written to mpolicy one cycle ago, or 0.
    " change"
    # A fault of this SM has stopped it; ``halted`` follows a fault of another SM, too.
    " faulty"
    # The barrier between SMs: the warps that wait there, now and in the next cycle, what the last one asked for, and
    # whether all may continue in this cycle. A fence is in stage X.
    " outside next_outside outside_number outside_count outside_over fence"
    " fault_cause fault_warp fault_pc fault_address fault_replaceable"
    # The partition for which the caller has something to do.
    " asks"
    # Turns: how many since one partition last had two; the partition that has the fixed one, and each group's; the
    # cycle of each partition's last chance to use it.
    " number fixed",
    arrived=WARPS, turn=GROUPS, chance=(GROUPS, PARTITIONS),
)

LSU = record(
    # The queue, and the coalescer at its head.
    "used first count head started lines line_next local"
    # Line accesses past the coalescer (``chosen_*`` below); the one offered to the channels or to the lookup.
    " chosen_count offer_warp offer_register offer_store offer_first offer_line offer_bytes offer_load offer_pc"
    " offer_address offer_row offer_lanes"
    # The local access that the banks serve, if ``lookup_latency`` is 2, and its lanes that are left.
    " banks_lanes banks_row banks_warp banks_register banks_store banks_load"
    # The access in the lookup; whether it was there in the last cycle, and whether it stays for another one.
    " held held_again stays held_warp held_register held_store held_first held_line held_bytes held_load held_pc"
    " held_address held_row held_lanes"
    # A fence marks the next request; a request at the head waits for what was before the fence. Caches are emptied.
    " fence_before head_waits emptied"
    # Parts: the one that takes its lanes' values in this cycle, and the one that begins to wait for its line. Places in
    # the cache: that of a hit, and that of the line that enters. The line of memory's answer is taken.
    " part_given part_added hit_at filled_at line_taken"
    # A list of accesses: whether one is active or closing; whether one begins or ends in the next cycle; the next
    # entry, how many of its accesses were given, and its line; lines read ahead; a missing access, and for how long.
    " ordering closing broken switch switch_row list_row list_lines list_index list_given list_next"
    " list_current list_active list_over list_line list_asked list_come list_bad list_tail list_head list_held"
    " gave absent quiet"
    " told order_new order_fault order_cause order_warp order_pc order_address"
    # The place of the line in the lookup in the cache, the place it would take, and whether it may take it.
    " placed may_place victim"
    # The channels: the warp looked up last, the senior warp and how often it was overtaken, and the total of accesses.
    " turn senior passes channelled"
    # Lines that loads have requested, the order in which they are offered, and the line that has arrived.
    " unsent_first unsent_count filled_valid filled_miss filled_line filled_error filled_fresh"
    # The write buffer: the line that is offered, the next one (``picked``), and the turns at the port.
    " request picked buffered_last stored_turn held_turn"
    # Answers.
    " wb_valid wb_warp wb_register wb_last fill_error next_load begun unfinished"
    # Faults, and the pulse after a store's arrival.
    " store_fault store_fault_warp store_fault_pc store_fault_address fault fault_cause fault_warp fault_pc"
    " fault_address stored dropped used_place stamp misses entries unsent_entries held_set filled_set"
    # This cycle, for observers.
    " wait goes hit joins forward event_line event_store event_warp event_first event_uncached"
    " event_row event_lanes installed entry"
    # The warp whose line has arrived, and the set of warps that lost locality in the last cycle.
    " filled_warp lost",
    waiting_warp=QUEUE, waiting_code=QUEUE, waiting_pc=QUEUE, waiting_row=QUEUE, waiting_mask=QUEUE,
    waiting_misaligned=QUEUE, waiting_address=QUEUE, waiting_fence=QUEUE, waiting_stores=WARPS,
    line=LANES, line_lanes=LANES, line_bytes=LANES, line_address=LANES,
    chosen_warp=CHOSEN, chosen_register=CHOSEN, chosen_store=CHOSEN, chosen_first=CHOSEN, chosen_line=CHOSEN,
    chosen_bytes=CHOSEN, chosen_load=CHOSEN, chosen_pc=CHOSEN, chosen_address=CHOSEN, chosen_row=CHOSEN,
    chosen_lanes=CHOSEN,
    claimed=WARPS, miss_place=MSHRS,
    channel_first=WARPS, channel_count=WARPS, channel_stores=WARPS,
    channel_register=(WARPS, CHANNEL), channel_store=(WARPS, CHANNEL), channel_begins=(WARPS, CHANNEL),
    channel_line=(WARPS, CHANNEL), channel_bytes=(WARPS, CHANNEL), channel_load=(WARPS, CHANNEL),
    channel_pc=(WARPS, CHANNEL), channel_address=(WARPS, CHANNEL), channel_row=(WARPS, CHANNEL),
    channel_lanes=(WARPS, CHANNEL),
    victim_line=(WARPS, VICTIMS), victim_next=WARPS, miss_warp=MSHRS,
    miss_line=MSHRS, miss_uncached=MSHRS, unsent=MSHRS,
    part_miss=PARTS, part_warp=PARTS, part_register=PARTS, part_load=PARTS, part_pc=PARTS, part_address=PARTS,
    entry_line=STORES, entry_uncached=STORES, entry_bytes=STORES, entry_after=STORES, entry_loads=STORES,
    entry_sent=STORES, entry_warps=STORES, entry_warp=STORES, entry_pc=STORES, entry_address=STORES,
    slot=3, slot_warp=3, slot_register=3, slot_load=3, slot_pc=3, slot_address=3, slot_order=3,
    load_parts=LOADS,
)

#: The memory port and its mailbox (tb/mailbox.cpp is the one for the hardware).
PORT = record(
    "held fetch_turn cycle ready_from wake_cycle lookahead response_valid response_tag response_error response_code"
    " given taken answers answers_taken accepted answer_taken lsu_requests",
    request_cycle=RING, request_tag=RING, request_line=RING, request_write=RING, request_bytes=RING,
    answer_due=RING, answer_tag=RING, answer_error=RING, answer_code=RING,
)

OBSERVER = record(
    "finished ended deadlock stuck moves deadlocked starvation_time starved_now starved_before starved_long"
    f" {' '.join(COUNTED)} in_region1 in_region2 in_region3"
    " latency_sum latency_maximum jumps_on jumps_again volatile_at begun issues retired events",
    stalls=Reason.COUNT, reason=WARPS, states=(WARPS, Reason.COUNT + 3), waits=Wait.COUNT, latencies=64,
    load_lines=7, store_lines=7, load_since=(WARPS, REGISTERS), last_pc=WARPS, jump_pc=WARPS,
)

#: One issue of the log: ``pc`` is NONE for a NOP.
ISSUED = np.dtype([("cycle", np.int64), ("warp", np.int64), ("pc", np.int64)])


class Answer(NamedTuple):
    """Memory's answer to the LSU in a cycle."""

    number: int  # of the MSHR, or of the write buffer's entry; NONE: there is none
    store: bool  # it is the write buffer's
    error: int


class Request(NamedTuple):
    """The load or store in stage X."""

    warp: int
    code: int
    step: int  # NONE: there is none


class Decisions(NamedTuple):
    """The LSU's decisions in a cycle, made from its state at the start of the cycle."""

    found: tuple[int, int, int, int]  # sim.predict.model.lookup.find
    install: int  # the line that enters the cache, or NONE
    adds: bool  # the access in the lookup becomes a part that waits for memory,
    joined: int  # and for this MSHR
    released: int  # the MSHR that becomes free, or NONE
    takes_filled: bool  # another part that waits for the line that has arrived takes a slot
    accepts: bool  # the answer to a load is taken
    completed: bool  # the answer to a store is taken
    sent: bool  # memory takes the request for a line of stores,
    load_sent: bool  # or one of loads
    leaves: int  # the slots whose answers are written back


class Machine(NamedTuple):
    """The whole machine: the records as arrays, most of one element, and the arrays of free size."""

    #: That of the SM and that of a partition, which are alike with one scheduler.
    config: np.ndarray
    #: One for each partition, with its own warp numbers.
    front: np.ndarray
    issue: np.ndarray
    control: np.ndarray
    whole: np.ndarray
    lsu: np.ndarray
    port: np.ndarray
    observer: np.ndarray
    #: CODE: LINE_WORDS words for each fetched line; a changed line is a new line.
    code: np.ndarray
    #: STEP: ``known[warp]`` entries for each warp from ``first[warp]`` on.
    steps: np.ndarray
    first: np.ndarray
    known: np.ndarray
    #: Addresses of loads and stores (rows, threads), uint32.
    addresses: np.ndarray
    #: Words that several warps touch and at least one writes, as a hash table, and the last store to each byte.
    shared: np.ndarray
    writers: np.ndarray
    #: The I-cache: the line, code and time of last use of each way, set by set; first those of the first partition.
    icache_line: np.ndarray
    icache_code: np.ndarray
    icache_used: np.ndarray
    #: The data cache likewise, and the warp that brought in each line.
    dcache_line: np.ndarray
    dcache_used: np.ndarray
    dcache_owner: np.ndarray
    #: Lists of accesses, each up to its end: pc, whether it is a store, warp, lines, and the line in memory.
    lists: np.ndarray
    #: Logs of ISSUED and EVENT; the latter is empty unless events were requested.
    issued: np.ndarray
    events: np.ndarray
    #: CHOICE: a hash table whose size is a power of two.
    choices: np.ndarray
    #: The partition that ``front[part]`` and its like are about (:mod:`sim.predict.model.partitions`).
    part: int = 0


@inlined
def partition(m, p):
    """Return the machine as partition ``p`` sees it (:mod:`sim.predict.model.partitions`)."""
    return Machine(
        m.config, m.front, m.issue, m.control, m.whole, m.lsu, m.port, m.observer, m.code, m.steps, m.first, m.known,
        m.addresses, m.shared, m.writers, m.icache_line, m.icache_code, m.icache_used, m.dcache_line, m.dcache_used,
        m.dcache_owner, m.lists, m.issued, m.events, m.choices, p,
    )
