"""Turns in what partitions share (docs/design.md, "Turns"): computed at the end of a cycle for the next one."""

from metronome.hdl.isa.ops import Unit

from ...machine.events import NONE, Reason
from .compiled import inlined

__all__ = ["has_port", "has_unit", "may_load", "note", "tick"]

ALU, DIV, FDIV = Unit.ALU.value, Unit.DIV.value, Unit.FDIV.value


@inlined
def has_unit(m, unit):
    """Whether the partition has the turn of a unit, or needs none."""
    config, whole = m.config[0], m.whole[0]
    if config.schedulers == 1:
        return True
    if config.divides_time:
        if unit in (DIV, FDIV) and not _in_window(m, config.latency[unit]):
            return False
        if whole.number + config.later[unit] >= config.slots_of_turns:
            return False
    group = config.group[unit]
    if group != NONE:
        return whole.turn[group] == m.part
    return unit != ALU or whole.fixed % config.partitions_of_an_alu == m.part % config.partitions_of_an_alu


@inlined
def _in_window(m, latency):
    """Whether a division that is selected now begins and ends in a window of the partition."""
    config, number = m.config[0], m.whole[0].number
    if number == config.slots_of_turns - 1 or number // config.window % config.schedulers != m.part:
        return False
    return number % config.window + latency <= config.window


@inlined
def has_port(m, unit):
    """Whether the partition has the turn of its writeback port: in fixed turns, that of the cycle of the write."""
    config, whole = m.config[0], m.whole[0]
    count = config.partitions_of_a_port
    if count == 1:
        return True
    if not config.divides_time:
        return whole.fixed % count == m.part % count
    later = config.latency[unit] - config.latency[ALU]
    return (whole.fixed + later) % count == m.part % count and whole.number + later < config.slots_of_turns


@inlined
def may_load(m, cycle):
    """Whether the partition's writeback port may take a loaded value that is written in the next cycle."""
    config = m.config[0]
    count = config.partitions_of_a_port
    if count == 1 or not config.divides_time:
        return True
    # Results that are written then were selected in this cycle at the latest.
    selected = cycle + 1 - config.to_execute - config.latency[ALU]
    return (selected - 1) % config.slots_of_turns % config.schedulers % count == m.part % count


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
    if reason == 0 or (reason == Reason.WRITEBACK and has_port(m, code.unit)):
        front.could |= 1 << group


@inlined
def tick(m, cycle):
    """End the cycle: find the turns of the next one. The first ones begin in the cycle after the launch."""
    config, whole = m.config[0], m.whole[0]
    if config.schedulers == 1:
        return
    stays = cycle > 0 and cycle % config.slots_of_turns == 0
    whole.number = 0 if cycle == 0 or stays else whole.number + 1
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
    """Find the turn of a group: it goes to the partition that asks and whose last chance is the longest ago.

    If it ``stays``, this cycle is no chance either.
    """
    if stays:
        return
    config, whole = m.config[0], m.whole[0]
    turn = whole.turn[group]
    if m.front[turn].could >> group & 1:
        whole.chance[group, turn] = cycle
    oldest = NONE
    for p in range(config.schedulers):
        asks = m.front[p].asks >> group & 1
        if config.with_port[group] and whole.fixed % config.partitions_of_a_port != p % config.partitions_of_a_port:
            asks = 0
        if asks and (oldest == NONE or whole.chance[group, p] < whole.chance[group, oldest]):
            oldest = p
    whole.turn[group] = oldest if oldest != NONE else (turn + 1) % config.schedulers
