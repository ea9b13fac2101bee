"""Loads and stores on a path, to addresses that are known exactly or only as intervals."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from metronome.hdl.config import LINE_BYTES

from ...machine.memory.stacks import to_bus
from ..code.lanes import TOP
from ..code.numbers import unsigned, word_hull
from ..code.program import Instruction
from ..code.refusals import RefusedError
from .clock import Access
from .memory import part_of
from .path import Path
from .private_values import LaneValue
from .warp import AbstractWarp

__all__ = ["Accesses"]

_SELF_MODIFYING = "it may store to the lines of its own code: self-modifying code"
#: A store whose address range exceeds this many bytes is treated as a store to anywhere.
_FAR = 1 << 24
#: A load whose address range exceeds this many bytes returns an unknown value.
_NEAR = 1 << 12


class Accesses:
    """Executes loads and stores."""

    def __init__(self, warp: AbstractWarp) -> None:
        self._warp = warp

    def execute(self, path: Path, code: Instruction) -> Access:
        """Execute a load or store, and return a description of its access."""
        decoded, base = code.decoded, code.decoded.word >> 15 & 31
        if not path.on.known(base, path.may):
            return self._somewhere(path, code)
        addresses = (path.on.values[base] + np.uint32(code.constant & TOP))[path.may]
        access = self._lines(addresses, decoded.store)
        access = replace(access, certain=self._certain(addresses, path.must[path.may], access))
        self._warp.memory.note(self._warp.number, addresses, store=decoded.store)
        if decoded.store:
            self._store(path, code, addresses)
        else:
            self._load(path, code, addresses)
        return access

    def _load(self, path: Path, code: Instruction, addresses: np.ndarray) -> None:
        decoded = code.decoded
        rd = decoded.writes
        if rd is None:
            return
        signed = decoded.row.mnemonic in ("lb", "lh")
        if int(addresses.min()) < self._warp.config.memory_map.user:
            low, high = np.zeros(len(addresses), np.int64), np.full(len(addresses), TOP)
        else:
            low, high = self._loaded(path, addresses, decoded.size, signed=signed)
        all_low, all_high = np.zeros(len(path.may), np.int64), np.zeros(len(path.may), np.int64)
        all_low[path.may], all_high[path.may] = low, high
        path.on.put(rd, path.may, all_low, all_high)
        number = self._warp.values.fresh()
        self._warp.write(path, rd, number)
        if decoded.size < 4 and not signed and bool((low != high).any()):
            self._note_signed(path, number, addresses, decoded.size)

    def _loaded(self, path: Path, addresses: np.ndarray, size: int, *, signed: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the interval of the value loaded from each of ``addresses``."""
        loaded = self._warp.memory.load(addresses, size, signed=signed, overlay=path.overlay)
        return self._with_private(path, addresses, loaded, size, signed=signed) if path.private.active else loaded

    def _note_signed(self, path: Path, number: int, addresses: np.ndarray, size: int) -> None:
        """Record the signed value of a zero-extended load: the compiler may sign-extend it later with two shifts."""
        if int(addresses.min()) < self._warp.config.memory_map.user:
            return
        low, high = self._loaded(path, addresses, size, signed=True)
        all_low, all_high = np.zeros(len(path.may), np.int64), np.full(len(path.may), TOP)
        all_low[path.may], all_high[path.may] = low, high
        path.intervals.note(self._warp.values.extended(number, 32 - 8 * size), (all_low, all_high))

    def _with_private(
        self, path: Path, addresses: np.ndarray, loaded: tuple[np.ndarray, np.ndarray], size: int, *, signed: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the ``loaded`` intervals, with the private value of each lane that has one."""
        low, high = loaded[0].copy(), loaded[1].copy()
        for at, (lane, address) in enumerate(zip(np.flatnonzero(path.may).tolist(), addresses.tolist(), strict=True)):
            own = path.private.active.get(address & ~3)
            if own is not None and own.lane == lane and address & ~3 not in self._warp.memory.races:
                low[at], high[at] = part_of((own.low, own.high), address & 3, size, signed=signed)
        return low, high

    @staticmethod
    def _value_to_store(path: Path, code: Instruction) -> tuple[np.ndarray, np.ndarray]:
        assert code.second is not None
        size = code.decoded.size
        # A value narrower than a word is kept as an unsigned number.
        low, high = path.on.numbers(code.second) if size == 4 else path.on.interval(code.second)
        if size < 4:
            top = (1 << 8 * size) - 1
            fits = (high <= top) | (low == high)
            low, high = np.where(fits, low & top, 0), np.where(fits, high & top, top)
        return low[path.may], high[path.may]

    def _store(self, path: Path, code: Instruction, addresses: np.ndarray) -> None:
        low, high = self._value_to_store(path, code)
        size, sure = code.decoded.size, path.must[path.may]
        if self._warp.program.stores(addresses, size, *unsigned((low, high))):
            raise RefusedError(_SELF_MODIFYING, path.pc)
        if self._warp.alone:
            self._warp.memory.store(addresses, size, low, high)
            return
        words = Counter((addresses & ~np.uint32(3)).tolist())
        for lane, address, least, greatest, certain in zip(
            np.flatnonzero(path.may).tolist(), addresses.tolist(), low.tolist(), high.tolist(), sure.tolist(),
            strict=True
        ):
            word = address & ~3
            alone = words[word] == 1
            own = LaneValue(lane, least, greatest) if alone and size == 4 and not certain else None
            path.private.keep(word, lane if alone else None, own)
            before = self._warp.memory.word(word, path.overlay)
            if size < 4:
                least, greatest = _with(before, address & 3, size, least, greatest)
            if word in self._warp.memory.races:
                least, greatest = 0, TOP
            elif not certain:
                least, greatest = word_hull((least, greatest), before)
            path.overlay[word] = least, greatest

    def _somewhere(self, path: Path, code: Instruction) -> Access:
        """Execute a load or store whose addresses are not all known."""
        base = code.decoded.word >> 15 & 31
        low, high = path.on.interval(base)
        offset = code.constant
        low, high = low[path.may] + offset, high[path.may] + offset
        size = code.decoded.size
        most = int(path.may.sum())
        first, end = int(low.min()), int(high.max()) + size
        far = first < 0 or end > TOP + 1 or end - first > _FAR
        if code.decoded.store:
            if far:
                raise RefusedError("it may store anywhere: the address depends on the inputs, and its range is "
                                   "unknown", path.pc)
            for least, past in _merged(low & ~3, high + size + 3 & ~3):
                self._store_between(path, least, past)
        elif code.decoded.writes is not None:
            signed = code.decoded.row.mnemonic in ("lb", "lh")
            found = 0, TOP if size == 4 or signed else (1 << 8 * size) - 1
            if not far and first >= self._warp.config.memory_map.user and end - first <= _NEAR:
                self._warp.memory.note(self._warp.number, np.arange(first & ~3, end, 4, dtype=np.uint32), store=False)
                found = self._warp.memory.between(first, end, size, signed=signed, overlay=path.overlay)
            else:
                self._warp.memory.reads.load_between(max(first, 0), TOP + 1 if far else end)
            shape = len(path.may)
            path.on.put(code.decoded.writes, path.may, np.full(shape, found[0]), np.full(shape, found[1]))
            self._warp.write(path, code.decoded.writes, self._warp.values.fresh())
        local = self._warp.config.memory_map.local
        inside = far or (first < local + self._warp.config.local_bytes and end > local)
        stacks = self._warp.config.interleaved_stacks
        # Stacks are interleaved: their place in memory differs from the program's addresses.
        known = not far and (len(stacks) == 0 or end <= stacks.start or first >= stacks.stop)
        within = (first // LINE_BYTES, (end - 1) // LINE_BYTES) if known else None
        lines = most if within is None else min(most, within[1] - within[0] + 1)
        return Access(None, lines, most if inside else 0, within)

    def _store_between(self, path: Path, first: int, end: int) -> None:
        """Store an unknown value to some words of [first, end)."""
        if self._warp.program.covers(first, end):
            raise RefusedError(_SELF_MODIFYING, path.pc)
        self._warp.memory.forget(first, end)
        self._warp.memory.note(self._warp.number, np.arange(first, end, 4, dtype=np.uint32), store=True)
        for word in [each for each in path.overlay if first <= each < end]:
            path.overlay[word] = 0, TOP
        path.private.forget(first, end)

    def _certain(self, addresses: np.ndarray, must: np.ndarray, access: Access) -> frozenset[int]:
        """Return the lines accessed by lanes that must be active."""
        if must.all():
            return frozenset(access.lines or ())
        return frozenset(self._lines(addresses[must], store=False).lines or ()) if must.any() else frozenset()

    def _lines(self, addresses: np.ndarray, store: bool) -> Access:
        config = self._warp.config
        base = config.memory_map.local
        if len(addresses) == 1 or (addresses == addresses[0]).all():
            address = int(addresses[0])
            if base <= address < base + config.local_bytes:
                return Access((), 0, len(addresses) if store else 1)
            return Access((to_bus(config, address) // LINE_BYTES,), 1, 0)
        local = (addresses >= base) & (addresses < base + config.local_bytes)
        turns = 0
        if local.any():
            words = addresses[local] >> 2
            words = words if store else np.unique(words)
            turns = int(np.bincount(words % np.uint32(config.threads)).max())
            addresses = addresses[~local]
        stacks = config.interleaved_stacks
        if len(addresses) and int(addresses.max()) >= stacks.start and len(stacks):
            lines = {to_bus(config, each) // LINE_BYTES for each in addresses.tolist()}
        else:
            lines = set((addresses >> 6).tolist())
        return Access(tuple(sorted(lines)), len(lines), turns)


def _merged(first: np.ndarray, end: np.ndarray) -> list[tuple[int, int]]:
    """Merge overlapping ranges [first, end). Those of lanes are often disjoint, since each lane has its own stack."""
    found: list[tuple[int, int]] = []
    for least, past in sorted(zip(first.tolist(), end.tolist(), strict=True)):
        if found and least <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], past)
        else:
            found.append((least, past))
    return found


def _with(word: tuple[int, int], offset: int, size: int, low: int, high: int) -> tuple[int, int]:
    """Return the interval of a ``word`` after ``size`` bytes of it are overwritten."""
    if word[0] != word[1] or low != high:
        return 0, TOP
    bits = (1 << 8 * size) - 1 << 8 * offset
    value = word[0] & ~bits | low << 8 * offset
    return value, value
