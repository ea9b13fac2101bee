"""The lanes' side of the load/store unit: queue, coalescer, local memory, answers (docs/memory.md).

A request in stage X in c is at the head of the queue in c+1. The head makes one access a cycle, to a line or to local
memory, for the lowest remaining lane; lines of global memory come first.
"""

from ...machine.events import NONE
from .compiled import inlined
from .records import LOADS, QUEUE

__all__ = [
    "arrive", "cancel", "count_made", "drained", "enter_banks", "head_there", "leaving", "push", "serve_local", "take",
    "tick_answers", "tick_fence", "tick_queue", "writes",
]

#: The slots of answers: a part of a line from memory, a hit, a local load.
FILL, HIT, LOCAL = 0, 1, 2


@inlined
def take(config, lsu, w, store):
    """Reserve a place of the queue, from the next cycle on, for the load or store that is selected."""
    lsu.used += 1
    lsu.waiting_stores[w] += store
    lsu.claimed[w] += config.threads


@inlined
def cancel(config, lsu, w, store):
    """Give back the place reserved at its selection: the machine has stopped, so the access does not come."""
    lsu.used -= 1
    lsu.waiting_stores[w] -= store
    lsu.claimed[w] -= config.threads


@inlined
def to_bus(config, address):
    """Translate a program's address to its address in memory, with interleaved stacks (memory.md, "Stacks").

    In the block of a warp's stacks, the lane and the word change places.
    """
    if address < config.stacks or address >= config.stacks_end:
        return address
    offset = (address - config.stacks) % config.stack_block
    word = offset >> 2
    row, column = word // config.stack_words, word % config.stack_words
    return address - offset + 4 * (column * config.threads + row) + (offset & 3)


@inlined
def arrive(m):
    """Prepare a new head: find the lines that its lanes touch, lowest lane first, and the lanes for local memory."""
    config, lsu = m.config[0], m.lsu[0]
    lsu.lines = lsu.line_next = lsu.local = 0
    head = lsu.first
    if lsu.waiting_misaligned[head] != NONE:
        return
    size = m.code[lsu.waiting_code[head]].size
    mask, row = lsu.waiting_mask[head], lsu.waiting_row[head]
    for lane in range(config.threads):
        if mask >> lane & 1 == 0:
            continue
        address = int(m.addresses[row, lane])
        if config.local <= address < config.local + config.local_bytes:
            lsu.local |= 1 << lane
            continue
        place = to_bus(config, address)
        line = place >> 6
        bytes_ = (1 << size) - 1 << (place & 63)
        number = 0
        while number < lsu.lines and lsu.line[number] != line:
            number += 1
        if number == lsu.lines:
            lsu.line[number], lsu.line_lanes[number], lsu.line_bytes[number] = line, 0, 0
            lsu.line_address[number] = address
            lsu.lines += 1
        lsu.line_lanes[number] |= 1 << lane
        lsu.line_bytes[number] |= bytes_


@inlined
def head_there(lsu):
    """Whether there is a head that need not wait for what was before a fence."""
    return lsu.count > 0 and not lsu.head_waits


@inlined
def drained(lsu):
    """Whether the unit is empty after the queue, except for answers and local accesses."""
    if lsu.held or lsu.chosen_count or lsu.channelled or lsu.store_fault:
        return False
    return lsu.misses == 0 and lsu.entries == 0


@inlined
def tick_fence(m, over, new_head, requests):
    """End the cycle of fences between SMs: a request that comes marks its place, and a marked head waits.

    ``over``: the head need not wait any more, and finds the data cache empty; ``new_head``: another one is the head.
    """
    lsu = m.lsu[0]
    if over:
        lsu.head_waits = 0
        for place in range(len(m.dcache_line)):
            m.dcache_line[place] = NONE
    if requests:
        lsu.waiting_fence[(lsu.first + lsu.count - 1) % QUEUE] = lsu.fence_before
    if new_head:
        lsu.head_waits = lsu.count > 0 and lsu.waiting_fence[lsu.first]
    lsu.fence_before = m.whole[0].fence or (lsu.fence_before and not requests)


@inlined
def writes(m, head):
    """Whether the instruction at a place of the queue is a load that writes a register."""
    code = m.code[m.lsu[0].waiting_code[head]]
    return not code.store and code.register != NONE


@inlined
def serve_local(m, slot_free):
    """Return the lanes that local memory serves in this cycle.

    A load that writes a register waits for a free slot.
    """
    config, lsu = m.config[0], m.lsu[0]
    if config.lookup_latency == 2:
        if lsu.banks_lanes == 0 or (lsu.banks_register != NONE and not lsu.banks_store and not slot_free):
            return 0
        return served_lanes(m, lsu.banks_row, lsu.banks_lanes, lsu.banks_store)
    if not head_there(lsu) or lsu.line_next < lsu.lines or lsu.local == 0:
        return 0
    head = lsu.first
    if writes(m, head) and not slot_free:
        return 0
    return served_lanes(m, lsu.waiting_row[head], lsu.local, m.code[lsu.waiting_code[head]].store)


@inlined
def enter_banks(m, served):
    """End the cycle of the banks' register (``lookup_latency`` 2); return whether the head's local access enters it.

    ``served``: the lanes that the banks serve now. A load counts one part while lanes of it wait there.
    """
    lsu = m.lsu[0]
    busy = lsu.banks_lanes != 0
    if served:
        lsu.banks_lanes &= ~served
        if lsu.banks_register != NONE and not lsu.banks_store:
            push(lsu, LOCAL, lsu.banks_warp, lsu.banks_register, lsu.banks_load, 0, 0)
            lsu.load_parts[lsu.banks_load] += lsu.banks_lanes != 0
    if busy or not head_there(lsu) or lsu.line_next < lsu.lines or lsu.local == 0:
        return False
    head = lsu.first
    code = m.code[lsu.waiting_code[head]]
    lsu.banks_lanes, lsu.banks_row, lsu.banks_warp = lsu.local, lsu.waiting_row[head], lsu.waiting_warp[head]
    lsu.banks_register, lsu.banks_store = code.register, code.store
    return True


@inlined
def served_lanes(m, row, local, store):
    """Return the lanes that are served together: each bank's lowest, and for a load all that want the same word."""
    config = m.config[0]
    served = banks = 0
    for lane in range(config.threads):
        if local >> lane & 1 == 0:
            continue
        word = (int(m.addresses[row, lane]) & config.local_bytes - 1) >> 2
        bank = word & config.threads - 1
        if banks >> bank & 1:
            continue
        banks |= 1 << bank
        served |= 1 << lane
        if store:
            continue
        for other in range(lane + 1, config.threads):
            if local >> other & 1 and (int(m.addresses[row, other]) & config.local_bytes - 1) >> 2 == word:
                served |= 1 << other
    return served


@inlined
def count_made(lsu, pops):
    """Count a new part of the load at the head; ``pops``: it is the last one."""
    if not lsu.unfinished:
        # A load that misses may be in flight while many younger loads begin and finish.
        while lsu.load_parts[lsu.next_load]:
            lsu.next_load = (lsu.next_load + 1) % LOADS
        lsu.begun = lsu.next_load
        lsu.next_load = (lsu.next_load + 1) % LOADS
    lsu.load_parts[lsu.begun] += 1
    lsu.unfinished = not pops


# Answers: three slots; the oldest goes to the writeback, one a cycle.


@inlined
def leaving(lsu, wb_ready):
    """Return the set of slots freed in this cycle: the oldest that writes, and those of loads that do not write."""
    leaves = 0
    for slot in range(3):
        if lsu.slot[slot] and lsu.slot_register[slot] == NONE:
            leaves |= 1 << slot
    if not lsu.wb_valid or wb_ready:
        for number in range(3):
            slot = lsu.slot_order[number]
            if lsu.slot[slot] and lsu.slot_register[slot] != NONE:
                leaves |= 1 << slot
                break
    return leaves


@inlined
def push(lsu, slot, warp, register, load, pc, address):
    """Put a part into a slot at the end of the cycle, as the youngest."""
    lsu.slot[slot], lsu.slot_warp[slot], lsu.slot_register[slot] = 1, warp, register
    lsu.slot_load[slot], lsu.slot_pc[slot], lsu.slot_address[slot] = load, pc, address
    at = 0
    while lsu.slot_order[at] != slot:
        at += 1
    for number in range(at, 2):
        lsu.slot_order[number] = lsu.slot_order[number + 1]
    lsu.slot_order[2] = slot


@inlined
def tick_answers(lsu, leaves, wb_ready):
    """Free the slots in ``leaves``, before new parts take them; one becomes the writeback.

    The writeback is the load's last if no other part of the load is in flight or still to be made.
    """
    if wb_ready:
        lsu.wb_valid = 0
    for slot in range(3):
        if leaves >> slot & 1:
            lsu.slot[slot] = 0
            if lsu.slot_register[slot] != NONE:
                load = lsu.slot_load[slot]
                lsu.wb_valid, lsu.wb_warp, lsu.wb_register = 1, lsu.slot_warp[slot], lsu.slot_register[slot]
                lsu.wb_last = lsu.load_parts[load] == 1 and not (lsu.unfinished and lsu.begun == load)
                lsu.load_parts[load] -= 1


# The queue.


@inlined
def tick_queue(m, line_taken, served, dropped):
    """Remove the head's served line or lanes, and then the head itself if nothing of it is left.

    Returns whether the head leaves, and whether the queue has a new head, if any, in the next cycle.
    """
    lsu = m.lsu[0]
    if line_taken:
        lsu.line_next += 1
    lsu.local &= ~served
    there = head_there(lsu)
    pops = there and (
        dropped or (lsu.waiting_misaligned[lsu.first] == NONE and lsu.line_next == lsu.lines and lsu.local == 0)
    )
    lsu.started = there
    if pops:
        if m.code[lsu.waiting_code[lsu.first]].store:
            lsu.waiting_stores[lsu.waiting_warp[lsu.first]] -= 1
        lsu.claimed[lsu.waiting_warp[lsu.first]] -= m.config[0].threads
        lsu.first = (lsu.first + 1) % QUEUE
        lsu.count -= 1
        lsu.used -= 1
    return pops, pops or not there
