"""The way from selection to stage X, for P8: the same for every instruction, so that outcomes come in order."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Signal, Value
from amaranth.lib import wiring

from metronome.hdl.config import SmConfig
from metronome.hdl.issue.operands import OperandStage

from .claims import Claims
from .inside import Internals

__all__ = ["OperandClaims"]


class OperandClaims:
    """Adds the operand stage, whose registers are cut out, and the claims to a harness; ``free`` are its inputs."""

    def __init__(self, model: Claims, config: SmConfig) -> None:
        m, stage = model.m, OperandStage(config)
        inside = Internals(stage)
        registers = inside.component("registers")
        inside.cut("registers")
        m.submodules.operands = inside.fragment
        self.free: list[Value] = [
            Value.cast(value) for part, flow in ((stage, wiring.In), (registers, wiring.Out))
            for _, member, value in part.signature.flatten(part) if member.flow is flow
        ]
        # The entry and its prediction come in the cycle after the selection.
        selected, warp = stage.selected, stage.selected_warp
        known: Value = stage.entry.as_value()
        prediction: Value = stage.prediction.as_value()
        for number in range(1, config.issue_latency + 1):
            later, its = Signal(name=f"expect_selected_{number}"), Signal(len(warp), name=f"expect_its_warp_{number}")
            m.d.sync += [later.eq(selected), its.eq(warp)]
            selected, warp = later, its
            if number > 1:
                entry = Signal(len(known), name=f"expect_its_entry_{number}")
                told = Signal(len(prediction), name=f"expect_its_prediction_{number}")
                m.d.sync += [entry.eq(known), told.eq(prediction)]
                known, prediction = entry, told
                if number == 2:
                    _claim_read(model, stage.read, selected, warp, known, prediction)
            else:
                model.claim("R: the warp is the one that was selected", ~selected | (stage.reading_warp == warp))
                model.claim("R: an instruction was selected", inside.signal("", "reading") == selected)
        x = stage.operands
        model.claim("X: there is an instruction iff one was selected, and nothing has faulted",
                    x.valid == (selected & ~stage.halt))
        model.claim("X: it is that of the warp that was selected", ~x.valid | (x.warp == warp))
        model.claim("X: it is the entry and the prediction that came with it",
                    ~x.valid | (x.entry.as_value() == known) & (x.prediction.as_value() == prediction))


def _claim_read(model: Claims, read: Any, selected: Value, warp: Value, known: Value, prediction: Value) -> None:
    model.claim("R: it has been read iff it was selected", read.valid == selected)
    model.claim("R: it is that of the warp that was selected", ~selected | (read.warp == warp))
    model.claim("R: it is the entry and the prediction that came with it",
                ~selected | (read.entry.as_value() == known) & (read.prediction.as_value() == prediction))
