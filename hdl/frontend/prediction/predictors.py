"""The predictors of all warps, of which each sees its own instructions only (docs/prediction.md)."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ...layouts.prediction import is_branch, is_jalr, is_link, outcome_layout, pops, prediction_layout, with_high_bits
from ...lib.component import Component
from .branch_runs import BranchRuns
from .jump_targets import JumpTargets
from .return_stack import ReturnStack
from .two_bit import TwoBit
from .words import Words

__all__ = ["Predictors"]


class Predictors(Component):
    """Predicts the jump or branch in decode; combinational but for the predictors' state.

    A ``jal`` goes where it says. A return takes the last address of its warp's stack; another ``jalr``, or one that
    finds the stack empty, the last target. A branch follows its runs, else the static prediction, which a counter may
    invert. Each of these exists if ``config`` has entries for it. Reset and start of a warp: nothing is known.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        super().__init__({
            "start": In(config.warps),  # warps that start
            "restore": In(config.warps),  # warps that are redirected: all their instructions in decode are squashed
            "early_warp": In(config.warp_bits),  # the warp of the instruction that is in decode in the next cycle
            "early_pc": In(32),  # the pc of that instruction
            #: An instruction in decode, whose warp is in neither ``start`` nor ``restore``, nor was in the last cycle.
            "valid": In(1),
            "warp": In(config.warp_bits),  # its warp
            "pc": In(32),  # its pc
            "instruction": In(32),  # its word; without bit 1, which all instructions have, if its fetch has failed
            "usual": In(1),  # it is a jal, or a branch that is statically predicted taken
            "direct": In(32),  # the target of a jal or branch; of a jalr its pc
            "predicted": Out(1),  # it is predicted to be taken
            "target": Out(32),  # where it goes then
            "prediction": Out(prediction_layout()),  # what it takes along
            "outcome": In(outcome_layout(config)),  # of an older instruction
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._parts: list[Component] = []
        config, word = self._config, self.instruction
        conditional, indirect, links, returns = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            conditional.eq(is_branch(word) & (word[13:15] != 1)),
            indirect.eq(is_jalr(word) & (word[12:15] == 0)),
            links.eq(is_link(word[7:12])),
            returns.eq(pops(word) & (word[12:15] == 0)),
        ]
        available, address = Const(0, 1), Const(0)
        outcome_popped: Value = Const(0, 1)
        if config.return_stack:
            m.submodules.stack = stack = ReturnStack(config)
            available, address, outcome_popped = returns & stack.available, stack.address, stack.outcome_popped
            self._connect(m, stack)
            m.d.comb += [
                stack.valid.eq(self.valid), stack.pops.eq(returns),
                stack.pushes.eq(links & (indirect | (word[:7] == 0b1101111))),
            ]
        known, last = Const(0, 1), Const(0)
        if config.jump_targets:
            m.submodules.targets = targets = JumpTargets(config)
            known, last = targets.known, targets.target
            self._connect(m, targets)
            m.d.comb += [targets.early_warp.eq(self.early_warp), targets.early_pc.eq(self.early_pc)]
            m.d.comb += targets.learns.eq(
                self.outcome.valid & self.outcome.indirect & self.outcome.wrong & ~outcome_popped
            )
        taken: Value = self.usual
        if config.two_bit:
            m.submodules.counters = counters = TwoBit(config)
            taken = self.usual ^ counters.inverts
            self._connect(m, counters)
            m.d.comb += [
                counters.valid.eq(self.valid & conditional),
                counters.differs.eq(self.predicted ^ self.usual),
            ]
        if config.branch_runs:
            m.submodules.runs = runs = BranchRuns(config)
            self._connect(m, runs)
            m.d.comb += [
                runs.early_warp.eq(self.early_warp), runs.early_pc.eq(self.early_pc),
                runs.valid.eq(self.valid), runs.conditional.eq(conditional), runs.usual.eq(taken),
                self.prediction.run.eq(conditional & runs.run), self.prediction.way.eq(runs.way),
            ]
            taken = runs.taken
        self._share(m)
        m.d.comb += [
            self.prediction.target.eq(Mux(available, address, last)),
            self.predicted.eq(
                Mux(conditional, taken, Mux(indirect, available | known, self.usual))
            ),
            self.target.eq(Mux(indirect, with_high_bits(self.prediction.target, self.direct), self.direct)),
        ]
        return m

    def _connect(self, m: Module, part: Component) -> None:
        """Connect what all predictors have."""
        self._parts.append(part)
        m.d.comb += part.outcome.eq(self.outcome)
        if "warp" in part.signature.members:
            m.d.comb += [part.warp.eq(self.warp), part.pc.eq(self.pc)]

    def _share(self, m: Module) -> None:
        """Keep the words of all predictors in one, side by side."""
        sides = [part.words for part in self._parts]
        if not sides:
            return
        m.submodules.words = words = Words(
            self._config, *(sum(len(getattr(side, name)) for side in sides) for name in ("ahead", "behind")),
        )
        share = words.share
        m.d.comb += [
            words.start.eq(self.start), words.restore.eq(self.restore), words.warp.eq(self.warp),
            words.early_warp.eq(self.early_warp),
            words.settled_warp.eq(self.outcome.warp),
            Cat(side.ahead for side in sides).eq(share.ahead),
            Cat(side.behind for side in sides).eq(share.behind),
            Cat(side.early_ahead for side in sides).eq(share.early_ahead),
            Cat(side.early_behind for side in sides).eq(share.early_behind),
            Cat(side.settled for side in sides).eq(share.settled),
            share.ahead_next.eq(Cat(side.ahead_next for side in sides)),
            share.settled_next.eq(Cat(side.settled_next for side in sides)),
            share.ahead_changes.eq(Cat(side.ahead_changes for side in sides).any()),
            share.settled_changes.eq(Cat(side.settled_changes for side in sides).any()),
            share.early_none.eq(Cat(side.early_none for side in sides)),
        ]
