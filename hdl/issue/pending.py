"""The registers of one warp that wait for a result, in distributed memories."""

from functools import reduce
from operator import xor

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory

from ..config import SmConfig
from ..isa.ops import Unit
from ..lib.onehot import one_hot

__all__ = ["PendingRegisters"]

#: Words of a memory: one distributed memory has as many (TRELLIS_DPR16X4 of ECP5).
_WORDS = 16


def _address(register: Value) -> Value:
    """The word of a register. Its bit in the word comes from the other bits, one of which a decoder knows late."""
    return register[1:5]


class PendingRegisters:
    """A pending bit for each register of warp ``w``, and whether its last claim was a load's.

    A register is pending if an odd number of its bits in the memories is set: a claim inverts one, a release on each
    port another one, so that each memory has one write port. Their words hold the bits of several registers, so writing
    a bit requires reading its word first. A reset cannot clear a memory: a flip-flop per word records whether it was
    claimed since, and the first claim makes the number even.

    ``ports``: releases of a cycle, at most.
    """

    def __init__(self, m: Module, config: SmConfig, w: int, ports: int) -> None:
        self._m, self._bits = m, config.registers // _WORDS
        self._released = [f"released{port}" if port else "released" for port in range(ports)]
        self._memories = {
            # ``by_load``: the last claim of each register (1: a load or store) counts while the register is pending.
            name: Memory(shape=self._bits, depth=_WORDS, init=[]) for name in ("claimed", *self._released, "by_load")
        }
        self._writes = {}
        for name, memory in self._memories.items():
            m.submodules[f"{name}_{w}"] = memory
            self._writes[name] = memory.write_port()
        self._in_use = Signal(_WORDS, name=f"in_use_{w}")

    def words(self, register: Value) -> dict[str, Value]:
        """Read the word of a register in each memory."""
        return {name: self._word(name, register) for name in self._memories}

    def pending(self, words: dict[str, Value], register: Value) -> Value:
        """Whether a register is pending, of which ``words`` are those read."""
        differs = (words["claimed"] ^ self._even(words)).bit_select(self._bit(register), 1)
        return self._known(register) & differs

    def by_load(self, words: dict[str, Value], register: Value) -> Value:
        """Whether a pending register waits for a load."""
        return words["by_load"].bit_select(self._bit(register), 1)

    def claim(self, claims: Value, info: data.View, words: dict[str, Value]) -> None:
        """Let ``info`` claim its destination, of which ``words`` are those read; it may not be pending."""
        m, bit = self._m, one_hot(self._bit(info.rd), self._bits)
        with m.If(claims):
            m.d.sync += self._in_use.eq(self._in_use | one_hot(_address(info.rd), _WORDS))
        claimed, loads = words["claimed"], words["by_load"]
        m.d.comb += [
            self._writes["claimed"].data.eq(Mux(self._known(info.rd), claimed, self._even(words)) ^ bit),
            self._writes["by_load"].data.eq(Mux(info.unit == Unit.LSU, loads | bit, loads & ~bit)),
        ]
        for name in ("claimed", "by_load"):
            m.d.comb += [self._writes[name].addr.eq(_address(info.rd)), self._writes[name].en.eq(claims)]

    def release(self, port: int, valid: Value, register: Value) -> None:
        """Release a register on a port."""
        name = self._released[port]
        write = self._writes[name]
        self._m.d.comb += [
            write.addr.eq(_address(register)),
            write.data.eq(self._word(name, register) ^ one_hot(self._bit(register), self._bits)),
            write.en.eq(valid),
        ]

    def _bit(self, register: Value) -> Value:
        """The number of a register's bit in its word."""
        return Cat(register[0], register[5]) if self._bits > 2 else register[0]

    def _even(self, words: dict[str, Value]) -> Value:
        return reduce(xor, (words[name] for name in self._released))

    def _known(self, register: Value) -> Value:
        """Whether a word was claimed since the reset."""
        return self._in_use.bit_select(_address(register), 1)

    def _word(self, name: str, register: Value) -> Value:
        port = self._memories[name].read_port(domain="comb")
        self._m.d.comb += port.addr.eq(_address(register))
        return port.data
