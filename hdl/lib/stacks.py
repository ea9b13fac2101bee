"""Interleaved stacks: the places of the stacks' words in memory (docs/memory.md, "Stacks")."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from ..config import LINE_OFFSET_BITS, SmConfig

__all__ = ["in_stacks", "same_line", "to_bus", "to_program"]


def _block_bits(config: SmConfig) -> tuple[int, int]:
    """Bits of a lane number, and of a word's number in one stack."""
    return config.threads.bit_length() - 1, config.memory_map.stack_bytes_per_hart.bit_length() - 3


def _add(value: Value, constant: int) -> Value:
    """``value`` + ``constant`` in 32 bits, without an adder for the constant's low zeros."""
    constant %= 1 << 32
    low = (constant & -constant).bit_length() - 1
    return Cat(value[:low], (value[low:] + (constant >> low))[: 32 - low]) if constant else value


def _fast(config: SmConfig) -> bool:
    """Whether adders are left out where aligned stacks need none.

    With one cycle to the lookup they stay. Without them the longest path of an SM is shorter, but Yosys' mapping, which
    makes all paths as short, needs more LUTs.
    """
    return config.lookup_latency > 1


def _below_top(m: Module, config: SmConfig, address: Value, name: str, *, fast: bool) -> tuple[Signal, Value]:
    """``address`` relative to the top of the stacks, and whether it lies in them; ``fast``: as :func:`_fast`.

    Relative to the top, a warp's stacks are an aligned block: its address bits are lane, word, byte.
    """
    top = config.memory_map.stack_top
    relative = Signal(32, name=f"{name}_relative")
    m.d.comb += relative.eq(_add(address, -top))
    stacks = len(config.interleaved_stacks) // config.memory_map.stack_bytes_per_hart
    bits = config.memory_map.stack_bytes_per_hart.bit_length() - 1
    zeros = (stacks & -stacks).bit_length() - 1
    size = bits + zeros
    if fast and stacks >> zeros == 1 and top % (1 << size) == 0:
        # The stacks are one aligned block: no adder is needed to recognize it.
        return relative, address[size:] == (top >> size) - 1
    number = relative[bits + zeros :]
    lowest = (1 << len(number)) - (stacks >> zeros)
    return relative, number.all() if stacks >> zeros == 1 else number >= lowest


def in_stacks(m: Module, config: SmConfig, address: Value, name: str) -> Value:
    """Whether a byte address is one of ``config.interleaved_stacks``."""
    if not config.interleaved_stacks:
        return Const(0, 1)
    # Nothing waits for this, and so the front end is the same in every pipeline.
    return _below_top(m, config, address, name, fast=False)[1]


def _permuted(m: Module, config: SmConfig, address: Value, name: str, first: int, second: int) -> Value:
    """``address`` with the ``first`` and the ``second`` bits above the byte exchanged, if it lies in the stacks."""
    relative, inside = _below_top(m, config, address, name, fast=_fast(config))
    low, high, rest = relative[2 : 2 + first], relative[2 + first : 2 + first + second], relative[2 + first + second :]
    result, moved = Signal(32, name=name), 2 + first + second
    permuted = _add(Cat(relative[:2], high, low, rest), config.memory_map.stack_top)
    if _fast(config) and config.memory_map.stack_top % (1 << moved) == 0:
        # The bits that move are the same relative to the top, and the others stay.
        low, high = address[2 : 2 + first], address[2 + first : moved]
        permuted = Cat(address[:2], high, low, address[moved:])
    m.d.comb += result.eq(Mux(inside, permuted, address))
    return result


def to_bus(m: Module, config: SmConfig, address: Value, name: str) -> Value:
    """The address in memory of a program's byte address. Combinational; a bijection that keeps the two low bits.

    In a warp's block of stacks, lane and word change places: the lanes' words at one offset of their stacks are
    adjacent. ``name`` is that of the signal.
    """
    if not config.interleaved_stacks:
        return address
    lanes, words = _block_bits(config)
    return _permuted(m, config, address, name, words, lanes)


def to_program(m: Module, config: SmConfig, address: Value, name: str) -> Value:
    """The inverse of :func:`to_bus`."""
    if not config.interleaved_stacks:
        return address
    lanes, words = _block_bits(config)
    return _permuted(m, config, address, name, lanes, words)


def same_line(m: Module, config: SmConfig, first: Value, second: Value, *, pieces: int, name: str) -> Value:
    """Whether two program addresses lie in one line of memory: they do if all ``pieces`` bits are set.

    If the bits that move are aligned, it does not wait for the addresses in memory, only for whether they are stacks.
    """
    lanes, words = _block_bits(config)
    low, high, end = 2 + words, 2 + words + lanes, LINE_OFFSET_BITS
    if not config.interleaved_stacks:
        common, others = [*range(end, 32)], Value.cast(Const(1, 1))
    elif config.memory_map.stack_top % (1 << high) or lanes > end - 2 or low < end:
        lines = [to_bus(m, config, address, f"{name}_{number}")[end:] for number, address in enumerate((first, second))]
        return _pieces(lines[0], lines[1], pieces)
    else:
        # The lines of stacks do not depend on the lane's number, and hold fewer words of a lane. Addresses of which
        # only one is in the stacks differ in the bits above.
        common = [*range(end, low), *range(high, 32)]
        others = Mux(
            _below_top(m, config, first, name, fast=_fast(config))[1],
            first[end - lanes : end] == second[end - lanes : end], first[low:high] == second[low:high])
    bits = _pieces(Cat(first[bit] for bit in common), Cat(second[bit] for bit in common), pieces - 1)
    return Cat(bits, others)


def _pieces(first: Value, second: Value, count: int) -> Value:
    """Whether pieces of two values are equal, a bit for each."""
    return Cat(first[piece::count] == second[piece::count] for piece in range(count))
