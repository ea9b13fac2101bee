"""The issue stage: hazards of the head instruction, and the writeback port (design.md section 4).

An instruction selected in t reads its registers in R = t+1, is executed from X = t+2 on, and writes in W = X+latency,
in a slot that it reserves in t. A dependent instruction can be selected in W. With an operand register (O = t+2) X is
t+3, and one that depends on another than a load can be selected in W-1.
"""

from metronome.hdl.isa.ops import ROUNDED_UNITS, Unit

from ...machine.events import NONE, Reason
from . import lsu as unit
from . import order, turns
from .compiled import inlined
from .partitions import global_warp
from .records import QUEUE, SLOTS, partition

__all__ = ["claim", "load_may_write", "memory_idle", "reason", "reset", "tick", "write"]

DIV, LSU, FDIV = (unit.value for unit in (Unit.DIV, Unit.LSU, Unit.FDIV))
ROUNDED = tuple(unit.value for unit in ROUNDED_UNITS)


@inlined
def reset(m):
    """Reset to the state with nothing in flight."""
    issue = m.issue[m.part]
    issue.warp_r = issue.warp_o = issue.warp_x = NONE
    for slot in range(SLOTS):
        issue.slot_warp[slot] = NONE


@inlined
def reason(m, code, w, cycle, memory_idle):
    """Return why the head of a warp is not ready: a Reason, or 0 if it is ready.

    Its sources and destination must not be pending; the operations that a fence or an access to fcsr waits for must be
    complete; its unit and, if it writes in a fixed cycle, its writeback slot must be free, and the turn of both its
    partition's. ``memory_idle``: the LSU is empty, and no access to mregion is in the stages up to X.
    """
    config, issue, lsu = m.config[1], m.issue[m.part], m.lsu[0]
    hazards = issue.pending[w] & code.uses
    if hazards:
        return Reason.LOAD if hazards & issue.by_load[w] else Reason.DATA
    if code.drain and issue.under_way[w]:
        return Reason.DRAIN
    if code.drain and code.fence and not (memory_idle or (code.store and m.whole[0].region)):
        return Reason.DRAIN
    if code.fence and stores_pending(config, lsu, global_warp(m, w)):
        return Reason.DRAIN
    if code.unit == LSU:
        full = lsu.used >= QUEUE or (config.ordered and not order.room(config, lsu, w))
        return Reason.UNIT if full or not turns.has_unit(m, LSU) else 0
    if not turns.has_unit(m, code.unit):
        return Reason.UNIT
    units = m.issue[0 if config.reserves else m.part]
    if (code.unit == DIV and units.div_left) or (code.unit == FDIV and units.fdiv_left):
        return Reason.UNIT
    if code.takes_slot:
        slot = (cycle + config.to_execute + config.latency[code.unit]) % SLOTS
        if _rounded(config, code) and units.rounder_slot[slot]:
            return Reason.UNIT
        if not turns.has_port(m, code.unit) or not _port_free(m, slot):
            return Reason.WRITEBACK
    return 0


@inlined
def _rounded(config, code):
    """Whether the result comes from one rounder, in whose cycles other partitions may have results, too."""
    return config.reserves and code.unit in ROUNDED


@inlined
def _port_free(m, slot):
    """Whether no partition that may use the same writeback port in that cycle has reserved the slot."""
    count = m.config[0].partitions_of_a_port if m.config[0].reserves else 1
    first = m.part - m.part % count
    for p in range(first, first + count):
        if m.issue[p].slot_warp[slot] != NONE:
            return False
    return True


@inlined
def memory_idle(m):
    """Whether the LSU is empty and no access to mregion is in the stages from R to X."""
    issue = m.issue[m.part]
    for w, code in ((issue.warp_r, issue.code_r), (issue.warp_o, issue.code_o), (issue.warp_x, issue.code_x)):
        if w != NONE and m.code[code].drain and m.code[code].fence:
            return False
    return unit.idle(m.lsu[0])


@inlined
def stores_pending(config, lsu, w):
    """Whether a warp has stores that memory has not completed: queued, in the lookup, or in the write buffer."""
    if lsu.waiting_stores[w] or lsu.channel_stores[w] or (lsu.held and lsu.held_store and lsu.held_warp == w):
        return True
    if lsu.entries == 0:
        return False
    for entry in range(config.store_buffer):
        if lsu.entry_line[entry] != NONE and lsu.entry_warps[entry] >> w & 1:
            return True
    return False


@inlined
def claim(m, cycle):
    """Claim the destination and the writeback slot of the selected instruction; return the slot, or NONE."""
    config, front, issue = m.config[1], m.front[m.part], m.issue[m.part]
    w = front.selected
    code = m.code[front.selected_code]
    slot = NONE
    if code.register != NONE:
        bit = 1 << code.register
        issue.pending[w] |= bit
        issue.by_load[w] = issue.by_load[w] | bit if code.unit == LSU else issue.by_load[w] & ~bit
    if code.register != NONE or code.takes_slot:
        issue.under_way[w] += 1
    if code.takes_slot:
        slot = (cycle + config.to_execute + config.latency[code.unit]) % SLOTS
        issue.slot_warp[slot], issue.slot_register[slot], issue.slot_killed[slot] = w, code.register, 0
        if _rounded(config, code):
            m.issue[0].rounder_slot[slot] = 1
    return slot


@inlined
def load_may_write(m, cycle):
    """Whether the LSU may hand over its result: its partition's writeback port is free in the next cycle."""
    return _takes_load(partition(m, m.lsu[0].wb_warp % m.config[0].schedulers), cycle)


@inlined
def _takes_load(m, cycle):
    """Whether the partition's writeback port is free in the next cycle, and may be used by it."""
    return turns.may_load(m, cycle) and _port_free(m, (cycle + 1) % SLOTS)


@inlined
def write(m, cycle):
    """Find the register write of this cycle (``written_warp`` and so on)."""
    issue = m.issue[m.part]
    slot = cycle % SLOTS
    w = issue.slot_warp[slot]
    issue.written_warp = issue.written_register = NONE
    issue.written_last = 0
    if w != NONE:
        if not issue.slot_killed[slot] and issue.slot_register[slot] != NONE:
            issue.written_warp, issue.written_register, issue.written_last = w, issue.slot_register[slot], 1
    elif issue.load_valid:
        issue.written_warp, issue.written_register = issue.load_warp, issue.load_register
        issue.written_last = issue.load_last


@inlined
def tick(m, cycle, slot_r):
    """End the cycle: advance the stages, and release the register that is written in the next cycle.

    With an operand register, the result of another than a load is released one cycle earlier. ``slot_r``: the writeback
    slot of the instruction selected now.
    """
    config, front, issue, lsu = m.config[1], m.front[m.part], m.issue[m.part], m.lsu[0]
    issue.slot_warp[cycle % SLOTS], issue.rounder_slot[cycle % SLOTS] = NONE, 0
    released = (cycle + config.to_execute - 1) % SLOTS
    if issue.slot_warp[released] != NONE:
        _release(issue, issue.slot_warp[released], issue.slot_register[released])
    issue.load_valid = 0
    mine = lsu.wb_warp % config.schedulers == m.part
    if lsu.wb_valid and mine and _takes_load(m, cycle):
        issue.load_valid, issue.load_warp = 1, lsu.wb_warp // config.schedulers
        issue.load_register, issue.load_last = lsu.wb_register, lsu.wb_last
        if lsu.wb_last:
            _release(issue, issue.load_warp, lsu.wb_register)
    _count_down(m)
    if config.to_execute == 3:
        issue.warp_x, issue.code_x, issue.pc_x = issue.warp_o, issue.code_o, issue.pc_o
        issue.step_x, issue.slot_x = issue.step_o, issue.slot_o
        issue.predicted_x, issue.target_x = issue.predicted_o, issue.target_o
        issue.warp_o, issue.code_o, issue.pc_o = issue.warp_r, issue.code_r, issue.pc_r
        issue.step_o, issue.slot_o = issue.step_r, issue.slot_r
        issue.predicted_o, issue.target_o = issue.predicted_r, issue.target_r
    else:
        issue.warp_x, issue.code_x, issue.pc_x = issue.warp_r, issue.code_r, issue.pc_r
        issue.step_x, issue.slot_x = issue.step_r, issue.slot_r
        issue.predicted_x, issue.target_x = issue.predicted_r, issue.target_r
    issue.warp_r = NONE
    if front.selected != NONE and not front.selected_nop:
        w = front.selected
        issue.warp_r, issue.code_r, issue.pc_r = w, front.selected_code, front.selected_pc
        issue.step_r, issue.slot_r = issue.position[w], slot_r
        issue.predicted_r, issue.target_r = front.selected_predicted, front.selected_target
        issue.position[w] += 1


@inlined
def _release(issue, w, register):
    if register != NONE:
        issue.pending[w] &= ~(1 << register)
    issue.under_way[w] -= 1


@inlined
def _count_down(m):
    """Count down the units that are not pipelined: each accepts its next operation when its latency has passed.

    Those that partitions find busy because of others are in the record of the first one.
    """
    config, issue = m.config[1], m.issue[m.part]
    if config.reserves and m.part:
        return
    div = fdiv = False
    for p in range(m.part, config.schedulers if config.reserves else m.part + 1):
        front = m.front[p]
        if front.selected != NONE and not front.selected_nop:
            unit = m.code[front.selected_code].unit
            div, fdiv = div or unit == DIV, fdiv or unit == FDIV
    issue.div_left = config.latency[DIV] - 1 if div else max(0, issue.div_left - 1)
    issue.fdiv_left = config.latency[FDIV] - 1 if fdiv else max(0, issue.fdiv_left - 1)
