"""Words that a predictor keeps for each warp, in a memory that needs no reset."""

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ...lib.component import Component

__all__ = ["AheadWords", "BehindWords"]


class BehindWords(Component):
    """A word for each warp: what follows from the instructions that it has executed. It is 0 when the warp starts.

    One write a cycle; a read in the cycle of a write sees the word before it.
    """

    def __init__(self, config: SmConfig, bits: int) -> None:
        self._config, self._bits = config, bits
        super().__init__({
            "start": In(config.warps),  # warps that start: their words are 0 from the next cycle on
            "warp": In(config.warp_bits),  # the warp of an instruction in decode
            "word": Out(bits),  # its word; combinational
            "settled_warp": In(config.warp_bits),  # the warp of an instruction whose outcome is known
            "settled": Out(bits),  # its word; combinational
            "write": In(1),  # set the word of ``settled_warp``
            "data": In(bits),  # to this
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.words = words = Memory(shape=self._bits, depth=self._config.warps, init=[])
        write = words.write_port()
        ports = [words.read_port(domain="comb") for _ in range(2)]
        fresh = Signal(self._config.warps)
        sides = ((self.warp, self.word), (self.settled_warp, self.settled))
        for port, (warp, word) in zip(ports, sides, strict=True):
            m.d.comb += [port.addr.eq(warp), word.eq(Mux(Array(fresh)[warp], 0, port.data))]
        m.d.comb += [write.addr.eq(self.settled_warp), write.data.eq(self.data), write.en.eq(self.write)]
        for w in range(self._config.warps):
            with m.If(self.start[w]):
                m.d.sync += fresh[w].eq(1)
            with m.Elif(self.write & (self.settled_warp == w)):
                m.d.sync += fresh[w].eq(0)
        return m


class AheadWords(Component):
    """A word for each warp: what follows from the predictions of instructions in decode, since the last redirect.

    One write a cycle; a read in the cycle of a write sees the word before it.
    """

    def __init__(self, config: SmConfig, bits: int) -> None:
        self._config, self._bits = config, bits
        super().__init__({
            "forget": In(config.warps),  # from the next cycle on, these warps have no word
            "warp": In(config.warp_bits),  # the warp of an instruction in decode
            "valid": Out(1),  # it has a word; combinational
            "word": Out(bits),  # its word; combinational
            "write": In(1),  # set the word of ``warp``, which is not in ``forget``
            "data": In(bits),  # to this
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.words = words = Memory(shape=self._bits, depth=self._config.warps, init=[])
        write, read = words.write_port(), words.read_port(domain="comb")
        valid = Signal(self._config.warps, name="has_word")
        m.d.comb += [
            read.addr.eq(self.warp), self.word.eq(read.data), self.valid.eq(Array(valid)[self.warp]),
            write.addr.eq(self.warp), write.data.eq(self.data), write.en.eq(self.write),
        ]
        for w in range(self._config.warps):
            with m.If(self.forget[w]):
                m.d.sync += valid[w].eq(0)
            with m.Elif(self.write & (self.warp == w)):
                m.d.sync += valid[w].eq(1)
        return m
