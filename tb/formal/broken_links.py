"""Broken designs of what predictors, buffers and stages hand on, each for one claim of P4 or P8 (:mod:`.broken`)."""

from __future__ import annotations

from .defect import Defect

__all__ = ["BROKEN_LINKS"]

_FETCH = "metronome.hdl.frontend.fetch:FetchPipeline"
_BUFFERS = "metronome.hdl.frontend.buffers:InstructionBuffers"
_OPERANDS = "metronome.hdl.issue.operands:OperandStage.elaborate"
_CONTROL = "metronome.hdl.execute.control:ControlUnit"
_PREDICTORS = "metronome.hdl.frontend.prediction.predictors:Predictors.elaborate"


def _fetched(claim: str, name: str, method: str, old: str, new: str, scheme: str = "swas") -> Defect:
    return Defect(name, "P4", method, old, new, "private", scheme, claim=claim)


def _received(claim: str, name: str, old: str, new: str) -> Defect:
    return _fetched(claim, name, f"{_FETCH}._predict", old, new)


def _executed(claim: str, name: str, method: str, old: str, new: str, **fields: int) -> Defect:
    return Defect(name, "P8", method, old, new, "private", claim=claim, parameters=tuple(fields.items()))


_P4 = (
    _fetched("the issued instruction belongs to an active warp with nothing unresolved",
             "a warp with unresolved control flow is selected",
             "metronome.hdl.frontend.swas:SwasCoordination.elaborate",
             "self.lookup.suspended & ~self.unresolved", "self.lookup.suspended"),
    _fetched("the entry that follows has the pc that issued",
             "an entry comes with the pc after its own", f"{_BUFFERS}.elaborate",
             "self.entry.eq(read.data),", "self.entry.eq(read.data), self.entry.pc.eq(read.data.pc + 4),"),
    _fetched("the entry that follows is the instruction that was judged",
             "a pop keeps what the issue stage judges from being filled", f"{_BUFFERS}._ring",
             "with m.If(filling[slot]):", "with m.If(filling[slot] & ~self.pop[w]):"),
    _fetched("the entry that follows is the instruction of its pc",
             "an entry is kept without its immediate", f"{_BUFFERS}.elaborate",
             "write.data.eq(self.fill.entry),", "write.data.eq(self.fill.entry), write.data.decoded.imm.eq(0),"),
    _fetched("but no instruction of a warp that starts",
             "a redirect leaves the fetch in lookup", f"{_FETCH}._stages",
             "stage.squashed | squashed | missed", "stage.squashed | (squashed if number == 1 else 0) | missed"),
    _fetched("nor of one that was started, redirected or predicted to jump in the last cycle",
             "a redirect leaves the fetch after the lookup", f"{_FETCH}._stages",
             "stage.squashed | squashed | missed", "stage.squashed | (squashed if number == 0 else 0) | missed"),
    _fetched("and if it was the same warp's in the last cycle, the pc before it",
             "a warp that fetches twice in a row leaves out an instruction",
             "metronome.hdl.frontend.warps:WarpTable.elaborate",
             "(self.fetch.if_hit & now).any(), following, 0)", "(self.fetch.if_hit & now).any(), following + 1, 0)"),
    _received("its warp and its pc have come a cycle early", "the warp in decode is announced too late",
              "predictors.early_warp.eq(early.warp)", "predictors.early_warp.eq(last.warp)"),
    _received("with its warp and its pc", "the predictors receive the pc of a pair of instructions",
              "predictors.early_pc.eq(early.pc),\n        predictors.warp.eq(last.warp),\n"
              "        predictors.pc.eq(last.pc),",
              "predictors.early_pc.eq(early.pc & ~4),\n        predictors.warp.eq(last.warp),\n"
              "        predictors.pc.eq(last.pc & ~4),"),
    _received("and its word, or none", "the predictors receive the word of a fetch that failed",
              "word[1] & ~decoder.fetch_error", "word[1]"),
    _received("and its static prediction", "the predictors receive that no jump is followed",
              "predictors.usual.eq(decoder.decoded.predicted)", "predictors.usual.eq(0)"),
    _received("and the target of a jal or branch", "the predictors receive a target without its high bits",
              "predictors.direct.eq(direct)", "predictors.direct.eq(direct[:20])"),
    _fetched("or the pc of a jalr", "the predictors receive a jalr with the offset of a branch", f"{_FETCH}.elaborate",
             "Mux(store.instruction[2:4] == 1, 0, offset)", "offset"),
    _received("they receive redirects and starts", "a redirect of any warp reaches the predictors as one of all",
              "predictors.restore.eq(self.squash)", "predictors.restore.eq(-self.squash.any())"),
    _received("and outcomes", "the predictors receive every outcome as taken",
              "predictors.outcome.eq(self.outcome)",
              "predictors.outcome.eq(self.outcome), predictors.outcome.taken.eq(1)"),
    _fetched("the entry that follows takes along its prediction", "baseline keeps the predictions of two warps in one",
             f"{_BUFFERS}.elaborate", "told.addr.eq(write.addr)", "told.addr.eq(slot)", "baseline"),
    _fetched("the entry that follows takes along its prediction", "baseline: a branch takes along a target",
             f"{_BUFFERS}.elaborate", "told.data.eq(packed(self.fill.prediction, self.fill.entry.instruction))",
             "told.data.eq(self.fill.prediction.target)", "baseline"),
    _fetched("nor of one that was started, redirected or predicted to jump in the last cycle",
             "baseline: a redirect leaves the fetch after the lookup", f"{_FETCH}._stages",
             "stage.squashed | squashed | missed", "stage.squashed | (squashed if number == 0 else 0) | missed",
             "baseline"),
    _fetched("but no instruction of a warp that starts", "baseline: a redirect leaves the fetch in lookup",
             f"{_FETCH}._stages", "stage.squashed | squashed | missed",
             "stage.squashed | (squashed if number == 1 else 0) | missed", "baseline"),
    _fetched("the entry that follows takes along whether it was predicted taken",
             "baseline issues with the static prediction", f"{_FETCH}.elaborate",
             "self.done.entry.decoded.predicted.eq(predicted)",
             "self.done.entry.decoded.predicted.eq(decoder.decoded.predicted)", "baseline"),
)

_P8 = (
    _executed("another instruction is predicted as the decoder says", "a learned target is for any instruction",
              _PREDICTORS, "Mux(indirect, available | known, self.usual)", "available | known | self.usual"),
    _executed("a jal or branch goes where it says", "a jump of a warp that has learned a target goes there",
              _PREDICTORS, "self.target.eq(Mux(indirect,", "self.target.eq(Mux(indirect | available | known,"),
    _executed("a jalr goes where its prediction says", "a predicted jalr goes to the first MiB",
              _PREDICTORS, "with_high_bits(self.prediction.target, self.direct)",
              "with_high_bits(self.prediction.target, 0 * self.direct)"),
    _executed("and in its way", "a branch takes along the other way", _PREDICTORS,
              "self.prediction.way.eq(runs.way)", "self.prediction.way.eq(~runs.way)"),
    _executed("R: the warp is the one that was selected", "R keeps its warp while it is full", _OPERANDS,
              "with m.If(self.selected):", "with m.If(self.selected & ~reading):"),
    _executed("R: an instruction was selected", "an instruction stays in R until the next one", _OPERANDS,
              "reading.eq(self.selected)", "reading.eq(self.selected | reading)"),
    _executed("R: it has been read iff it was selected", "a fault drops the instruction in R", _OPERANDS,
              "read.valid.eq(reading)", "read.valid.eq(reading & ~self.halt)", issue_latency=3),
    _executed("R: it is that of the warp that was selected", "the warp that is selected next is read", _OPERANDS,
              "read.warp.eq(self.reading_warp)", "read.warp.eq(self.selected_warp)", issue_latency=3),
    _executed("R: it is the entry and the prediction that came with it",
              "R keeps the prediction of the first instruction", _OPERANDS,
              "read.prediction.eq(self.prediction)", "read.prediction.eq(read.prediction)", issue_latency=3),
    _executed("X: there is an instruction iff one was selected, and nothing has faulted",
              "the instruction in X takes effect after a fault", _OPERANDS,
              "self.operands.valid.eq(x.valid & ~self.halt)", "self.operands.valid.eq(x.valid)"),
    _executed("X: it is that of the warp that was selected", "X gets the warp in R", _OPERANDS,
              "x.warp.eq(read.warp)", "x.warp.eq(self.reading_warp)", issue_latency=3),
    _executed("X: it is the entry and the prediction that came with it",
              "X gets the prediction of the instruction after it", _OPERANDS,
              "x.prediction.eq(read.prediction)", "x.prediction.eq(self.prediction)", issue_latency=3),
    _executed("X: the jumps and branches are those that decode takes for them",
              "an unknown word is executed as a branch", "metronome.hdl.frontend.decode:Decoder.elaborate",
              "Mux(known, 0, Unit.SYSTEM.value)", "Mux(known, 0, Unit.BRANCH.value)"),
    _executed("X: a jump is taken", "a jalr is never taken", f"{_CONTROL}._branch",
              "taken.eq((self._lanes.taken & decides).any())",
              "taken.eq((self._lanes.taken & decides).any() & ~is_jalr)"),
    _executed("X: a wrong outcome redirects its warp in the same cycle", "a wrong return does not redirect",
              f"{_CONTROL}._resolve", "self.flow.resolution.redirect.eq(self._redirect)",
              "self.flow.resolution.redirect.eq(self._redirect & (self._jump != JumpKind.RETURN))"),
    _executed("X: to where it continues", "a branch that is not taken is redirected to its target",
              f"{_CONTROL}._branch", "self._target.eq(Mux(taken, target, x.entry.pc + 4))", "self._target.eq(target)"),
    _executed("X: with a right outcome, no warp is redirected", "a jump that was predicted right redirects",
              f"{_CONTROL}._resolve", "self.flow.resolution.redirect.eq(self._redirect)",
              "self.flow.resolution.redirect.eq(self._redirect | self._jumps)"),
)

#: With those of :mod:`.broken` and :mod:`.broken_predictors`, every claim of P4 and P8 has a design that it refutes.
BROKEN_LINKS = (*_P4, *_P8)
