"""The L2 of a GPU, or a part of it, cycle by cycle (docs/gpu.md, "The L2").

All decisions of a cycle depend on the state at its start, but for what others accept in it; :func:`tick` ends it.
"""

from ...machine.events import NONE
from .compiled import inlined
from .records import record
from .search import hashed, least_recently_used

__all__ = [
    "DIVIDED", "L2", "NO_L2", "SHARED", "answer_code", "answer_error", "answer_tag", "answers", "push", "ready",
    "reset", "takes_answer", "tick",
]

NO_L2, SHARED, DIVIDED = range(3)
#: Requests in front of the lookup; the most requests that wait for memory.
QUEUE, ENTRIES = 2, 64


#: Parameters: ``sets``, a power of two, and ``bits`` of their numbers; ``ways``; ``requests``: entries; the first line
#: that may be cached. State: the queue (``waiting`` of ``line``, ``write``, ``tag``, ``bytes``); the entries (``by_``:
#: a fixed number of places, free if ``by_leader`` is NONE, else the entry that was sent for the line); the request in
#: front of memory (``sent_``); memory's answer in its register (``fill_``), and that of a hit. ``used``: the place of a
#: hit in the last cycle. ``moved_``: what has happened in the cycle, for those who follow the bytes. The counters.
L2 = record(
    "sets bits ways requests user_line waiting sent_valid sent_number"
    " fill_valid fill_number fill_first fill_fresh fill_error fill_keeps fill_code"
    " hit_valid hit_tag hit_stays hit_code used stamp"
    " moved_hit moved_write moved_tag moved_in moved_answer moved_accept"
    " reads hits merged writes",
    line=QUEUE, write=QUEUE, tag=QUEUE, bytes=QUEUE,
    by_leader=ENTRIES, by_line=ENTRIES, by_write=ENTRIES, by_tag=ENTRIES, by_bytes=ENTRIES, by_keeps=ENTRIES,
    by_open=ENTRIES,
)


@inlined
def reset(part, lines):
    """Empty it."""
    for number in range(ENTRIES):
        part.by_leader[number] = NONE
    for place in range(len(lines)):
        lines[place] = NONE
    part.used = NONE


@inlined
def ready(part):
    """Whether a request is accepted in this cycle."""
    return part.waiting < QUEUE


@inlined
def push(part, line, write, tag, bytes_):
    """Append a request that is accepted, at the end of the cycle."""
    at = part.waiting
    part.line[at], part.write[at], part.tag[at], part.bytes[at] = line, write, tag, bytes_
    part.waiting += 1


@inlined
def _gives_hit(part):
    return part.hit_valid and (part.hit_stays or not part.fill_valid)


@inlined
def _next(part):
    """Return the entry that is answered next from the register of memory's answer."""
    if part.fill_first:
        return part.fill_number
    for number in range(part.requests):
        if part.by_leader[number] == part.fill_number and number != part.fill_number:
            return number
    return NONE


@inlined
def _is_last(part):
    """Whether only one request still waits for memory's answer."""
    count = part.fill_first
    for number in range(part.requests):
        count += part.by_leader[number] == part.fill_number and number != part.fill_number
    return count == 1


@inlined
def answers(part):
    """Whether an answer is offered in this cycle."""
    return part.hit_valid or part.fill_valid


@inlined
def answer_tag(part):
    """Return the tag of the answer that is offered."""
    return part.hit_tag if _gives_hit(part) else part.by_tag[_next(part)]


@inlined
def answer_error(part):
    """Return whether the answer that is offered is an error."""
    return 0 if _gives_hit(part) else part.fill_error


@inlined
def answer_code(part):
    """Return the code of the line that is offered."""
    return part.hit_code if _gives_hit(part) else part.fill_code


@inlined
def takes_answer(part, accepted):
    """Whether memory's answer is taken; ``accepted``: the answer that is offered is accepted in this cycle."""
    return not part.fill_valid or (accepted and not _gives_hit(part) and _is_last(part))


@inlined
def _place_of(part, lines, line):
    first = hashed(line, part.sets, part.bits) * part.ways
    for place in range(first, first + part.ways):
        if lines[place] == line:
            return place
    return NONE


@inlined
def tick(part, lines, used, codes, sent, accepted, answer, error, code, forget):
    """End the cycle.

    ``sent``: memory's side takes the request that is offered; ``accepted``: the answer that is offered is accepted;
    ``answer``: the number of memory's answer that is taken, or NONE, with its ``error`` and ``code``; ``forget``: the
    cache is emptied.
    """
    part.moved_hit = part.moved_write = part.moved_in = part.moved_answer = part.moved_accept = NONE
    installs = part.fill_valid and part.fill_fresh and part.fill_keeps and not part.fill_error
    gives_hit = _gives_hit(part)
    place, leader, goes = _look_up(part, lines, installs, sent, accepted, gives_hit)
    filled = part.by_line[part.fill_number]
    victim = NONE
    if installs:
        victim = least_recently_used(lines, used, hashed(filled, part.sets, part.bits) * part.ways, part.ways)
    if part.used != NONE:
        part.stamp += 1
        used[part.used] = part.stamp
    part.used = place if goes else NONE
    hit_code = codes[place] if place != NONE else 0
    if installs:
        part.stamp += 1
        lines[victim], used[victim], codes[victim] = filled, part.stamp, part.fill_code
        part.moved_in = victim
    if sent:
        part.sent_valid = 0
    # The entries that become free count as taken in this cycle.
    freed, also_freed = _pass_on(part, accepted, gives_hit)
    if goes:
        _go(part, place, leader, hit_code)
    if freed != NONE:
        part.by_leader[freed] = NONE
    if also_freed != NONE:
        part.by_leader[also_freed] = NONE
    if answer != NONE:
        part.fill_valid = part.fill_first = part.fill_fresh = 1
        part.fill_number, part.fill_error, part.fill_code = answer, error, code
        part.fill_keeps = part.by_keeps[answer] and not forget
        part.by_open[answer] = 0
        part.moved_accept = answer
    if forget:
        for at in range(len(lines)):
            lines[at] = NONE
        for number in range(part.requests):
            part.by_keeps[number] = 0


@inlined
def _look_up(part, lines, installs, sent, accepted, gives_hit):
    """Return the place of the line in the lookup, the entry that it joins, both or NONE, and whether it goes."""
    if not part.waiting:
        return NONE, NONE, False
    line, write = part.line[0], part.write[0]
    place = _place_of(part, lines, line)
    filled = part.by_line[part.fill_number]
    if installs and (write or hashed(filled, part.sets, part.bits) == hashed(line, part.sets, part.bits)):
        return place, NONE, False
    if not write and place != NONE:
        return place, NONE, not part.hit_valid or (gives_hit and accepted)
    leader, blocked, free = NONE, False, False
    for number in range(part.requests):
        if part.by_leader[number] == NONE:
            free = True
        elif part.by_leader[number] == number and part.by_open[number] and part.by_line[number] == line:
            if part.by_keeps[number] and not write and leader == NONE:
                leader = number
            blocked = blocked or write or part.by_write[number]
    if not free:
        return place, NONE, False
    if leader != NONE:
        return place, leader, True
    return place, NONE, not blocked and (sent or not part.sent_valid)


@inlined
def _pass_on(part, accepted, gives_hit):
    """End the cycle of the answer that is offered; return the entries that become free, or NONE."""
    part.hit_stays = gives_hit and not accepted
    freed = also_freed = NONE
    if gives_hit:
        if accepted:
            part.hit_valid = 0
    elif part.fill_valid and accepted:
        number = _next(part)
        part.moved_answer = part.by_tag[number]
        if number != part.fill_number:
            freed = number
        last = _is_last(part)
        part.fill_first = 0
        if last:
            also_freed, part.fill_valid = part.fill_number, 0
    part.fill_fresh = 0
    return freed, also_freed


@inlined
def _go(part, place, leader, code):
    """Let the request in the lookup go: as a hit, to the entry that it joins, or to memory."""
    line, write, tag = part.line[0], part.write[0], part.tag[0]
    part.writes += write
    part.reads += not write
    if write:
        part.moved_write, part.moved_tag = place, tag
    if place != NONE and not write:
        part.hits += 1
        part.hit_valid, part.hit_tag, part.hit_code = 1, tag, code
        part.moved_hit, part.moved_tag = place, tag
    else:
        number = 0
        while part.by_leader[number] != NONE:
            number += 1
        part.merged += leader != NONE
        part.by_leader[number] = number if leader == NONE else leader
        part.by_line[number], part.by_write[number], part.by_tag[number] = line, write, tag
        part.by_keeps[number] = line >= part.user_line and not write
        part.by_open[number], part.by_bytes[number] = 1, part.bytes[0]
        if leader == NONE:
            part.sent_valid, part.sent_number = 1, number
    for at in range(QUEUE - 1):
        part.line[at], part.write[at] = part.line[at + 1], part.write[at + 1]
        part.tag[at], part.bytes[at] = part.tag[at + 1], part.bytes[at + 1]
    part.waiting -= 1
