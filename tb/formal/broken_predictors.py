"""Deliberately broken predictors (:mod:`.broken`): most let a warp's prediction depend on something else."""

from __future__ import annotations

from .defect import Defect

__all__ = ["BROKEN_PREDICTORS"]

_HERE = "metronome.hdl.frontend.prediction"
_DECODED = f"{_HERE}.words:Words._follow_decode"
_SETTLED = f"{_HERE}.words:Words._follow_outcomes"
_STACK = f"{_HERE}.return_stack:ReturnStack"
_TARGETS = f"{_HERE}.jump_targets:JumpTargets.elaborate"
_RUNS = f"{_HERE}.branch_runs:BranchRuns"
_COUNTERS = f"{_HERE}.two_bit:TwoBit.elaborate"
_ALL = f"{_HERE}.predictors:Predictors.elaborate"
_FETCH = "metronome.hdl.frontend.fetch:FetchPipeline"
_CONTROL = "metronome.hdl.execute.control:ControlUnit"
_BUFFERS = "metronome.hdl.frontend.buffers:InstructionBuffers.elaborate"

#: One kind of predictor alone: the search is for a run through its states.
_KINDS = ("return_stack", "jump_targets", "branch_runs", "two_bit")


def _only(**sizes: int) -> tuple[tuple[str, int], ...]:
    return tuple((kind, sizes.get(kind, 0)) for kind in _KINDS)


def _defect(name: str, method: str, old: str, new: str, **sizes: int) -> Defect:
    return Defect(name, "P8", method, old, new, "private", parameters=_only(**sizes))


BROKEN_PREDICTORS = (
    Defect("a predicted jalr goes to pc + imm", "P4", f"{_FETCH}._predict",
           "return predictors.predicted, predictors.target", "return predictors.predicted, direct", "private"),
    Defect("the issue side receives the static prediction", "P4", f"{_FETCH}.elaborate",
           "self.done.entry.decoded.predicted.eq(predicted)",
           "self.done.entry.decoded.predicted.eq(decoder.decoded.predicted)", "private"),
    Defect("the predictions of two warps share a memory", "P4", _BUFFERS,
           "told.addr.eq(write.addr)", "told.addr.eq(slot)", "private"),
    Defect("squashed instructions are predicted", "P4", f"{_FETCH}._predict",
           "last.valid & ~last.squashed", "last.valid", "private"),
    _defect("the return addresses of two warps share a memory", f"{_STACK}._at",
            ", warp)", ", 0 * warp)", return_stack=2),
    _defect("the targets of two warps share a memory", _TARGETS,
            "Cat(there[:bits], self.outcome.warp)", "Cat(there[:bits], self.early_warp)", jump_targets=2),
    _defect("an entry is for the warp in decode, not for that of the outcome", _SETTLED,
            "write.addr.eq(self.settled_warp)", "write.addr.eq(self.warp)", jump_targets=2),
    _defect("what is ahead is newer for all warps", _DECODED,
            "Array(newer)[self.early_warp]", "newer.any()", return_stack=2),
    _defect("a redirect does not forget what is ahead", _DECODED,
            "self.start[w] | self.restore[w]", "self.start[w]", return_stack=2),
    _defect("a redirect of another warp forgets what is ahead", _DECODED,
            "self.start[w] | self.restore[w]", "self.start[w] | self.restore.any()", return_stack=2),
    _defect("a start does not clear what is behind", _SETTLED,
            "fresh[w].eq(1)", "fresh[w].eq(0)", jump_targets=2),
    _defect("a call in decode is written behind", f"{_STACK}.elaborate",
            "behind_write.data.eq(near(outcome.pc)),\n        behind_write.en.eq(outcome.valid & outcome.pushes)",
            "behind_write.data.eq(near(self.pc)),\n        behind_write.en.eq(self.valid & self.pushes)",
            return_stack=2),
    _defect("without a word ahead, all addresses count as written there", f"{_STACK}.elaborate",
            "none.place.eq(words.early_behind)",
            "[none.place.eq(words.early_behind), none.written.eq(-1)]", return_stack=2),
    _defect("the outcome of a branch writes a target", _TARGETS,
            "write.en.eq(self.learns)", "write.en.eq(self.learns | self.outcome.valid)", jump_targets=2),
    _defect("a target is learned from a wrong return", _ALL,
            "self.outcome.wrong & ~outcome_popped", "self.outcome.wrong", return_stack=2, jump_targets=1),
    _defect("a right prediction makes an entry", f"{_RUNS}.elaborate",
            "learns & outcome.wrong & ~outcome.run", "learns & ~outcome.run", branch_runs=2),
    _defect("a right prediction changes a length", f"{_RUNS}.elaborate",
            "learns & outcome.wrong & (", "learns & (", branch_runs=2),
    _defect("a run is counted ahead in the other way", f"{_RUNS}.elaborate",
            "Cat(self.way, self._bits(here), self.warp)", "Cat(~self.way, self._bits(here), self.warp)", branch_runs=2),
    _defect("a redirect leaves the runs ahead", _DECODED,
            "share.early_none))", "read.data))", branch_runs=2),
    _defect("a run ends at the length of the other outcome", f"{_RUNS}._predict",
            "lengths[_COUNT_BITS:], lengths[:_COUNT_BITS]", "lengths[:_COUNT_BITS], lengths[_COUNT_BITS:]",
            branch_runs=2),
    _defect("a run ahead counts the static prediction", f"{_RUNS}.elaborate",
            "self._count(m, run, self.taken, later)", "self._count(m, run, self.usual, later)", branch_runs=2),
    _defect("the runs of two warps share a memory", f"{_RUNS}.elaborate",
            "Cat(self.way, self._bits(here), self.warp), later.as_value(),\n        words.ahead_changes, at_early,",
            "Cat(self.way, self._bits(here)), later.as_value(), words.ahead_changes, at_early[:-len(self.warp)],",
            branch_runs=2),
    _defect("a redirect leaves the counters ahead", _DECODED,
            "share.early_none))", "read.data))", two_bit=2),
    _defect("a counter behind counts in decode", _COUNTERS,
            "settles.en.eq(learns)", "settles.en.eq(learns | self.valid)", two_bit=2),
    _defect("a jalr to another target counts as predicted", f"{_CONTROL}._tell_predictors",
            "outcome.wrong.eq(self._redirect)", "outcome.wrong.eq(taken ^ x.entry.decoded.predicted)"),
    _defect("a jump that faults has an outcome", f"{_CONTROL}.elaborate",
            "self._is(Unit.BRANCH) & ~self.fault_valid", "self._is(Unit.BRANCH)"),
    _defect("a jalr that calls through its own link register pops", f"{_CONTROL}._tell_predictors",
            "outcome.pops.eq(pops(word))", "outcome.pops.eq(is_jalr(word) & is_link(word[15:20]))"),
)
