"""Broken designs of an SM with several schedulers, for P9 and P10 (:mod:`.broken`)."""

from __future__ import annotations

from metronome.hdl.config import Turns, Units

from .defect import Defect
from .flow import Parameters

__all__ = ["BROKEN_PARTITIONS"]

_SM = "metronome.hdl.sm:Sm"
_ARBITER = "metronome.hdl.memory.arbiter:MemoryArbiter._fetches"
_ISSUE = "metronome.hdl.issue.issue:IssueStage._share"
_SHARING = "metronome.hdl.issue.sharing:Sharing"
_START = "sharing.start.eq(self.start)"
_UNITS = "metronome.hdl.execute.shared_units:SharedUnits"
_CHIP = (("issue_latency", 3), ("lookup_latency", 2))
#: One set of units, with fixed and computed turns, and the same with one writeback port.
_SHARED: Parameters = (("units", Units.SHARED),)
_OLDER: Parameters = (*_SHARED, ("turns", Turns.OLDER))
_PORT: Parameters = (("writeback_ports", 1),)


def _of_turns(
    name: str, method: str, old: str, new: str, claim: str = "", fields: Parameters = (),
) -> Defect:
    return Defect(name, "P9", method, old, new, parameters=(("schedulers", 2), *fields), claim=claim)


def _of_separation(name: str, method: str, old: str, new: str, fields: Parameters = ()) -> Defect:
    return Defect(name, "P10", method, old, new, parameters=(("schedulers", 2), *fields))


BROKEN_PARTITIONS = (
    _of_turns("a launch gives each partition a turn at once", f"{_SHARING}.elaborate",
              "turns.turn[g] == p", "(turns.turn[g] == p) | self.start",
              "one partition had its turn 0 cycles ago"),
    _of_turns("a load is selected outside its partition's turn", _ISSUE,
              "free & share.turn", "free & (share.turn | 1 << Unit.LSU.value)"),
    _of_turns("with an operand register, a CSR access needs no turn", _ISSUE,
              "free & share.turn", "free & (share.turn | 1 << Unit.CSR.value)", fields=_CHIP),
    _of_turns("branches wait for a turn, too", f"{_SHARING}.elaborate",
              "own.get(unit, Const(1))", "own.get(unit, own[Unit.CSR] if unit == Unit.BRANCH else Const(1))",
              "partition 1: its pipelined units are free in every cycle"),
    _of_turns("masks are looked up for the partition whose turn it is now", f"{_SHARING}._peek",
              "self.peek.eq(before)", "self.peek.eq(turns.turn[0])"),
    _of_turns("the LSU gets a partition's own number of a warp", f"{_SM}._take",
              "global_warp(self.config, each.selection.warp, p)", "each.selection.warp"),
    _of_turns("a SIMT instruction of the first partition loses its operand", "metronome.hdl.execute.controls:Controls"
              "._request", "chosen(valid, [getattr(each, name) for each in requests])",
              "getattr(requests[-1], name)"),
    _of_turns("with one set of units, a multiplication needs no turn", _ISSUE,
              "free & share.turn", "free & (share.turn | 1 << Unit.MUL.value)", fields=_SHARED),
    _of_turns("divisions of all partitions begin in all windows", f"{_SHARING}._divide",
              "self._fixed(window, p, self._config.schedulers)", "Const(1, 1)", fields=_SHARED),
    _of_turns("a jump writes its register in all turns of a port", f"{_SHARING}._divide_ports",
              "for unit, latency in latencies.items()\n",
              "for unit, latency in latencies.items() if unit is not Unit.BRANCH\n", fields=(*_SHARED, *_PORT)),
    _of_turns("loaded values are written in all turns of a port", f"{_SHARING}._divide_ports",
              "partition.load_slot.eq(self._fixed(before, p, count))", "partition.load_slot.eq(1)",
              "at most one partition writes at port 0", (*_SHARED, *_PORT)),
    _of_turns("a shared unit has the thread mask of the first partition", f"{_UNITS}._start",
              "unit.mask.eq(of(lambda x: x.mask))", "unit.mask.eq(operands[0].mask)", "", _SHARED),
    _of_turns("results of the first ALU are written by all partitions", f"{_UNITS}._write",
              "alus[p // partitions_of_an_alu(config)]", "alus[0]", "partition 1: it gets the result of ALU", _SHARED),
    _of_turns("with computed turns, nobody sees the results of others at a port", _ISSUE,
              "slots & share.slots", "slots", fields=(*_OLDER, *_PORT)),
    _of_turns("with computed turns, loads do not see the results of others at a port", f"{_SHARING}._share_ports",
              "partition.load_slot.eq(~or_all(~other.load_free for other in others))", "partition.load_slot.eq(1)",
              "at most one partition writes at port 0", (*_OLDER, *_PORT)),
    _of_turns("with computed turns, a conversion does not see the results of the rounder",
              "metronome.hdl.issue.reservations:UnitSchedule.elaborate",
              "unit: ~known[config.issue_latency + latency] for", "unit: ~known[0] for",
              "at most one partition has a result in the rounder", _OLDER),
    _of_separation("loaded values wait for the results of the second partition", f"{_SHARING}._divide_ports",
                   "partition.load_slot.eq(self._fixed(before, p, count))",
                   "partition.load_slot.eq(self._fixed(before, p, count) & ~self._partitions[1].due)",
                   (*_SHARED, *_PORT)),
    _of_separation("turns begin again when the second partition selects an instruction", f"{_SM}._share",
                   _START, "sharing.start.eq(self.start | self._fronts[1].selection.select.any())"),
    _of_separation("turns begin again when the second partition writes a register", f"{_SM}._share",
                   _START, "sharing.start.eq(self.start | self._issues[1].write_event.valid)"),
    _of_separation("the first partition has all turns while the second one has no active warp", f"{_SM}._share",
                   _START, 'sharing.start.eq(self.start | ~self._control("flow", 1).active.any())'),
    _of_separation("fences wait for the stores of the first warps of the SM", f"{_SM}._issue",
                   "owned(self.config, self._lsu.stores_pending, p)", "self._lsu.stores_pending"),
    _of_separation("each partition has a block of warps", "metronome.hdl.lib.partitions:owned",
                   "Cat(Value.cast(mask)[partition::config.schedulers])",
                   "Value.cast(mask).word_select(partition, config.partition.warps)"),
    _of_separation("a fault of one partition kills the instructions of others", f"{_SM}._issue",
                   'issue.kill.eq(self._control("fault_valid", p))',
                   'issue.kill.eq(self._control("fault_valid", p) | self._control("fault_valid", 1))'),
    _of_separation("a partition's control flow is that of its neighbour", f"{_SM}._control_flow",
                   'connect(m, self._control("flow", p),',
                   'connect(m, self._control("flow", (p + 1) % self.config.schedulers),'),
    _of_separation("loaded values are written by all partitions", f"{_SM}._load",
                   "values.valid & mine", "values.valid"),
    _of_separation("the turn of an I-cache waits for its request", _ARBITER,
                   "~request.valid | request.ready", "request.ready"),
    _of_separation("an answer of memory reaches all I-caches", _ARBITER,
                   "response.valid & mine", "response.valid"),
)
