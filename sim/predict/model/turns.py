"""Turns in what partitions share (docs/design.md, "Turns"): computed at the end of a cycle for the next one."""

from metronome.hdl.isa.ops import Unit

from ...machine.events import NONE, Reason
from .compiled import inlined

__all__ = ["has_port", "has_unit", "note", "tick"]

ALU, DIV, FDIV = Unit.ALU.value, Unit.DIV.value, Unit.FDIV.value


@inlined
def has_unit(m, unit):
    """Whether the partition has the turn of a unit, or needs none."""
    config, whole = m.config[0], m.whole[0]
    if config.schedulers == 1:
        return True
    group = config.group[unit]
    if group != NONE:
        return whole.turn[group] == m.part
    return unit != ALU or whole.fixed % config.partitions_of_an_alu == m.part % config.partitions_of_an_alu


@inlined
def has_port(m):
    """Whether the partition has the turn of its writeback port."""
    count = m.config[0].partitions_of_a_port
    return count == 1 or m.whole[0].fixed % count == m.part % count


@inlined
def note(m, code, reason):
    """Note whether a head asks for a turn of the next cycle, and whether it could use one in this cycle.

    ``reason``: why it is not ready, or 0.
    """
    config, front, units = m.config[0], m.front[m.part], m.issue[0]
    group = config.group[code.unit]
    if not config.older or group == NONE or reason not in (0, Reason.UNIT, Reason.WRITEBACK):
        return
    busy = (code.unit == DIV and units.div_left > 1) or (code.unit == FDIV and units.fdiv_left > 1)
    if not busy:
        front.asks |= 1 << group
    if reason == 0 or (reason == Reason.WRITEBACK and has_port(m)):
        front.could |= 1 << group


@inlined
def tick(m, cycle):
    """End the cycle: find the turns of the next one. The first ones begin in the cycle after the launch."""
    config, whole = m.config[0], m.whole[0]
    if config.schedulers == 1:
        return
    stays = cycle > 0 and cycle % config.slots_of_turns == 0
    if cycle == 0:
        whole.fixed = 0
    elif not stays:
        whole.fixed = (whole.fixed + 1) % config.schedulers
    for group in range(config.groups):
        if cycle == 0 or not config.older:
            whole.turn[group] = (whole.fixed + config.phase[group]) % config.schedulers
        else:
            _compute(m, cycle, group, stays)


@inlined
def _compute(m, cycle, group, stays):
    """Find the turn of a group: it goes to the partition that asks and whose last chance is the longest ago."""
    config, whole = m.config[0], m.whole[0]
    turn = whole.turn[group]
    uses = m.front[turn].issues and config.group[m.code[m.front[turn].selected_code].unit] == group
    could = m.front[turn].could >> group & 1
    if uses or (could and whole.passed[group, turn]):
        whole.chance[group, turn], whole.passed[group, turn] = cycle, 0
    elif could:
        whole.passed[group, turn] = 1
    oldest = NONE
    for p in range(config.schedulers):
        asks = m.front[p].asks >> group & 1
        if config.with_port[group] and whole.fixed % config.partitions_of_a_port != p % config.partitions_of_a_port:
            asks = 0
        if asks and (oldest == NONE or whole.chance[group, p] < whole.chance[group, oldest]):
            oldest = p
    if not stays:
        whole.turn[group] = oldest if oldest != NONE else (turn + 1) % config.schedulers
