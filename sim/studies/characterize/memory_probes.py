"""What one warp alone is asked of memory: bank conflicts, lines of a load, and how much can be under way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from metronome.hdl.config import LINE_BYTES

from ...program.assembler import asm
from .bench import (
    ADDRESS,
    CHAIN_LINES,
    FRESH,
    HIT,
    LANE,
    LOCAL,
    LOCAL_LANE,
    ONE,
    OTHER,
    RESULTS,
    SCRATCH,
    STORED,
    Piece,
    Shape,
)
from .probes import EMPTY, Cycles, one

__all__ = ["AFTER", "LONG", "MANY", "ROWS", "byte_strides", "capacities", "capacity", "lines", "order", "strides",
           "under_way", "word_strides"]

#: Of the same access so many in a row: the longer row less the shorter is what the accesses themselves take.
ROWS = (16, 32)
#: Cycles of memory while sizes are looked for: long enough that nothing which waits for it can be overlooked.
LONG = 600
#: Accesses that are tried at once at first, up to one more than the largest size that can be built.
MANY = range(1, 66, 8)
#: What is done under way, and then something that passes if there was room for it.
AFTER = ("misses", "joined", "stores")
_WIDE = 0x40_0000
#: Lines that the offset of an instruction reaches.
_REACH = 31


def word_strides(shape: Shape) -> list[int]:
    """Distances of neighbouring lanes in local memory, in words, that fit: 0 to 8, and powers of two from there on."""
    room = shape.local_bytes // 4 - shape.threads
    asked = [*range(9), *(1 << bit for bit in range(4, (2 * shape.threads).bit_length()))]
    return [stride for stride in asked if stride * (shape.threads - 1) < room]


def byte_strides() -> list[int]:
    """Distances of neighbouring lanes in global memory, in bytes."""
    return [0, *(1 << bit for bit in range(2, LINE_BYTES.bit_length() + 1))]


def _spread(stride: int) -> list[int]:
    """ADDRESS += lane * stride."""
    return [*asm.li(SCRATCH, stride), asm.mul(SCRATCH, SCRATCH, LANE), asm.add(ADDRESS, ADDRESS, SCRATCH)]


def strides(shape: Shape) -> list[Piece]:
    """Loads and stores of local memory whose lanes are so many words apart: ``local_load stride 2 x16``."""
    pieces = [EMPTY]
    for stride in word_strides(shape):
        setup = [asm.addi(ADDRESS, LOCAL, 4 * shape.threads), *_spread(4 * stride)]
        for count in ROWS:
            loads = [asm.lw(RESULTS[i % len(RESULTS)], 0, ADDRESS) for i in range(count)]
            stores = [asm.sw(ONE, 0, ADDRESS)] * count
            pieces += [
                Piece(name=f"local_load stride {stride} x{count}", setup=setup, body=loads),
                Piece(name=f"local_store stride {stride} x{count}", setup=setup, body=stores),
            ]
    return pieces


def lines(shape: Shape) -> list[Piece]:
    """Loads of global memory that hit, whose lanes are so many bytes apart: ``load stride 64 x16``."""
    pieces = [EMPTY]
    for stride in byte_strides():
        setup = [*asm.li(ADDRESS, shape.memory_map.user + _WIDE), *_spread(stride)]
        pieces += [
            Piece(
                name=f"load stride {stride} x{count}", setup=setup,
                body=[asm.lw(RESULTS[i % len(RESULTS)], 0, ADDRESS) for i in range(count)],
            )
            for count in ROWS
        ]
    return pieces


def order() -> list[Piece]:
    """What loads and stores cost each other: a store and a load of it, a store and a fence."""
    local = [asm.sw(OTHER, 0, LOCAL_LANE), asm.lw(OTHER, 0, LOCAL_LANE)]
    forward = [asm.sw(OTHER, 0, STORED), asm.lw(OTHER, 0, STORED)]
    fresh = [asm.addi(ADDRESS, FRESH, 0), asm.addi(FRESH, FRESH, LINE_BYTES)]
    return [
        EMPTY,
        *(Piece(name=f"local store, load x{count}", body=local * count) for count in (2, 4)),
        *(Piece(name=f"store, load x{count}", body=forward * count) for count in (2, 4)),
        Piece(name="store, fence", setup=fresh, body=[asm.sw(ONE, 0, ADDRESS), asm.fence()]),
    ]


def under_way(counts: Mapping[str, Iterable[int]]) -> list[Piece]:
    """So many accesses at once, then a load that hits and what needs it: it is late if one of them had to wait.

    ``counts``: for each of :data:`AFTER` the numbers that are tried. ``misses``: loads of new lines. ``joined``: loads
    of one new line. ``stores``: stores to new lines. Accesses are looked up in order, and so an access that waits holds
    up the load behind it.
    """
    return [EMPTY, *(_at_once(name, count) for name in AFTER for count in counts[name])]


def _at_once(name: str, count: int) -> Piece:
    lines = 1 if name == "joined" else count
    setup = [asm.addi(ADDRESS, FRESH, 0), *asm.li(SCRATCH, LINE_BYTES * lines), asm.add(FRESH, FRESH, SCRATCH)]
    # The lines of the piece before may have taken the place of the one that is to hit.
    setup.append(asm.lw(OTHER, 0, HIT))
    # All but the last load have no destination: nothing waits for them.
    targets = [0] * (count - 1) + [RESULTS[0]]
    if name == "misses":
        body = _moving([asm.lw(target, _within(i), ADDRESS) for i, target in enumerate(targets)])
    elif name == "joined":
        body = [asm.lw(target, 0, ADDRESS) for target in targets]
    else:
        body = _moving([asm.sw(ONE, _within(i), ADDRESS) for i in range(count)])
    return Piece(name=f"{name} {count}", setup=setup, body=[*body, asm.lw(OTHER, 0, HIT), asm.add(OTHER, OTHER, ONE)])


def late(cycles: Cycles, name: str) -> dict[int, bool]:
    """Each number of accesses that was tried -> whether the load behind them was late."""
    tried = sorted(int(piece.split()[-1]) for piece in cycles if piece.startswith(f"{name} "))
    return {count: one(cycles, f"{name} {count}") > LONG // 2 for count in tried}


def between(cycles: Cycles) -> dict[str, range]:
    """What is left to try: the numbers between the last that was not late and the first that was."""
    found = {}
    for name in AFTER:
        tried = late(cycles, name)
        first = next((count for count, was in tried.items() if was), max(tried))
        found[name] = range(max((count for count in tried if count < first), default=0) + 1, first)
    return found


def _within(i: int) -> int:
    """The offset of line ``i``, from ADDRESS, which moves on with each :data:`_REACH` lines."""
    return LINE_BYTES * (i % _REACH)


def _moving(accesses: Sequence[int]) -> list[int]:
    """The accesses, ADDRESS moved on after each :data:`_REACH` of them."""
    words: list[int] = []
    for i, access in enumerate(accesses):
        if i and i % _REACH == 0:
            words.append(asm.addi(ADDRESS, ADDRESS, _REACH * LINE_BYTES))
        words.append(access)
    return words


def capacities() -> list[int]:
    """Lines that are walked through, twice."""
    return [1 << bit for bit in range(1, CHAIN_LINES.bit_length() - 1)]


def capacity() -> list[Piece]:
    """A walk through so many lines that has been made before: ``lines 256``. One that fits the cache has no miss."""
    walk = [asm.lw(ADDRESS, 0, ADDRESS), asm.addi(OTHER, OTHER, -1), asm.bne(OTHER, 0, -8)]
    return [
        Piece(name=f"lines {count}", setup=[asm.addi(ADDRESS, FRESH, 0), *asm.li(OTHER, count)], body=walk)
        for count in capacities()
    ]
