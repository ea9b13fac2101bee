"""Channels: each warp's line accesses, between the coalescer and the lookup (docs/memory.md, "Channels")."""

from ...machine.events import NONE, Wait
from . import l1
from .compiled import inlined

__all__ = ["enter", "offer", "put", "remove", "take_from", "take_head"]

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
            at = (lsu.channel_first[other] + number) % config.channels
            if uncached and lsu.channel_line[other, at] < config.user_line:
                return True
            if lsu.channel_line[other, at] != line or not (store or lsu.channel_store[other, at]):
                continue
            for word in range(16):
                if bytes_ >> 4 * word & 15 and lsu.channel_bytes[other, at] >> 4 * word & 15:
                    return True
    return False


@inlined
def put(m, head, line, depth):
    """Put a line of the queue's head into its warp's channel of ``depth`` places, and return its place there."""
    lsu = m.lsu[0]
    w, code = lsu.waiting_warp[head], m.code[lsu.waiting_code[head]]
    at = (lsu.channel_first[w] + lsu.channel_count[w]) % depth
    lsu.channel_count[w] += 1
    lsu.channelled += 1
    lsu.channel_stores[w] += code.store
    lsu.channel_register[w, at], lsu.channel_store[w, at] = code.register, code.store
    lsu.channel_begins[w, at], lsu.channel_line[w, at] = line == 0, lsu.line[line]
    lsu.channel_bytes[w, at], lsu.channel_pc[w, at] = lsu.line_bytes[line], lsu.waiting_pc[head]
    lsu.channel_address[w, at], lsu.channel_row[w, at] = lsu.line_address[line], lsu.waiting_row[head]
    lsu.channel_lanes[w, at] = lsu.line_lanes[line]
    return at


@inlined
def remove(lsu, w, depth):
    """Remove the oldest access from a warp's channel."""
    at = lsu.channel_first[w]
    lsu.channel_first[w] = (at + 1) % depth
    lsu.channel_count[w] -= 1
    lsu.channelled -= 1
    lsu.channel_stores[w] -= lsu.channel_store[w, at]


@inlined
def take_head(m, head, line):
    """Move a line of the queue's head to the lookup; its load has no number yet."""
    config, lsu = m.config[0], m.lsu[0]
    code = m.code[lsu.waiting_code[head]]
    lsu.held_warp, lsu.held_register, lsu.held_store = lsu.waiting_warp[head], code.register, code.store
    lsu.held_first, lsu.held_line, lsu.held_bytes = line == 0, lsu.line[line], lsu.line_bytes[line]
    lsu.held_set = l1.set_of(config, lsu.held_line)
    lsu.held_pc, lsu.held_address = lsu.waiting_pc[head], lsu.line_address[line]
    lsu.held_row, lsu.held_lanes = lsu.waiting_row[head], lsu.line_lanes[line]


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


@inlined
def enter(m, offered):
    """Remove a finished access from its channel, and take the head's next line if it is ``offered``.

    Returns the line's place in its warp's channel, or NONE.
    """
    config, lsu = m.config[0], m.lsu[0]
    senior = lsu.senior
    done = lsu.held and lsu.goes
    if lsu.channel_count[senior] == 0 or (done and lsu.held_warp == senior):
        lsu.senior, lsu.passes = (senior + 1) % config.warps, 0
    elif done and lsu.passes < PASSES:
        lsu.passes += 1
    if done:
        remove(lsu, lsu.held_warp, config.channels)
    if not offered:
        return NONE
    head, line = lsu.first, lsu.line_next
    w, code = lsu.waiting_warp[head], m.code[lsu.waiting_code[head]]
    if lsu.channel_count[w] == config.channels or _conflicts(m, w, lsu.line[line], lsu.line_bytes[line], code.store):
        return NONE
    return put(m, head, line, config.channels)


@inlined
def offer(m, limited, senior):
    """Choose the access for the next lookup: another warp's in turn, else the same one, else the same warp's next.

    ``limited``: the ``senior`` has been overtaken as often as allowed, so no other warp's access may be chosen.
    """
    config, lsu = m.config[0], m.lsu[0]
    current, done = lsu.held_warp if lsu.held else NONE, lsu.held and lsu.goes
    if current != NONE and not done and lsu.wait in (Wait.FILL, Wait.WRITEBACK):
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
