"""Control flow in stage X: branches, SIMT instructions, barriers, wspawn and faults (docs/isa.md).

The golden model determines the effect of an instruction; this module determines when it takes effect. A branch issued
in t resolves in t + R, R = 3: it is in stage X in t+2, and its outcome is registered. With an operand register, X and R
are a cycle later, but an outcome without a redirect counts in X.
"""

from metronome.hdl.isa.csrs import Csr
from metronome.hdl.isa.ops import SimtOp, SystemOp, Unit

from ...machine.events import NONE
from . import order, private
from .compiled import inlined
from .partitions import global_warp, owned, spread
from .records import partition
from .steps import place

__all__ = ["execute", "reset", "spawn", "tick"]

BRANCH, LSU, CSR, SIMT, SYSTEM = (unit.value for unit in (Unit.BRANCH, Unit.LSU, Unit.CSR, Unit.SIMT, Unit.SYSTEM))
WSPAWN, BAR = SimtOp.WSPAWN.value, SimtOp.BAR.value
FENCE, FENCE_I = SystemOp.FENCE.value, SystemOp.FENCE_I.value
#: The bit of a barrier's id that means a barrier between SMs.
BETWEEN_SMS = 31
MPOLICY = Csr.MPOLICY.value


@inlined
def reset(m):
    """Reset to the state in which no warp is active."""
    m.whole[0].fault_cause = NONE


@inlined
def spawn(m, cycle, start_pc):
    """Find the warps that start in this cycle: at launch, or by a wspawn whose warp is the only active one."""
    whole = m.whole[0]
    whole.activates = whole.next_released = whole.spawned = whole.fence = 0
    if cycle == 0:
        whole.activates, whole.activation_pc = 1, start_pc
    elif whole.spawners and whole.active & whole.active - 1 == 0 and whole.spawners & whole.active:
        whole.activates, whole.activation_pc = whole.spawn_targets, whole.spawn_pc
        whole.next_released = whole.spawned = whole.spawners & whole.active
    if whole.outside_over:
        # Loads after the barrier read from memory, as after a fence.
        whole.next_released |= whole.outside
        whole.fence = 1


@inlined
def execute(m):
    """Execute the instructions in stage X, up to their effects at the end of the cycle."""
    whole = m.whole[0]
    invalidates = 0
    for p in range(m.config[0].schedulers):
        _execute(partition(m, p))
        invalidates |= m.control[p].invalidates
    for p in range(m.config[0].schedulers):
        mine = partition(m, p)
        control = m.control[p]
        # A fence.i of any warp empties all I-caches.
        m.front[p].invalidate = invalidates
        control.activates = owned(mine, whole.activates)
        control.next_released = owned(mine, whole.next_released) & ~control.onward


@inlined
def _execute(m):
    """Execute the instruction that a partition has in stage X."""
    config, issue, control, whole = m.config[1], m.issue[m.part], m.control[m.part], m.whole[0]
    control.next_resolves = control.retired = control.jumps = control.x_fault = control.settles = 0
    control.onward = control.invalidates = 0
    w = issue.warp_x
    if w == NONE:
        return
    if whole.halted:
        _kill(issue)
        return
    code, step = m.code[issue.code_x], m.steps[place(m, w, issue.step_x)]
    if step.fault != NONE and code.unit != LSU:
        control.x_fault = 1
        _kill(issue)
        return
    control.retired = step.lanes
    waits = 0
    redirects = 0
    if code.unit == BRANCH:
        # Without fetches, the predictions are those of btfn.
        predicted, target = (code.predicted, step.next) if config.supplied else (issue.predicted_x, issue.target_x)
        redirects = step.taken != predicted or (step.taken and target != step.next)
        control.jumps = step.taken
        control.settles, control.wrong = 1, redirects
    elif code.unit == SIMT:
        if code.op == BAR:
            waits = _arrive(m, global_warp(m, w), step.a, step.b)
        elif code.op == WSPAWN:
            waits = 1
        redirects = step.taken or step.after == 0
        control.jumps = step.taken
    elif code.unit == SYSTEM:
        if code.op == FENCE_I:
            control.invalidates = control.jumps = redirects = 1
        whole.fence = whole.fence or code.op in (FENCE, FENCE_I)
    if code.control and config.to_execute == 3 and not waits and not redirects:
        control.onward = 1 << w
        control.released |= control.onward
    elif code.control:
        control.next_resolves = not waits
        control.next_resolved_warp, control.next_redirects, control.next_target = w, redirects, step.next


@inlined
def _kill(issue):
    if issue.slot_x != NONE:
        issue.slot_killed[issue.slot_x] = 1


@inlined
def _arrive(m, w, number, count):
    """Let a warp arrive at a barrier; return whether it waits. The last arrival releases all warps in this cycle."""
    config, whole = m.config[0], m.whole[0]
    if count == 1:
        return 0
    between, number = config.in_gpu and number >> BETWEEN_SMS, number % config.barriers
    if between:
        whole.next_outside |= 1 << w
        whole.outside_number, whole.outside_count = number, count
        return 1
    there = whole.arrived[number] | 1 << w
    total = 0
    for v in range(config.warps):
        total += there >> v & 1
    if total == count:
        whole.next_released |= there
        whole.arrived[number] = 0
        return 0
    whole.arrived[number] = there
    return 1


@inlined
def tick(m):
    """End the cycle: update masks, active warps, the registers of the outcome, and the first fault."""
    config, whole = m.config[0], m.whole[0]
    whole.change = 0
    if whole.spawned:
        whole.spawners = 0
    whole.active = 0
    faulty = NONE
    for p in range(config.schedulers):
        _tick(partition(m, p))
        whole.active |= spread(partition(m, p), m.control[p].active)
        if faulty == NONE and m.control[p].x_fault:
            faulty = p
    if whole.outside_over:
        whole.next_outside = whole.outside_over = 0
    whole.outside = whole.next_outside
    whole.waiting = whole.spawners | whole.outside
    for number in range(config.barriers):
        whole.waiting |= whole.arrived[number]
    for p in range(config.schedulers):
        m.control[p].waiting = owned(partition(m, p), whole.waiting)
    _fault(m, faulty)


@inlined
def _tick(m):
    """End the cycle of a partition."""
    config, issue, control, whole = m.config[0], m.issue[m.part], m.control[m.part], m.whole[0]
    control.resolves = control.next_resolves
    control.resolved_warp, control.redirects = control.next_resolved_warp, control.next_redirects
    control.target, control.released = control.next_target, control.next_released
    w = issue.warp_x
    if w != NONE and not whole.halted and not control.x_fault:
        code, step = m.code[issue.code_x], m.steps[place(m, w, issue.step_x)]
        if control.settles:
            # The front end learns of the outcome in the next cycle.
            private.settle(m, w, code, issue.pc_x, step.taken, step.next, control.wrong)
        if code.unit == SIMT:
            control.lanes[w] = step.after
            if step.after == 0:
                control.active &= ~(1 << w)
            if code.op == WSPAWN:
                mine = 1 << global_warp(m, w)
                whole.spawners |= mine
                whole.spawn_targets, whole.spawn_pc = _below(config, step.a) & ~mine, step.b
        elif code.unit == CSR and step.b and code.word >> 20 == MPOLICY:
            whole.change = step.a
        elif code.unit == CSR and step.b:
            if config.ordered and step.a and step.b > 1 and not whole.region:
                order.start(m, step.address)
            elif config.ordered and not step.a:
                order.stop(m)
            whole.region = step.a
    if control.activates:
        control.active |= control.activates
        for v in range(m.config[1].warps):
            if control.activates >> v & 1:
                control.lanes[v] = 1


@inlined
def _fault(m, faulty):
    """Stop at the first fault; ``faulty``: the partition whose instruction in stage X faults, or NONE.

    If two faults occur in one cycle, the LSU's is older; it also replaces a stage X fault of the same warp.
    """
    whole, lsu = m.whole[0], m.lsu[0]
    if lsu.fault and (not whole.faulty or (whole.fault_replaceable and lsu.fault_warp == whole.fault_warp)):
        whole.halted = whole.faulty = 1
        whole.fault_replaceable = 0
        whole.fault_cause, whole.fault_warp = lsu.fault_cause, lsu.fault_warp
        whole.fault_pc, whole.fault_address = lsu.fault_pc, lsu.fault_address
    elif not whole.faulty and faulty != NONE:
        mine, issue = partition(m, faulty), m.issue[faulty]
        step = m.steps[place(mine, issue.warp_x, issue.step_x)]
        whole.halted = whole.faulty = whole.fault_replaceable = 1
        whole.fault_cause, whole.fault_warp = step.fault, global_warp(mine, issue.warp_x)
        whole.fault_pc, whole.fault_address = step.pc, step.address


@inlined
def _below(config, count):
    """Return the set of warps with numbers below ``count``."""
    warps = 0
    for w in range(min(count, config.warps)):
        warps |= 1 << w
    return warps
