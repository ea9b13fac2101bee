"""The lengths of runs of equal outcomes of a few branches of each warp."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
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
            "valid": In(1),  # a branch in decode
            "warp": In(config.warp_bits),  # its warp
            "pc": In(32),  # its pc
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
        outcome = self.outcome
        early, here, there = (
            self._set(m, name, pc) for name, pc in (("early", self.early_pc), ("here", self.pc), ("there", outcome.pc))
        )
        at_early, at = Cat(self._bits(early), self.early_warp), Cat(self._bits(here), self.warp)
        at_outcome = Cat(self._bits(there), outcome.warp)
        learns, allocates = outcome.valid & outcome.conditional, Signal()
        m.d.comb += allocates.eq(learns & outcome.wrong & ~outcome.run)
        way = Mux(outcome.run, outcome.way, self._allocate(m, allocates, there))
        behind, later, settled = Signal(_RUN), Signal(_RUN), Signal(_RUN)
        length = Mux((outcome.taken == behind.taken) | (behind.count == MOST_RUN + 1), 0, behind.count)
        changes = self.valid & self.run
        valid = data.View(_SET, self.words.early_behind.word_select(early, _SET.size)).valid
        hits, lengths, aheads, behinds, settles = [], [], [], [], []
        for i in range(RUN_WAYS):
            mine = way == i
            tag = self._memory(
                m, f"tags_{i}", TAG_BITS, at_early, at_outcome, self._tag(outcome.pc), allocates & mine,
            )
            hits.append(valid[i] & (tag == self._tag(self.early_pc)))
            lengths.append(Cat(
                self._memory(
                    m, f"lengths_{i}_{taken}", _COUNT_BITS, at_early, at_outcome, Mux(outcome.run, length, 0),
                    learns & outcome.wrong & mine & (~outcome.run | (behind.taken == taken)),
                ) for taken in range(2)
            ))
            aheads.append(self._memory(
                m, f"ahead_{i}", _RUN.size, at_early, at, later.as_value(), changes & (self.way == i),
            ))
            now, old = self._twice(
                m, f"behind_{i}", at_early, at_outcome, settled.as_value(),
                learns & (outcome.run | outcome.wrong) & mine,
            )
            behinds.append(now)
            settles.append(old)
        m.d.comb += behind.eq(Array(settles)[way])
        words, found = self.words, [Mux(hits[1], *reversed(each)) for each in (aheads, behinds, lengths)]
        ahead = words.early_newer & words.early_ahead.bit_select(Cat(hits[1], self._bits(early)), 1)
        run = self._predict(m, Cat(hits).any(), Mux(ahead, found[0], found[1]), found[2])
        m.d.sync += [self.run.eq(Cat(hits).any()), self.way.eq(hits[1])]
        newer = Mux(self.words.newer, self.words.ahead, 0)
        m.d.comb += [
            self.words.ahead_changes.eq(changes),
            self.words.ahead_next.eq(newer | Mux(changes, 1 << Cat(self.way, self._bits(here)), 0)),
        ]
        self._count(m, run, self.taken, later)
        with m.If(outcome.run):
            self._count(m, behind, outcome.taken, settled)
        with m.Else():
            m.d.comb += [settled.taken.eq(outcome.taken), settled.count.eq(1)]
        return m

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
            outcome.eq(early.taken ^ (known.any() & ends)),
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

    def _memory(self, m: Module, name: str, bits: int, at: Value, write_at: Value, word: Value, enable: Value) -> Value:
        """A memory with an entry for each set of each warp; return the one ``at``."""
        m.submodules[name] = memory = Memory(shape=bits, depth=self._config.warps * self._sets, init=[])
        write, read = memory.write_port(), memory.read_port(domain="comb")
        m.d.comb += [read.addr.eq(at), write.addr.eq(write_at), write.data.eq(word), write.en.eq(enable)]
        return read.data

    def _twice(self, m: Module, name: str, at: Value, at_outcome: Value, word: Value,
               enable: Value) -> tuple[Value, Value]:
        """A memory of runs that is also read where it is written; return the entries ``at`` and ``at_outcome``."""
        m.submodules[name] = memory = Memory(shape=_RUN.size, depth=self._config.warps * self._sets, init=[])
        write, read, own = memory.write_port(), memory.read_port(domain="comb"), memory.read_port(domain="comb")
        m.d.comb += [
            read.addr.eq(at), own.addr.eq(at_outcome), write.addr.eq(at_outcome), write.data.eq(word),
            write.en.eq(enable),
        ]
        return read.data, own.data

    def _count(self, m: Module, run: data.View, taken: Value, after: data.View) -> None:
        """The run after another outcome."""
        m.d.comb += after.taken.eq(taken)
        with m.If(run.taken == taken):
            m.d.comb += after.count.eq(run.count + (run.count != MOST_RUN + 1))
        with m.Else():
            m.d.comb += after.count.eq(1)
