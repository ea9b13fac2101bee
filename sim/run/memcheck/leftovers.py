"""Bytes that a program leaves in memory and that depend on uninitialised values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metronome.hdl.config import SmConfig

from .finding import Finding
from .origins import COMPUTED, WHOLE, Origins

if TYPE_CHECKING:  # see areas.py
    from ...program.kernels import Launch

__all__ = ["Leftover", "leftovers", "results"]


@dataclass(frozen=True, slots=True)
class Leftover:
    """Undefined bytes that one instruction stored, from values that another one loaded: a finding if they are read.

    ``places``: (n, 2), first and end of each piece. ``computed``: some bytes were calculated from the value.
    ``whole``: some bytes had no defined bit when the value was loaded, or when it was stored.
    """

    finding: Finding
    places: np.ndarray
    computed: bool
    whole: bool

    def touches(self, first: int, end: int) -> bool:
        """Whether any byte of [first, end) is among them."""
        return bool(np.any((self.places[:, 0] < end) & (self.places[:, 1] > first)))


def leftovers(stored: tuple[np.ndarray, np.ndarray, np.ndarray], origins: Origins) -> list[Leftover]:
    """Group the bytes in ``stored``, the result of :meth:`.shadow.Flags.stored`."""
    addresses, sources, stores = stored
    pairs = np.stack([origins.pcs(stores), origins.pcs(sources)], axis=1)
    found = []
    for pair in np.unique(pairs, axis=0):
        member = (pairs == pair).all(axis=1)
        places = addresses[member].astype(np.int64)
        starts = np.flatnonzero(np.diff(places, prepend=-2) != 1)
        ends = np.append(starts[1:], len(places)) - 1
        side, address, size = origins.of(int(stores[member][0]), "stores")
        other, _, _ = origins.of(int(sources[member][0]), "loads")
        what = "a result, computed from memory that was not written when"
        _, undefined = np.unique(stores[member], return_counts=True)
        finding = Finding("unwritten", address, size, side, what, other, len(undefined))
        pieces = np.stack([places[starts], places[ends] + 1], axis=1)
        computed, whole = (bool((sources[member] & np.uint32(each)).any()) for each in (COMPUTED, WHOLE))
        found.append(Leftover(finding, pieces, computed, whole or bool((undefined >= size).any())))
    return found


def results(
    found: Iterable[Leftover], read: Iterable[tuple[int, int]], launch: Launch, config: SmConfig
) -> list[Finding]:
    """Return those that are results: the host has ``read`` them, a list of (first, end).

    A program without buffers has no host. Its results are the values it calculated and left outside stacks and local
    memory; a value that it only copied there may be the padding of a structure. With a host, too, a partly defined word
    that was only copied counts as a structure's member with its padding.
    """
    places = list(read)
    stacks = config.memory_map.stack_top - config.memory_map.stack_bytes_per_hart * config.harts * config.cores
    return [
        left.finding for left in found
        if ((left.computed or left.whole) and any(left.touches(first, end) for first, end in places))
        or (not launch.buffers and left.computed and left.touches(0, stacks))
    ]
