"""Python's side of the mailbox (tb/mailbox.cpp): the simulation's requests, responses and records in shared memory."""

from __future__ import annotations

import ctypes
import struct
from collections import deque

import numpy as np

from metronome.hdl.config import LINE_BYTES, SmConfig
from metronome.sim.build.records import record_words
from metronome.sim.machine.memory.model import MemoryModel

__all__ = ["MAX_RECORD_BYTES", "Mailbox"]

_RING = 256
_STATUS_WORDS = 512
_NEVER = (1 << 63) - 1
#: Python is woken at least once in this many cycles, to report the program's progress.
_MOST_CYCLES = 1 << 16
#: Cycle, byte mask, line, tag, write, padding, data.
_REQUEST = struct.Struct(f"<QQIIII{LINE_BYTES}s")
#: Due cycle, tag, error, data.
_RESPONSE = struct.Struct(f"<QII{LINE_BYTES}s")
#: The size of the record buffer: large enough to make a wake-up's cost negligible, small enough for the cache.
MAX_RECORD_BYTES = 1 << 20


class _Fields(ctypes.Structure):
    """``struct Mailbox`` of tb/mailbox.cpp, which documents the fields."""

    _fields_ = [
        *((name, ctypes.c_uint64) for name in (
            "launch", "start_pc", "arg", "policy", "fetch_policy", "max_cycles", "tail", "record_level",
            "lookahead", "wake_cycle", "ready_from", "records", "record_capacity", "record_words", "request_taken",
            "response_given", "cycle", "finished", "record_count", "request_given", "response_taken", "wakes",
            "wake_ns", "samples", "sample_ns",
        )),
        ("status", ctypes.c_uint32 * _STATUS_WORDS),
        ("requests", ctypes.c_uint8 * (_RING * _REQUEST.size)),
        ("responses", ctypes.c_uint8 * (_RING * _RESPONSE.size)),
    ]


class Mailbox:
    """The mailbox of the simulation in this process."""

    def __init__(self, config: SmConfig, *, records_a_cycle: int = 1) -> None:
        program = ctypes.CDLL(None)
        program.mailbox_bytes.restype = ctypes.c_uint64
        program.mailbox_address.restype = ctypes.c_void_p
        if program.mailbox_bytes() != ctypes.sizeof(_Fields):
            raise RuntimeError("tb/mailbox.py and tb/mailbox.cpp disagree about the mailbox")
        self.fields = _Fields.from_address(program.mailbox_address())
        #: Responses that have no place in the ring yet: several SMs may have more tags than it has places.
        self._waiting: deque[tuple[int, int, int, bytes]] = deque()
        self._requests = memoryview(self.fields.requests)
        self._responses = memoryview(self.fields.responses)
        words = record_words(config)
        capacity = MAX_RECORD_BYTES // (4 * words)
        # It is compared with the count at the end of a cycle.
        self._records = np.zeros((capacity + records_a_cycle - 1, words), np.uint32)
        self.fields.records = self._records.ctypes.data
        self.fields.record_capacity = capacity
        self.fields.record_words = words

    def launch(self, model: MemoryModel, *, start_pc: int, arg: int, policy: int, fetch_policy: int, max_cycles: int,
               record_level: int, tail: int = 0) -> None:
        """Reset the SM and start a program on ``model``; ``record_level`` 0 none, 1 cycles with an event, 2 all.

        The program has ended when the SM has been idle for another ``tail`` cycles.
        """
        fields = self.fields
        fields.start_pc, fields.arg = start_pc, arg
        fields.policy, fields.fetch_policy = policy, fetch_policy
        fields.max_cycles, fields.tail, fields.record_level = max_cycles, tail, record_level
        fields.request_taken = fields.request_given
        fields.response_given = fields.response_taken
        fields.record_count = 0
        self._waiting.clear()
        fields.wakes = fields.wake_ns = fields.samples = fields.sample_ns = 0
        fields.finished = 0
        fields.cycle = 0
        self._attend(model)
        fields.launch = 1

    @property
    def finished(self) -> bool:
        """Whether the program has stopped."""
        return bool(self.fields.finished)

    @property
    def cycle(self) -> int:
        """Return the cycle that has just ended."""
        return self.fields.cycle

    @property
    def status(self) -> np.ndarray:
        """Return the status words (uint32) of a program that has stopped."""
        return np.array(self.fields.status, np.uint32)

    def serve(self, model: MemoryModel) -> None:
        """Pass the SM's requests to the model, and the responses due before Python wakes again to the SM."""
        fields = self.fields
        taken, given = fields.request_taken, fields.request_given
        while taken != given:
            cycle, byte_mask, line, tag, write, _, data = _REQUEST.unpack_from(
                self._requests, taken % _RING * _REQUEST.size
            )
            model.request(cycle, tag, line, bool(write), byte_mask, data)
            taken += 1
        fields.request_taken = taken
        lookahead = model.lookahead
        self._waiting.extend(model.complete(fields.cycle + lookahead))
        index = fields.response_given
        while self._waiting and index - fields.response_taken < _RING:
            _RESPONSE.pack_into(self._responses, index % _RING * _RESPONSE.size, *self._waiting.popleft())
            index += 1
        fields.response_given = index
        self._attend(model)

    def _attend(self, model: MemoryModel) -> None:
        """Set the cycle in which the model needs attention again, and the requests that it accepts until then."""
        fields = self.fields
        due = model.next_due
        # One request per cycle: if the first may wait no longer than there is room, all accepted requests have room.
        fields.lookahead = min(model.lookahead, model.room)
        fields.wake_cycle = min(fields.cycle + _MOST_CYCLES, _NEVER if due is None else due - 1)
        if self._waiting:
            fields.wake_cycle = fields.cycle + 1
        fields.ready_from = model.ready_from

    @property
    def python_seconds(self) -> float:
        """Return the seconds since the launch spent in Python and in switching to it, without the simulation's own."""
        fields = self.fields
        if fields.samples == 0:
            return fields.wake_ns / 1e9
        return max(0.0, (fields.wake_ns - fields.wakes * fields.sample_ns / fields.samples) / 1e9)

    @property
    def records_due(self) -> bool:
        """Return whether to take records now: the buffer is full, or the program has stopped and left some."""
        count = self.fields.record_count
        return count >= self.fields.record_capacity or (count > 0 and self.fields.finished != 0)

    def take_records(self) -> np.ndarray:
        """Return the records since the last call: uint32 (n, record_words), valid until the next cycle."""
        count = self.fields.record_count
        self.fields.record_count = 0
        return self._records[:count]
