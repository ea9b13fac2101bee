"""The evaluation order of a lane's cells: under the enables of the registers that need them, inputs first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from .netlist import WORD_BITS, Bit, Cell, Netlist

__all__ = ["Block", "blocks", "idle_inputs"]

#: Cells -> whether their output is 0 if all bits that they read are, or if any is: bit by bit, or for whole words.
_BITWISE: dict[str, Callable[[Iterable[bool]], bool]] = {"$and": any, "$or": all}
_OF_WORDS: dict[str, Callable[[Iterable[bool]], bool]] = {
    "$reduce_or": all, "$reduce_bool": all, "$reduce_and": any, "$ne": all,
}

#: Enables, one of which is 1 if the cells are needed, and the cells in the order of their evaluation. Without an
#: enable they are needed whenever the lane is not idle.
Block = tuple[frozenset[Bit], list[str]]


def _sorted(netlist: Netlist) -> list[str]:
    """The names of all cells; each follows those whose outputs it reads."""
    done: dict[str, None] = {}
    for start in netlist.cells:
        waiting = [start]
        while waiting:
            name = waiting[-1]
            missing = [other for other in _read_by(netlist, name) if other not in done]
            waiting += missing
            if not missing:
                done[waiting.pop()] = None
    return list(done)


def _read_by(netlist: Netlist, name: str) -> list[str]:
    """The cells whose outputs the cell ``name`` reads."""
    bits = [bit for word in netlist.cells[name].inputs.values() for bit in word]
    return [other for other in netlist.driving(bits) if other in netlist.cells]


def _enables(netlist: Netlist, in_order: list[str]) -> dict[str, frozenset[Bit]]:
    """Cell -> the enables of all registers that need it; empty if an enable or an output needs it, too."""
    needed: dict[str, set[Bit]] = defaultdict(set)
    always: set[str] = set()
    for register in netlist.registers.values():
        for name in netlist.driving(register.data):
            needed[name].add(register.enable)
        always.update(netlist.driving([register.enable]))
    for word in netlist.outputs.values():
        always.update(netlist.driving(word))
    for name in reversed(in_order):
        for other in _read_by(netlist, name):
            needed[other] |= needed[name]
            if name in always:
                always.add(other)
    return {name: frozenset() if name in always else frozenset(needed[name]) for name in in_order}


def blocks(netlist: Netlist) -> list[Block]:
    """Group all cells into few blocks: each grows as long as a cell of its enables has all its inputs available."""
    in_order = _sorted(netlist)
    enables = _enables(netlist, in_order)
    waits = {
        name: {*_read_by(netlist, name), *(set(netlist.driving(list(enables[name]))) & set(netlist.cells))}
        for name in in_order
    }
    found: list[Block] = []
    left = dict.fromkeys(in_order)
    while left:
        ready = [name for name in left if not waits[name]]
        # Unconditional cells first: they include the enables of the others.
        chosen = min((enables[name] for name in ready), key=lambda bits: (len(bits) > 0, sorted(map(str, bits))))
        block: list[str] = []
        for name in in_order:
            if name in left and enables[name] == chosen and waits[name] <= set(block):
                block.append(name)
                del left[name]
        for wait in waits.values():
            wait.difference_update(block)
        found.append((chosen, block))
    return found


def idle_inputs(netlist: Netlist) -> list[Bit]:
    """Return bits of the inputs; while they are 0, no register is enabled. No single bit can be dropped from them.

    Raises
    ------
    ValueError
        If there are none, as far as ANDs, ORs and multiplexers show.
    """
    enables = {register.enable for register in netlist.registers.values()}
    chosen = [bit for word in netlist.inputs.values() if len(word) < WORD_BITS for bit in word]

    def suffices(bits: list[Bit]) -> bool:
        return all(map(_ZeroBits(netlist, bits).has, enables))

    if not suffices(chosen):
        raise ValueError("a lane with an enable that is not 0 for inputs of 0 is never idle")
    for bit in list(chosen):
        rest = [other for other in chosen if other != bit]
        if suffices(rest):
            chosen = rest
    return chosen


class _ZeroBits:
    """The bits that are 0 while some given bits are, for any value of the others."""

    def __init__(self, netlist: Netlist, zeros: list[Bit]) -> None:
        self._netlist = netlist
        self._known: dict[Bit, bool] = dict.fromkeys(zeros, True) | {"0": True, "1": False, "x": False}

    def has(self, bit: Bit) -> bool:
        """Whether the bit is 0, as far as ANDs, ORs and multiplexers show."""
        if bit not in self._known:
            assert isinstance(bit, int)
            name, position = self._netlist.drivers[bit]
            cell = self._netlist.cells.get(name)
            self._known[bit] = cell is not None and self._cell_has(cell, position)
        return self._known[bit]

    def _cell_has(self, cell: Cell, position: int) -> bool:
        words = cell.inputs
        column = [word[position] if position < len(word) else "0" for port, word in words.items() if port != "S"]
        if cell.kind == "$mux":
            return all(map(self.has, column)) or (self.has(words["S"][0]) and self.has(words["A"][position]))
        if cell.kind in _BITWISE:
            return _BITWISE[cell.kind](map(self.has, column))
        if cell.kind in _OF_WORDS:
            return position > 0 or _OF_WORDS[cell.kind](self.has(bit) for word in words.values() for bit in word)
        return False
