"""Counters (docs/counters.md): the SM's counters, the statistics of the region, starvation and deadlock."""

from metronome.hdl.isa.ops import Unit

from ...machine.events import NONE, REGISTERS, STARVATION_CYCLES, WARPS, Reason
from .compiled import inlined
from .partitions import spread_of, warp_of

__all__ = ["COUNTED", "count", "follow", "follow_port", "reset", "stall", "watch", "watch_lookup"]

#: The counters of a prediction besides ``stalls``, by their names in ``hdl.layouts.counters``
#: (:func:`count`). A counter that is missing here has no value in a prediction.
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
def stall(m, p):
    """Return the reason why a partition selects no warp, or 0 if it selects one."""
    front, observer = m.front[p], m.observer[0]
    if front.selected != NONE:
        return 0
    if m.whole[0].halted:
        return Reason.IDLE
    if front.eligible:
        return Reason.POLICY
    least = Reason.IDLE
    for v in range(m.config[1].warps):
        w = warp_of(m, p, v)
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
    observer, region = m.observer[0], m.whole[0].region
    observer.total_cycles += busy
    observer.cycles += region
    for p in range(m.config[0].schedulers):
        _count(m, p)
    observer.in_region3, observer.in_region2 = observer.in_region2, observer.in_region1
    observer.in_region1 = region
    if region:
        for w in range(m.config[0].warps):
            observer.load_wait_cycles += observer.reason[w] == Reason.LOAD


@inlined
def _count(m, p):
    """Add the cycle of a partition."""
    front, control, observer = m.front[p], m.control[p], m.observer[0]
    observer.retired += control.retired
    # Whether the region was open when the instruction in X was selected.
    if observer.in_region3 if m.config[0].to_execute == 3 else observer.in_region2:
        observer.committed_threads += control.retired
        observer.taken_branches += control.jumps
        if control.settles:
            _count_jump(m.code[m.issue[p].code_x], control.wrong, observer)
    if m.whole[0].region:
        if front.selected != NONE:
            if front.selected_nop:
                observer.nops += 1
            else:
                observer.committed += 1
                code = m.code[front.selected_code]
                observer.loads += code.unit == LSU and not code.store
        else:
            observer.stalls[stall(m, p)] += 1
        observer.icache_misses += front.miss


@inlined
def watch(m, cycle):
    """Update the statistics that the simulation collects outside the SM (tb/statistics.cpp), except the lookup's."""
    for p in range(m.config[0].schedulers):
        if m.whole[0].region:
            _warps(m, p)
        _loads(m, p, cycle)


@inlined
def _loads(m, p, cycle):
    """Count the latency of a load that a partition has written."""
    issue, whole, observer = m.issue[p], m.whole[0], m.observer[0]
    w = issue.warp_x
    if w != NONE and not whole.halted:
        code = m.code[issue.code_x]
        if code.unit == LSU and not code.store and code.register != NONE:
            observer.load_since[warp_of(m, p, w), code.register] = cycle
    w, register, last = issue.written_warp, issue.written_register, issue.written_last
    if w != NONE and last:
        w = warp_of(m, p, w)
        since = observer.load_since[w, register]
        if since != NONE and whole.region:
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
def _warps(m, p):
    front, observer = m.front[p], m.observer[0]
    active = 0 if m.whole[0].halted else m.control[p].active
    for v in range(m.config[1].warps):
        w = warp_of(m, p, v)
        if v == front.selected:
            observer.states[w, NOP if front.selected_nop else INSTRUCTION] += 1
        elif active >> v & 1:
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
    whole, observer = m.whole[0], m.observer[0]
    eligible, others = 0, -1
    for p in range(m.config[0].schedulers):
        eligible |= spread_of(m, p, m.front[p].eligible)
        if m.front[p].selected != NONE:
            others &= ~(1 << warp_of(m, p, m.front[p].selected))
    now = (observer.starved_now | eligible) & others
    before, long = observer.starved_before & others, observer.starved_long & others
    if observer.starvation_time == STARVATION_CYCLES - 1:
        before, long = now, before
    observer.starved_now, observer.starved_before, observer.starved_long = now, before, long
    observer.starvation_time = (observer.starvation_time + 1) % STARVATION_CYCLES
    blocked = whole.waiting | observer.jumps_on
    observer.moves = whole.halted or whole.active & ~blocked != 0
    observer.stuck = whole.active != 0 and whole.active & ~blocked == 0 and not whole.halted
    if not whole.halted:
        for p in range(m.config[0].schedulers):
            if m.issue[p].warp_x != NONE:
                _follow_jumps(m, p)
    if whole.activates:
        for w in range(m.config[0].warps):
            if whole.activates >> w & 1:
                observer.last_pc[w] = whole.activation_pc


@inlined
def _follow_jumps(m, p):
    """Find out whether the warp in stage X only jumps from one instruction to itself."""
    issue, observer = m.issue[p], m.observer[0]
    w = warp_of(m, p, issue.warp_x)
    # Branch, jalr, jal.
    again = m.code[issue.code_x].word >> 4 & 7 == 6 and observer.jump_pc[w] == issue.pc_x
    on = again and observer.jumps_again >> w & 1
    observer.jumps_on = observer.jumps_on | 1 << w if on else observer.jumps_on & ~(1 << w)
    observer.jumps_again = observer.jumps_again | 1 << w if again else observer.jumps_again & ~(1 << w)
    observer.jump_pc[w] = observer.last_pc[w] = issue.pc_x


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
