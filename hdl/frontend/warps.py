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

    ``pc[w]`` is where warp w fetches next. ``fetch_pc_if_hit`` and ``fetch_pc_if_missed``: that of the warp selected to
    fetch (``fetched_if_hit``, ``fetched_if_missed``: one-hot or 0), for either value of ``lookup_missed``, which comes
    late in the cycle. The fetch that is looked up now (``lookup``, one-hot or 0, at ``lookup_pc``) was made a cycle
    ago. Only its hit moves its warp's register on by 4: until then ``pc`` adds the 4, and a miss has nothing to
    restore. Priority for the register: activation, resolution, ``turn`` (a jump followed at decode), hit (design.md
    section 3). ``lines[w]``: the line that a warp waits for after a miss.

    ``unresolved[w]`` is set when the warp issues a control instruction (``issued``, one-hot) and cleared by its
    resolution or by ``release`` (barriers, wspawn). ``redirected``: warps whose fetch goes on elsewhere from the next
    cycle on.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        super().__init__({
            "fetched_if_hit": In(config.warps),
            "fetched_if_missed": In(config.warps),
            "lookup": In(config.warps),
            "lookup_pc": In(32),
            "lookup_missed": In(1),
            "fetch_pc_if_hit": Out(32),
            "fetch_pc_if_missed": Out(32),
            "issued": In(config.warps),
            "turn": In(config.warps),
            "turn_target": In(32),
            "resolution": In(resolution_layout(config)),
            "release": In(config.warps),
            "activation": In(activation_layout(config)),
            "redirected": Out(config.warps),
            "unresolved": Out(config.warps),
            "pc": Out(data.ArrayLayout(32, config.warps)),
            "lines": Out(data.ArrayLayout(26, config.warps)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        warps = range(self._config.warps)
        registers = [Signal(30, name=f"pc_{w}") for w in warps]
        pcs = [Signal(30, name=f"next_pc_{w}") for w in warps]
        following = Signal(30)
        m.d.comb += [
            following.eq(self.lookup_pc[2:] + 1),
            self.fetch_pc_if_hit.eq(select(self.fetched_if_hit, pcs) << 2),
            # The warp whose fetch has missed is not among these.
            self.fetch_pc_if_missed.eq(select(self.fetched_if_missed, registers) << 2),
        ]
        for w, pc in enumerate(registers):
            resolved = Signal(name=f"resolved_{w}")
            m.d.comb += [
                pcs[w].eq(Mux(self.lookup[w], following, pc)),
                resolved.eq(self.resolution.valid & (self.resolution.warp == w)),
                self.redirected[w].eq(resolved & self.resolution.redirect),
                self.pc[w].eq(pcs[w] << 2),
                self.lines[w].eq(pc[4:]),
            ]
            with m.If(self.activation.warps[w]):
                m.d.sync += pc.eq(self.activation.pc[2:])
            with m.Elif(self.redirected[w]):
                m.d.sync += pc.eq(self.resolution.target[2:])
            with m.Elif(self.turn[w]):
                m.d.sync += pc.eq(self.turn_target[2:])
            with m.Elif(self.lookup[w] & ~self.lookup_missed):
                m.d.sync += pc.eq(following)
            with m.If(resolved | self.release[w]):
                m.d.sync += self.unresolved[w].eq(0)
            with m.Elif(self.issued[w]):
                m.d.sync += self.unresolved[w].eq(1)
        return m
