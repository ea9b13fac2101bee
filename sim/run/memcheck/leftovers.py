"""What a program leaves in memory that depends on what nobody has written."""

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
    """Undefined bytes that one instruction has stored, of values that one other has loaded: a finding if they are read.

    ``places``: (n, 2), first and end of each piece. ``computed``: of some the value has been calculated with.
    ``whole``: of some nothing was defined as it was loaded, or as it was stored.
    """

    finding: Finding
    places: np.ndarray
    computed: bool
    whole: bool

    def touches(self, first: int, end: int) -> bool:
        """Whether a byte of [first, end) is among them."""
        return bool(np.any((self.places[:, 0] < end) & (self.places[:, 1] > first)))


def leftovers(stored: tuple[np.ndarray, np.ndarray, np.ndarray], origins: Origins) -> list[Leftover]:
    """``stored`` is what :meth:`.shadow.Flags.stored` tells."""
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
        what = "a result, of what was not written when"
        _, undefined = np.unique(stores[member], return_counts=True)
        finding = Finding("unwritten", address, size, side, what, other, len(undefined))
        pieces = np.stack([places[starts], places[ends] + 1], axis=1)
        computed, whole = (bool((sources[member] & np.uint32(each)).any()) for each in (COMPUTED, WHOLE))
        found.append(Leftover(finding, pieces, computed, whole or bool((undefined >= size).any())))
    return found


def results(
    found: Iterable[Leftover], read: Iterable[tuple[int, int]], launch: Launch, config: SmConfig
) -> list[Finding]:
    """Those that are results: where the host has ``read``, a list of (first, end).

    A program without buffers has no host. Its results are what it has calculated and left outside of stacks and local
    memory; what it has only copied there may be the padding of a structure. For a host, too, a copied word of which a
    part is defined counts as a structure's member with the padding beside it.
    """
    places = list(read)
    stacks = config.memory_map.stack_top - config.memory_map.stack_bytes_per_hart * config.harts * config.cores
    return [
        left.finding for left in found
        if ((left.computed or left.whole) and any(left.touches(first, end) for first, end in places))
        or (not launch.buffers and left.computed and left.touches(0, stacks))
    ]
