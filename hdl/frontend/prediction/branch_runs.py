"""The lengths of runs of equal outcomes of a few branches of each warp."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ...layouts.prediction import outcome_layout
from ...lib.component import Component
from ...prediction_sizes import MOST_RUN, RUN_WAYS, TAG_BITS
from .words import words_signature

__all__ = ["BranchRuns"]

_COUNT_BITS = (MOST_RUN + 1).bit_length()
#: The present run: its outcome, and how long it is; MOST_RUN + 1 stands for longer ones.
_RUN = data.StructLayout({"taken": 1, "count": _COUNT_BITS})
#: A set: the ways that hold a branch, and the way that the next branch takes.
_SET = data.StructLayout({"valid": RUN_WAYS, "next": 1})


class BranchRuns(Component):
    """Predicts that a branch ends a run of equal outcomes when it is as long as the last one (docs/prediction.md).

    A loop that turns n times is a run of n - 1 outcomes, then one of length 1. An entry is made by a wrong prediction.
    Tags and lengths change only with wrong predictions, so there is one copy. The present run has two: the one behind
    follows the outcomes, the one ahead the predictions in decode. Reset and start: no entries.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        self._sets = config.branch_runs // RUN_WAYS
        super().__init__({
            "early_warp": In(config.warp_bits),  # the warp of the instruction that is in decode in the next cycle
            "early_pc": In(32),  # its pc
            "valid": In(1),  # an instruction in decode
            "warp": In(config.warp_bits),  # its warp
            "pc": In(32),  # its pc
            "conditional": In(1),  # it is a branch
            "usual": In(1),  # its outcome as predicted otherwise
            "taken": Out(1),  # its predicted outcome; combinational
            "run": Out(1),  # registered: it has an entry
            "way": Out(1),  # registered: in this way
            "outcome": In(outcome_layout(config)),  # of an older branch
            #: Ahead: the entries whose run ahead is newer. Behind: the entries of each set.
            "words": Out(words_signature(config.branch_runs, self._sets * _SET.size)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        outcome, words = self.outcome, self.words
        early, here, there = (
            self._set(m, name, pc) for name, pc in (("early", self.early_pc), ("here", self.pc), ("there", outcome.pc))
        )
        learns, allocates = outcome.valid & outcome.conditional, Signal()
        m.d.comb += allocates.eq(learns & outcome.wrong & ~outcome.run)
        allocated = self._allocate(m, allocates, there)
        hit, early_way = self._find(m, early, Cat(self._bits(there), outcome.warp), allocates, allocated)
        # One memory has the entries of all ways. An outcome reads the one that its prediction found.
        at_early = Cat(early_way, self._bits(early), self.early_warp)
        at_outcome = Cat(outcome.way, self._bits(there), outcome.warp)
        write_at = Cat(Mux(outcome.run, outcome.way, allocated), self._bits(there), outcome.warp)
        entries = RUN_WAYS * self._sets
        behind, later, settled = Signal(_RUN), Signal(_RUN), Signal(_RUN)
        length = Mux((outcome.taken == behind.taken) | (behind.count == MOST_RUN + 1), 0, behind.count)
        lengths = Cat(
            self._memory(
                m, f"lengths_{taken}", entries, _COUNT_BITS, write_at, Mux(outcome.run, length, 0),
                learns & outcome.wrong & (~outcome.run | (behind.taken == taken)), at_early,
            ) for taken in range(2)
        )
        young = self._memory(
            m, "ahead", entries, _RUN.size, Cat(self.way, self._bits(here), self.warp), later.as_value(),
            words.ahead_changes, at_early,
        )
        old, before = self._memory(
            m, "behind", entries, _RUN.size, write_at, settled.as_value(), learns & (outcome.run | outcome.wrong),
            at_early, at_outcome,
        )
        m.d.comb += behind.eq(before)
        ahead = words.early_ahead.bit_select(Cat(early_way, self._bits(early)), 1)
        run = self._predict(m, hit, Mux(ahead, young, old), lengths)
        m.d.sync += [self.run.eq(hit), self.way.eq(early_way)]
        changes = self.conditional & self.run
        m.d.comb += [
            words.ahead_changes.eq(self.valid & changes),
            words.ahead_next.eq(words.ahead | Mux(changes, 1 << Cat(self.way, self._bits(here)), 0)),
        ]
        self._count(m, run, self.taken, later)
        with m.If(outcome.run):
            self._count(m, behind, outcome.taken, settled)
        with m.Else():
            m.d.comb += [settled.taken.eq(outcome.taken), settled.count.eq(1)]
        return m

    def _find(self, m: Module, early: Signal, write_at: Value, allocates: Value, way: Value) -> tuple[Value, Value]:
        """Find the next branch in decode, of the set ``early``: whether it has an entry, and in which way.

        No two ways of a set have the same tag, and the first is in use if any is. So the branch is in the second unless
        the first has its tag, and the way is known before it is known whether there is an entry.
        """
        valid = data.View(_SET, self.words.early_behind.word_select(early, _SET.size)).valid
        matches = [
            # Not ==, for which synthesis would take a slow carry chain.
            ~(self._memory(
                m, f"tags_{i}", self._sets, TAG_BITS, write_at, self._tag(self.outcome.pc), allocates & (way == i),
                Cat(self._bits(early), self.early_warp),
            ) ^ self._tag(self.early_pc)).any() for i in range(RUN_WAYS)
        ]
        return (valid & Cat(matches)).any(), ~matches[0]

    def _predict(self, m: Module, hit: Value, run: Value, lengths: Value) -> data.View:
        """Predict the branch in decode, and return its present run. All was read, and compared, a cycle early.

        ``hit``: there is an entry. ``run``: its run. ``lengths``: those of its last runs. The instruction in between is
        another one: a warp that decodes a branch twice in a row jumps, and the redirect squashes the second.
        """
        early, present = Signal(_RUN, name="early"), Signal(_RUN, name="present")
        decides, outcome = Signal(name="decides"), Signal(name="predicts")
        known = Mux(early.taken, lengths[_COUNT_BITS:], lengths[:_COUNT_BITS])
        # Not ==, for which synthesis would take a slow carry chain.
        ends = ~(early.count ^ known).any()
        m.d.comb += early.as_value().eq(run)
        m.d.sync += [
            present.eq(early),
            # Of unknown length: a second outcome against the usual one begins a longer run.
            decides.eq(hit & (known.any() | (early.count >= 2))),
            # No run has the length 0, which stands for an unknown one.
            outcome.eq(early.taken ^ ends),
        ]
        m.d.comb += self.taken.eq(Mux(decides, outcome, self.usual))
        return present

    def _allocate(self, m: Module, allocates: Signal, there: Signal) -> Value:
        """Give a branch without an entry the next way of its set ``there``, and return this way."""
        words = self.words
        settled, changed = data.View(_SET, words.settled.word_select(there, _SET.size)), Signal(_SET)
        m.d.comb += [
            changed.valid.eq(settled.valid | (1 << settled.next)), changed.next.eq(~settled.next),
            words.settled_changes.eq(allocates),
            words.settled_next.eq(Cat(
                Mux(allocates & (there == each), changed.as_value(), words.settled.word_select(each, _SET.size))
                for each in range(self._sets)
            )),
        ]
        return settled.next

    def _set(self, m: Module, name: str, pc: Value) -> Signal:
        """The set of a branch."""
        number = Signal(range(self._sets), name=name)
        m.d.comb += number.eq(pc[2:])
        return number

    def _bits(self, number: Value) -> Value:
        return number[:(self._sets - 1).bit_length()]

    def _tag(self, pc: Value) -> Value:
        low = 2 + (self._sets - 1).bit_length()
        return pc[low:low + TAG_BITS]

    def _memory(self, m: Module, name: str, entries: int, bits: int, write_at: Value, word: Value, enable: Value,
                *at: Value) -> Any:
        """A memory with some entries for each warp; return what is read ``at`` one or more places."""
        m.submodules[name] = memory = Memory(shape=bits, depth=self._config.warps * entries, init=[])
        write, reads = memory.write_port(), [memory.read_port(domain="comb") for _ in at]
        m.d.comb += [write.addr.eq(write_at), write.data.eq(word), write.en.eq(enable)]
        m.d.comb += [read.addr.eq(place) for read, place in zip(reads, at, strict=True)]
        return [read.data for read in reads] if len(reads) > 1 else reads[0].data

    def _count(self, m: Module, run: data.View, taken: Value, after: data.View) -> None:
        """The run after another outcome."""
        # Gates, because the carry chain of an adder would be slower.
        full = run.count == MOST_RUN + 1
        more = Cat((run.count[i] ^ run.count[:i].all() if i else ~run.count[0]) | full for i in range(_COUNT_BITS))
        m.d.comb += [after.taken.eq(taken), after.count.eq(Mux(run.taken == taken, more, 1))]
