"""The interconnect of a GPU and the mailbox to its memory model (docs/gpu.md, hdl/gpu/interconnect.py).

It accepts one request of an SM a cycle, and offers it to memory from the next cycle on. A response takes no cycle.
"""

from .compiled import inlined
from .records import RING, record

__all__ = [
    "FIXED_PRIORITY", "GPU_RING", "LINK", "MEMORY", "QUEUE", "ROUND_ROBIN", "TDM", "accept", "answer_of", "answered",
    "choose", "enqueue", "give", "leave", "queues", "send", "tick",
]

#: Places for requests and for answers between the interconnect and a memory model: more than the number of tags.
GPU_RING = 8192
ROUND_ROBIN, FIXED_PRIORITY, TDM = range(3)


#: Parameters: the number of SMs, the way in which one is chosen, the cycles of a slot, the bits of an SM's own tag, the
#: cycle in which the run is cut off, and the kind of L2. State: the request that is offered to memory; the SMs after
#: the one served last, as a set; the slot's SM, and how long it has been. ``presented``: the last cycle in which an
#: answer of memory was looked for. ``l2_accepted``: what a shared L2 offers is accepted in this cycle. ``asks``: the SM
#: for which the caller has something to do. ``owed``: the requests of load/store units that memory has not answered;
#: ``owed_writes``: the writes among all requests; ``reads``: those of an L2 since no warp can change any more, of which
#: the first ``most_loads`` may be for loads; ``deadlocked``: for how many cycles no warp of any SM could change any
#: more. ``finished``, ``ended``, ``deadlock``: how the run has stopped.
LINK = record(
    "sms kind slot_cycles tag_bits max_cycles l2 valid tag line write bytes later turn turn_cycles presented"
    " l2_accepted asks owed owed_writes reads most_loads deadlocked finished ended deadlock"
)

#: The mailbox (tb/mailbox.cpp), as the part of :data:`.records.PORT` with the same names. When an answer has been
#: taken, its ``answer_due`` is the cycle of that.
MEMORY = record(
    "cycle ready_from wake_cycle lookahead response_valid response_tag response_error response_code given taken answers"
    " answers_taken",
    request_cycle=GPU_RING, request_tag=GPU_RING, request_line=GPU_RING, request_write=GPU_RING,
    request_bytes=GPU_RING, answer_due=GPU_RING, answer_tag=GPU_RING, answer_error=GPU_RING, answer_code=GPU_RING,
    is_write=GPU_RING,
)

#: With a queue for each SM, the answers that wait for it, the oldest in ``first``.
QUEUE = record("first count", tag=RING, error=RING, code=RING)


@inlined
def queues(link):
    """Whether each SM has a queue for its answers."""
    return link.kind != FIXED_PRIORITY


@inlined
def enqueue(link, queue, tag, error, code):
    """Let an answer enter the queue of its SM."""
    mine = queue[tag >> link.tag_bits, 0]
    at = (mine.first + mine.count) % RING
    mine.count += 1
    mine.tag[at], mine.error[at], mine.code[at] = tag, error, code


@inlined
def answer_of(link, box, queue, i):
    """Return the answer that is offered to port ``i``: whether there is one, own tag, error and code."""
    if queues(link):
        at = queue.first
        there, tag, error, code = queue.count > 0, queue.tag[at], queue.error[at], queue.code[at]
    else:
        tag, error, code = box.response_tag, box.response_error, box.response_code
        there = box.response_valid != 0 and tag >> link.tag_bits == i
    return there, tag & (1 << link.tag_bits) - 1, error, code


@inlined
def leave(link, box, queue):
    """Remove the answer that a port has taken."""
    if queues(link):
        queue.first, queue.count = (queue.first + 1) % RING, queue.count - 1
    else:
        answered(link, box)


@inlined
def answered(link, box):
    """Memory's answer has been taken."""
    box.answer_due[(box.answers_taken - 1) % GPU_RING] = box.cycle
    box.response_valid = 0
    link.owed -= _counts(link, box.response_tag)
    link.owed_writes -= box.is_write[box.response_tag]


@inlined
def _counts(link, tag):
    """Whether a request counts for the detection of deadlocks: not of an I-cache. An L2 does not tell them apart."""
    return 1 if link.l2 else tag >> link.tag_bits - 1 & 1


@inlined
def send(link, box, cycle):
    """Give the request to memory if it is accepted; return whether a request of a port can be accepted."""
    if link.valid and cycle >= box.ready_from:
        give(link, box, cycle, link.tag, link.line, link.write, link.bytes)
        link.valid = 0
    return not link.valid


@inlined
def give(link, box, cycle, tag, line, write, bytes_):
    """Give a request to memory."""
    at = box.given % GPU_RING
    box.given += 1
    box.request_cycle[at], box.request_tag[at], box.request_line[at] = cycle, tag, line
    box.request_write[at], box.request_bytes[at] = write, bytes_
    link.owed += _counts(link, tag)
    box.is_write[tag] = write
    if write:
        link.owed_writes += 1
    elif link.l2:
        link.reads += 1


@inlined
def choose(link, asks):
    """Return the SM whose request may be accepted, as a set; ``asks``: the SMs that have one."""
    if link.kind == TDM:
        return 1 << link.turn
    if link.kind == ROUND_ROBIN and asks & link.later:
        asks &= link.later
    return asks & -asks


@inlined
def accept(link, i, tag, line, write, bytes_):
    """Take a request of port ``i``."""
    link.valid, link.tag, link.line, link.write, link.bytes = 1, tag | i << link.tag_bits, line, write, bytes_


@inlined
def tick(link, chosen, free):
    """End the cycle of the choice; ``free``: a request could be accepted."""
    if link.kind == ROUND_ROBIN and free and chosen:
        link.later = ~(chosen | chosen - 1)
    link.turn_cycles += 1
    if link.turn_cycles >= link.slot_cycles:
        link.turn_cycles, link.turn = 0, (link.turn + 1) % link.sms
