"""The bytes in the L2 of a GPU whose run is predicted, and the requests that it sends to memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metronome.hdl.config import LINE_BYTES
from metronome.hdl.gpu.config import GpuConfig, L2Kind

from ...machine.events import NONE
from ..model.code import CodeTable
from ..model.l2 import DIVIDED, NO_L2, SHARED
from .sm_run import GpuSmRun

__all__ = ["L2Requester", "l2_kind", "l2_settings"]


#: As hdl.gpu.l2.cache.l2_counters_layout.
_COUNTERS = ("reads", "hits", "merged", "writes")


def l2_kind(gpu: GpuConfig) -> int:
    """Return the kind of L2 as the model numbers it."""
    return {L2Kind.NONE: NO_L2, L2Kind.SHARED: SHARED, L2Kind.DIVIDED: DIVIDED}[gpu.l2]


def l2_settings(gpu: GpuConfig) -> dict[str, int]:
    """Return the parameters of each part, by their names in the model."""
    return {
        "sets": gpu.l2_sets, "bits": (gpu.l2_sets - 1).bit_length(), "ways": gpu.part_ways,
        "requests": gpu.part_requests, "user_line": gpu.sm.memory_map.user // LINE_BYTES,
    }


class _Part:
    """The bytes of the L2 or of a part of it. ``state``: its L2; ``lines``, ``codes``: of its places."""

    def __init__(self, state: np.void, lines: np.ndarray, codes: np.ndarray) -> None:
        self.state, self._lines, self._codes = state, lines, codes
        self._cached: list[bytes | bytearray] = [b""] * len(lines)
        #: The line that memory has answered last, and by entry those that it is about to answer.
        self._filled = b""
        self.arriving: dict[int, bytes] = {}

    def move(self, sms: Sequence[GpuSmRun], table: CodeTable) -> None:
        """Follow the bytes that have moved in the cycle that has ended. ``sms``: by the number above their own tags."""
        state = self.state
        if state["moved_in"] != NONE:
            self._cached[state["moved_in"]] = self._filled
        if state["moved_hit"] != NONE:
            _give(sms, int(state["moved_tag"]), self._cached[state["moved_hit"]])
        if state["moved_write"] != NONE:
            self._write(sms, int(state["moved_write"]), int(state["moved_tag"]), table)
        if state["moved_answer"] != NONE:
            _give(sms, int(state["moved_answer"]), self._filled)
        if state["moved_accept"] != NONE:
            self._filled = self.arriving.pop(int(state["moved_accept"]))

    def _write(self, sms: Sequence[GpuSmRun], place: int, tag: int, table: CodeTable) -> None:
        """Change a line of the cache, and what its words mean as instructions."""
        sm, own = _of(sms, tag)
        mask = sm.mask_of(own)
        line = bytearray(self._cached[place])
        for at, byte in enumerate(sm.stored(own)):
            if mask >> at & 1:
                line[at] = byte
        self._cached[place] = line
        self._codes[place] = table.line(int(self._lines[place]), bytes(line), error=False)


def _of(sms: Sequence[GpuSmRun], tag: int) -> tuple[GpuSmRun, int]:
    """The SM that has sent a request, and its own tag."""
    bits = sms[0].config.mem_tag_bits
    return sms[tag >> bits if len(sms) > 1 else 0], tag & (1 << bits) - 1


def _give(sms: Sequence[GpuSmRun], tag: int, line: bytes | bytearray) -> None:
    """Give an SM the bytes of an answer, if it is one to a load."""
    sm, own = _of(sms, tag)
    if own >> sms[0].config.mem_tag_bits - 1:
        sm.arrive(own, bytes(line))


class L2Requester:
    """The L2 at the memory port (:class:`sim.predict.memory_side.Requester`)."""

    def __init__(
        self, gpu: GpuConfig, sms: Sequence[GpuSmRun], state: np.ndarray, lines: np.ndarray, codes: np.ndarray,
    ) -> None:
        self._parts = [_Part(state[number, 0], lines[number], codes[number]) for number in range(gpu.l2_parts)]
        self._divided, self._bits = gpu.l2 is L2Kind.DIVIDED, gpu.sm.mem_tag_bits
        #: The SMs of each part.
        self._sms = [[sm] for sm in sms] if self._divided else [list(sms)]

    def move(self, table: CodeTable) -> None:
        """Follow the bytes that have moved in the cycle that has ended."""
        for part, sms in zip(self._parts, self._sms, strict=True):
            part.move(sms, table)

    def counters(self) -> dict[str, int]:
        """The counters of the L2, in sum over its parts."""
        return {name: sum(int(part.state[name]) for part in self._parts) for name in _COUNTERS}

    def _entry(self, tag: int) -> tuple[int, int]:
        """The part and the entry whose request has this tag at memory."""
        return (tag >> self._bits, tag & (1 << self._bits) - 1) if self._divided else (0, tag)

    def may_fetch(self, tag: int) -> bool:
        """Any line may be fetched from the L2 later."""
        return True

    def stored(self, tag: int) -> bytes | None:
        """See :class:`sim.predict.memory_side.Requester`."""
        part, entry = self._entry(tag)
        sm, own = _of(self._sms[part], int(self._parts[part].state["by_tag"][entry]))
        return None if sm.stepper is None else sm.stored(own)

    def arrive(self, tag: int, data: bytes) -> None:
        """See :class:`sim.predict.memory_side.Requester`."""
        part, entry = self._entry(tag)
        self._parts[part].arriving[entry] = data
