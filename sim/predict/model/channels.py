"""Line accesses between the coalescer and the lookup, and each warp's channel (docs/memory.md, "Channels")."""

from ...machine.events import NONE, Wait
from . import l1
from .compiled import inlined
from .lanes import head_there
from .records import CHANNEL, CHOSEN

__all__ = ["choose", "enter", "offer", "offer_chosen", "offer_head", "put", "remove", "take_from", "take_offer"]

#: The most accesses that may overtake a waiting one.
PASSES = 255


@inlined
def _conflicts(m, w, line, bytes_, store):
    """Whether an access of ``w`` conflicts with another warp's: both are uncached, or share a word that one writes."""
    config, lsu = m.config[0], m.lsu[0]
    uncached = line < config.user_line
    for other in range(config.warps):
        if other == w:
            continue
        for number in range(lsu.channel_count[other]):
            at = (lsu.channel_first[other] + number) % CHANNEL
            if uncached and lsu.channel_line[other, at] < config.user_line:
                return True
            if lsu.channel_line[other, at] != line or not (store or lsu.channel_store[other, at]):
                continue
            for word in range(16):
                if bytes_ >> 4 * word & 15 and lsu.channel_bytes[other, at] >> 4 * word & 15:
                    return True
    return False


@inlined
def offer_head(m, head, line):
    """Offer a line of the queue's head; its load has no number yet."""
    lsu = m.lsu[0]
    code = m.code[lsu.waiting_code[head]]
    lsu.offer_warp, lsu.offer_register, lsu.offer_store = lsu.waiting_warp[head], code.register, code.store
    lsu.offer_first, lsu.offer_line, lsu.offer_bytes = line == 0, lsu.line[line], lsu.line_bytes[line]
    lsu.offer_pc, lsu.offer_address = lsu.waiting_pc[head], lsu.line_address[line]
    lsu.offer_row, lsu.offer_lanes = lsu.waiting_row[head], lsu.line_lanes[line]


@inlined
def offer_chosen(lsu):
    """Offer the oldest access past the coalescer (``lookup_latency`` 2); return whether there is one."""
    lsu.offer_warp, lsu.offer_register, lsu.offer_store = (
        lsu.chosen_warp[0], lsu.chosen_register[0], lsu.chosen_store[0])
    lsu.offer_first, lsu.offer_line, lsu.offer_bytes = lsu.chosen_first[0], lsu.chosen_line[0], lsu.chosen_bytes[0]
    lsu.offer_load, lsu.offer_pc, lsu.offer_address = lsu.chosen_load[0], lsu.chosen_pc[0], lsu.chosen_address[0]
    lsu.offer_row, lsu.offer_lanes = lsu.chosen_row[0], lsu.chosen_lanes[0]
    return lsu.chosen_count > 0


@inlined
def choose(m, head, line, taken):
    """Remove the offered access if it is ``taken``, and add a line of the queue's head if there was space for it.

    A store counts as one of its warp's in the queue until it is taken. Returns whether the line was added.
    """
    lsu = m.lsu[0]
    full = lsu.chosen_count == CHOSEN
    if taken:
        if lsu.chosen_store[0]:
            lsu.waiting_stores[lsu.chosen_warp[0]] -= 1
        lsu.chosen_count -= 1
        lsu.chosen_warp[0], lsu.chosen_register[0] = lsu.chosen_warp[1], lsu.chosen_register[1]
        lsu.chosen_store[0], lsu.chosen_first[0] = lsu.chosen_store[1], lsu.chosen_first[1]
        lsu.chosen_line[0], lsu.chosen_bytes[0] = lsu.chosen_line[1], lsu.chosen_bytes[1]
        lsu.chosen_load[0], lsu.chosen_pc[0] = lsu.chosen_load[1], lsu.chosen_pc[1]
        lsu.chosen_address[0], lsu.chosen_row[0] = lsu.chosen_address[1], lsu.chosen_row[1]
        lsu.chosen_lanes[0] = lsu.chosen_lanes[1]
    if full or not head_there(lsu) or lsu.line_next == lsu.lines:
        return False
    at = lsu.chosen_count
    offer_head(m, head, line)
    lsu.chosen_warp[at], lsu.chosen_register[at] = lsu.offer_warp, lsu.offer_register
    lsu.chosen_store[at], lsu.chosen_first[at] = lsu.offer_store, lsu.offer_first
    lsu.chosen_line[at], lsu.chosen_bytes[at] = lsu.offer_line, lsu.offer_bytes
    lsu.chosen_pc[at], lsu.chosen_address[at] = lsu.offer_pc, lsu.offer_address
    lsu.chosen_row[at], lsu.chosen_lanes[at] = lsu.offer_row, lsu.offer_lanes
    if lsu.offer_store:
        lsu.waiting_stores[lsu.offer_warp] += 1
    lsu.chosen_count += 1
    return True


@inlined
def put(lsu):
    """Put the offered access into its warp's channel, and return its place there."""
    w = lsu.offer_warp
    at = (lsu.channel_first[w] + lsu.channel_count[w]) % CHANNEL
    lsu.channel_count[w] += 1
    lsu.channelled += 1
    lsu.channel_stores[w] += lsu.offer_store
    lsu.channel_register[w, at], lsu.channel_store[w, at] = lsu.offer_register, lsu.offer_store
    lsu.channel_begins[w, at], lsu.channel_line[w, at] = lsu.offer_first, lsu.offer_line
    lsu.channel_bytes[w, at], lsu.channel_pc[w, at] = lsu.offer_bytes, lsu.offer_pc
    lsu.channel_address[w, at], lsu.channel_row[w, at] = lsu.offer_address, lsu.offer_row
    lsu.channel_lanes[w, at], lsu.channel_load[w, at] = lsu.offer_lanes, lsu.offer_load
    return at


@inlined
def remove(lsu, w):
    """Remove the oldest access from a warp's channel."""
    at = lsu.channel_first[w]
    lsu.channel_first[w] = (at + 1) % CHANNEL
    lsu.channel_count[w] -= 1
    lsu.channelled -= 1
    lsu.channel_stores[w] -= lsu.channel_store[w, at]


@inlined
def take_offer(m):
    """Move the offered access to the lookup."""
    config, lsu = m.config[0], m.lsu[0]
    lsu.held_warp, lsu.held_register, lsu.held_store = lsu.offer_warp, lsu.offer_register, lsu.offer_store
    lsu.held_first, lsu.held_line, lsu.held_bytes = lsu.offer_first, lsu.offer_line, lsu.offer_bytes
    lsu.held_set = l1.set_of(config, lsu.held_line)
    lsu.held_load, lsu.held_pc, lsu.held_address = lsu.offer_load, lsu.offer_pc, lsu.offer_address
    lsu.held_row, lsu.held_lanes, lsu.held_again = lsu.offer_row, lsu.offer_lanes, 0


@inlined
def take_from(m, w, at):
    """Copy the access at place ``at`` of a warp's channel to the lookup."""
    config, lsu = m.config[0], m.lsu[0]
    lsu.held_warp, lsu.held_register = w, lsu.channel_register[w, at]
    lsu.held_store, lsu.held_first = lsu.channel_store[w, at], lsu.channel_begins[w, at]
    lsu.held_line, lsu.held_bytes = lsu.channel_line[w, at], lsu.channel_bytes[w, at]
    lsu.held_load, lsu.held_pc = lsu.channel_load[w, at], lsu.channel_pc[w, at]
    lsu.held_address, lsu.held_row = lsu.channel_address[w, at], lsu.channel_row[w, at]
    lsu.held_lanes, lsu.held_set = lsu.channel_lanes[w, at], l1.set_of(config, lsu.held_line)
    lsu.held_again = 0


@inlined
def enter(m, offered):
    """Remove a finished access from its channel, and take the next one if it is ``offered``.

    Returns the place of the latter in its warp's channel, or NONE.
    """
    config, lsu = m.config[0], m.lsu[0]
    senior = lsu.senior
    done = lsu.held and lsu.goes
    if lsu.channel_count[senior] == 0 or (done and lsu.held_warp == senior):
        lsu.senior, lsu.passes = (senior + 1) % config.warps, 0
    elif done and lsu.passes < PASSES:
        lsu.passes += 1
    if done:
        remove(lsu, lsu.held_warp)
    if not offered:
        return NONE
    w = lsu.offer_warp
    if lsu.channel_count[w] == config.channels or _conflicts(m, w, lsu.offer_line, lsu.offer_bytes, lsu.offer_store):
        return NONE
    return put(lsu)


@inlined
def offer(m, limited, senior):
    """Choose the access for the next lookup: another warp's in turn, else the same one, else the same warp's next.

    ``limited``: the ``senior`` has been overtaken as often as allowed, so no other warp's access may be chosen.
    """
    config, lsu = m.config[0], m.lsu[0]
    current, done = lsu.held_warp if lsu.held else NONE, lsu.held and lsu.goes
    if current != NONE and not done and (lsu.stays or lsu.wait in (Wait.FILL, Wait.WRITEBACK)):
        return
    chosen = NONE
    for number in range(1, config.warps + 1):
        w = (lsu.turn + number) % config.warps
        if w != current and lsu.channel_count[w] > 0 and (not limited or w == senior):
            chosen = w
            break
    if chosen == NONE and current != NONE and lsu.channel_count[current] > 0:
        chosen = current
    lsu.held = chosen != NONE
    if chosen == NONE:
        return
    lsu.turn = chosen
    if chosen == current and not done:
        return
    take_from(m, chosen, lsu.channel_first[chosen])
