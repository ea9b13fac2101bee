"""The return addresses of each warp."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ...layouts.prediction import NEAR_BITS, near, outcome_layout
from ...lib.component import Component
from .words import AheadWords, BehindWords

__all__ = ["ReturnStack"]


class ReturnStack(Component):
    """A stack of the last return addresses of each warp, as seen from decode (docs/prediction.md).

    There are two copies of a warp's stack: the one behind follows the outcomes, the one ahead the instructions in
    decode. After a redirect, the one ahead is the one behind: an address is read from the memory ahead only if it was
    written since. Popping an empty stack changes nothing. Reset and start: empty.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        super().__init__({
            "start": In(config.warps),  # warps that start
            "restore": In(config.warps),  # warps that are redirected
            "valid": In(1),  # an instruction in decode, whose warp is in neither of these
            "warp": In(config.warp_bits),  # its warp
            "pc": In(32),  # its pc
            "pushes": In(1),  # it pushes its return address
            "pops": In(1),  # it pops one, and pops before it pushes
            "available": Out(1),  # the stack is not empty; combinational
            "address": Out(NEAR_BITS),  # its last address; combinational
            "outcome": In(outcome_layout(config)),  # of an older instruction
            "outcome_popped": Out(1),  # it has popped an address; combinational
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, depth = self._config, self._config.return_stack
        place = data.StructLayout({"count": range(depth + 1), "top": range(depth)})
        ahead_layout = data.StructLayout({"place": place, "written": depth})
        m.submodules.ahead_words = ahead_words = AheadWords(config, ahead_layout.size)
        m.submodules.behind_words = behind_words = BehindWords(config, place.size)
        word = data.View(ahead_layout, ahead_words.word)
        now, behind = Signal(ahead_layout), data.View(place, behind_words.settled)
        with m.If(ahead_words.valid):
            m.d.comb += now.eq(word)
        with m.Else():
            m.d.comb += now.place.eq(behind_words.word)
        later, settled = Signal(ahead_layout), Signal(place)
        m.d.comb += [
            ahead_words.warp.eq(self.warp), behind_words.warp.eq(self.warp),
            ahead_words.forget.eq(self.restore | self.start), behind_words.start.eq(self.start),
            self.available.eq(now.place.count.any()),
            later.written.eq(now.written | Mux(self.pushes, 1 << later.place.top, 0)),
            ahead_words.write.eq(self.valid & (self.pushes | self.pops)), ahead_words.data.eq(later),
            behind_words.settled_warp.eq(self.outcome.warp),
            self.outcome_popped.eq(self.outcome.pops & behind.count.any()),
            behind_words.write.eq(self.outcome.valid & (self.outcome.pushes | self.outcome.pops)),
            behind_words.data.eq(settled),
        ]
        self._move(m, now.place, later.place, self.pops, self.pushes)
        self._move(m, behind, settled, self.outcome.pops, self.outcome.pushes)
        ahead, ahead_write = self._addresses(m, "ahead", now.place.top)
        behind_address, behind_write = self._addresses(m, "behind", now.place.top)
        m.d.comb += [
            self.address.eq(Mux(now.written.bit_select(now.place.top, 1), ahead, behind_address)),
            ahead_write.addr.eq(self._at(self.warp, later.place.top)),
            ahead_write.data.eq(near(self.pc + 4)),
            ahead_write.en.eq(self.valid & self.pushes),
            behind_write.addr.eq(self._at(self.outcome.warp, settled.top)),
            behind_write.data.eq(near(self.outcome.pc + 4)),
            behind_write.en.eq(self.outcome.valid & self.outcome.pushes),
        ]
        return m

    def _at(self, warp: Value, top: Value) -> Value:
        """The address of a place in the memories."""
        return Cat(top[:(self._config.return_stack - 1).bit_length()], warp)

    def _addresses(self, m: Module, name: str, top: Value) -> tuple[Value, object]:
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
