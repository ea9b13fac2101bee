"""Store data on its way to memory: bytes moved to their place in the word, words to their place in the line."""

from __future__ import annotations

from functools import reduce

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...config import LINE_OFFSET_BITS
from ...lib.component import Component
from ...lib.lane_vectors import lanes_with

__all__ = ["LineAssembler", "StoreLanes"]


class StoreLanes(Component):
    """Each lane's store data moved to its place in the word. Combinational."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        super().__init__({
            #: Bytes of an access: 1 << size; 3 does not occur.
            "size": In(2),
            #: Each lane's byte address, a multiple of the access's size. The two low bits count.
            "address": In(data.ArrayLayout(32, threads)),
            #: Each lane's register: the low bytes are stored.
            "data": In(data.ArrayLayout(32, threads)),
            #: Each lane's low bytes, repeated over the word.
            "words": Out(data.ArrayLayout(32, threads)),
            #: The bytes of the word that each lane stores.
            "enable": Out(data.ArrayLayout(4, threads)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for lane in range(self.threads):
            value, low = self.data[lane], self.address[lane][:2]
            half = Mux(low[1], 0b1100, 0b0011)
            m.d.comb += [
                self.words[lane].eq(Mux(
                    self.size[1], value, Mux(self.size[0], value[:16].replicate(2), value[:8].replicate(4))
                )),
                self.enable[lane].eq(Mux(self.size[1], 0b1111, Mux(self.size[0], half, (1 << low)[:4]))),
            ]
        return m


def _over(low: tuple[Value, Value], high: tuple[Value, Value]) -> tuple[Value, Value]:
    """Merge two (bit mask, data) pairs; if both have a bit, ``high`` wins. Bits in neither mask mean nothing."""
    return low[0] | high[0], (low[1] & ~high[0]) | (high[1] & high[0])


class LineAssembler(Component):
    """The bytes of a line that ``lanes`` touch; if several write one byte, the highest lane wins. Combinational.

    Each word of the line is a tree over the lanes, of depth log2(threads), that handles its four bytes at once. No
    signal is assigned piecewise under different conditions: Verilator unrolls that without bound.
    """

    def __init__(self, *, threads: int, words_per_line: int) -> None:
        self.threads = threads
        self.words_per_line = words_per_line
        super().__init__({
            #: The lanes that access the line.
            "lanes": In(threads),
            #: Each lane's byte in the line.
            "offset": In(data.ArrayLayout(LINE_OFFSET_BITS, threads)),
            #: Each lane's word, from :class:`StoreLanes`.
            "words": In(data.ArrayLayout(32, threads)),
            #: The bytes of it that the lane touches.
            "enable": In(data.ArrayLayout(4, threads)),
            #: The bytes of the line that the lanes touch.
            "byte_mask": Out(4 * words_per_line),
            #: The line's bytes; they mean nothing where no lane touches it.
            "data": Out(32 * words_per_line),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        numbers = [self.offset[lane][2:] for lane in range(self.threads)]
        masks = []
        for lane in range(self.threads):
            mask = Signal(32, name=f"mask{lane}")
            m.d.comb += mask.eq(Cat(self.enable[lane][byte].replicate(8) for byte in range(4)))
            masks.append(mask)
        for word, hits in enumerate(lanes_with(m, self.lanes, numbers, range(self.words_per_line), "word")):
            parts = [
                (masks[lane] & hits[lane].replicate(32), self.words[lane]) for lane in range(self.threads)
            ]
            line_mask, line_value = self._tree(m, word, parts)
            m.d.comb += [
                self.data.word_select(word, 32).eq(line_value),
                self.byte_mask.word_select(word, 4).eq(line_mask[::8]),
            ]
        return m

    def _tree(self, m: Module, word: int, parts: list[tuple[Value, Value]]) -> tuple[Value, Value]:
        """Merge all of ``parts``, in ascending order."""
        level = 0
        while len(parts) > 1:
            pairs: list[tuple[Value, Value]] = []
            for number in range(0, len(parts), 2):
                mask = Signal(32, name=f"mask_w{word}_{level}_{number}")
                value = Signal(32, name=f"value_w{word}_{level}_{number}")
                both = reduce(_over, parts[number : number + 2])
                m.d.comb += [mask.eq(both[0]), value.eq(both[1])]
                pairs.append((mask, value))
            parts = pairs
            level += 1
        return parts[0]
