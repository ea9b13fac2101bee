"""A profile for clang, from the counts that tb/profile.cpp writes.

LLVM's own tool for this, llvm-profdata, is not in the wheel. The counts are in LLVM 22's layout (its
InstrProfData.inc, raw version 10); the profile is in the indexed format of version 4, which later versions read.
"""

from __future__ import annotations

import hashlib
import itertools
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["ProfileError", "indexed"]

_MAGIC = int.from_bytes(b"\xfflprofi\x81", "little")
#: Version 4, of counters in the compiler's intermediate representation.
_VERSION = 4 | 1 << 56
#: Hash of the name, of the function's shape; address of its counters from here; three unused fields; their number.
_DATA = struct.Struct("<QQq24xI12x")
#: The shares of all counts, in millionths, for which the summary gives the number of counters.
_CUTOFFS = (10_000, *range(100_000, 1_000_000, 100_000), 950_000, 990_000, 999_000, 999_900, 999_990, 999_999)


class ProfileError(ValueError):
    """Counts that do not have the expected layout."""


@dataclass(frozen=True)
class _Function:
    name: bytes
    shape: int  # the hash of its control flow
    counts: tuple[int, ...]  # of its first block, and of others


def indexed(raw: bytes) -> bytes:
    """The profile for ``-fprofile-use``. Raises ProfileError if ``raw`` is not the output of tb/profile.cpp."""
    try:
        functions = list(_functions(raw))
    except (struct.error, zlib.error, KeyError, IndexError) as error:
        raise ProfileError(f"the counts of the simulation cannot be read: {error!r}") from None
    if not any(itertools.chain.from_iterable(function.counts for function in functions)):
        raise ProfileError("the simulation recorded no counts")
    return _profile(functions)


def _functions(raw: bytes) -> Iterator[_Function]:
    counters, data, names, way = struct.unpack_from("<4Q", raw)
    start = 32
    if len(raw) != start + counters + data + names or data % _DATA.size:
        raise IndexError(f"{len(raw)} bytes")
    by_hash = {_hash(name): name for name in _names(raw[start + counters + data:])}
    for place in range(0, data, _DATA.size):
        name, shape, relative, count = _DATA.unpack_from(raw, start + counters + place)
        first = way + place + relative
        if not 0 <= first <= counters - 8 * count:
            raise IndexError(f"counters at {first}")
        yield _Function(by_hash[name], shape, struct.unpack_from(f"<{count}Q", raw, start + first))


def _hash(name: bytes) -> int:
    return int.from_bytes(hashlib.md5(name, usedforsecurity=False).digest()[:8], "little")


def _names(section: bytes) -> Iterator[bytes]:
    """The names of all functions: one piece for each compilation unit, some of them compressed."""
    place = 0
    while place < len(section):
        if section[place] == 0:  # between two pieces
            place += 1
            continue
        size, place = _number(section, place)
        compressed, place = _number(section, place)
        piece = section[place:place + (compressed or size)]
        yield from (zlib.decompress(piece) if compressed else piece).split(b"\x01")
        place += len(piece)


def _number(section: bytes, place: int) -> tuple[int, int]:
    """A number in LEB128, and the place after it."""
    value = shift = 0
    while True:
        byte = section[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return value, place


def _profile(functions: Sequence[_Function]) -> bytes:
    """Header, summary, and a hash table on disk: buckets of functions by the hash of their names."""
    content = bytearray(struct.pack("<5Q", _MAGIC, _VERSION, 0, 0, 0) + _summary(functions))
    by_name: dict[bytes, bytes] = {}
    for function in functions:
        count = len(function.counts)
        record = struct.pack(f"<QQ{count}QII", function.shape, count, *function.counts, 8, 0)
        by_name[function.name] = by_name.get(function.name, b"") + record
    size = 1 << (len(by_name) * 4 // 3).bit_length()
    buckets: list[list[bytes]] = [[] for _ in range(size)]
    for name, records in by_name.items():
        head = struct.pack("<QQQ", _hash(name), len(name), len(records))
        buckets[_hash(name) % size].append(head + name + records)
    places = []
    for bucket in buckets:
        places.append(len(content) if bucket else 0)
        if bucket:
            content += struct.pack("<H", len(bucket)) + b"".join(bucket)
    content += bytes(-len(content) % 8)
    struct.pack_into("<Q", content, 32, len(content))
    return bytes(content + struct.pack(f"<QQ{size}Q", size, len(by_name), *places))


def _summary(functions: Sequence[_Function]) -> bytes:
    """Hot counters: for each cutoff, the smallest of the largest counts that make up this share, and their number."""
    counts = sorted(itertools.chain.from_iterable(function.counts for function in functions), reverse=True)
    inner = [count for function in functions for count in function.counts[1:]]
    total = sum(counts)
    fields = [len(functions), len(counts), max(function.counts[0] for function in functions), counts[0],
              max(inner, default=0), total]
    content = struct.pack(f"<QQ{len(fields)}Q", len(fields), len(_CUTOFFS), *fields)
    reached, number = 0, 0
    for cutoff in _CUTOFFS:
        while reached < total * cutoff // 1_000_000:
            reached += counts[number]
            number += 1
        content += struct.pack("<QQQ", cutoff, counts[max(number - 1, 0)], number)
    return content
