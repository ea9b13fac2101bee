"""The front end's state of each warp: where it fetches next, and whether it may."""

from amaranth.hdl import Module, Mux, Signal, Value
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

    A fetch made in t is looked up in t+1. Only a hit advances its warp's register by 4, at the end of t+2: until then
    ``pc`` adds the 4, so that a miss has nothing to restore, and no register needs the outcome when it comes late in
    t+1. Priority for the register: activation, resolution, turn, hit (design.md section 3). Reset: all pcs 0, nothing
    unresolved.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        super().__init__({
            # Masks and arrays have one element per warp.
            "fetch": In(choice_signature(config)),  # the warp that fetches now
            "fetch_pc_if_hit": Out(32),  # the pc of ``fetch.if_hit``; combinational
            "fetch_pc_if_missed": Out(32),  # the pc of ``fetch.if_missed``
            "lookup": In(lookup_signature(config)),  # the fetch, made in the last cycle, that is looked up now
            #: The warp that issues a control instruction now (one-hot or 0), for both outcomes of the lookup.
            "issued_if_hit": In(config.warps),
            "issued_if_missed": In(config.warps),  # likewise
            "turn": In(turn_signature(config)),  # the jump that is followed at decode
            "flow": In(flow_signature(config)),  # from the control unit: warps that start and those that continue
            "redirected": Out(config.warps),  # warps whose fetch continues elsewhere from the next cycle; combinational
            #: A register: warps with a control instruction issued and neither resolved nor released.
            "unresolved": Out(config.warps),
            "pc": Out(data.ArrayLayout(32, config.warps)),  # where each warp fetches next
            #: Each warp's fetch line, of its register: from the cycle after a miss on, the one that it waits for.
            "lines": Out(data.ArrayLayout(LINE_NUMBER_BITS, config.warps)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        flow = self.flow
        warps = range(self._config.warps)
        registers = [Signal(30, name=f"pc_{w}") for w in warps]
        following = Signal(30)
        m.d.comb += following.eq(self.lookup.pc[2:] + 1)
        advances, advanced = self._advance(m, following)
        pcs = [Signal(30, name=f"next_pc_{w}") for w in warps]
        now = self.lookup.warps
        m.d.comb += [
            *(pcs[w].eq(Mux(advances[w], advanced, pc)) for w, pc in enumerate(registers)),
            self.fetch_pc_if_hit.eq(
                (select(self.fetch.if_hit & ~now, pcs) | Mux((self.fetch.if_hit & now).any(), following, 0)) << 2
            ),
            # Excludes the warp whose fetch has missed.
            self.fetch_pc_if_missed.eq(select(self.fetch.if_missed, pcs) << 2),
        ]
        for w, pc in enumerate(registers):
            resolved = Signal(name=f"resolved_{w}")
            m.d.comb += [
                resolved.eq(flow.resolution.valid & (flow.resolution.warp == w)),
                self.redirected[w].eq(resolved & flow.resolution.redirect),
                self.pc[w].eq(Mux(now[w], following, pcs[w]) << 2),
                self.lines[w].eq(pc[4:]),
            ]
            with m.If(flow.activation.warps[w]):
                m.d.sync += pc.eq(flow.activation.pc[2:])
            with m.Elif(self.redirected[w]):
                m.d.sync += pc.eq(flow.resolution.target[2:])
            with m.Elif(self.turn.warps[w]):
                m.d.sync += pc.eq(self.turn.target[2:])
            with m.Elif(advances[w]):
                m.d.sync += pc.eq(advanced)
            issued = Mux(self.lookup.missed, self.issued_if_missed[w], self.issued_if_hit[w])
            m.d.sync += self.unresolved[w].eq(~(resolved | flow.release[w]) & (self.unresolved[w] | issued))
        return m

    def _advance(self, m: Module, following: Value) -> tuple[Signal, Signal]:
        """The warp whose lookup hit in the last cycle, unless it was redirected then, and its pc now."""
        advances, advanced = Signal(self._config.warps, name="advances"), Signal(30, name="advanced")
        elsewhere = self.flow.activation.warps | self.redirected | self.turn.warps
        m.d.sync += [
            advances.eq(Mux(self.lookup.missed, 0, self.lookup.warps & ~elsewhere)),
            advanced.eq(following),
        ]
        return advances, advanced
