"""True least-recently-used order of the ways of one cache set, as a matrix of pairwise ages."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Value

from .onehot import or_all

__all__ = ["lru_bits", "lru_oldest", "lru_touch", "lru_victim"]


def _pairs(ways: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(ways) for j in range(i + 1, ways)]


def lru_bits(ways: int) -> int:
    """Bits of state per set: one per pair of ways (at least 1, so that one way needs no special case)."""
    return max(1, len(_pairs(ways)))


def lru_touch(state: Value, used: Value, ways: int) -> Value:
    """The state after a use of the way ``used`` (one-hot). Bit (i, j), i < j, is 1 when way i was used after way j."""
    if ways == 1:
        return Const(0, 1)
    return Cat(used[i] | (state[n] & ~used[j]) for n, (i, j) in enumerate(_pairs(ways)))


def lru_victim(state: Value, ways: int) -> Value:
    """The way used longest ago, one-hot; the first way in state 0, in which no use is recorded.

    A state that no sequence of uses produces may have no oldest way; the victim is then also the first.
    """
    if ways == 1:
        return Const(1, 1)
    newer: list[list[Value]] = [[] for _ in range(ways)]
    for n, (i, j) in enumerate(_pairs(ways)):
        newer[i].append(state[n])
        newer[j].append(~state[n])
    others = Cat(~or_all(bits) for bits in newer[1:])
    return Cat(~others.any(), others)


def lru_oldest(state: Value, among: Value, ways: int) -> Value:
    """The way in ``among`` that was used longest ago, one-hot; 0 if ``among`` is empty.

    Ways that were never used are in the order of their numbers.
    """
    if ways == 1:
        return among
    newer: list[list[Value]] = [[] for _ in range(ways)]
    for n, (i, j) in enumerate(_pairs(ways)):
        newer[i].append(state[n] & among[j])
        newer[j].append(~state[n] & among[i])
    return Cat(among[way] & ~or_all(bits) for way, bits in enumerate(newer))
