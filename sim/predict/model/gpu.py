"""A GPU of several SMs, cycle by cycle (docs/gpu.md): the machine of each SM, the interconnect, and the barriers.

Each cycle has two halves. In the first, every SM computes what it offers at its memory port. Then the interconnect
accepts one of the requests. In the second half all SMs compute the rest.
"""

from typing import NamedTuple

import numpy as np

from ...machine.events import NONE
from . import interconnect, lsu, machine, observer, port
from .compiled import inlined, outer
from .records import Machine

__all__ = ["Gpu", "advance_gpu", "sm_of"]


class Gpu(NamedTuple):
    """The state of a GPU. Most arrays are those of :class:`.records.Machine` with the SMs as their first dimension."""

    #: LINK and MEMORY, of one element each.
    link: np.ndarray
    memory: np.ndarray
    #: QUEUE of each SM.
    queue: np.ndarray
    #: One for all SMs.
    config: np.ndarray
    front: np.ndarray
    issue: np.ndarray
    control: np.ndarray
    whole: np.ndarray
    lsu: np.ndarray
    port: np.ndarray
    observer: np.ndarray
    #: One for all SMs, as are ``steps``, ``addresses``, ``shared`` and ``lists``.
    code: np.ndarray
    steps: np.ndarray
    first: np.ndarray
    known: np.ndarray
    addresses: np.ndarray
    shared: np.ndarray
    writers: np.ndarray
    icache_line: np.ndarray
    icache_code: np.ndarray
    icache_used: np.ndarray
    dcache_line: np.ndarray
    dcache_used: np.ndarray
    dcache_owner: np.ndarray
    lists: np.ndarray
    issued: np.ndarray
    events: np.ndarray
    choices: np.ndarray


@inlined
def sm_of(g, i):
    """Return the machine of an SM."""
    return Machine(
        g.config, g.front[i], g.issue[i], g.control[i], g.whole[i], g.lsu[i], g.port[i], g.observer[i], g.code, g.steps,
        g.first[i], g.known[i], g.addresses, g.shared, g.writers[i], g.icache_line[i], g.icache_code[i],
        g.icache_used[i], g.dcache_line[i], g.dcache_used[i], g.dcache_owner[i], g.lists, g.issued[i], g.events[i],
        g.choices[i], 0,
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
            g.port[i, 0].cycle = 0
        box.cycle, link.presented = 0, NONE
    while True:
        result = _cycle(g, box.cycle, start_pc)
        if result in (machine.STEP, machine.VOLATILE, machine.RACE, machine.FINISHED, machine.CHOOSE):
            return result
        box.cycle += 1
        for i in range(link.sms):
            g.observer[i, 0].begun = 0
            g.port[i, 0].cycle = box.cycle
        if interconnect.wants_service(box, box.cycle - 1):
            return machine.SERVE
        if result:
            return result


@inlined
def _cycle(g, cycle, start_pc):
    link, box = g.link[0], g.memory[0]
    if link.presented != cycle:
        interconnect.present(box, cycle)
        interconnect.arrive(link, box, g.queue, cycle)
        link.presented = cycle
    asks = faults = runs = 0
    for i in range(link.sms):
        interconnect.offer(link, box, g.queue[i, 0], g.port[i, 0], i)
        m = sm_of(g, i)
        reason = machine.first_half(m, cycle, start_pc)
        if reason:
            link.asks = i
            return reason
        runs |= machine.busy(m) << i
        faults |= m.whole[0].faulty
        asks |= port.asks(m, m.front[m.port[0].fetch_turn].offered, machine.lsu_asks(m)) << i
    free = interconnect.send(link, box, cycle)
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
        result = _finish(g, i, cycle, runs >> i & 1, free and chosen >> i & 1) or result
    interconnect.tick(link, chosen, free)
    for i in range(link.sms):
        whole = g.whole[i, 0]
        whole.outside_over = released >> i & 1
        # A fault of one SM stops the others one cycle later.
        whole.halted = whole.halted or faults
    _watch(g, cycle)
    return result


@inlined
def _finish(g, i, cycle, runs, granted):
    """Compute the second half of an SM's cycle.

    ``runs``: it is busy; ``granted``: the interconnect accepts its request, if it has one.
    """
    link, box, m = g.link[0], g.memory[0], sm_of(g, i)
    own = m.port[0]
    own.ready_from = cycle if granted else cycle + 1
    turn = own.fetch_turn
    taken = port.accept(m, cycle, m.front[turn].offered, machine.lsu_asks(m), lsu.offers_store(m.lsu[0]))
    if own.accepted != NONE:
        interconnect.accept(link, i, own)
    result = machine.second_half(m, cycle, runs, turn, taken)
    if own.answer_taken:
        interconnect.leave(link, box, g.queue[i, 0], own)
    return result


@inlined
def _released(g, sms):
    """Return the SMs whose barrier is complete: they are as many as each of them has asked for."""
    arrived = 0
    for i in range(sms):
        whole = g.whole[i, 0]
        there = whole.outside and not whole.active & ~whole.outside and not whole.outside_over
        arrived |= (there and lsu.idle(g.lsu[i, 0])) << i
    released = 0
    for i in range(sms):
        if arrived >> i & 1:
            mine, here, agree = g.whole[i, 0], 0, True
            for j in range(sms):
                other = g.whole[j, 0]
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
        stuck = stuck or g.observer[i, 0].stuck
        moves = moves or g.observer[i, 0].moves
    if not stuck or moves or link.owed:
        link.deadlocked = 0
    elif cycle >= g.memory[0].ready_from:
        link.deadlocked += 1
