"""One SM of a prediction in progress: its machine, and the golden model that executes its instructions."""

from __future__ import annotations

import numpy as np

from metronome.hdl.config import LINE_BYTES, SmConfig

from ..machine.events import NONE
from ..machine.memory.stacks import to_bus
from ..run.probe_events import tidy
from ..run.types import Watcher
from . import sums
from .choosing import Chooser
from .model import machine
from .model.records import Machine
from .setup import LOG
from .stepping import PLACES, Stepper
from .streams import Streams

__all__ = ["EVENTS", "OrderMattersError", "SmRun", "StoppedError"]

#: Entries of the log of events.
EVENTS = 1 << 12


_LOADS = "the value of a load depends on the order of issue"


class OrderMattersError(Exception):
    """The behaviour of the program depends on the order of issue; the text says why."""


class StoppedError(Exception):
    """The machine stopped at a fault that the golden model does not have: a wrong list of accesses."""


class SmRun:
    """An SM of a prediction in progress.

    ``stepper``: the golden model that executes the instructions one by one; None if they are known in advance.
    """

    def __init__(
        self, config: SmConfig, built: Machine, stepper: Stepper | None, *, watcher: Watcher | None = None,
        chooser: Chooser | None = None,
    ) -> None:
        self.config, self.machine, self.stepper = config, built, stepper
        self.watcher, self.chooser = watcher, chooser
        self.box, self.sums, self.lsu, self.whole = (part[0] for part in (
            built.port, built.observer, built.lsu, built.whole,
        ))
        self.issued: list[np.ndarray] = []
        #: The bytes of each entry of the write buffer.
        self.entries = [bytearray(LINE_BYTES) for _ in range(config.store_buffer)]

    def empty_logs(self, finished: bool) -> None:
        """Take what is in the logs of issues and events, if they are full or the run is over."""
        if finished or self.sums["issues"] > LOG - self.config.schedulers:
            self.issued.append(self.machine.issued[: int(self.sums["issues"])].copy())
            self.sums["issues"] = 0
        if self.watcher is not None and (finished or self.sums["events"] == EVENTS):
            events = self.machine.events[: int(self.sums["events"])]
            # In swas, the oracles select from the same warps as the scheduler (docs/policies.md, "The oracles").
            events["osched1"] = events["osched2"] = events["selected"] if self.config.oracles else NONE
            self.watcher.take(tidy(events))
            self.sums["events"] = 0

    def require_all(self, streams: Streams) -> None:
        """Check that all known instructions were executed, with the recorded last store to each shared byte.

        Raises
        ------
        StoppedError, OrderMattersError
            If they were not.
        """
        if self.whole["faulty"]:
            raise StoppedError
        if not np.array_equal(self.machine.writers, streams.writers):
            raise OrderMattersError(_LOADS)

    def take_part(self, reason: int) -> bool:
        """Do the golden model's or a policy's part for which the machine has returned in the middle of a cycle.

        Return whether there was one.

        Raises
        ------
        OrderMattersError
            If the instructions known in advance are not those of this schedule.
        """
        if reason == machine.CHOOSE and self.chooser is not None:
            self.chooser.choose(self.machine)
            return True
        if reason == machine.RACE:
            if self.machine.front[int(self.whole["asks"])]["stale"]:
                raise OrderMattersError("a word that is fetched, but not executed, is one that the program stores to")
            raise OrderMattersError(_LOADS)
        if self.stepper is None or reason not in (machine.STEP, machine.VOLATILE):
            return False
        part = int(self.whole["asks"])
        if reason == machine.STEP:
            self._step(self.stepper, part)
        else:
            self._poke(self.stepper, part)
        return True

    def _step(self, stepper: Stepper, part: int) -> None:
        """Execute the selected instruction of a partition."""
        front = self.machine.front[part]
        code = self.machine.code[front["selected_code"]]
        warp = int(front["selected"]) * self.config.schedulers + part
        stepper.step(warp, code, int(front["selected_pc"]))
        if len(stepper.lists.rows) != len(self.machine.lists):
            self.machine = self.machine._replace(lists=stepper.lists.table)

    def _poke(self, stepper: Stepper, part: int) -> None:
        """Copy a counter read by the instruction in stage X of a partition to the golden model."""
        issue = self.machine.issue[part]
        w = int(issue["warp_x"]) * self.config.schedulers + part
        code = self.machine.code[issue["code_x"]]
        mcycle = int(self.box["cycle"]) - 1
        value = sums.read_counter(
            self.sums, int(code["word"]) >> 20, mcycle, int(self.sums["retired"]),
            research=self.config.research_counters,
        )
        step = self.machine.steps[int(self.machine.first[w]) + int(issue["step_x"]) % PLACES]
        if code["register"] != NONE:
            values = np.full(self.config.threads, value, np.uint32)
            stepper.iss.poke(w, int(code["register"]), int(step["mask"]), values)

    def arrive(self, tag: int, data: bytes) -> None:
        """Memory will answer a request of the load/store unit, with these bytes if it is for a line."""

    def move(self) -> None:
        """Record the bytes that have moved in the cycle that has ended: of a store that enters the write buffer."""
        if self.stepper is not None and self.lsu["goes"] and self.lsu["event_store"]:
            self.keep_store(self.stepper)

    def keep_store(self, stepper: Stepper) -> None:
        """Record the bytes of a store that enters the write buffer in this cycle."""
        entry = int(self.lsu["entry"])
        if not self.lsu["joins"]:
            self.entries[entry] = bytearray(LINE_BYTES)
        self.put_store(stepper, self.entries[entry])

    def put_store(self, stepper: Stepper, line: bytearray) -> None:
        """Put the bytes of the store in the lookup into a line."""
        addresses, data, size = stepper.stored_in(int(self.lsu["event_row"]))
        lanes = int(self.lsu["event_lanes"])
        for lane in range(self.config.threads):
            if lanes >> lane & 1:
                at = to_bus(self.config, int(addresses[lane])) % LINE_BYTES
                line[at : at + size] = int(data[lane]).to_bytes(4, "little")[:size]
