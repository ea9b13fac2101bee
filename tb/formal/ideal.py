"""Reference for the predictors of one warp: a state that is a function of the instructions that it has executed.

The state has one copy, which takes each jump or branch with its real outcome, in program order. It is written from
docs/prediction.md and not from the hardware. Places of the stack, targets, sets of runs and counters do not influence
each other's contents, so the state has one of each: the symbolic one (:class:`Spot`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Assume, Const, Instance, Module, Mux, Signal, Value
from amaranth.lib import data

from metronome.hdl.config import SmConfig
from metronome.hdl.layouts.prediction import prediction_layout, with_high_bits
from metronome.hdl.prediction_sizes import MOST_RUN, NEAR_BITS, RUN_WAYS, TAG_BITS

__all__ = ["Ideal", "Spot", "Word", "event_layout", "state_layout", "told", "wrong"]

_COUNT_BITS = (MOST_RUN + 1).bit_length()
_WAY = data.StructLayout({
    "tag": TAG_BITS, "lengths": data.ArrayLayout(_COUNT_BITS, 2), "taken": 1, "count": _COUNT_BITS,
})


def state_layout(config: SmConfig) -> data.StructLayout:
    """What a warp's predictors know, as far as it concerns the symbolic place, target, set and counter."""
    stack = {
        "count": range(config.return_stack + 1), "top": range(max(2, config.return_stack)),
        "pushed": 1,  # the place has been pushed to since the start
        "call": NEAR_BITS,  # the last return address pushed to it
    }
    targets = {"known": 1, "target": NEAR_BITS}
    runs = {"valid": RUN_WAYS, "next": 1, "ways": data.ArrayLayout(_WAY, RUN_WAYS)}
    return data.StructLayout({
        **(stack if config.return_stack else {}), **(targets if config.jump_targets else {}),
        **(runs if config.branch_runs else {}), **({"counter": 2} if config.two_bit else {}),
    })


def event_layout() -> data.StructLayout:
    """A jump or branch on its way from decode to its outcome: what it is, what was predicted and what happens."""
    return data.StructLayout({
        "pc": 32, "word": 32, "predicted": 1, "prediction": prediction_layout(), "taken": 1, "target": 32, "wrong": 1,
    })


def near(address: Value) -> Value:
    """The bits of an address that are kept."""
    return address[2:2 + NEAR_BITS]


def told(outcome: Any, event: Any, other: Any) -> list:
    """Return the statements that fill the record of an outcome (:func:`outcome_layout`), without its warp.

    The run and the way of a jump, which has none, are those of the record ``other``.
    """
    word = Word(event.word)
    return [
        outcome.pc.eq(event.pc), outcome.conditional.eq(word.conditional), outcome.indirect.eq(word.indirect),
        outcome.usual.eq(word.likely), outcome.pushes.eq(word.pushes), outcome.pops.eq(word.pops),
        outcome.taken.eq(event.taken), outcome.wrong.eq(event.wrong), outcome.target.eq(event.target),
        outcome.run.eq(Mux(word.conditional, event.prediction.run, other.run)),
        outcome.way.eq(Mux(word.conditional, event.prediction.way, other.way)),
    ]


def wrong(event: Any) -> Value:
    """Whether an event was predicted wrongly: its direction, or the target of a ``jalr``."""
    misses = event.target[2:] != with_high_bits(event.prediction.target, event.pc)[2:]
    return (event.taken != event.predicted) | Word(event.word).indirect & misses


class Word:
    """What an instruction word says about jumps (unprivileged manual, "JALR" and "Conditional branches")."""

    def __init__(self, word: Value) -> None:
        rd, rs1 = word[7:12], word[15:20]
        links, returns = [(register == 1) | (register == 5) for register in (rd, rs1)]
        self.jal = word[:7] == 0b1101111
        self.indirect = (word[:7] == 0b1100111) & (word[12:15] == 0)
        self.conditional = (word[1:7] == 0b110001) & (word[13:15] != 1)
        self.pushes = (self.jal | self.indirect) & links
        self.pops = self.indirect & returns & ~(links & (rd == rs1))
        self.jumps = self.jal | self.indirect | self.conditional
        #: The static prediction of a branch: a clear bit 0 is a hint.
        self.likely = word[31] != ~word[0]
        #: What decode predicts without predictors.
        self.usual = self.jal | self.conditional & self.likely


@dataclass(frozen=True)
class Spot:
    """The symbolic place of the stack, target, set of runs and counter: arbitrary and constant; None if absent."""

    place: Any
    target: Any
    group: Any
    counter: Any

    @classmethod
    def free(cls, m: Module, config: SmConfig) -> Spot:
        """Return an arbitrary one of each."""
        def one(name: str, count: int) -> Value | None:
            if count == 0:
                return None
            number = Signal(range(max(2, count)), name=f"my_{name}")
            m.submodules[f"any_{name}"] = Instance("$anyconst", p_WIDTH=len(number), o_Y=number)
            m.d.comb += Assume(number < count)
            return number

        return cls(one("place", config.return_stack), one("target", config.jump_targets),
                   one("set", config.branch_runs // RUN_WAYS), one("counter", config.two_bit))


class Ideal:
    """The reference's two functions of a state: what it predicts, and how an outcome changes it."""

    def __init__(self, m: Module, config: SmConfig, spot: Spot) -> None:
        self._m, self._config, self._spot = m, config, spot
        self._sets = config.branch_runs // RUN_WAYS

    def is_target(self, pc: Value) -> Value:
        """Whether the jump at ``pc`` has the symbolic target."""
        return self._is(self._spot.target, pc, self._config.jump_targets)

    def is_set(self, pc: Value) -> Value:
        """Whether the branch at ``pc`` has the symbolic set."""
        return self._is(self._spot.group, pc, self._sets)

    def is_counter(self, pc: Value) -> Value:
        """Whether the branch at ``pc`` has the symbolic counter."""
        return self._is(self._spot.counter, pc, self._config.two_bit)

    def _is(self, number: Value | None, pc: Value, count: int) -> Value:
        if number is None:
            return Const(0, 1)
        bits = (count - 1).bit_length()
        return number[:bits] == pc[2:2 + bits] if bits else Const(1, 1)

    def stacked(self, state: Any, word: Word) -> Value:
        """Whether the word is a return that takes an address of the stack."""
        return word.pops & state.count.any() if self._config.return_stack else Const(0, 1)

    def hit(self, state: Any, pc: Value) -> tuple[Value, Value]:
        """Whether the branch at ``pc``, of the symbolic set, has an entry, and its way."""
        low = 2 + (self._sets - 1).bit_length()
        hits = [state.valid[i] & (state.ways[i].tag == pc[low:low + TAG_BITS]) for i in range(RUN_WAYS)]
        return hits[0] | hits[1], hits[1]

    def direction(self, state: Any, word: Word, pc: Value) -> Value:
        """The predicted outcome of a branch of the symbolic set and counter."""
        usual: Value = word.usual
        if self._config.two_bit:
            usual = usual ^ (state.counter >= 2)
        if not self._config.branch_runs:
            return usual
        hit, way = self.hit(state, pc)
        entry = data.View(_WAY, Mux(way, state.ways[1].as_value(), state.ways[0].as_value()))
        length = Mux(entry.taken, entry.lengths[1], entry.lengths[0])
        ends, longer = entry.count == length, entry.count >= 2
        return Mux(hit, Mux(length != 0, entry.taken ^ ends, Mux(longer, entry.taken, usual)), usual)

    def settle(self, name: str, state: Any, event: Any) -> Any:
        """Return the state after a jump or branch with its outcome."""
        after = Signal(state.shape(), name=name)
        word = Word(event.word)
        self._m.d.comb += after.eq(state)
        if self._config.return_stack:
            self._stack(state, after, event, word)
        if self._config.jump_targets:
            with self._m.If(word.indirect & event.wrong & ~self.stacked(state, word) & self.is_target(event.pc)):
                self._m.d.comb += [after.known.eq(1), after.target.eq(near(event.target))]
        if self._config.two_bit:
            with self._m.If(word.conditional & self.is_counter(event.pc)):
                up, down = state.counter + (state.counter != 3), state.counter - (state.counter != 0)
                self._m.d.comb += after.counter.eq(Mux(event.taken != word.usual, up, down))
        if self._config.branch_runs:
            with self._m.If(word.conditional & self.is_set(event.pc)):
                self._runs(state, after, event)
        return after

    def _stack(self, state: Any, after: Any, event: Any, word: Word) -> None:
        """Pop, then push."""
        depth = self._config.return_stack
        popped = self.stacked(state, word)
        left, top = Signal(range(depth + 1)), Signal(range(max(2, depth)))
        self._m.d.comb += [
            left.eq(state.count - popped),
            after.count.eq(Mux(left == depth, depth, left + word.pushes)),
            top.eq(state.top - popped + word.pushes if depth > 1 else 0), after.top.eq(top),
        ]
        with self._m.If(word.pushes & (top == self._spot.place)):
            self._m.d.comb += [after.pushed.eq(1), after.call.eq(near(event.pc + 4))]

    def _runs(self, state: Any, after: Any, event: Any) -> None:
        """Count the outcome; learn a length, or make an entry, from a wrong prediction."""
        m, taken = self._m, event.taken
        low = 2 + (self._sets - 1).bit_length()
        hit, way = self.hit(state, event.pc)
        for i in range(RUN_WAYS):
            entry, later = state.ways[i], after.ways[i]
            with m.If(hit & (way == i)):
                goes_on = entry.taken == taken
                m.d.comb += [
                    later.taken.eq(taken),
                    later.count.eq(Mux(goes_on, Mux(entry.count > MOST_RUN, entry.count, entry.count + 1), 1)),
                ]
                for outcome in range(2):
                    with m.If(event.wrong & (entry.taken == outcome)):
                        m.d.comb += later.lengths[outcome].eq(Mux(goes_on | (entry.count > MOST_RUN), 0, entry.count))
            with m.If(~hit & event.wrong & (state.next == i)):
                m.d.comb += [
                    after.valid[i].eq(1), after.next.eq(1 - i), later.tag.eq(event.pc[low:low + TAG_BITS]),
                    later.lengths.eq(0), later.taken.eq(taken), later.count.eq(1),
                ]
