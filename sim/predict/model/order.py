"""The reordering unit: it takes accesses from the channels in list order (docs/memory.md, "Order from a list")."""

from metronome.hdl.config import FaultCause

from ...machine.events import NONE
from .channels import put, remove, take_from, take_offer
from .compiled import inlined
from .policies import lowest
from .records import AHEAD, BURST, LIST_WORDS

__all__ = ["asks", "busy", "give", "list_end", "room", "start", "stop", "tick"]

LOAD_ACCESS, UNEXPECTED, MISSING = (
    cause.value for cause in (FaultCause.LOAD_ACCESS, FaultCause.UNEXPECTED_ACCESS, FaultCause.MISSING_ACCESS)
)
PATIENCE = (1 << 16) - 1
#: Columns of a list: pc, whether it stores, warp, lines, and the line of memory that holds the entry.
PC, STORE, WARP, LINES, LINE = range(5)
#: Values of ``switch``.
BEGINS, ENDS = 1, 2


@inlined
def room(config, lsu, w):
    """Whether a load or store of a warp may be selected: its channel has room for one line per lane."""
    return lsu.channel_count[w] + lsu.claimed[w] + config.threads <= config.ordered


@inlined
def asks(lsu):
    """Whether the unit has a line of the list to request when the L1 is idle: there is room for its burst."""
    return bool(lsu.list_active) and not lsu.list_asked >> (lsu.list_tail | BURST - 1) & 1


@inlined
def busy(lsu):
    """Whether the unit has work left."""
    return asks(lsu) or lsu.list_asked & ~lsu.list_come or lsu.closing or lsu.order_fault


@inlined
def _entry(m):
    """Return the row of the next entry."""
    lsu = m.lsu[0]
    at = lsu.list_row + LIST_WORDS * lsu.list_lines + lsu.list_index
    return min(at, len(m.lists) - 1)


@inlined
def _ends(m, row):
    """Whether the entry in a row marks the end of a list."""
    return m.lists[row, PC] == 0 and m.lists[row, LINES] == 0


@inlined
def list_end(m):
    """Whether the next entry marks the end of the list."""
    return _ends(m, _entry(m))


@inlined
def _is_last(m, slot):
    """Whether the line in a slot contains an end, so that no later line is needed."""
    lsu = m.lsu[0]
    at, found = lsu.list_row + LIST_WORDS * (lsu.list_lines + (slot - lsu.list_head) % AHEAD), False
    for row in range(at, min(at + LIST_WORDS, len(m.lists))):
        found = found or _ends(m, row)
    return found


@inlined
def start(m, row):
    """Start the list at this row in the next cycle; the region begins in stage X."""
    m.lsu[0].switch, m.lsu[0].switch_row = BEGINS, row


@inlined
def stop(m):
    """End the list in the next cycle; the region ends in stage X."""
    m.lsu[0].switch = ENDS


@inlined
def give(m, offered):
    """Choose the access that enters the lookup; ``offered``: another one comes.

    Returns whether the latter is taken, and its place in its warp's channel: NONE if it enters the lookup at once.
    """
    config, lsu = m.config[0], m.lsu[0]
    ready = not lsu.held or lsu.goes
    lsu.gave = 0
    if ready:
        lsu.held = 0
    if not lsu.ordering:
        if not (offered and ready):
            return False, NONE
        lsu.held = 1
        take_offer(m)
        return True, NONE
    if lsu.closing:
        return False, NONE
    at, end = _entry(m), list_end(m)
    known = lsu.list_come >> lsu.list_head & 1 and not lsu.broken
    comes = lsu.offer_warp if offered else NONE
    whose = m.lists[at, WARP]
    if lsu.broken or end:
        there = 0
        for w in range(config.warps):
            there |= (lsu.channel_count[w] > 0) << w
        whose = lowest(there) if there else comes
    inside = whose != NONE and whose < config.warps and lsu.channel_count[whose] > 0
    present = inside or (offered and whose == comes)
    if known and not present and not end:
        lsu.absent = 1
    if present:
        first = lsu.channel_first[whose]
        if inside:
            pc, store = lsu.channel_pc[whose, first], lsu.channel_store[whose, first]
            begins = lsu.channel_begins[whose, first]
        else:
            pc, store, begins = lsu.offer_pc, lsu.offer_store, lsu.offer_first
        fits = not end and pc == m.lists[at, PC] and store == m.lists[at, STORE] and begins == (lsu.list_given == 0)
        bad = lsu.list_bad >> lsu.list_head & 1
        if known and not fits and not bad:
            _fault(m, UNEXPECTED, whose, pc, m.lists[at, PC])
        elif known and bad:
            _fault(m, LOAD_ACCESS, m.lists[at, WARP], m.lists[at, PC], _address(lsu))
        if ready and (lsu.broken or (known and fits and not bad)):
            lsu.held = lsu.gave = 1
            if inside:
                take_from(m, whose, first)
                remove(lsu, whose)
            else:
                take_offer(m)
            if known:
                lsu.list_given += 1
                if lsu.list_given == m.lists[at, LINES]:
                    lsu.list_given = 0
                    lsu.list_next = 1
    if not offered:
        return False, NONE
    if present and not inside and lsu.gave:
        return True, NONE
    return True, put(lsu)


@inlined
def _address(lsu):
    """Return the address of the next entry."""
    return (lsu.list_current << 6) + 8 * lsu.list_index


@inlined
def _fault(m, cause, w, pc, address):
    """Record a fault, which takes effect in the next cycle. A nonexistent warp's number is cut to the bits of one."""
    lsu, numbers = m.lsu[0], 2
    while numbers < m.config[0].warps:
        numbers *= 2
    w &= numbers - 1
    lsu.order_cause, lsu.order_warp, lsu.order_pc, lsu.order_address = cause, w, pc, address
    lsu.order_new = 1


@inlined
def tick(m, selects, requested, answer, error):
    """End the cycle.

    ``selects``: a warp is selected; ``requested``: memory takes the list's request; ``answer``: the slot of the list's
    line that memory delivers, or NONE.
    """
    lsu = m.lsu[0]
    known = lsu.list_come >> lsu.list_head & 1
    stops = lsu.closing and known and not (asks(lsu) or lsu.list_asked & ~lsu.list_come)
    at = _entry(m)
    end = list_end(m)
    bad = lsu.list_bad >> lsu.list_head & 1
    if not lsu.order_new and not lsu.broken:
        if lsu.closing and known and bad:
            _fault(m, LOAD_ACCESS, m.lists[at, WARP], m.lists[at, PC], _address(lsu))
        elif (stops and not end) or (lsu.absent and lsu.quiet == PATIENCE):
            _fault(m, MISSING, m.lists[at, WARP], m.lists[at, PC], _address(lsu))
    if selects or lsu.gave or not lsu.absent:
        lsu.quiet = 0
    elif lsu.quiet != PATIENCE:
        lsu.quiet += 1
    lsu.absent = 0
    # An offer that is not taken stays.
    offered = asks(lsu)
    if answer != NONE and (error or _is_last(m, answer)):
        lsu.list_over = 1
    if (lsu.broken or lsu.list_over) and (requested or not offered):
        lsu.list_active = 0
    if requested:
        lsu.list_asked |= 1 << lsu.list_tail
        lsu.list_tail = (lsu.list_tail + 1) % AHEAD
        lsu.list_line += 1
    if lsu.list_next:
        lsu.list_next = 0
        lsu.list_index += 1
        if lsu.list_index == LIST_WORDS:
            lsu.list_index = 0
            bit = 1 << lsu.list_head
            lsu.list_asked, lsu.list_come, lsu.list_bad = (
                lsu.list_asked & ~bit, lsu.list_come & ~bit, lsu.list_bad & ~bit
            )
            lsu.list_head = (lsu.list_head + 1) % AHEAD
            lsu.list_lines += 1
            lsu.list_current += 1
    if answer != NONE:
        lsu.list_come |= 1 << answer
        if error:
            lsu.list_bad |= 1 << answer
    _switch(m, stops)
    if lsu.order_new:
        lsu.broken = lsu.order_fault = 1
        lsu.order_new = 0
    elif not lsu.told:
        lsu.order_fault = 0


@inlined
def _switch(m, stops):
    """Begin or end a list."""
    lsu = m.lsu[0]
    switch, lsu.switch = lsu.switch, 0
    if switch == BEGINS or stops:
        lsu.list_asked = lsu.list_come = lsu.list_bad = lsu.list_tail = lsu.list_head = lsu.list_index = 0
        lsu.list_lines = lsu.list_over = 0
        lsu.list_active = switch == BEGINS
    if switch == BEGINS:
        lsu.ordering, lsu.closing = 1, 0
        lsu.list_row = lsu.switch_row
        lsu.used_place = NONE
        for place in range(len(m.dcache_line)):
            m.dcache_line[place] = NONE
        lsu.list_line = lsu.list_current = m.lists[lsu.switch_row, LINE]
    elif switch == ENDS and lsu.ordering and not lsu.broken:
        lsu.closing = 1
    elif stops:
        lsu.closing = lsu.ordering = 0
