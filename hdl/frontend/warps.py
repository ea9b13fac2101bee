"""The front end's state of every warp: where it fetches, and whether it may."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..layouts.control import activation_layout, resolution_layout
from ..lib.onehot import select

__all__ = ["WarpTable"]


class WarpTable(wiring.Component):
    """Fetch pc and pending control flow of every warp.

    ``fetch_pc`` is the fetch pc of the warp in ``fetched`` (one-hot or 0), which then advances by 4. ``fetched`` is
    ``fetched_if_missed`` if ``lookup_missed``, which comes late in the cycle, else ``fetched_if_hit``. Priority for the
    pc: activation, resolution, ``turn`` (a jump followed at decode), miss, +4 (design.md section 3). ``unresolved[w]``
    is set when the warp issues a control instruction (``issued``, one-hot) and cleared by its resolution or by
    ``release`` (barriers, wspawn). ``redirected``: warps whose fetch goes on elsewhere from the next cycle on.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        super().__init__({
            "fetched": In(config.warps),
            "fetched_if_hit": In(config.warps),
            "fetched_if_missed": In(config.warps),
            "lookup_missed": In(1),
            "fetch_pc": Out(32),
            "issued": In(config.warps),
            "turn": In(config.warps),
            "turn_target": In(32),
            "missed": In(config.warps),
            "missed_pc": In(32),
            "resolution": In(resolution_layout(config)),
            "release": In(config.warps),
            "activation": In(activation_layout(config)),
            "redirected": Out(config.warps),
            "unresolved": Out(config.warps),
            "pc": Out(data.ArrayLayout(32, config.warps)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pcs = [Signal(30, name=f"pc_{w}") for w in range(self._config.warps)]
        words = [Signal(30, name="word_if_hit"), Signal(30, name="word_if_missed")]
        m.d.comb += [
            words[0].eq(select(self.fetched_if_hit, pcs)),
            words[1].eq(select(self.fetched_if_missed, pcs)),
            self.fetch_pc.eq(Mux(self.lookup_missed, words[1], words[0]) << 2),
        ]
        for w, pc in enumerate(pcs):
            resolved = Signal(name=f"resolved_{w}")
            m.d.comb += [
                resolved.eq(self.resolution.valid & (self.resolution.warp == w)),
                self.redirected[w].eq(resolved & self.resolution.redirect),
                self.pc[w].eq(pc << 2),
            ]
            with m.If(self.activation.warps[w]):
                m.d.sync += pc.eq(self.activation.pc[2:])
            with m.Elif(self.redirected[w]):
                m.d.sync += pc.eq(self.resolution.target[2:])
            with m.Elif(self.turn[w]):
                m.d.sync += pc.eq(self.turn_target[2:])
            with m.Elif(self.missed[w]):
                m.d.sync += pc.eq(self.missed_pc[2:])
            with m.Elif(self.fetched[w]):
                m.d.sync += pc.eq(pc + 1)
            with m.If(resolved | self.release[w]):
                m.d.sync += self.unresolved[w].eq(0)
            with m.Elif(self.issued[w]):
                m.d.sync += self.unresolved[w].eq(1)
        return m
