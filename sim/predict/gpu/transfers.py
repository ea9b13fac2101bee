"""The transfers at the memory port of a GPU in a prediction, as the records of the hardware have them."""

from __future__ import annotations

import numpy as np

from ...machine.events import NONE
from ...run.gpu.records import TRANSFER
from ...run.types import Watcher

__all__ = ["Transfers", "WithoutPort"]

#: The transfers at the port of an SM of a GPU: its records do not have them.
_OWN_PORT = {"port_tag": NONE, "port_answer": NONE, "port_line": 0, "port_write": 0, "port_error": 0}


class WithoutPort:
    """Gives a watcher the events of an SM as its records have them."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def begin(self) -> None:
        """See :class:`sim.run.types.Watcher`."""
        self._watcher.begin()

    def take(self, events: np.ndarray) -> None:
        """See :class:`sim.run.types.Watcher`."""
        for name, nothing in _OWN_PORT.items():
            events[name] = nothing
        self._watcher.take(events)


class Transfers:
    """The transfers through the mailbox ``box``, a MEMORY. Call :meth:`new` before the mailbox reuses its places."""

    def __init__(self, box: np.void) -> None:
        self._box = box
        self._requests = self._answers = 0

    def new(self) -> np.ndarray:
        """Return the transfers since the last call, TRANSFER of shape (n,), one a cycle."""
        box = self._box
        given, taken = int(box["given"]), int(box["answers_taken"] - box["response_valid"])
        at = np.arange(self._requests, given) % len(box["request_cycle"])
        done = np.arange(self._answers, taken) % len(box["answer_due"])
        self._requests, self._answers = given, taken
        asked, answered = box["request_cycle"][at], box["answer_due"][done]
        cycles = np.union1d(asked, answered)
        transfers = np.zeros(len(cycles), TRANSFER)
        transfers["cycle"] = cycles
        places = np.searchsorted(cycles, asked)
        transfers["request"][places] = True
        for name in ("tag", "line", "write"):
            transfers[name][places] = box[f"request_{name}"][at]
        places = np.searchsorted(cycles, answered)
        transfers["answer"][places] = True
        transfers["answer_tag"][places] = box["answer_tag"][done]
        transfers["error"][places] = box["answer_error"][done]
        return transfers
