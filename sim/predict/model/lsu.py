"""One cycle of the load/store unit: the lanes' side, the lookup, memory's answers (docs/memory.md).

All decisions depend on the state at the start of the cycle; then the whole state advances.
"""

from metronome.hdl.config import FaultCause

from ...machine.events import MSHRS, NONE, PARTS, STORES
from . import channels, l1, order, victims
from .compiled import inlined
from .lanes import (
    FILL,
    HIT,
    LOCAL,
    arrive,
    cancel,
    count_made,
    drained,
    enter_banks,
    head_there,
    leaving,
    push,
    serve_local,
    take,
    tick_answers,
    tick_fence,
    tick_queue,
    writes,
)
from .lookup import adds_part, find, look_up
from .records import QUEUE, Decisions
from .search import first_of

__all__ = ["cancel", "idle", "offers_store", "request", "reset", "take", "tick"]

LOAD_MISALIGNED, LOAD_ACCESS, STORE_MISALIGNED, STORE_ACCESS = (cause.value for cause in (
    FaultCause.LOAD_MISALIGNED, FaultCause.LOAD_ACCESS, FaultCause.STORE_MISALIGNED, FaultCause.STORE_ACCESS,
))


@inlined
def reset(m):
    """Empty the unit and the cache."""
    lsu = m.lsu[0]
    for number in range(MSHRS):
        lsu.miss_line[number] = NONE
    for number in range(PARTS):
        lsu.part_miss[number] = NONE
    for number in range(STORES):
        lsu.entry_line[number] = NONE
    for slot in range(3):
        lsu.slot_order[slot] = slot
    lsu.request = lsu.picked = lsu.buffered_last = lsu.used_place = lsu.turn = NONE
    victims.reset(lsu)


@inlined
def idle(lsu):
    """Whether nothing is in the unit."""
    if lsu.used or lsu.chosen_count or lsu.banks_lanes or lsu.held or lsu.channelled:
        return False
    if lsu.store_fault or lsu.fault or lsu.stored or lsu.wb_valid:
        return False
    if order.busy(lsu):
        return False
    if lsu.slot[0] or lsu.slot[1] or lsu.slot[2]:
        return False
    return lsu.misses == 0 and lsu.entries == 0


@inlined
def offers_store(lsu):
    """Whether the line offered to memory is one of stores; loads and stores take turns if both have one."""
    if lsu.held_turn:
        return bool(lsu.stored_turn)
    return lsu.request != NONE and not (lsu.unsent_count > 0 and lsu.stored_turn)


@inlined
def request(m, w, code, step):
    """Append the load or store in stage X to the queue at the end of the cycle."""
    lsu = m.lsu[0]
    at = (lsu.first + lsu.count) % QUEUE
    lsu.count += 1
    lsu.waiting_warp[at], lsu.waiting_code[at] = w, code
    lsu.waiting_pc[at], lsu.waiting_row[at], lsu.waiting_mask[at] = step.pc, step.row, step.mask
    misaligned = step.fault in (LOAD_MISALIGNED, STORE_MISALIGNED)
    lsu.waiting_misaligned[at] = step.fault if misaligned else NONE
    lsu.waiting_address[at] = step.address


@inlined
def tick(m, wb_ready, memory_ready, answer, request_x):
    """Run one cycle with memory's ``Answer`` and the ``Request`` in stage X; return whether the answer is taken."""
    config, lsu = m.config[0], m.lsu[0]
    leaves = leaving(lsu, wb_ready)
    fill_free = not lsu.slot[FILL] or leaves & 1
    hit_free = not lsu.slot[HIT] or leaves & 2
    local_free = not lsu.slot[LOCAL] or leaves & 4
    load_fault = leaves & 1 and lsu.fill_error
    use_store = offers_store(lsu)
    over = lsu.emptied = config.in_gpu and lsu.head_waits and drained(lsu)
    sent = memory_ready and use_store and lsu.request != NONE
    install = l1.installs(config, lsu)
    # With a lookup_latency of 2: a line for the cache is accepted (``accepts``, below).
    arrives = config.lookup_latency == 2 and config.dcache and answer.number != NONE and not (
        answer.store or lsu.filled_valid)
    found = find(m, install, sent, arrives)
    adds, joined = adds_part(m, found, install)
    left = lsu.filled_valid and first_of(lsu.part_miss, config.load_parts, lsu.filled_miss) != NONE
    release = lsu.filled_valid and not left and fill_free and not (adds and joined == lsu.filled_miss)
    there = answer.number != NONE
    accepts = there and not answer.store and (not lsu.filled_valid or (release and config.lookup_latency == 1))
    completed = there and answer.store and (
        not lsu.store_fault or (not load_fault and config.lookup_latency == 1))
    look_up(m, found, install, accepts, hit_free)
    served = serve_local(m, local_free)
    _faults(m, load_fault, completed, answer)
    load_sent = lsu.unsent_count > 0 and not use_store and memory_ready
    if lsu.unsent_count > 0 or lsu.request != NONE:
        lsu.stored_turn, lsu.held_turn = use_store, not memory_ready
    _move(m, Decisions(
        found, install, adds, joined, lsu.filled_miss if release else NONE, left and fill_free, accepts, completed,
        sent, load_sent, leaves,
    ), answer, wb_ready)
    lsu.line_taken = accepts
    _advance(m, served, request_x, over)
    return accepts or completed


@inlined
def _faults(m, load_fault, completed, answer):
    """Drive the fault pulse; the priority is load, store, list of accesses, misaligned address.

    With a ``lookup_latency`` of 2 a misaligned head waits while a part of a refused line is in its slot.
    """
    config, lsu = m.config[0], m.lsu[0]
    misaligned = head_there(lsu) and lsu.waiting_misaligned[lsu.first] != NONE
    lsu.told = load_fault or lsu.store_fault
    told = load_fault or lsu.store_fault or lsu.order_fault
    lsu.dropped = misaligned and not told and not (
        config.lookup_latency == 2 and lsu.slot[FILL] and lsu.fill_error)
    lsu.fault = load_fault or lsu.store_fault or lsu.order_fault or lsu.dropped
    if load_fault:
        lsu.fault_cause, lsu.fault_warp = LOAD_ACCESS, lsu.slot_warp[FILL]
        lsu.fault_pc, lsu.fault_address = lsu.slot_pc[FILL], lsu.slot_address[FILL]
    elif lsu.store_fault:
        lsu.fault_cause, lsu.fault_warp = STORE_ACCESS, lsu.store_fault_warp
        lsu.fault_pc, lsu.fault_address = lsu.store_fault_pc, lsu.store_fault_address
    elif lsu.order_fault:
        lsu.fault_cause, lsu.fault_warp = lsu.order_cause, lsu.order_warp
        lsu.fault_pc, lsu.fault_address = lsu.order_pc, lsu.order_address
    elif lsu.dropped:
        lsu.fault_cause, lsu.fault_warp = lsu.waiting_misaligned[lsu.first], lsu.waiting_warp[lsu.first]
        lsu.fault_pc, lsu.fault_address = lsu.waiting_pc[lsu.first], lsu.waiting_address[lsu.first]
    if completed and answer.error:
        entry = answer.number
        lsu.store_fault, lsu.store_fault_warp = 1, lsu.entry_warp[entry]
        lsu.store_fault_pc, lsu.store_fault_address = lsu.entry_pc[entry], lsu.entry_address[entry]
    elif not load_fault:
        lsu.store_fault = 0


@inlined
def _move(m, now, answer, wb_ready):
    """End the cycle for everything after the lookup; ``now``: the ``Decisions`` of the cycle."""
    config, lsu = m.config[0], m.lsu[0]
    adds, joined = now.adds, now.joined
    _store(m, now, answer)
    # The part that takes the fill slot waits for the line that arrives now, or for the one that arrived before.
    taken = answer.number if now.accepts else lsu.filled_miss if now.takes_filled else NONE
    part = first_of(lsu.part_miss, config.load_parts, taken) if taken != NONE else NONE
    free = first_of(lsu.part_miss, config.load_parts, NONE) if adds else NONE
    tick_answers(lsu, now.leaves, wb_ready)
    lsu.part_given, lsu.part_added = part, free
    if part != NONE:
        push(lsu, FILL, lsu.part_warp[part], lsu.part_register[part], lsu.part_load[part], lsu.part_pc[part],
             lsu.part_address[part])
        lsu.fill_error = answer.error if now.accepts else lsu.filled_error
        lsu.part_miss[part] = NONE
    if lsu.goes and not lsu.held_store and (lsu.hit or lsu.forward) and lsu.held_register != NONE:
        push(lsu, HIT, lsu.held_warp, lsu.held_register, lsu.held_load, lsu.held_pc, lsu.held_address)
    if adds:
        lsu.part_miss[free], lsu.part_warp[free], lsu.part_register[free] = joined, lsu.held_warp, lsu.held_register
        lsu.part_load[free], lsu.part_pc[free], lsu.part_address[free] = lsu.held_load, lsu.held_pc, lsu.held_address
    if config.victim_tags:
        victims.miss(config, lsu, adds)
    if config.ordered:
        l1.give_place(m, adds, joined)
    else:
        l1.enter(m, now.found[0] if lsu.goes else NONE, now.install)
    _misses(m, now, answer)


@inlined
def _store(m, now, answer):
    """Update the write buffer: a store joins or takes an entry, one is chosen for memory, one is completed."""
    config, lsu = m.config[0], m.lsu[0]
    _, same, requested, chosen = now.found
    if lsu.goes and lsu.held_store:
        entry = lsu.entry
        if not lsu.joins:
            lsu.entry_line[entry], lsu.entry_uncached[entry] = lsu.held_line, lsu.held_line < config.user_line
            lsu.entry_bytes[entry] = lsu.entry_warps[entry] = lsu.entry_sent[entry] = 0
            lsu.entries += 1
            lsu.unsent_entries += 1
            lsu.entry_after[entry], lsu.entry_loads[entry] = same, requested
            lsu.entry_warp[entry], lsu.entry_pc[entry] = lsu.held_warp, lsu.held_pc
            lsu.entry_address[entry] = lsu.held_address
        lsu.entry_bytes[entry] |= lsu.held_bytes
        lsu.entry_warps[entry] |= 1 << lsu.held_warp
    if chosen != NONE:
        lsu.entry_sent[chosen] = 1
        lsu.unsent_entries -= 1
        lsu.buffered_last = chosen
    if now.sent:
        lsu.request = NONE
    if config.lookup_latency == 1:
        lsu.picked = chosen
    if lsu.request == NONE and not (now.accepts and config.dcache and config.lookup_latency == 2):
        lsu.request, lsu.picked = lsu.picked, NONE
    if config.lookup_latency == 2 and chosen != NONE:
        lsu.picked = chosen
    if now.completed:
        lsu.entry_line[answer.number] = NONE
        lsu.entries -= 1
        for entry in range(config.store_buffer):
            lsu.entry_after[entry] &= ~(1 << answer.number)
    if now.released != NONE:
        for entry in range(config.store_buffer):
            lsu.entry_loads[entry] &= ~(1 << now.released)


@inlined
def _misses(m, now, answer):
    """Update the MSHRs, the order in which they are offered to memory, and the line that has arrived."""
    config, lsu = m.config[0], m.lsu[0]
    joined = now.joined
    if now.load_sent:
        lsu.unsent_first = (lsu.unsent_first + 1) % MSHRS
        lsu.unsent_count -= 1
    come = lsu.miss_line[answer.number] if now.accepts else NONE
    if now.adds and lsu.miss_line[joined] == NONE:
        lsu.misses += 1
        lsu.miss_warp[joined] = lsu.held_warp
        lsu.miss_line[joined], lsu.miss_uncached[joined] = lsu.held_line, lsu.held_line < config.user_line
        lsu.unsent[(lsu.unsent_first + lsu.unsent_count) % MSHRS] = joined
        lsu.unsent_count += 1
    if now.released != NONE:
        lsu.misses -= 1
        lsu.miss_line[now.released] = NONE
    if now.accepts:
        lsu.filled_valid = lsu.filled_fresh = 1
        lsu.filled_miss, lsu.filled_line, lsu.filled_error = answer.number, come, answer.error
        lsu.filled_set, lsu.filled_warp = l1.set_of(config, come), lsu.miss_warp[answer.number]
    else:
        lsu.filled_fresh = 0
        if now.released != NONE:
            lsu.filled_valid = 0


@inlined
def _advance(m, served, request_x, over):
    """Move the head's next line to the lookup and its lanes to the banks; queue the request in stage X.

    ``over``: the head has waited for what was before a fence.
    """
    lsu = m.lsu[0]
    there, head, new_head = head_there(lsu), lsu.first, lsu.count == 0
    counts = there and writes(m, head)
    early = m.config[0].lookup_latency == 2
    if early:
        offered = channels.offer_chosen(lsu)
    else:
        offered = there and lsu.line_next < lsu.lines
        if offered:
            channels.offer_head(m, head, lsu.line_next)
    lsu.held_again = 1
    taken, entered, limited, senior = False, NONE, lsu.passes == channels.PASSES, lsu.senior
    if m.config[0].ordered:
        taken, entered = order.give(m, offered)
    elif m.config[0].channels:
        entered = channels.enter(m, offered)
        taken = entered != NONE
    elif not lsu.held or lsu.goes:
        taken = offered
        lsu.held = taken
        if taken:
            channels.take_offer(m)
    if early:
        taken = channels.choose(m, head, lsu.line_next, taken)
        served = lsu.local if enter_banks(m, served) else 0
    lsu.stored = there and m.code[lsu.waiting_code[head]].store and (
        lsu.waiting_misaligned[head] == NONE and not lsu.started
    )
    local_warp, local_register = lsu.waiting_warp[head], m.code[lsu.waiting_code[head]].register
    pops, new = tick_queue(m, taken, served, lsu.dropped)
    if counts and (taken or served):
        count_made(lsu, pops)
        if taken and early:
            lsu.chosen_load[lsu.chosen_count - 1] = lsu.begun
        elif taken and entered != NONE:
            lsu.channel_load[local_warp, entered] = lsu.begun
        elif taken:
            lsu.held_load = lsu.begun
        elif early:
            lsu.banks_load = lsu.begun
        else:
            push(lsu, LOCAL, local_warp, local_register, lsu.begun, 0, 0)
    if m.config[0].channels:
        channels.offer(m, limited, senior)
    requests = request_x.step != NONE
    if requests:
        request(m, request_x.warp, request_x.code, m.steps[request_x.step])
    if new and lsu.count > 0:
        arrive(m)
        lsu.started = 0
    if m.config[0].in_gpu:
        tick_fence(m, over, pops or new_head, requests)
