"""SystemVerilog of an array of lanes."""

from __future__ import annotations

from collections.abc import Iterator

from .netlist import SHIFTS, WORD_BITS, Bit, Cell, Netlist, Register
from .order import blocks, idle_inputs

__all__ = ["array_ports", "write_array"]

_TWO = {"$add": "+", "$sub": "-", "$mul": "*", "$and": "&", "$or": "|", "$xor": "^", "$eq": "==", "$ne": "!=",
        "$lt": "<", "$le": "<=", "$gt": ">", "$ge": ">=", "$shl": "<<", "$shr": ">>", "$sshr": ">>>",
        "$logic_and": "&&", "$logic_or": "||"}
_ONE = {"$not": "~", "$neg": "-", "$reduce_or": "|", "$reduce_bool": "|", "$reduce_and": "&", "$reduce_xor": "^",
        "$logic_not": "!"}


def array_ports(name: str, width: int) -> list[tuple[str, int | None]]:
    """The ports of the array for a lane's port: their names, and the bit of the lane's port that each has (None: all).

    Data are one vector, with the words of all lanes side by side. Any other port is one vector for each of its bits,
    with a bit for each lane: an enable thus has the form of the mask that it comes from.
    """
    return [(name, None)] if width == WORD_BITS else [(f"{name}__{bit}", bit) for bit in range(width)]


class _Expressions:
    """Text for words of a lane. ``register``: the prefix of the name of a register's variable."""

    def __init__(self, netlist: Netlist, *, register: str) -> None:
        self._netlist = netlist
        self._prefixes = {
            **dict.fromkeys(netlist.inputs, "i_"), **dict.fromkeys(netlist.cells, ""),
            **dict.fromkeys(netlist.registers, register),
        }
        self._widths = {name: len(bits) for name, bits in netlist.inputs.items()}
        self._widths |= {name: len(cell.output) for name, cell in netlist.cells.items()}
        self._widths |= {name: len(each.output) for name, each in netlist.registers.items()}

    def word(self, bits: list[Bit]) -> str:
        """The bits, the lowest first, as one expression of the same width."""
        pieces = list(self._pieces(bits))
        if len(pieces) == 1:
            return pieces[0]
        if len(set(pieces)) == 1:
            return f"{{{len(pieces)}{{{pieces[0]}}}}}"
        return f"{{{', '.join(reversed(pieces))}}}"

    def _pieces(self, bits: list[Bit]) -> Iterator[str]:
        """Constants and slices, the lowest first."""
        start = 0
        while start < len(bits):
            end = start + 1
            while end < len(bits) and self._follows(bits[end - 1], bits[end]):
                end += 1
            yield self._slice(bits[start:end])
            start = end

    def _follows(self, bit: Bit, other: Bit) -> bool:
        if isinstance(bit, str) or isinstance(other, str):
            return isinstance(bit, str) and isinstance(other, str)
        name, position = self._netlist.drivers[bit]
        return self._netlist.drivers[other] == (name, position + 1)

    def _slice(self, bits: list[Bit]) -> str:
        if isinstance(bits[0], str):
            digits = "".join("1" if bit == "1" else "0" for bit in reversed(bits))
            return f"{len(bits)}'b{digits}"
        name, low = self._netlist.drivers[bits[0]]
        variable = f"{self._prefixes[name]}{name}"
        if len(bits) == self._widths[name]:
            return variable
        return f"{variable}[{low}]" if len(bits) == 1 else f"{variable}[{low + len(bits) - 1}:{low}]"

    def any_of(self, bits: frozenset[Bit]) -> str:
        """Whether one of the bits is 1."""
        return " | ".join(sorted(self.word([bit]) for bit in bits))

    def of(self, cell: Cell) -> str:
        """The value of the cell."""
        words = {port: self.word(bits) for port, bits in cell.inputs.items()}
        if cell.signed:
            shifted = cell.kind in SHIFTS
            words = {port: word if shifted and port == "B" else f"$signed({word})" for port, word in words.items()}
        if cell.kind in _TWO:
            return f"{words['A']} {_TWO[cell.kind]} {words['B']}"
        if cell.kind in _ONE:
            return f"{_ONE[cell.kind]}{words['A']}"
        if cell.kind == "$mux":
            return f"{words['S']} ? {words['B']} : {words['A']}"
        if cell.kind == "$pmux":
            return self._choice(cell)
        raise ValueError(f"no Verilog for a {cell.kind} in a lane")

    def _choice(self, cell: Cell) -> str:
        """Word k of B if bit k of S is 1, A if none is; two never are."""
        width, text = len(cell.output), self.word(cell.inputs["A"])
        for k, bit in enumerate(cell.inputs["S"]):
            text = f"{self.word([bit])} ? {self.word(cell.inputs['B'][k * width:(k + 1) * width])} : {text}"
        return text


def write_array(name: str, netlist: Netlist, lanes: int) -> str:
    """Module ``name`` with ``lanes`` of the lane ``netlist``: clk, the ports of :func:`array_ports`, and outputs.

    Raises
    ------
    ValueError
        If the lane is never idle, or an output does not come from registers alone.
    """
    for port, bits in netlist.outputs.items():
        if not set(netlist.driving(bits)) <= set(netlist.registers):
            raise ValueError(f"the output {port} of a lane must come from registers alone")
    ports = [(f"input [{lanes * (WORD_BITS if bit is None else 1) - 1}:0]", port)
             for each, bits in netlist.inputs.items() for port, bit in array_ports(each, len(bits))]
    ports += [(f"output reg [{lanes * len(bits) - 1}:0]", port) for port, bits in netlist.outputs.items()]
    lines = [f"module {name}(clk, {', '.join(port for _, port in ports)});", "  input clk;"]
    lines += [f"  {kind} {port};" for kind, port in ports]
    # Verilator 5.48 makes such an array a local variable of the block, which loses its value, unless it is public.
    lines += [f"  reg {_range(register)} {each} [{lanes}] /* verilator public_flat_rd */;"
              for each, register in netlist.registers.items()]
    lines += [f"  reg {_range(register)} new_{each};" for each, register in netlist.registers.items()]
    lines += [f"  reg [{len(bits) - 1}:0] lane_{port};" for port, bits in netlist.outputs.items()]
    lines += [f"  reg [{lanes * len(bits) - 1}:0] next_{port};" for port, bits in netlist.outputs.items()]
    return "\n".join([*lines, *_function(netlist), *_loop(netlist, lanes), "endmodule\n"])


def _range(driver: Register | Cell) -> str:
    return f"[{len(driver.output) - 1}:0]"


def _function(netlist: Netlist) -> list[str]:
    """One lane in one cycle. Its variables are locals of a C++ function, too, not members of the whole design."""
    say, after = _Expressions(netlist, register="old_"), _Expressions(netlist, register="")
    arguments = [f"input logic [{len(bits) - 1}:0] i_{port}" for port, bits in netlist.inputs.items()]
    # Not inout: for an element of an array whose bounds Verilator checks, 5.48 takes a wrong value.
    arguments += [f"input logic {_range(register)} old_{name}" for name, register in netlist.registers.items()]
    arguments += [f"output logic {_range(register)} {name}" for name, register in netlist.registers.items()]
    arguments += [f"output logic [{len(bits) - 1}:0] o_{port}" for port, bits in netlist.outputs.items()]
    lines = [f"  function automatic void lane({', '.join(arguments)});", "    /* verilator no_inline_task */"]
    lines += [f"    automatic logic {_range(cell)} {name};" for name, cell in netlist.cells.items()]
    lines += [f"    {name} = old_{name};" for name in netlist.registers]
    for enables, names in blocks(netlist):
        lines += _under(say.any_of(enables), [f"{name} = {say.of(netlist.cells[name])};" for name in names])
    by_enable: dict[Bit, list[str]] = {}
    for name, register in netlist.registers.items():
        by_enable.setdefault(register.enable, []).append(f"{name} = {say.word(register.data)};")
    for enable, statements in by_enable.items():
        lines += _under(say.word([enable]), statements)
    lines += [f"    o_{port} = {after.word(bits)};" for port, bits in netlist.outputs.items()]
    return [*lines, "  endfunction"]


def _under(condition: str, statements: list[str]) -> list[str]:
    if not condition:
        return [f"    {statement}" for statement in statements]
    return [f"    if ({condition}) begin", *(f"      {statement}" for statement in statements), "    end"]


def _loop(netlist: Netlist, lanes: int) -> list[str]:
    """All lanes that are not idle, and the outputs, which other modules see only in the next cycle."""
    needed = [f"{port}__{bit}" for port, bit in (netlist.drivers[bit] for bit in idle_inputs(netlist)
                                                if isinstance(bit, int))]
    arguments = []
    for port, bits in netlist.inputs.items():
        pieces = [f"{each}[i]" for each, _ in reversed(array_ports(port, len(bits)))]
        words = len(bits) == WORD_BITS
        arguments.append(f"{port}[{WORD_BITS} * i +: {WORD_BITS}]" if words else f"{{{', '.join(pieces)}}}")
    arguments += [f"{name}[i]" for name in netlist.registers]
    arguments += [f"new_{name}" for name in netlist.registers] + [f"lane_{port}" for port in netlist.outputs]
    return [
        f"  always @(posedge clk) if ({' | '.join(f'(|{port})' for port in needed)}) begin",
        "    /* verilator unroll_disable */",
        f"    for (int i = 0; i < {lanes}; ++i)",
        f"      if ({' | '.join(f'{port}[i]' for port in needed)}) begin",
        f"        lane({', '.join(arguments)});",
        *(f"        {name}[i] = new_{name};" for name in netlist.registers),
        *(f"        next_{port}[{len(bits)} * i +: {len(bits)}] = lane_{port};"
          for port, bits in netlist.outputs.items()),
        "      end",
        *(f"    {port} <= next_{port};" for port in netlist.outputs),
        "  end",
    ]
