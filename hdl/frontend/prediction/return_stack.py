"""The return addresses of each warp."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ...layouts.prediction import near, outcome_layout
from ...lib.component import Component
from ...prediction_sizes import NEAR_BITS
from .words import words_signature

__all__ = ["ReturnStack"]


class ReturnStack(Component):
    """A stack of the last return addresses of each warp, as seen from decode (docs/prediction.md).

    There are two copies of a warp's stack: the one behind follows the outcomes, the one ahead the instructions in
    decode. After a redirect, the one ahead is the one behind: an address is read from the memory ahead only if it was
    written since. Popping an empty stack changes nothing. Reset and start: empty.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config, depth = config, config.return_stack
        self._place = data.StructLayout({"count": range(depth + 1), "top": range(depth)})
        self._ahead = data.StructLayout({"place": self._place, "written": depth})
        super().__init__({
            "valid": In(1),  # an instruction in decode
            "warp": In(config.warp_bits),  # its warp
            "pc": In(32),  # its pc
            "pushes": In(1),  # it pushes its return address
            "pops": In(1),  # it pops one, and pops before it pushes
            "available": Out(1),  # the stack is not empty; combinational
            "address": Out(NEAR_BITS),  # its last address; combinational
            "outcome": In(outcome_layout(config)),  # of an older instruction
            "outcome_popped": Out(1),  # it has popped an address; combinational
            "words": Out(words_signature(self._ahead.size, self._place.size)),  # the places in the stack
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words, outcome = self.words, self.outcome
        now, later = Signal(self._ahead), Signal(self._ahead)
        behind, settled = data.View(self._place, words.settled), Signal(self._place)
        # A warp without a stack ahead has none of its addresses there.
        none = Signal(self._ahead)
        m.d.comb += [none.place.eq(words.early_behind), words.early_none.eq(none), now.eq(words.ahead)]
        self._move(m, now.place, later.place, self.pops, self.pushes)
        self._move(m, behind, settled, outcome.pops, outcome.pushes)
        m.d.comb += [
            self.available.eq(now.place.count.any()),
            later.written.eq(now.written | Mux(self.pushes, 1 << later.place.top, 0)),
            words.ahead_changes.eq(self.valid & (self.pushes | self.pops)), words.ahead_next.eq(later),
            self.outcome_popped.eq(outcome.pops & behind.count.any()),
            words.settled_changes.eq(outcome.valid & (outcome.pushes | outcome.pops)), words.settled_next.eq(settled),
        ]
        ahead, ahead_write = self._addresses(m, "ahead", now.place.top)
        behind_address, behind_write = self._addresses(m, "behind", now.place.top)
        m.d.comb += [
            self.address.eq(Mux(now.written.bit_select(now.place.top, 1), ahead, behind_address) + 1),
            ahead_write.addr.eq(self._at(self.warp, later.place.top)), ahead_write.data.eq(near(self.pc)),
            ahead_write.en.eq(self.valid & self.pushes),
            behind_write.addr.eq(self._at(outcome.warp, settled.top)), behind_write.data.eq(near(outcome.pc)),
            behind_write.en.eq(outcome.valid & outcome.pushes),
        ]
        return m

    def _at(self, warp: Value, top: Value) -> Value:
        """The address of a place in the memories."""
        return Cat(top[:(self._config.return_stack - 1).bit_length()], warp)

    def _addresses(self, m: Module, name: str, top: Value) -> tuple[Value, Any]:
        """Return the last address of the warp in decode in one of the memories, and the port that writes it."""
        memory = Memory(shape=NEAR_BITS, depth=self._config.warps * self._config.return_stack, init=[])
        m.submodules[f"{name}_addresses"] = memory
        write, read = memory.write_port(), memory.read_port(domain="comb")
        m.d.comb += read.addr.eq(self._at(self.warp, top))
        return read.data, write

    def _move(self, m: Module, before: data.View, after: data.View, pops: Value, pushes: Value) -> None:
        """Pop, then push."""
        depth = self._config.return_stack
        popped, full = Signal(), Signal()
        left = Signal(range(depth + 1))
        m.d.comb += [
            popped.eq(pops & before.count.any()),
            left.eq(before.count - popped),
            full.eq(left == depth),
            after.count.eq(left + (pushes & ~full)),
            after.top.eq((before.top - popped + pushes)[:max(1, (depth - 1).bit_length())]),
        ]
        if depth == 1:
            m.d.comb += after.top.eq(0)
