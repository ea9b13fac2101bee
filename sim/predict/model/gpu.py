"""A GPU of several SMs, cycle by cycle (docs/gpu.md): the machine of each SM, the interconnect, and the barriers.

Each cycle has two halves. In the first, every SM computes what it offers at its memory port. Then the interconnect
accepts one of the requests. In the second half all SMs compute the rest.
"""

from typing import NamedTuple

import numpy as np

from ...machine.events import NONE
from . import dispatch, interconnect, l2, lsu, machine, observer, port
from .compiled import inlined, outer
from .records import RING, Machine

__all__ = ["Gpu", "advance_gpu", "sm_of"]


class Gpu(NamedTuple):
    """The state of a GPU."""

    #: LINK and MEMORY, of one element each.
    link: np.ndarray
    memory: np.ndarray
    #: QUEUE of each SM.
    queue: np.ndarray
    #: L2 of each part, or one that is not used; and the line, time of last use and code of each of its places.
    l2: np.ndarray
    l2_line: np.ndarray
    l2_used: np.ndarray
    l2_code: np.ndarray
    #: UNIT of the dispatch, of one element, which may not be used; and SM_DISPATCH of each SM.
    unit: np.ndarray
    dispatch: np.ndarray
    #: The machines of all SMs. Their arrays have the SMs as their first dimension, but for those that all SMs share:
    #: ``config``, ``code``, ``steps``, ``addresses``, ``shared`` and ``lists``.
    sms: Machine


@inlined
def sm_of(g, i):
    """Return the machine of an SM."""
    m = g.sms
    return Machine(
        m.config, m.front[i], m.issue[i], m.control[i], m.whole[i], m.lsu[i], m.port[i], m.observer[i], m.code, m.steps,
        m.first[i], m.known[i], m.addresses, m.shared, m.writers[i], m.icache_line[i], m.icache_code[i],
        m.icache_used[i], m.dcache_line[i], m.dcache_used[i], m.dcache_owner[i], m.lists, m.issued[i], m.events[i],
        m.choices[i], 0,
    )


@outer
def advance_gpu(g, start_pc):
    """Run from ``memory.cycle`` on until the caller has something to do; return why, as :func:`.machine.advance`.

    ``link.asks`` is the SM, if it is only one: with STORED and SERVE, every SM may have moved bytes.
    """
    link, box = g.link[0], g.memory[0]
    if box.cycle < 0:
        for i in range(link.sms):
            machine.reset(sm_of(g, i))
            g.sms.port[i, 0].cycle = 0
        for i in range(len(g.l2)):
            l2.reset(g.l2[i, 0], g.l2_line[i])
        box.cycle, link.presented = 0, NONE
    while True:
        result = _cycle(g, box.cycle, start_pc)
        if result in (machine.STEP, machine.VOLATILE, machine.RACE, machine.FINISHED, machine.CHOOSE):
            return result
        box.cycle += 1
        for i in range(link.sms):
            g.sms.observer[i, 0].begun = 0
            g.sms.port[i, 0].cycle = box.cycle
        if port.wants_service(box, box.cycle - 1):
            return machine.SERVE
        if result:
            return result


@inlined
def _cycle(g, cycle, start_pc):
    link, box = g.link[0], g.memory[0]
    if link.presented != cycle:
        # Once a cycle: a cycle may be begun again.
        port.present(box, cycle)
        _arrive(g)
        link.presented = cycle
    unit = g.unit[0]
    if unit.kind:
        dispatch.begin(unit, g.dispatch, link.sms)
    asks = faults = runs = 0
    for i in range(link.sms):
        _offer(g, i)
        m = sm_of(g, i)
        if unit.kind:
            dispatch.offer(g.dispatch[i, 0], m.port[0])
        reason = machine.first_half(m, cycle, start_pc)
        if reason:
            link.asks = i
            return reason
        runs |= machine.busy(m) << i
        faults |= m.whole[0].faulty
        asks |= _asks(g, i, m) << i
    # The request that goes from the interconnect into a shared L2 in this cycle.
    goes_on = link.l2 == l2.SHARED and link.valid and l2.ready(g.l2[0, 0])
    line, write, tag, bytes_ = link.line, link.write, link.tag, link.bytes
    sent, free = _send(g, cycle, goes_on)
    if (cycle > 0 and not runs) or link.deadlocked >= observer.DEADLOCK_CYCLES or cycle >= link.max_cycles:
        link.finished, link.ended = 1, cycle > 0 and not runs
        link.deadlock = link.deadlocked >= observer.DEADLOCK_CYCLES
        for i in range(link.sms):
            machine.log(sm_of(g, i), cycle)
        return machine.FINISHED
    chosen = interconnect.choose(link, asks)
    released = _released(g, link.sms)
    result = 0
    for i in range(link.sms):
        granted = l2.ready(g.l2[i, 0]) if link.l2 == l2.DIVIDED else free and chosen >> i & 1
        result = _finish(g, i, cycle, runs >> i & 1, granted) or result
    if link.l2 == l2.SHARED:
        _tick_shared(g, sent)
        if goes_on:
            l2.push(g.l2[0, 0], line, write, tag, bytes_)
    elif link.l2 == l2.DIVIDED:
        for i in range(link.sms):
            _tick_part(g, i, free and chosen >> i & 1)
    if link.l2 and g.sms.config[0].ring and _moves(g):
        result = machine.STORED
    if unit.kind and dispatch.tick_unit(unit, g.dispatch, link.sms):
        result = machine.STORED
    interconnect.tick(link, chosen, free)
    for i in range(link.sms):
        whole = g.sms.whole[i, 0]
        whole.outside_over = released >> i & 1
        # A fault of one SM stops the others one cycle later.
        whole.halted = whole.halted or faults
    _watch(g, cycle)
    return result


@inlined
def _arrive(g):
    """Let the answer of this cycle enter the queue of its SM, if there are queues. They always have room."""
    link, box = g.link[0], g.memory[0]
    link.l2_accepted = 0
    if not interconnect.queues(link):
        return
    if link.l2 == l2.SHARED:
        part = g.l2[0, 0]
        if l2.answers(part):
            interconnect.enqueue(link, g.queue, l2.answer_tag(part), l2.answer_error(part), l2.answer_code(part))
            link.l2_accepted = 1
    elif box.response_valid:
        interconnect.enqueue(link, g.queue, box.response_tag, box.response_error, box.response_code)
        interconnect.answered(link, box)


@inlined
def _offer(g, i):
    """Offer its answer to an SM, if there is one."""
    link, own = g.link[0], g.sms.port[i, 0]
    own.response_valid = 0
    if link.l2 == l2.DIVIDED or (link.l2 == l2.SHARED and not interconnect.queues(link)):
        part = g.l2[i if link.l2 == l2.DIVIDED else 0, 0]
        if l2.answers(part):
            tag = l2.answer_tag(part)
            own.response_valid = link.l2 == l2.DIVIDED or tag >> link.tag_bits == i
            own.response_tag = tag & (1 << link.tag_bits) - 1
            own.response_error, own.response_code = l2.answer_error(part), l2.answer_code(part)
        return
    there, tag, error, code = interconnect.answer_of(link, g.memory[0], g.queue[i, 0], i)
    own.response_valid, own.response_tag, own.response_error, own.response_code = there, tag, error, code


@inlined
def _asks(g, i, m):
    """Whether the interconnect is offered a request of an SM, or of its part of the L2."""
    if g.link[0].l2 == l2.DIVIDED:
        return bool(g.l2[i, 0].sent_valid)
    asks = port.asks(m, m.front[m.port[0].fetch_turn].offered, machine.lsu_asks(m))
    return asks and not (g.unit[0].kind and _takes(g, m))


@inlined
def _takes(g, m):
    """Whether an SM offers a read that the dispatch unit answers."""
    fetch = m.front[m.port[0].fetch_turn].offered
    return dispatch.takes(g.unit[0], m, fetch, machine.lsu_asks(m), lsu.offers_store(m.lsu[0]))


@inlined
def _send(g, cycle, goes_on):
    """Give a request to memory if it accepts one.

    Return whether a shared L2 has sent one, and whether the interconnect can accept one of an SM. ``goes_on``: the
    request of the interconnect enters the shared L2.
    """
    link, box = g.link[0], g.memory[0]
    if link.l2 != l2.SHARED:
        return False, interconnect.send(link, box, cycle)
    part, ready = g.l2[0, 0], cycle >= box.ready_from
    sent = part.sent_valid and ready
    if sent:
        number = part.sent_number
        interconnect.give(link, box, cycle, number, part.by_line[number], part.by_write[number], part.by_bytes[number])
    if goes_on:
        link.valid = 0
    return sent, not link.valid


@inlined
def _finish(g, i, cycle, runs, granted):
    """Compute the second half of an SM's cycle.

    ``runs``: it is busy; ``granted``: its request is accepted, if it has one that goes to memory.
    """
    link, unit, m = g.link[0], g.unit[0], sm_of(g, i)
    own, takes = m.port[0], unit.kind and _takes(g, m)
    if takes:
        granted = dispatch.accepts(g.dispatch[i, 0])
    own.ready_from = cycle if granted else cycle + 1
    turn = own.fetch_turn
    taken = port.accept(m, cycle, m.front[turn].offered, machine.lsu_asks(m), lsu.offers_store(m.lsu[0]))
    if own.accepted != NONE and takes:
        dispatch.take(unit, g.dispatch[i, 0], own.accepted, link.sms)
    elif own.accepted != NONE:
        _pass_on(g, i, m)
    result = machine.second_half(m, cycle, runs, turn, taken)
    from_memory = _takes_answer(g, i)
    if from_memory and link.l2 == l2.SHARED and not interconnect.queues(link):
        link.l2_accepted = 1
    elif from_memory and link.l2 != l2.DIVIDED:
        interconnect.leave(link, g.memory[0], g.queue[i, 0])
    if unit.kind:
        dispatch.tick(g.dispatch[i, 0], own.answer_taken)
    return result


@inlined
def _pass_on(g, i, m):
    """Pass a request of an SM that was accepted on to memory's side; with a divided L2 it enters its part later."""
    link, own = g.link[0], m.port[0]
    at = (own.given - 1) % RING
    line, write, bytes_ = own.request_line[at], own.request_write[at], own.request_bytes[at]
    if link.l2 != l2.DIVIDED:
        interconnect.accept(link, i, own.accepted, line, write, bytes_)
    if g.unit[0].kind:
        dispatch.see(g.unit[0], i, line, write, bytes_, own.accepted & m.config[0].kind_bit - 1)


@inlined
def _takes_answer(g, i):
    """Whether an SM has taken the answer that memory's side offers to it."""
    return g.sms.port[i, 0].answer_taken and not (g.unit[0].kind and g.dispatch[i, 0].first)


@inlined
def _tick_shared(g, sent):
    """End the cycle of a shared L2."""
    link, box, part = g.link[0], g.memory[0], g.l2[0, 0]
    answer = NONE
    if box.response_valid and l2.takes_answer(part, link.l2_accepted):
        answer = box.response_tag
        interconnect.answered(link, box)
    l2.tick(
        part, g.l2_line[0], g.l2_used[0], g.l2_code[0], sent, link.l2_accepted, answer, box.response_error,
        box.response_code, False,
    )


@inlined
def _tick_part(g, i, chosen):
    """End the cycle of an SM's part of a divided L2; ``chosen``: its request is accepted, if it has one."""
    link, part, own = g.link[0], g.l2[i, 0], g.sms.port[i, 0]
    sent = chosen and part.sent_valid
    if sent:
        number = part.sent_number
        interconnect.accept(link, i, number, part.by_line[number], part.by_write[number], part.by_bytes[number])
    there, tag, error, code = interconnect.answer_of(link, g.memory[0], g.queue[i, 0], i)
    answer = NONE
    taken = _takes_answer(g, i)
    if there and l2.takes_answer(part, taken):
        answer = tag
        interconnect.leave(link, g.memory[0], g.queue[i, 0])
    forget = g.sms.lsu[i, 0].emptied or g.sms.front[i, 0].invalidate
    l2.tick(
        part, g.l2_line[i], g.l2_used[i], g.l2_code[i], sent, taken, answer, error, code, forget,
    )
    if own.accepted != NONE and not (g.unit[0].kind and g.dispatch[i, 0].taken):
        at = (own.given - 1) % RING
        l2.push(part, own.request_line[at], own.request_write[at], own.accepted, own.request_bytes[at])


@inlined
def _moves(g):
    """Whether bytes have moved in the L2."""
    for i in range(len(g.l2)):
        part = g.l2[i, 0]
        if (
            part.moved_hit != NONE or part.moved_write != NONE or part.moved_in != NONE
            or part.moved_answer != NONE or part.moved_accept != NONE
        ):
            return True
    return False


@inlined
def _released(g, sms):
    """Return the SMs whose barrier is complete: they are as many as each of them has asked for."""
    arrived = 0
    for i in range(sms):
        whole = g.sms.whole[i, 0]
        there = whole.outside and not whole.active & ~whole.outside and not whole.outside_over
        arrived |= (there and lsu.idle(g.sms.lsu[i, 0])) << i
    released = 0
    for i in range(sms):
        if arrived >> i & 1:
            mine, here, agree = g.sms.whole[i, 0], 0, True
            for j in range(sms):
                other = g.sms.whole[j, 0]
                if arrived >> j & 1 and other.outside_number == mine.outside_number:
                    here += 1
                    agree = agree and other.outside_count == mine.outside_count
            released |= (agree and here == mine.outside_count) << i
    return released


@inlined
def _watch(g, cycle):
    """Count the cycles in which no warp of any SM can change any more, and memory owes nothing (tb/gpu_top.sv)."""
    link = g.link[0]
    stuck = moves = False
    for i in range(link.sms):
        stuck = stuck or g.sms.observer[i, 0].stuck
        moves = moves or g.sms.observer[i, 0].moves
    if not stuck or moves:
        link.reads = 0
    waits = link.owed_writes if link.reads > link.most_loads else link.owed
    if not stuck or moves or waits:
        link.deadlocked = 0
    elif cycle >= g.memory[0].ready_from:
        link.deadlocked += 1
