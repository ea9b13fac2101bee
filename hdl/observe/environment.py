"""What the front end takes for granted of the rest of the SM and of memory, watched in every cycle."""

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..layouts.control import activation_layout, resolution_layout
from ..lib.component import Component
from ..lib.onehot import one_hot

__all__ = ["EnvironmentWatch", "environment_layout"]


def environment_layout() -> data.StructLayout:
    """What may be broken, in the order of :data:`hdl.layouts.probe.ASSERTIONS`."""
    return data.StructLayout(dict.fromkeys(("resolution", "release", "activation", "active", "answer"), 1))


class EnvironmentWatch(Component):
    """One bit for each thing that may never happen around the front end.

    The proofs of the front end assume that all are 0, with these very equations; in simulation they are assertions of
    the SM (:data:`hdl.layouts.probe.ASSERTIONS`). All inputs are of the current cycle; ``broken`` is combinational:

    - ``resolution``: a resolution of a warp that has no control flow unresolved, or, for a warp that has ended, one
      without a redirect.
    - ``release``: of a warp that has no control flow unresolved, or is not active.
    - ``activation``: of a warp that is active, or whose control flow is unresolved after this cycle.
    - ``active``: a warp that became active without an activation in the cycle before or did not in spite of one, or
      stopped being active and has no control flow unresolved.
    - ``answer``: an answer of memory to a request of the I-cache that was not accepted in an earlier cycle, or has been
      answered.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        tags = config.icache_tag_bits
        super().__init__({
            "active": In(config.warps),  # warps that run
            "unresolved": In(config.warps),  # the front end's register: control flow is issued and not resolved
            "resolution": In(resolution_layout(config)),  # the outcome of a warp's control flow
            "release": In(config.warps),  # warps that go on after a bar or wspawn
            "activation": In(activation_layout(config)),  # warps that start
            "request": In(1),  # memory accepts a request of the I-cache
            "request_tag": In(tags),  # its tag
            "answer": In(1),  # the I-cache accepts an answer of memory
            "answer_tag": In(tags),  # its tag
            "broken": Out(environment_layout()),  # what is broken in this cycle
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        warps = self._config.warps
        resolved, ended = Signal(warps), Signal(warps)
        m.d.comb += [
            resolved.eq(Mux(self.resolution.valid, one_hot(self.resolution.warp, warps), 0)),
            ended.eq(Mux(self.resolution.redirect, resolved, 0)),
            self.broken.resolution.eq(
                self.resolution.valid & (~(resolved & self.unresolved).any() | (resolved & ~self.active & ~ended).any())
            ),
            self.broken.release.eq((self.release & ~(self.unresolved & self.active)).any()),
            self.broken.activation.eq((self.activation.warps & (self.active | self.unresolved & ~ended)).any()),
        ]
        self._active(m)
        self._answer(m)
        return m

    def _active(self, m: Module) -> None:
        before, started = Signal(self._config.warps), Signal(self._config.warps)
        m.d.sync += [before.eq(self.active), started.eq(self.activation.warps)]
        m.d.comb += self.broken.active.eq(
            ((self.active ^ before) & ~started & ~(before & self.unresolved) | started & ~self.active).any()
        )

    def _answer(self, m: Module) -> None:
        tags = 1 << len(self.request_tag)
        outstanding = Signal(tags)

        def where(valid: Value, tag: Value) -> Value:
            return Mux(valid, (Const(1, tags) << tag)[:tags], 0)

        m.d.sync += outstanding.eq(
            outstanding & ~where(self.answer, self.answer_tag) | where(self.request, self.request_tag)
        )
        m.d.comb += self.broken.answer.eq((where(self.answer, self.answer_tag) & ~outstanding).any())
