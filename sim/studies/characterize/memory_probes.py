"""Memory probes for one warp alone: bank conflicts, lines of a load, and how many accesses can be in progress."""

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

#: Lengths of two sequences of the same access: the difference of their times is the time of the accesses themselves.
ROWS = (16, 32)
#: Memory latency while sizes are measured: long enough for every wait for memory to show.
LONG = 600
#: Numbers of concurrent accesses tried first, up to one more than the largest size that can be built.
MANY = range(1, 66, 8)
#: Accesses that are in progress, after which a load passes if there was space for them.
AFTER = ("misses", "joined", "stores")
_WIDE = 0x40_0000
#: Number of lines within the offset of an instruction.
_REACH = 31


def word_strides(shape: Shape) -> list[int]:
    """Strides between lanes in local memory, in words, as far as they fit: 0 to 8, then powers of two."""
    room = shape.local_bytes // 4 - shape.threads
    asked = [*range(9), *(1 << bit for bit in range(4, (2 * shape.threads).bit_length()))]
    return [stride for stride in asked if stride * (shape.threads - 1) < room]


def byte_strides() -> list[int]:
    """Strides between lanes in global memory, in bytes."""
    return [0, *(1 << bit for bit in range(2, LINE_BYTES.bit_length() + 1))]


def _spread(stride: int) -> list[int]:
    """ADDRESS += lane * stride."""
    return [*asm.li(SCRATCH, stride), asm.mul(SCRATCH, SCRATCH, LANE), asm.add(ADDRESS, ADDRESS, SCRATCH)]


def strides(shape: Shape) -> list[Piece]:
    """Loads and stores of local memory with a stride in words between lanes: ``local_load stride 2 x16``."""
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
    """Loads of global memory that hit, with a stride in bytes between lanes: ``load stride 64 x16``."""
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
    """Loads and stores that delay each other: a store and a load of the same word, a store and a fence."""
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
    """Concurrent accesses, then a load that hits and an instruction that needs it: late if one access had to wait.

    ``counts``: the numbers to try for each of :data:`AFTER`. ``misses``: loads of new lines. ``joined``: loads
    of one new line. ``stores``: stores to new lines. Accesses are looked up in order, so an access that waits delays
    the load that follows it.
    """
    return [EMPTY, *(_at_once(name, count) for name in AFTER for count in counts[name])]


def _at_once(name: str, count: int) -> Piece:
    lines = 1 if name == "joined" else count
    setup = [asm.addi(ADDRESS, FRESH, 0), *asm.li(SCRATCH, LINE_BYTES * lines), asm.add(FRESH, FRESH, SCRATCH)]
    # The lines of the previous piece may have evicted the one that is to hit.
    setup.append(asm.lw(OTHER, 0, HIT))
    # All but the last load have no destination, so that nothing waits for them.
    targets = [0] * (count - 1) + [RESULTS[0]]
    if name == "misses":
        body = _moving([asm.lw(target, _within(i), ADDRESS) for i, target in enumerate(targets)])
    elif name == "joined":
        body = [asm.lw(target, 0, ADDRESS) for target in targets]
    else:
        body = _moving([asm.sw(ONE, _within(i), ADDRESS) for i in range(count)])
    return Piece(name=f"{name} {count}", setup=setup, body=[*body, asm.lw(OTHER, 0, HIT), asm.add(OTHER, OTHER, ONE)])


def late(cycles: Cycles, name: str) -> dict[int, bool]:
    """For each number of accesses tried, whether the load after them was late."""
    tried = sorted(int(piece.split()[-1]) for piece in cycles if piece.startswith(f"{name} "))
    return {count: one(cycles, f"{name} {count}") > LONG // 2 for count in tried}


def between(cycles: Cycles) -> dict[str, range]:
    """The numbers left to try: those between the last that was not late and the first that was."""
    found = {}
    for name in AFTER:
        tried = late(cycles, name)
        first = next((count for count, was in tried.items() if was), max(tried))
        found[name] = range(max((count for count in tried if count < first), default=0) + 1, first)
    return found


def _within(i: int) -> int:
    """The offset of line ``i`` from ADDRESS, which advances after every :data:`_REACH` lines."""
    return LINE_BYTES * (i % _REACH)


def _moving(accesses: Sequence[int]) -> list[int]:
    """The accesses, with ADDRESS advanced after every :data:`_REACH` of them."""
    words: list[int] = []
    for i, access in enumerate(accesses):
        if i and i % _REACH == 0:
            words.append(asm.addi(ADDRESS, ADDRESS, _REACH * LINE_BYTES))
        words.append(access)
    return words


def capacities() -> list[int]:
    """Numbers of lines to walk through, twice."""
    return [1 << bit for bit in range(1, CHAIN_LINES.bit_length() - 1)]


def capacity() -> list[Piece]:
    """A second walk through a number of lines: ``lines 256``. A walk that fits in the cache has no miss."""
    walk = [asm.lw(ADDRESS, 0, ADDRESS), asm.addi(OTHER, OTHER, -1), asm.bne(OTHER, 0, -8)]
    return [
        Piece(name=f"lines {count}", setup=[asm.addi(ADDRESS, FRESH, 0), *asm.li(OTHER, count)], body=walk)
        for count in capacities()
    ]
