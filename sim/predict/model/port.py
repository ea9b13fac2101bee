"""The memory port: the arbiter, and the mailbox to a memory model (docs/design.md section 4, memory.md).

The I-cache has priority over the LSU, but an offered request stays until memory takes it. Requests and answers are
buffered in rings, because the memory model is plain Python and is called only when necessary.
"""

from ...machine.events import NONE
from . import order
from .compiled import inlined
from .records import RING

__all__ = ["accept", "asks", "present", "ready", "wants_service"]


@inlined
def ready(port, cycle):
    """Whether memory accepts a request in this cycle."""
    return cycle >= port.ready_from


@inlined
def present(port, cycle):
    """Offer an answer that is due, until it is taken; ``port``: a PORT, or the MEMORY of a GPU."""
    if not port.response_valid and port.answers != port.answers_taken:
        at = port.answers_taken % len(port.answer_tag)
        if port.answer_due[at] <= cycle:
            port.answers_taken += 1
            port.response_valid, port.response_tag = 1, port.answer_tag[at]
            port.response_error, port.response_code = port.answer_error[at], port.answer_code[at]


@inlined
def asks(m, fetch, lsu_asks):
    """Whether a request is offered to memory; the parameters are those of :func:`accept`."""
    return fetch != NONE or lsu_asks or order.asks(m.lsu[0])


@inlined
def accept(m, cycle, fetch, lsu_asks, store):
    """Return whether memory takes a request of each source: (the I-cache, the L1, the list of accesses).

    ``fetch``: the MSHR that the I-cache of the partition ``fetch_turn`` offers, or NONE; ``lsu_asks``: the L1 offers a
    line; ``store``: a line of stores. The list is read when the L1 offers nothing.
    """
    config, port, lsu = m.config[0], m.port[0], m.lsu[0]
    accepts = ready(port, cycle)
    use_lsu = port.held or fetch == NONE
    turn = port.fetch_turn
    if fetch == NONE or (accepts and not use_lsu):
        port.fetch_turn = (turn + 1) % config.schedulers
    use_list = (lsu.list_held or not lsu_asks) and order.asks(lsu)
    lsu.list_held = use_list and not (use_lsu and accepts)
    lsu_asks = lsu_asks or use_list
    port.held = use_lsu and lsu_asks and not accepts
    port.accepted = NONE
    if not accepts or (use_lsu and not lsu_asks):
        return False, False, False
    if not use_lsu:
        _request(port, cycle, fetch * config.schedulers + turn, m.front[turn].mshr_line[fetch], 0, 0)
    elif use_list:
        _request(port, cycle, config.source_bit | config.list_bit | lsu.list_tail, lsu.list_line, 0, 0)
    elif store:
        tag = config.source_bit | config.kind_bit | lsu.request
        _request(port, cycle, tag, lsu.entry_line[lsu.request], 1, lsu.entry_bytes[lsu.request])
    else:
        number = lsu.unsent[lsu.unsent_first]
        _request(port, cycle, config.source_bit | number, lsu.miss_line[number], 0, 0)
    return not use_lsu, use_lsu and not use_list, use_lsu and use_list


@inlined
def _request(port, cycle, tag, line, write, bytes_):
    at = port.given % RING
    port.given += 1
    port.request_cycle[at], port.request_tag[at], port.request_line[at] = cycle, tag, line
    port.request_write[at], port.request_bytes[at] = write, bytes_
    port.accepted = tag


@inlined
def wants_service(port, cycle):
    """Whether the memory model must be called before the next cycle (tb/mailbox.cpp does the same)."""
    if cycle >= port.wake_cycle:
        return True
    oldest = port.request_cycle[port.taken % len(port.request_cycle)]
    return port.given != port.taken and cycle - oldest + 1 >= port.lookahead
