"""Counters (docs/counters.md): the SM's counters, the statistics of the region, starvation and deadlock."""

from metronome.hdl.isa.ops import Unit

from ...machine.events import NONE, REGISTERS, STARVATION_CYCLES, WARPS, Reason
from .compiled import inlined

__all__ = ["COUNTED", "count", "follow", "follow_port", "reset", "stall", "watch", "watch_lookup"]

#: The counters that :func:`count` updates besides ``stalls``, by their names in ``hdl.layouts.counters``. A counter
#: that is missing here has no value in a prediction.
COUNTED = (
    "total_cycles", "cycles", "committed_threads", "committed", "nops", "icache_misses", "taken_branches", "loads",
    "branches", "wrong_branches", "returns", "wrong_returns", "jumps", "wrong_jumps",
    "load_wait_cycles",
)
LSU = Unit.LSU.value
#: States of a warp after the reasons: it issues an instruction, it issues a NOP, it is not active.
INSTRUCTION, NOP, INACTIVE = Reason.COUNT, Reason.COUNT + 1, Reason.COUNT + 2
#: Accesses to lines: the fields of sim.machine.statistics.LineAccesses.
INSTRUCTIONS, ACCESSES, UNCACHED, HITS, MERGES, FORWARDS, MISSES = range(7)
#: The number of cycles after which a deadlock is reported.
DEADLOCK_CYCLES = STARVATION_CYCLES


@inlined
def reset(m):
    """Clear the start cycles of all loads; the counters are already 0."""
    observer = m.observer[0]
    for w in range(WARPS):
        for register in range(REGISTERS):
            observer.load_since[w, register] = NONE


@inlined
def stall(m):
    """Return the reason why no warp is selected, or 0 if one is."""
    config, front, control, observer = m.config[0], m.front[0], m.control[0], m.observer[0]
    if front.selected != NONE:
        return 0
    if control.halted:
        return Reason.IDLE
    if front.eligible:
        return Reason.POLICY
    least = Reason.IDLE
    for w in range(config.warps):
        if observer.reason[w] and observer.reason[w] < least:
            least = observer.reason[w]
    return least


@inlined
def _count_jump(code, wrong, observer):
    """Count the branch or jump in stage X by its kind."""
    if code.conditional:
        observer.branches += 1
        observer.wrong_branches += wrong
    elif code.pops:
        observer.returns += 1
        observer.wrong_returns += wrong
    elif code.indirect:
        observer.jumps += 1
        observer.wrong_jumps += wrong


@inlined
def count(m, cycle, busy):
    """Add this cycle to the counters, most of which count only while the region is open."""
    front, control, observer = m.front[0], m.control[0], m.observer[0]
    observer.total_cycles += busy
    observer.retired += control.retired
    # Whether the region was open when the instruction in X was selected.
    if observer.in_region3 if m.config[0].to_execute == 3 else observer.in_region2:
        observer.committed_threads += control.retired
        observer.taken_branches += control.jumps
        if control.settles:
            _count_jump(m.code[m.issue[0].code_x], control.wrong, observer)
    observer.in_region3, observer.in_region2 = observer.in_region2, observer.in_region1
    observer.in_region1 = control.region
    if control.region:
        observer.cycles += 1
        if front.selected != NONE:
            if front.selected_nop:
                observer.nops += 1
            else:
                observer.committed += 1
                code = m.code[front.selected_code]
                observer.loads += code.unit == LSU and not code.store
        else:
            observer.stalls[stall(m)] += 1
        observer.icache_misses += front.miss
        for w in range(m.config[0].warps):
            observer.load_wait_cycles += observer.reason[w] == Reason.LOAD


@inlined
def watch(m, cycle, written):
    """Update the statistics that the simulation collects outside the SM (tb/statistics.cpp), except the lookup's.

    ``written``: the result of :func:`sim.predict.model.scoreboard.write` for this cycle.
    """
    issue, control, observer = m.issue[0], m.control[0], m.observer[0]
    if control.region:
        _warps(m)
    w = issue.warp_x
    if w != NONE and not control.halted:
        code = m.code[issue.code_x]
        if code.unit == LSU and not code.store and code.register != NONE:
            observer.load_since[w, code.register] = cycle
    w, register, last = written
    if w != NONE and last:
        since = observer.load_since[w, register]
        if since != NONE and control.region:
            latency = cycle - since
            observer.latency_sum += latency
            observer.latency_maximum = max(observer.latency_maximum, latency)
            bin_ = 0
            while latency >> bin_ + 1:
                bin_ += 1
            observer.latencies[bin_] += 1
        observer.load_since[w, register] = NONE


@inlined
def watch_lookup(lsu, observer):
    """Count the outcome of the access in the lookup in a cycle of the region."""
    if lsu.goes:
        _access(lsu, observer.store_lines if lsu.event_store else observer.load_lines)
    elif lsu.wait:
        observer.waits[lsu.wait] += 1


@inlined
def _warps(m):
    config, front, control, observer = m.config[0], m.front[0], m.control[0], m.observer[0]
    active = 0 if control.halted else control.active
    for w in range(config.warps):
        if w == front.selected:
            observer.states[w, NOP if front.selected_nop else INSTRUCTION] += 1
        elif active >> w & 1:
            observer.states[w, observer.reason[w]] += 1
        else:
            observer.states[w, INACTIVE] += 1


@inlined
def _access(lsu, lines):
    lines[ACCESSES] += 1
    lines[INSTRUCTIONS] += lsu.event_first
    lines[UNCACHED] += lsu.event_uncached
    lines[HITS] += lsu.hit
    lines[MERGES] += lsu.joins
    lines[FORWARDS] += lsu.forward
    lines[MISSES] += not (lsu.event_store or lsu.event_uncached or lsu.hit or lsu.joins or lsu.forward)


@inlined
def follow(m):
    """Update the data for the report of a hang: each warp's last pc, the starved warps, and whether all are stuck."""
    config, front, issue = m.config[0], m.front[0], m.issue[0]
    control, observer = m.control[0], m.observer[0]
    mine = ~(1 << front.selected) if front.selected != NONE else -1
    now = (observer.starved_now | front.eligible) & mine
    before, long = observer.starved_before & mine, observer.starved_long & mine
    if observer.starvation_time == STARVATION_CYCLES - 1:
        before, long = now, before
    observer.starved_now, observer.starved_before, observer.starved_long = now, before, long
    observer.starvation_time = (observer.starvation_time + 1) % STARVATION_CYCLES
    blocked = control.waiting | observer.jumps_on
    observer.stuck = control.active != 0 and control.active & ~blocked == 0 and not control.halted
    w = issue.warp_x
    if w != NONE and not control.halted:
        # Branch, jalr, jal.
        again = m.code[issue.code_x].word >> 4 & 7 == 6 and observer.jump_pc[w] == issue.pc_x
        on = again and observer.jumps_again >> w & 1
        observer.jumps_on = observer.jumps_on | 1 << w if on else observer.jumps_on & ~(1 << w)
        observer.jumps_again = observer.jumps_again | 1 << w if again else observer.jumps_again & ~(1 << w)
        observer.jump_pc[w] = observer.last_pc[w] = issue.pc_x
    if control.activates:
        for v in range(config.warps):
            if control.activates >> v & 1:
                observer.last_pc[v] = control.activation_pc


@inlined
def follow_port(m, cycle):
    """Count the cycles of a deadlock; there is none while the LSU waits for memory, whose answer may be a fault."""
    config, observer, port = m.config[0], m.observer[0], m.port[0]
    if port.accepted != NONE and port.accepted & config.source_bit:
        port.lsu_requests += 1
    if port.answer_taken and port.response_tag & config.source_bit:
        port.lsu_requests -= 1
    if not observer.stuck or port.lsu_requests:
        observer.deadlocked = 0
    elif cycle >= port.ready_from:
        observer.deadlocked += 1
