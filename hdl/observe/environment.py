"""The front end's assumptions about the rest of the SM and about memory, checked in every cycle."""

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..layouts.events import control_event_layout, front_event_layout
from ..lib.component import Component
from ..lib.onehot import one_hot

__all__ = ["EnvironmentWatch", "environment_layout"]


def environment_layout() -> data.StructLayout:
    """The assumptions, in the order of :data:`hdl.layouts.probe.ASSERTIONS`."""
    return data.StructLayout(dict.fromkeys(("resolution", "release", "activation", "active", "answer"), 1))


class EnvironmentWatch(Component):
    """One bit for each condition around the front end that may never occur.

    The proofs of the front end assume that all are 0, using these same equations; in simulation they are assertions of
    the SM (:data:`hdl.layouts.probe.ASSERTIONS`). All inputs are of the current cycle; ``broken`` is combinational:

    - ``resolution``: a resolution of a warp that has no control flow unresolved, or, for a warp that has ended, one
      without a redirect.
    - ``release``: of a warp that has no control flow unresolved, or is not active.
    - ``activation``: of a warp that is active, or whose control flow is unresolved after this cycle.
    - ``active``: a warp that became active without an activation in the cycle before or did not despite one, or
      stopped being active and has no control flow unresolved.
    - ``answer``: an answer of memory to a request of the I-cache that was not accepted in an earlier cycle, or has been
      answered.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        super().__init__({
            "front": In(front_event_layout(config)),  # requests of the I-cache, and unresolved control flow
            "control": In(control_event_layout(config)),  # the active warps, and where they continue
            "broken": Out(environment_layout()),  # the assumptions violated in this cycle
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        front, control, warps = self.front, self.control, self._config.warps
        resolved, ended = Signal(warps), Signal(warps)
        m.d.comb += [
            resolved.eq(Mux(control.resolution.valid, one_hot(control.resolution.warp, warps), 0)),
            ended.eq(Mux(control.resolution.redirect, resolved, 0)),
            self.broken.resolution.eq(
                control.resolution.valid
                & (~(resolved & front.unresolved).any() | (resolved & ~control.active & ~ended).any())
            ),
            self.broken.release.eq((control.release & ~(front.unresolved & control.active)).any()),
            self.broken.activation.eq((control.activation.warps & (control.active | front.unresolved & ~ended)).any()),
        ]
        self._active(m)
        self._answer(m)
        return m

    def _active(self, m: Module) -> None:
        front, control = self.front, self.control
        before, started = Signal(self._config.warps), Signal(self._config.warps)
        m.d.sync += [before.eq(control.active), started.eq(control.activation.warps)]
        m.d.comb += self.broken.active.eq(
            ((control.active ^ before) & ~started & ~(before & front.unresolved) | started & ~control.active).any()
        )

    def _answer(self, m: Module) -> None:
        front = self.front
        tags = 1 << len(front.request_tag)
        outstanding = Signal(tags)

        def where(valid: Value, tag: Value) -> Value:
            return Mux(valid, (Const(1, tags) << tag)[:tags], 0)

        m.d.sync += outstanding.eq(
            outstanding & ~where(front.answer, front.answer_tag) | where(front.request, front.request_tag)
        )
        m.d.comb += self.broken.answer.eq((where(front.answer, front.answer_tag) & ~outstanding).any())
