"""The last targets of the indirect jumps of each warp."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ...layouts.prediction import near, outcome_layout
from ...lib.component import Component
from ...prediction_sizes import NEAR_BITS
from .words import words_signature

__all__ = ["JumpTargets"]


class JumpTargets(Component):
    """A few targets for each warp, selected by the lowest bits of the jump's pc (docs/prediction.md).

    A target changes only with a wrong prediction, so there is one copy. Reset and start: no target.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        super().__init__({
            "early_warp": In(config.warp_bits),  # the warp of the instruction that is in decode in the next cycle
            "early_pc": In(32),  # its pc
            "known": Out(1),  # registered: there is a target for the instruction in decode
            "target": Out(NEAR_BITS),  # registered: the target
            "outcome": In(outcome_layout(config)),  # of an older instruction
            "learns": In(1),  # ``outcome`` is of a jump whose target is to be kept
            "words": Out(words_signature(0, config.jump_targets)),  # the entries that hold a target
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, entries = self._config, self._config.jump_targets
        words = self.words
        m.submodules.targets = targets = Memory(shape=NEAR_BITS, depth=config.warps * entries, init=[])
        write, read = targets.write_port(), targets.read_port(domain="comb")
        here, there = self._entry(m, self.early_pc), self._entry(m, self.outcome.pc)
        bits = (entries - 1).bit_length()
        m.d.comb += [
            words.settled_changes.eq(self.learns),
            words.settled_next.eq(words.settled | Mux(self.learns, 1 << there, 0)),
            read.addr.eq(Cat(here[:bits], self.early_warp)),
            write.addr.eq(Cat(there[:bits], self.outcome.warp)), write.data.eq(near(self.outcome.target)),
            write.en.eq(self.learns),
        ]
        m.d.sync += [self.target.eq(read.data), self.known.eq(words.early_behind.bit_select(here, 1))]
        return m

    def _entry(self, m: Module, pc: Value) -> Signal:
        entry = Signal(range(self._config.jump_targets))
        m.d.comb += entry.eq(pc[2:])
        return entry
