"""The whole machine, cycle by cycle (docs/design.md sections 3 and 4, docs/memory.md).

Each cycle is computed from the state of the units at its start; at its end, all units advance.
"""

import numpy as np

from ...machine.events import NONE
from . import control, frontend, icache, lsu, observer, order, policies, port, races, scoreboard, turns
from .compiled import inlined, outer
from .partitions import global_warp, owned, spread
from .records import RING, SLOTS, Answer, Request, partition
from .steps import place

__all__ = [
    "CHOOSE", "FINISHED", "FULL", "RACE", "SERVE", "STEP", "STORED", "VOLATILE", "advance", "busy", "first_half", "log",
    "lsu_asks", "reset", "second_half",
]

#: Reasons for which :func:`advance` returns: the memory model must be called; the program has stopped; an instruction
#: of warp ``front.selected`` must be executed; the instruction in stage X reads a counter; a store enters the write
#: buffer (in a GPU: or the bytes of a load or a line move); a log is full; the recorded instructions are not those of
#: this order; ``front.choice`` must be chosen from ``front.eligible``, and ``front.chosen_at`` be set to the cycle.
#: ``whole.asks`` is the partition.
SERVE, FINISHED, STEP, VOLATILE, STORED, FULL, RACE, CHOOSE = range(1, 9)
LSU = 4


@inlined
def reset(m):
    """Set the machine to its state before the first cycle."""
    for p in range(m.config[0].schedulers):
        frontend.reset(partition(m, p))
        scoreboard.reset(partition(m, p))
    control.reset(m)
    lsu.reset(m)
    observer.reset(m)
    for way in range(len(m.icache_line)):
        m.icache_line[way] = NONE
    for way in range(len(m.dcache_line)):
        m.dcache_line[way] = NONE
    m.observer[0].volatile_at = NONE


@outer
def advance(m, start_pc):
    """Run from ``port.cycle`` on until the caller has something to do, and return the reason (see above)."""
    box, sums = m.port[0], m.observer[0]
    if box.cycle < 0:
        reset(m)
        box.cycle = 0
    while True:
        result = _cycle(m, box.cycle, start_pc)
        if result in (STEP, VOLATILE, RACE, FINISHED, CHOOSE):
            return result
        sums.begun = 0
        box.cycle += 1
        if port.wants_service(box, box.cycle - 1):
            return SERVE
        if result:
            return result


@inlined
def _begin(m, cycle, start_pc):
    """Compute what depends on nothing that the caller decides; return VOLATILE if it must give a value first."""
    config, whole, sums = m.config[0], m.whole[0], m.observer[0]
    for p in range(config.schedulers):
        issue = m.issue[p]
        if config.ring and issue.warp_x != NONE and not whole.halted and m.code[issue.code_x].volatile:
            if sums.volatile_at != cycle:
                sums.volatile_at, whole.asks = cycle, p
                return VOLATILE
    port.present(m.port[0], cycle)
    control.spawn(m, cycle, start_pc)
    control.execute(m)
    sums.begun = 1
    return 0


@inlined
def _select(m, cycle):
    """Let a partition select; return what the caller must do first, or 0."""
    config, front, issue = m.config[0], m.front[m.part], m.issue[m.part]
    frontend.select(m, cycle)
    if config.policy == policies.OUTSIDE and front.chosen_at != cycle:
        return CHOOSE
    if front.stale:
        return RACE
    chosen = front.selected
    front.issues = chosen != NONE and not front.selected_nop
    if not front.issues:
        return 0
    if issue.position[chosen] >= m.known[global_warp(m, chosen)]:
        return STEP
    known = not config.ring and not config.supplied
    if known and m.code[front.selected_code].unit == LSU and not _sees_the_same(m, chosen):
        return RACE
    return 0


@inlined
def first_half(m, cycle, start_pc):
    """Compute a cycle up to what the memory port is offered; return what the caller must do first, or 0."""
    config = m.config[0]
    if not m.observer[0].begun and _begin(m, cycle, start_pc):
        return VOLATILE
    for p in range(config.schedulers):
        reason = _select(partition(m, p), cycle)
        if reason:
            m.whole[0].asks = p
            return reason
    for p in range(config.schedulers):
        m.front[p].offered = icache.offer(partition(m, p))
    return 0


@inlined
def lsu_asks(m):
    """Whether the L1 offers a line to memory."""
    unit = m.lsu[0]
    return unit.unsent_count > 0 or unit.request != NONE


@inlined
def busy(m):
    """Whether a warp is running or an instruction is in flight."""
    if m.whole[0].active and not m.whole[0].halted:
        return True
    for p in range(m.config[0].schedulers):
        issue = m.issue[p]
        if issue.load_valid or issue.warp_r != NONE or issue.warp_o != NONE or issue.warp_x != NONE:
            return True
        for slot in range(SLOTS):
            if issue.slot_warp[slot] != NONE:
                return True
    return not lsu.idle(m.lsu[0])


@inlined
def _cycle(m, cycle, start_pc):
    config, box, sums = m.config[0], m.port[0], m.observer[0]
    reason = first_half(m, cycle, start_pc)
    if reason:
        return reason
    turn = box.fetch_turn
    taken = port.accept(m, cycle, m.front[turn].offered, lsu_asks(m), lsu.offers_store(m.lsu[0]))
    runs = busy(m)
    if (cycle > 0 and not runs) or sums.deadlocked >= observer.DEADLOCK_CYCLES or cycle >= config.max_cycles:
        sums.finished, sums.ended = 1, cycle > 0 and not runs
        sums.deadlock = sums.deadlocked >= observer.DEADLOCK_CYCLES
        log(m, cycle)
        return FINISHED
    return second_half(m, cycle, runs, turn, taken)


@inlined
def second_half(m, cycle, runs, turn, taken):
    """Compute the rest of a cycle; return what the caller must do then, or 0.

    ``runs``: the result of :func:`busy`; ``turn``: the partition whose fetch was offered; ``taken``: the result of
    :func:`sim.predict.model.port.accept`.
    """
    config, whole, unit, box, sums = m.config[0], m.whole[0], m.lsu[0], m.port[0], m.observer[0]
    fetched, sent, listed = taken
    for p in range(config.schedulers):
        scoreboard.write(partition(m, p), cycle)
    region = whole.region
    event = sums.events
    if config.events:
        for p in range(config.schedulers):
            _begin_event(partition(m, p), cycle, event + p)
    wb_ready = scoreboard.load_may_write(m, cycle)
    request = _request(m)
    for p in range(config.schedulers):
        mine, front = partition(m, p), m.front[p]
        front.slot_claimed = NONE
        if front.issues:
            front.slot_claimed = scoreboard.claim(mine, cycle)
            code = m.code[front.selected_code]
            if code.unit == LSU:
                lsu.take(config, unit, global_warp(mine, front.selected), code.store)
        frontend.tick(mine, cycle, front.offered, fetched and p == turn)
    turns.tick(m, cycle)
    observer.count(m, cycle, runs)
    observer.watch(m, cycle)
    observer.follow(m)
    control.tick(m)
    for p in range(config.schedulers):
        scoreboard.tick(partition(m, p), cycle, m.front[p].slot_claimed)
    _answer(m, wb_ready, sent, listed, request)
    if region:
        observer.watch_lookup(unit, sums)
    observer.follow_port(m, cycle)
    if box.answer_taken:
        box.response_valid = 0
    full = log(m, cycle)
    if config.events:
        for p in range(config.schedulers):
            full = _finish_event(m, p, event + p) or full
    if config.ring and ((unit.goes and unit.event_store) or (config.in_gpu and _moves_bytes(unit))):
        return STORED
    return FULL if full else 0


@inlined
def _moves_bytes(unit):
    """Whether a load has its values or waits for them, or a line has arrived or enters the cache."""
    return unit.goes or unit.part_given != NONE or unit.line_taken or unit.installed != NONE


@inlined
def _request(m):
    """Return the load or store in stage X, of whichever partition; after a fault it is cancelled."""
    config, whole = m.config[0], m.whole[0]
    warp, code, step = NONE, 0, NONE
    for p in range(config.schedulers):
        mine, issue = partition(m, p), m.issue[p]
        if issue.warp_x != NONE and m.code[issue.code_x].unit == LSU:
            warp, code = global_warp(mine, issue.warp_x), issue.code_x
            if whole.halted:
                lsu.cancel(config, m.lsu[0], warp, m.code[code].store)
            else:
                step = place(mine, issue.warp_x, issue.step_x)
    return Request(warp, code, step)


@inlined
def _sees_the_same(m, w):
    """Whether the load or store that ``w`` issues reads from the same stores as in the golden model's order."""
    front, issue = m.front[m.part], m.issue[m.part]
    number = place(m, w, issue.position[w])
    step = m.steps[number]
    if not step.shared:
        return True
    code = m.code[front.selected_code]
    seen = races.see(m.shared, m.writers, m.addresses, step.row, np.int64(step.mask), code.size, code.store, number + 1)
    return code.store or seen == step.sees


@inlined
def _answer(m, wb_ready, sent, listed, request):
    """Route memory's answer and run the LSU's cycle. ``listed``: memory takes a request for a line of a list."""
    config, box = m.config[0], m.port[0]
    answer, of_store, of_list = NONE, False, NONE
    selects = False
    for p in range(config.schedulers):
        m.front[p].answered = NONE
        selects = selects or m.front[p].selected != NONE
    box.answer_taken = 0
    if box.response_valid:
        if box.response_tag & config.source_bit and box.response_tag & config.list_bit:
            of_list = box.response_tag & config.list_bit - 1
            box.answer_taken = 1
        elif box.response_tag & config.source_bit:
            answer = box.response_tag & (config.kind_bit - 1)
            of_store = box.response_tag & config.kind_bit != 0
        else:
            front = m.front[box.response_tag % config.schedulers]
            front.answered = box.response_tag // config.schedulers
            front.refill_line, front.answered_code = front.mshr_line[front.answered], box.response_code
            box.answer_taken = 1
    if lsu.tick(m, wb_ready, sent, Answer(answer, of_store, box.response_error), request):
        box.answer_taken = 1
    if config.ordered:
        order.tick(m, selects, listed, of_list, box.response_error)


@inlined
def _begin_event(m, cycle, at):
    """Fill in the part of a partition's event that is known before the units advance."""
    config, front, issue, flow = m.config[0], m.front[m.part], m.issue[m.part], m.control[m.part]
    event, sums, whole = m.events[at], m.observer[0], m.whole[0]
    event.cycle, event.eligible, event.selected = cycle, spread(m, front.eligible), _number(m, front.selected)
    # There is one scheduler, so the warp that issues is the one that fetches.
    event.fetched = event.selected
    event.nop = front.selected != NONE and front.selected_nop
    event.missed, event.unresolved = front.missed, spread(m, front.unresolved)
    event.active, event.waiting = spread(m, flow.active), spread(m, flow.waiting)
    event.resolves, event.redirects = flow.resolves, flow.redirects
    event.resolved_warp = global_warp(m, flow.resolved_warp)
    event.release, event.activates, event.region = spread(m, flow.released), spread(m, flow.activates), whole.region
    event.halt, event.taken, event.retired = whole.halted, flow.jumps, flow.retired
    event.executed = _number(m, issue.warp_x) if not whole.halted else NONE
    event.executed_pc = issue.pc_x
    if event.executed != NONE:
        event.executed_word = m.code[issue.code_x].word
        event.executed_mask = m.steps[place(m, issue.warp_x, issue.step_x)].mask
    event.written = issue.written_warp != NONE
    event.written_warp = _number(m, issue.written_warp)
    event.written_register, event.written_last = issue.written_register, issue.written_last
    event.stall, event.lost, event.change = observer.stall(m, m.part), spread(m, owned(m, m.lsu[0].lost)), whole.change
    for w in range(config.warps):
        event.reason[w] = sums.reason[w]


@inlined
def _number(m, w):
    """Return the number in the SM of a partition's warp; NONE for none."""
    return global_warp(m, w) if w != NONE else NONE


@inlined
def _finish_event(m, p, at):
    """Fill in the rest of a partition's event; return whether the log of events is full."""
    config, front, unit, box, sums = m.config[0], m.front[p], m.lsu[0], m.port[0], m.observer[0]
    event = m.events[at]
    event.miss, event.turn = front.miss, _number(partition(m, p), front.turned)
    event.refill, event.refill_line = front.refilled, front.refilled_line
    asks = box.accepted != NONE and not box.accepted & config.source_bit and box.accepted % config.schedulers == p
    event.request = box.accepted // config.schedulers if asks else NONE
    event.answer = front.answered
    event.access, event.first, event.access_warp = unit.goes, unit.event_first, unit.event_warp
    event.line, event.store, event.hit, event.merge = unit.event_line, unit.event_store, unit.hit, unit.joins
    event.uncached = unit.event_uncached
    event.port_tag, event.port_answer = box.accepted, NONE
    if box.accepted != NONE:
        at_port = (box.given - 1) % RING
        event.port_line, event.port_write = box.request_line[at_port], box.request_write[at_port]
    if box.answer_taken:
        event.port_answer, event.port_error = box.response_tag, box.response_error
    event.forward, event.wait = unit.forward, unit.wait
    event.fill, event.fill_line = unit.installed != NONE, unit.installed
    sums.events = at + 1
    return sums.events == len(m.events)


@inlined
def log(m, cycle):
    """Log the issues of this cycle, if any; return whether the log may not have room for those of the next cycle."""
    sums = m.observer[0]
    for p in range(m.config[0].schedulers):
        front = m.front[p]
        if front.selected != NONE:
            entry = m.issued[sums.issues]
            entry.cycle, entry.warp = cycle, global_warp(partition(m, p), front.selected)
            entry.pc = front.selected_pc if front.issues else NONE
            sums.issues += 1
    return sums.issues > len(m.issued) - m.config[0].schedulers
