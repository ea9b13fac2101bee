"""The whole machine, cycle by cycle (docs/design.md sections 3 and 4, docs/memory.md).

Each cycle is computed from the state of the units at its start; at its end, all units advance.
"""

import numpy as np

from ...machine.events import NONE
from . import control, frontend, icache, lsu, observer, order, policies, port, races, scoreboard
from .compiled import inlined, outer
from .records import RING, SLOTS, Answer, Request
from .steps import place

__all__ = ["CHOOSE", "FINISHED", "FULL", "RACE", "SERVE", "STEP", "STORED", "VOLATILE", "advance", "reset"]

#: Reasons for which :func:`advance` returns: the memory model must be called; the program has stopped; an instruction
#: of warp ``front.selected`` must be executed; the instruction in stage X reads a counter; a store enters the write
#: buffer; a log is full; the recorded instructions are not those of this order; ``front.choice`` must be chosen from
#: ``front.eligible``, and ``front.chosen_at`` be set to the cycle.
SERVE, FINISHED, STEP, VOLATILE, STORED, FULL, RACE, CHOOSE = range(1, 9)
LSU = 4


@inlined
def reset(m):
    """Set the machine to its state before the first cycle."""
    frontend.reset(m)
    scoreboard.reset(m)
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
def _busy(m):
    """Whether a warp is running or an instruction is in flight."""
    issue, flow = m.issue[0], m.control[0]
    if (flow.active and not flow.halted) or issue.load_valid:
        return True
    if issue.warp_r != NONE or issue.warp_o != NONE or issue.warp_x != NONE:
        return True
    for slot in range(SLOTS):
        if issue.slot_warp[slot] != NONE:
            return True
    return not lsu.idle(m.lsu[0])


@inlined
def _cycle(m, cycle, start_pc):
    config, front, issue, flow = m.config[0], m.front[0], m.issue[0], m.control[0]
    unit, box, sums = m.lsu[0], m.port[0], m.observer[0]
    if not sums.begun:
        w = issue.warp_x
        if config.ring and w != NONE and not flow.halted and m.code[issue.code_x].volatile:
            if sums.volatile_at != cycle:
                sums.volatile_at = cycle
                return VOLATILE
        port.present(box, cycle)
        control.spawn(m, cycle, start_pc)
        control.execute(m)
        sums.begun = 1
    frontend.select(m, cycle)
    if config.policy == policies.OUTSIDE and front.chosen_at != cycle:
        return CHOOSE
    if front.stale:
        return RACE
    chosen = front.selected
    issues = chosen != NONE and not front.selected_nop
    if issues and issue.position[chosen] >= m.known[chosen]:
        return STEP
    known = not config.ring and not config.supplied
    if issues and known and m.code[front.selected_code].unit == LSU and not _sees_the_same(m, chosen):
        return RACE
    store = lsu.offers_store(unit)
    offered = icache.offer(m)
    fetched, sent, listed = port.accept(m, cycle, offered, unit.unsent_count > 0 or unit.request != NONE, store)
    busy = _busy(m)
    if (cycle > 0 and not busy) or sums.deadlocked >= observer.DEADLOCK_CYCLES or cycle >= config.max_cycles:
        sums.finished, sums.ended = 1, cycle > 0 and not busy
        sums.deadlock = sums.deadlocked >= observer.DEADLOCK_CYCLES
        _log(m, cycle, chosen, issues)
        return FINISHED
    written = scoreboard.write(m, cycle)
    region = flow.region
    event = sums.events
    if config.events:
        _begin_event(m, cycle, event, written)
    wb_ready = scoreboard.load_may_write(issue, cycle)
    w_x, code_x, step_x = issue.warp_x, issue.code_x, NONE
    if w_x != NONE and m.code[code_x].unit == LSU:
        if flow.halted:
            lsu.cancel(config, unit, w_x, m.code[code_x].store)
        else:
            step_x = place(m, w_x, issue.step_x)
    slot = NONE
    if issues:
        slot = scoreboard.claim(m, cycle)
        if m.code[front.selected_code].unit == LSU:
            lsu.take(config, unit, chosen, m.code[front.selected_code].store)
    frontend.tick(m, cycle, offered, fetched)
    observer.count(m, cycle, busy)
    observer.watch(m, cycle, written)
    observer.follow(m)
    control.tick(m)
    scoreboard.tick(m, cycle, slot)
    _answer(m, wb_ready, sent, listed, w_x, code_x, step_x)
    if region:
        observer.watch_lookup(unit, sums)
    observer.follow_port(m, cycle)
    if box.answer_taken:
        box.response_valid = 0
    full = _log(m, cycle, chosen, issues)
    if config.events:
        full = _finish_event(m, event) or full
    if config.ring and unit.goes and unit.event_store:
        return STORED
    return FULL if full else 0


@inlined
def _sees_the_same(m, w):
    """Whether the load or store that ``w`` issues reads from the same stores as in the golden model's order."""
    front, issue = m.front[0], m.issue[0]
    number = place(m, w, issue.position[w])
    step = m.steps[number]
    if not step.shared:
        return True
    code = m.code[front.selected_code]
    seen = races.see(m.shared, m.writers, m.addresses, step.row, np.int64(step.mask), code.size, code.store, number + 1)
    return code.store or seen == step.sees


@inlined
def _answer(m, wb_ready, sent, listed, w_x, code_x, step_x):
    """Route memory's answer and run the LSU's cycle. ``listed``: memory takes a request for a line of a list."""
    config, front, box = m.config[0], m.front[0], m.port[0]
    front.answered, answer, of_store, of_list = NONE, NONE, False, NONE
    box.answer_taken = 0
    if box.response_valid:
        if box.response_tag & config.source_bit and box.response_tag & config.list_bit:
            of_list = box.response_tag & config.list_bit - 1
            box.answer_taken = 1
        elif box.response_tag & config.source_bit:
            answer = box.response_tag & (config.kind_bit - 1)
            of_store = box.response_tag & config.kind_bit != 0
        else:
            front.answered, front.refill_line = box.response_tag, front.mshr_line[box.response_tag]
            front.answered_code = box.response_code
            box.answer_taken = 1
    if lsu.tick(m, wb_ready, sent, Answer(answer, of_store, box.response_error), Request(w_x, code_x, step_x)):
        box.answer_taken = 1
    if config.ordered:
        order.tick(m, front.selected != NONE, listed, of_list, box.response_error)


@inlined
def _begin_event(m, cycle, at, written):
    """Fill in the part of the cycle's event that is known before the units advance."""
    config, front, issue, flow = m.config[0], m.front[0], m.issue[0], m.control[0]
    event, sums = m.events[at], m.observer[0]
    event.cycle, event.eligible, event.selected = cycle, front.eligible, front.selected
    # There is one scheduler, so the warp that issues is the one that fetches.
    event.fetched = front.selected
    event.nop = front.selected != NONE and front.selected_nop
    event.missed, event.unresolved = front.missed, front.unresolved
    event.active, event.waiting = flow.active, flow.waiting
    event.resolves, event.resolved_warp, event.redirects = flow.resolves, flow.resolved_warp, flow.redirects
    event.release, event.activates, event.region = flow.released, flow.activates, flow.region
    event.halt, event.taken, event.retired = flow.halted, flow.jumps, flow.retired
    event.executed = issue.warp_x if issue.warp_x != NONE and not flow.halted else NONE
    event.executed_pc = issue.pc_x
    if event.executed != NONE:
        event.executed_word = m.code[issue.code_x].word
        event.executed_mask = m.steps[place(m, issue.warp_x, issue.step_x)].mask
    event.written = written[0] != NONE
    event.written_warp, event.written_register, event.written_last = written
    event.stall, event.lost, event.change = observer.stall(m), m.lsu[0].lost, flow.change
    for w in range(config.warps):
        event.reason[w] = sums.reason[w]


@inlined
def _finish_event(m, at):
    """Fill in the rest of the cycle's event; return whether the log of events is full."""
    config, front, unit, box, sums = m.config[0], m.front[0], m.lsu[0], m.port[0], m.observer[0]
    event = m.events[at]
    event.miss, event.turn = front.miss, front.turned
    event.refill, event.refill_line = front.refilled, front.refilled_line
    event.request = box.accepted if box.accepted != NONE and not box.accepted & config.source_bit else NONE
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
def _log(m, cycle, chosen, issues):
    """Log the issue of this cycle, if any; return whether the log is full."""
    front, sums = m.front[0], m.observer[0]
    if chosen != NONE:
        entry = m.issued[sums.issues]
        entry.cycle, entry.warp, entry.pc = cycle, chosen, front.selected_pc if issues else NONE
        sums.issues += 1
    return sums.issues == len(m.issued)
