"""The memory model of a prediction in progress, and the mailbox between it and the machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from metronome.hdl.config import LINE_BYTES, SmConfig

from ..machine.memory.model import Console, MemoryModel
from ..machine.memory.registry import create_model
from ..machine.memory.sm_slots import SmSlots
from ..machine.memory.stacks import interleave
from ..machine.memory.store import SparseMemory
from ..run.types import Job, RunRequest
from .model.code import CodeTable
from .sm_run import SmRun

__all__ = ["MemorySide", "Requester", "SmRequester"]

_NO_LINE = bytes(LINE_BYTES)
_NEVER = (1 << 62) - 1
#: The maximum number of cycles between polls of the memory model, as in a simulation.
_MOST_CYCLES = 1 << 16


class Requester(Protocol):
    """The sender of the requests at a memory port."""

    def may_fetch(self, tag: int) -> bool:
        """Whether a read may be one of instructions."""

    def stored(self, tag: int) -> bytes | None:
        """The bytes of a write; None if they do not matter."""

    def arrive(self, tag: int, data: bytes) -> None:
        """Memory will answer a request, with these bytes if it is a read."""


class SmRequester:
    """The SMs themselves, by the number above their own tags."""

    def __init__(self, sms: Sequence[SmRun]) -> None:
        config = sms[0].config
        self._sms, self._bits = sms, config.mem_tag_bits
        self._source, self._kind = 1 << config.mem_tag_bits - 1, 1 << config.l1_tag_bits - 1

    def may_fetch(self, tag: int) -> bool:
        """See :class:`Requester`."""
        return not tag & self._source

    def stored(self, tag: int) -> bytes | None:
        """See :class:`Requester`."""
        sm = self._sms[tag >> self._bits]
        return None if sm.stepper is None else bytes(sm.entries[tag & self._kind - 1])

    def arrive(self, tag: int, data: bytes) -> None:
        """See :class:`Requester`."""
        if tag & self._source:
            self._sms[tag >> self._bits].arrive(tag & (1 << self._bits) - 1, data)


class MemorySide:
    """A memory model, the program's console, and the decoded lines of its code.

    ``tags``: the number of tags at the memory port. ``unsure``: see :class:`sim.predict.streams.Streams`.
    ``slots``: those of the SMs of a GPU with tdm.
    """

    def __init__(
        self, config: SmConfig, request: RunRequest, job: Job, memory: SparseMemory, *, tags: int,
        unsure: Mapping[int, int], slots: SmSlots | None = None,
    ) -> None:
        interleave(config, memory)
        self._printed: list[str] = []
        self._console = Console(config.memory_map, self._printed.append)
        self.model: MemoryModel = create_model(
            request.memory, memory, self._console, latency=request.latency, seed=request.seed,
            options=request.memory_options, tags=tags, sms=slots,
        )
        if job.without_argument:
            self.model.unwritten = job.arg // LINE_BYTES
        self.codes = CodeTable(config)
        self._unsure = unsure
        #: The line of each read that may be one of instructions, by tag.
        self._fetched: dict[int, int] = {}

    def console_text(self) -> list[str]:
        """Return the lines that the program has printed; the last one may be incomplete."""
        self._console.flush()
        return self._printed

    def serve(self, box: np.void, requester: Requester, cycle: int) -> None:
        """Pass requests to the memory model and its answers back, as tb/mailbox.py does for the hardware.

        ``box``: the mailbox, a PORT or MEMORY.
        """
        model, ring = self.model, len(box["request_tag"])
        for number in range(int(box["taken"]), int(box["given"])):
            at = number % ring
            tag, line, write = int(box["request_tag"][at]), int(box["request_line"][at]), bool(box["request_write"][at])
            data, mask = _NO_LINE, 0
            if write and (stored := requester.stored(tag)) is not None:
                data, mask = stored, int(box["request_bytes"][at]) & (1 << LINE_BYTES) - 1
            if not write and requester.may_fetch(tag):
                self._fetched[tag] = line
            model.request(int(box["request_cycle"][at]), tag, line, write, mask, data)
        box["taken"] = box["given"]
        index = int(box["answers"])
        for due, tag, error, data in model.complete(cycle + model.lookahead):
            at = index % ring
            box["answer_due"][at], box["answer_tag"][at], box["answer_error"][at] = due, tag, error
            if tag in self._fetched:
                line = self._fetched.pop(tag)
                box["answer_code"][at] = self.codes.line(line, data, error, self._unsure.get(line, 0))
            requester.arrive(tag, data)
            index += 1
        box["answers"] = index
        self.attend(box, cycle)

    def attend(self, box: np.void, cycle: int) -> None:
        """Set when the memory model is next polled, and how many requests it accepts until then."""
        model = self.model
        due = model.next_due
        box["lookahead"] = min(model.lookahead, model.room)
        box["wake_cycle"] = min(cycle + _MOST_CYCLES, _NEVER if due is None else due - 1)
        box["ready_from"] = model.ready_from

