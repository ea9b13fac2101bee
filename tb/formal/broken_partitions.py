"""Broken designs of an SM with several schedulers, for P9 and P10 (:mod:`.broken`)."""

from __future__ import annotations

from .defect import Defect

__all__ = ["BROKEN_PARTITIONS"]

_SM = "metronome.hdl.sm:Sm"
_ARBITER = "metronome.hdl.memory.arbiter:MemoryArbiter._fetches"
_ISSUE = "metronome.hdl.issue.issue:IssueStage._share"
_SHARING = "metronome.hdl.issue.sharing:Sharing"
_START = "sharing.start.eq(self.start)"
_CHIP = (("issue_latency", 3), ("lookup_latency", 2))


def _of_turns(
    name: str, method: str, old: str, new: str, claim: str = "", fields: tuple[tuple[str, int], ...] = (),
) -> Defect:
    return Defect(name, "P9", method, old, new, parameters=(("schedulers", 2), *fields), claim=claim)


def _of_separation(name: str, method: str, old: str, new: str) -> Defect:
    return Defect(name, "P10", method, old, new, parameters=(("schedulers", 2),))


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
