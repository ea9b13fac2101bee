"""Local memory: one bank a lane."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .records import pick

__all__ = ["Scratchpad"]


class Scratchpad(wiring.Component):
    """``words`` 32-bit words in ``threads`` banks; the bank of a word is its number modulo ``threads``.

    ``lanes`` want their ``word``. In each bank the lowest of them wins; a load serves all lanes that want the winner's
    word (broadcast), a store serves the winner alone. ``served`` (combinational) says who is served now, whether or not
    the access is made. With ``read`` the banks' words are at ``bank_data`` from the next cycle until the next read;
    with ``write`` the bytes of ``data`` chosen by ``enable`` are stored, and a read in the next cycle sees them. At most one
    of ``read`` and ``write`` is set. ``store`` says which of the two kinds of conflict counts.

    So an access costs as many cycles as the most crowded bank has different words (loads) or lanes (stores). The
    contents survive reset; they are 0 at power-up.
    """

    def __init__(self, *, threads: int, words: int) -> None:
        if words % threads:
            raise ValueError(f"words must be a multiple of {threads}, not {words!r}")
        self.threads = threads
        self.rows = words // threads
        self.bank_bits = (threads - 1).bit_length()
        lanes = data.ArrayLayout(32, threads)
        super().__init__({
            "lanes": In(threads), "store": In(1),
            "word": In(data.ArrayLayout((words - 1).bit_length(), threads)),
            "data": In(lanes), "enable": In(data.ArrayLayout(4, threads)),
            "read": In(1), "write": In(1),
            "served": Out(threads),
            "bank_data": Out(lanes),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        threads = self.threads
        banks = [self.word[lane][: self.bank_bits] for lane in range(threads)]
        rows = [self.word[lane][self.bank_bits :] for lane in range(threads)]
        winner = Signal(data.ArrayLayout(max(1, self.bank_bits), threads))
        used = Signal(threads)
        for lane in reversed(range(threads)):
            with m.If(self.lanes[lane]), m.Switch(banks[lane]):
                for bank in range(threads):
                    with m.Case(bank):
                        m.d.comb += [winner[bank].eq(lane), used[bank].eq(1)]

        bank_rows = []
        for bank in range(threads):
            row = Signal(len(rows[0]), name=f"row{bank}")
            with m.If(used[bank]):
                m.d.comb += row.eq(pick(rows, winner[bank]))
            bank_rows.append(row)
            self._bank(m, bank, row, used[bank], winner[bank])
        for lane in range(threads):
            with m.If(self.lanes[lane]):
                wins = pick([winner[bank] for bank in range(threads)], banks[lane]) == lane
                same = pick(bank_rows, banks[lane]) == rows[lane]
                m.d.comb += self.served[lane].eq((self.store & wins) | (~self.store & same))
        return m

    def _bank(self, m: Module, bank: int, row: Signal, used: Signal, winner: Signal) -> None:
        """The memory of one bank, accessed by lane ``winner``."""
        memory = Memory(shape=data.ArrayLayout(8, 4), depth=self.rows, init=[])
        m.submodules[f"bank{bank}"] = memory
        reader, writer = memory.read_port(), memory.write_port(granularity=1)
        m.d.comb += [
            reader.addr.eq(row),
            reader.en.eq(self.read & used),
            self.bank_data[bank].eq(reader.data.as_value()),
            writer.addr.eq(row),
        ]
        with m.If(self.write & used):
            m.d.comb += [
                writer.en.eq(pick([self.enable[lane] for lane in range(self.threads)], winner)),
                Cat(writer.data).eq(pick([self.data[lane] for lane in range(self.threads)], winner)),
            ]
