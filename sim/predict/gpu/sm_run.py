"""An SM of a GPU in a prediction in progress, with the bytes in its caches.

Another SM may store to a line that this one has in its data cache, or on its way. A load therefore has the value that
its part of the machine holds, not the one that memory has when the load is issued: the bytes follow the machine's
lines, and replace the golden model's values as soon as the machine has them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from metronome.hdl.config import LINE_BYTES, SmConfig

from ...machine.events import NONE
from ...machine.memory.stacks import to_bus
from ...run.types import Watcher
from ..choosing import Chooser
from ..model.records import Machine
from ..sm_run import SmRun
from ..stepping import Stepper

__all__ = ["GpuSmRun"]


class _Load(NamedTuple):
    """A part of a load: ``lanes`` is a mask, ``addresses`` are those of all lanes."""

    warp: int
    register: int
    size: int
    signed: bool
    lanes: int
    addresses: tuple[int, ...]


class GpuSmRun(SmRun):
    """An SM of a GPU; see :class:`sim.predict.sm_run.SmRun`."""

    def __init__(
        self, config: SmConfig, built: Machine, stepper: Stepper | None, *, watcher: Watcher | None = None,
        chooser: Chooser | None = None,
    ) -> None:
        super().__init__(config, built, stepper, watcher=watcher, chooser=chooser)
        self._cached: list[bytes | bytearray] = [b""] * len(built.dcache_line)
        self._parts: dict[int, _Load] = {}
        #: The line that memory has answered last, and by MSHR those that it is about to answer.
        self._filled = b""
        self._arrived: dict[int, bytes] = {}
        self._number = (1 << config.l1_tag_bits - 1) - 1
        self._of_store = 1 << config.l1_tag_bits - 1

    def arrive(self, tag: int, data: bytes) -> None:
        """See :meth:`sim.predict.sm_run.SmRun.arrive`."""
        if not tag & self._of_store:
            self._arrived[tag & self._number] = data

    def stored(self, tag: int) -> bytes:
        """The bytes of a write that it has sent to memory."""
        return bytes(self.entries[tag & self._number])

    def mask_of(self, tag: int) -> int:
        """The bytes that this write stores, as a mask."""
        return int(self.lsu["entry_bytes"][tag & self._number]) & (1 << LINE_BYTES) - 1

    def move(self) -> None:
        """Follow the bytes that have moved in the cycle that has ended."""
        if self.stepper is None:
            return
        load = None
        if self.lsu["goes"] and not self.lsu["event_store"]:
            load = self._load(self.stepper)
            if self.lsu["hit"]:
                self._give(self.stepper, load, self._cached[self.lsu["hit_at"]])
            elif self.lsu["forward"]:
                self._give(self.stepper, load, self.entries[self.lsu["entry"]])
        self._fill(self.stepper)
        if self.lsu["part_added"] != NONE:
            assert load is not None
            self._parts[int(self.lsu["part_added"])] = load
        if self.lsu["goes"] and self.lsu["event_store"]:
            self.keep_store(self.stepper)
            if self.lsu["hit"]:
                line = bytearray(self._cached[self.lsu["hit_at"]])
                self.put_store(self.stepper, line)
                self._cached[self.lsu["hit_at"]] = line

    def _fill(self, stepper: Stepper) -> None:
        """Follow a line that has arrived: into the cache, and to the parts of loads that wait for it."""
        lsu = self.lsu
        if lsu["installed"] != NONE:
            self._cached[lsu["filled_at"]] = self._merged(int(lsu["installed"]))
        if lsu["line_taken"]:
            self._filled = self._arrived.pop(int(lsu["filled_miss"]))
        if lsu["part_given"] != NONE:
            part = self._parts.pop(int(lsu["part_given"]))
            if not lsu["fill_error"]:
                self._give(stepper, part, self._filled)

    def _load(self, stepper: Stepper) -> _Load:
        """The part of a load in the lookup."""
        row = int(self.lsu["event_row"])
        return _Load(
            int(self.lsu["event_warp"]), *stepper.loaded_in(row), int(self.lsu["event_lanes"]),
            tuple(stepper.addresses[row].tolist()),
        )

    def _give(self, stepper: Stepper, part: _Load, line: bytes | bytearray) -> None:
        """Give the lanes of a part their values from a line."""
        if part.register == NONE:
            return
        values = np.zeros(self.config.threads, np.uint32)
        for lane in range(self.config.threads):
            if part.lanes >> lane & 1:
                at = to_bus(self.config, part.addresses[lane]) % LINE_BYTES
                value = int.from_bytes(line[at : at + part.size], "little", signed=part.signed)
                values[lane] = value & 0xFFFF_FFFF
        stepper.iss.poke(part.warp, part.register, part.lanes, values)

    def _merged(self, line: int) -> bytearray:
        """The line that has arrived with the bytes of the stores that wait for it."""
        merged = bytearray(self._filled)
        for entry in range(self.config.store_buffer):
            if self.lsu["entry_line"][entry] == line:
                mask = int(self.lsu["entry_bytes"][entry])
                for at in range(LINE_BYTES):
                    if mask >> at & 1:
                        merged[at] = self.entries[entry][at]
        return merged
