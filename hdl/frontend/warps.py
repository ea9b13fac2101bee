"""The front end's state of each warp: where it fetches next, and whether it may."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..config import LINE_NUMBER_BITS, SmConfig
from ..layouts.signatures import flow_signature
from ..lib.component import Component
from ..lib.onehot import select
from .signatures import choice_signature, lookup_signature, turn_signature

__all__ = ["WarpTable"]


class WarpTable(Component):
    """Fetch pc and pending control flow of every warp.

    A fetch made in t is looked up in t+1. Only a hit advances its warp's register by 4: until then ``pc`` adds the 4,
    so that a miss has nothing to restore. Priority for the register: activation, resolution, turn, hit (design.md
    section 3). Reset: all pcs 0, nothing unresolved.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        super().__init__({
            # Masks and arrays have one element per warp.
            "fetch": In(choice_signature(config)),  # the warp that fetches now
            "fetch_pc_if_hit": Out(32),  # the pc of ``fetch.if_hit``; combinational
            "fetch_pc_if_missed": Out(32),  # the pc of ``fetch.if_missed``
            "lookup": In(lookup_signature(config)),  # the fetch, made in the last cycle, that is looked up now
            "issued": In(config.warps),  # the warp that issues a control instruction now (one-hot or 0)
            "turn": In(turn_signature(config)),  # the jump that is followed at decode
            "flow": In(flow_signature(config)),  # from the control unit: warps that start and those that continue
            "redirected": Out(config.warps),  # warps whose fetch continues elsewhere from the next cycle; combinational
            #: A register: warps with a control instruction issued and neither resolved nor released.
            "unresolved": Out(config.warps),
            "pc": Out(data.ArrayLayout(32, config.warps)),  # where each warp fetches next
            #: Each warp's fetch line, of its register: after a miss the one that it waits for.
            "lines": Out(data.ArrayLayout(LINE_NUMBER_BITS, config.warps)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        flow = self.flow
        warps = range(self._config.warps)
        registers = [Signal(30, name=f"pc_{w}") for w in warps]
        pcs = [Signal(30, name=f"next_pc_{w}") for w in warps]
        following = Signal(30)
        m.d.comb += [
            following.eq(self.lookup.pc[2:] + 1),
            self.fetch_pc_if_hit.eq(select(self.fetch.if_hit, pcs) << 2),
            # Excludes the warp whose fetch has missed.
            self.fetch_pc_if_missed.eq(select(self.fetch.if_missed, registers) << 2),
        ]
        for w, pc in enumerate(registers):
            resolved = Signal(name=f"resolved_{w}")
            m.d.comb += [
                pcs[w].eq(Mux(self.lookup.warps[w], following, pc)),
                resolved.eq(flow.resolution.valid & (flow.resolution.warp == w)),
                self.redirected[w].eq(resolved & flow.resolution.redirect),
                self.pc[w].eq(pcs[w] << 2),
                self.lines[w].eq(pc[4:]),
            ]
            with m.If(flow.activation.warps[w]):
                m.d.sync += pc.eq(flow.activation.pc[2:])
            with m.Elif(self.redirected[w]):
                m.d.sync += pc.eq(flow.resolution.target[2:])
            with m.Elif(self.turn.warps[w]):
                m.d.sync += pc.eq(self.turn.target[2:])
            with m.Elif(self.lookup.warps[w] & ~self.lookup.missed):
                m.d.sync += pc.eq(following)
            with m.If(resolved | flow.release[w]):
                m.d.sync += self.unresolved[w].eq(0)
            with m.Elif(self.issued[w]):
                m.d.sync += self.unresolved[w].eq(1)
        return m
