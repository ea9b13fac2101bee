"""Broken designs of an SM with several schedulers, for P9 and P10 (:mod:`.broken`)."""

from __future__ import annotations

from .defect import Defect

__all__ = ["BROKEN_PARTITIONS"]

_SM = "metronome.hdl.sm:Sm"
_ARBITER = "metronome.hdl.memory.arbiter:MemoryArbiter._fetches"
_ISSUE = "metronome.hdl.issue.issue:IssueStage._claim"
_TURN = "Mux(last, turn, turn + 1)"
_CHIP = (("issue_latency", 3), ("lookup_latency", 2))


def _of_turns(
    name: str, method: str, old: str, new: str, claim: str = "", fields: tuple[tuple[str, int], ...] = (),
) -> Defect:
    return Defect(name, "P9", method, old, new, parameters=(("schedulers", 2), *fields), claim=claim)


def _of_separation(name: str, method: str, old: str, new: str) -> Defect:
    return Defect(name, "P10", method, old, new, parameters=(("schedulers", 2),))


BROKEN_PARTITIONS = (
    _of_turns("a launch gives each partition a turn at once", f"{_SM}._take_turns",
              "issue.turn.eq(turn == p)", "issue.turn.eq((turn == p) | self.start)",
              "one partition had its turn 0 cycles ago"),
    _of_turns("a load is selected outside its partition's turn", _ISSUE,
              "Unit.LSU: self.lsu_ready & self.turn", "Unit.LSU: self.lsu_ready"),
    _of_turns("with an operand register, a CSR access needs no turn", _ISSUE,
              "Unit.CSR: self.turn", "Unit.CSR: 1", fields=_CHIP),
    _of_turns("branches wait for a turn, too", _ISSUE,
              "Unit.CSR: self.turn", "Unit.CSR: self.turn, Unit.BRANCH: self.turn",
              "partition 1: its pipelined units are free in every cycle"),
    _of_turns("masks are looked up for the partition whose turn it is now", f"{_SM}._take_turns",
              "self._controls.peek.eq(before)", "self._controls.peek.eq(turn)"),
    _of_turns("the LSU gets a partition's own number of a warp", f"{_SM}._take",
              "global_warp(self.config, each.selection.warp, p)", "each.selection.warp"),
    _of_turns("a SIMT instruction of the first partition loses its operand", "metronome.hdl.execute.controls:Controls"
              "._request", "chosen(valid, [getattr(each, name) for each in requests])",
              "getattr(requests[-1], name)"),
    _of_separation("a turn lasts while loads are selected in it", f"{_SM}._take_turns",
                   _TURN, "Mux(last | or_all(issue.lsu_take for issue in self._issues), turn, turn + 1)"),
    _of_separation("a full LSU delays the next turn", f"{_SM}._take_turns",
                   _TURN, "Mux(last | ~self._lsu.ready, turn, turn + 1)"),
    _of_separation("a partition without active warps gives up its turn", f"{_SM}._take_turns",
                   _TURN, 'Mux(last | ~self._control("flow", 1).active.any(), turn, turn + 1)'),
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
