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
from .steps import place

__all__ = ["execute", "reset", "spawn", "tick"]

BRANCH, LSU, CSR, SIMT, SYSTEM = (unit.value for unit in (Unit.BRANCH, Unit.LSU, Unit.CSR, Unit.SIMT, Unit.SYSTEM))
WSPAWN, BAR, FENCE_I = SimtOp.WSPAWN.value, SimtOp.BAR.value, SystemOp.FENCE_I.value
MPOLICY = Csr.MPOLICY.value


@inlined
def reset(m):
    """Reset to the state in which no warp is active."""
    m.control[0].fault_cause = NONE


@inlined
def spawn(m, cycle, start_pc):
    """Find the warps that start in this cycle: at launch, or by a wspawn whose warp is the only active one."""
    control = m.control[0]
    control.activates = control.next_released = control.spawned = 0
    if cycle == 0:
        control.activates, control.activation_pc = 1, start_pc
    elif control.spawners and control.active & control.active - 1 == 0 and control.spawners & control.active:
        control.activates, control.activation_pc = control.spawn_targets, control.spawn_pc
        control.next_released = control.spawned = control.spawners & control.active


@inlined
def execute(m):
    """Execute the instruction in stage X, up to its effects at the end of the cycle."""
    config, front, issue, control = m.config[0], m.front[0], m.issue[0], m.control[0]
    control.next_resolves = control.retired = control.jumps = control.x_fault = control.settles = 0
    front.invalidate = 0
    w = issue.warp_x
    if w == NONE:
        return
    if control.halted:
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
            waits = _arrive(config, control, w, step.a, step.b)
        elif code.op == WSPAWN:
            waits = 1
        redirects = step.taken or step.after == 0
        control.jumps = step.taken
    elif code.unit == SYSTEM and code.op == FENCE_I:
        front.invalidate = control.jumps = redirects = 1
    if code.control and config.to_execute == 3 and not waits and not redirects:
        control.released |= 1 << w
        control.next_released &= ~(1 << w)
    elif code.control:
        control.next_resolves = not waits
        control.next_resolved_warp, control.next_redirects, control.next_target = w, redirects, step.next


@inlined
def _kill(issue):
    if issue.slot_x != NONE:
        issue.slot_killed[issue.slot_x] = 1


@inlined
def _arrive(config, control, w, number, count):
    """Let a warp arrive at a barrier; return whether it waits. The last arrival releases all warps in this cycle."""
    if count == 1:
        return 0
    number = number % config.barriers
    there = control.arrived[number] | 1 << w
    total = 0
    for v in range(config.warps):
        total += there >> v & 1
    if total == count:
        control.next_released |= there
        control.arrived[number] = 0
        return 0
    control.arrived[number] = there
    return 1


@inlined
def tick(m):
    """End the cycle: update masks, active warps, the registers of the outcome, and the first fault."""
    config, issue, control, lsu = m.config[0], m.issue[0], m.control[0], m.lsu[0]
    control.resolves = control.next_resolves
    control.resolved_warp, control.redirects = control.next_resolved_warp, control.next_redirects
    control.target, control.released = control.next_target, control.next_released
    control.change = 0
    w = issue.warp_x
    if control.spawned:
        control.spawners = 0
    if w != NONE and not control.halted and not control.x_fault:
        code, step = m.code[issue.code_x], m.steps[place(m, w, issue.step_x)]
        if control.settles:
            # The front end learns of the outcome in the next cycle.
            private.settle(m, w, code, issue.pc_x, step.taken, step.next, control.wrong)
        if code.unit == SIMT:
            control.lanes[w] = step.after
            if step.after == 0:
                control.active &= ~(1 << w)
            if code.op == WSPAWN:
                control.spawners |= 1 << w
                control.spawn_targets, control.spawn_pc = _below(config, step.a) & ~(1 << w), step.b
        elif code.unit == CSR and step.b and code.word >> 20 == MPOLICY:
            control.change = step.a
        elif code.unit == CSR and step.b:
            if config.ordered and step.a and step.b > 1 and not control.region:
                order.start(m, step.address)
            elif config.ordered and not step.a:
                order.stop(m)
            control.region = step.a
    if control.activates:
        control.active |= control.activates
        for v in range(config.warps):
            if control.activates >> v & 1:
                control.lanes[v] = 1
    control.waiting = control.spawners
    for number in range(config.barriers):
        control.waiting |= control.arrived[number]
    # If two faults occur in one cycle, the LSU's is older; it also replaces a stage X fault of the same warp.
    if lsu.fault and (not control.halted or (control.fault_replaceable and lsu.fault_warp == control.fault_warp)):
        control.halted, control.fault_replaceable = 1, 0
        control.fault_cause, control.fault_warp = lsu.fault_cause, lsu.fault_warp
        control.fault_pc, control.fault_address = lsu.fault_pc, lsu.fault_address
    elif not control.halted and control.x_fault:
        step = m.steps[place(m, w, issue.step_x)]
        control.halted = control.fault_replaceable = 1
        control.fault_cause, control.fault_warp = step.fault, w
        control.fault_pc, control.fault_address = step.pc, step.address


@inlined
def _below(config, count):
    """Return the set of warps with numbers below ``count``."""
    warps = 0
    for w in range(min(count, config.warps)):
        warps |= 1 << w
    return warps
