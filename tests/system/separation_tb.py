"""A testbench that observes SM 0: in place of a check in lock step it reports what SM 0 did in each cycle.

The report is the text of a mismatch: JSON with the counters of SM 0, a digest of its records up to its end, one of its
requests at the memory port, and the requests of any SM that memory got in another SM's cycle.
"""

import hashlib
import json

import numpy as np

from metronome.sim.build.records import flatten, record_layout
from metronome.sim.run.mismatch import Mismatch
from metronome.tb import gpu_tb, kernel_tb

#: The place of an SM's number in the second word of a record (tb/gpu_top.sv).
_SM_SHIFT = 24
_ALL_RECORDS = 2
#: Fields that mean something only together with another one. What memory presents to others is seen in them.
_WITH_RESPONSES = {"AT_FRONT_ANSWER": "AT_FRONT_ANSWER_TAG", "AT_LOOKUP_FILL": "AT_LOOKUP_FILL_LINE"}

_verdict, _create_model = gpu_tb._verdict, gpu_tb.create_model


class _Seen:
    """What is kept of the current program."""

    counters, misplaced = None, 0


class Recorder:
    """Takes the place of :class:`sim.run.gpu.lockstep.GpuLockStep`."""

    def __init__(self, gpu):
        self.config, self.records = gpu.sm_of(0), []

    def launch(self, memory, start_pc, arg, declared=None, *, strict_races=False):
        self.records = []
        _Seen.misplaced, _Seen.requests = 0, hashlib.sha256()

    def feed_words(self, words):
        self.records.append(words[words[:, 1] >> np.uint32(_SM_SHIFT) == 0].copy())

    def _meant(self, records):
        """Without the parts of responses in cycles in which none has come."""
        fields = {path: (place, width) for path, place, width in flatten(record_layout(self.config), "AT", 64)}
        for valid, path in _WITH_RESPONSES.items():
            bit, _ = fields[valid]
            place, width = fields[path]
            silent = (records[:, bit // 32] >> np.uint32(bit % 32) & 1) == 0
            for at in range(place, place + width):
                records[silent, at // 32] &= np.uint32(~(1 << at % 32) & 0xFFFF_FFFF)
        return records

    def waits(self, number):
        return {}

    def finish(self, memory, faults, ended):
        records = self._meant(np.concatenate(self.records))
        until = _Seen.counters["total_cycles"]
        cut = records[records[:, 0] <= until]
        assert len(cut) == until + 1
        raise Mismatch(json.dumps({
            "counters": _Seen.counters, "records": hashlib.sha256(cut.tobytes()).hexdigest(),
            "requests": _Seen.requests.hexdigest(), "misplaced": _Seen.misplaced, "ended": bool(ended),
        }))


def verdict(job, memory, checker):
    found, faults = _verdict(job, memory, checker)
    _Seen.counters = found["sm_counters"][0]
    return found, faults


def create_model(name, memory, console, *, sms, tags, **options):
    """The model, with its requests observed; without slots none of them is in another's cycle."""
    model = _create_model(name, memory, console, sms=sms, tags=tags, **options)
    plain = model.request
    bits = _Seen.bits

    def request(cycle, tag, line, write, byte_mask, data):
        if sms is not None:
            _Seen.misplaced += (cycle - 1) // sms.slot_cycles % sms.sms != tag >> bits
        if tag >> bits == 0:
            _Seen.requests.update(repr((cycle, tag, line, write, byte_mask, data if write else 0)).encode())
        plain(cycle, tag, line, write, byte_mask, data)

    model.request = request
    return model


async def _run(dut, box, job, *others):
    _Seen.bits = job.gpu.sm.mem_tag_bits
    return await _plain_run(dut, box, job, *others)


_plain_run = gpu_tb._run
kernel_tb._EVENT_RECORDS, gpu_tb.GpuLockStep = _ALL_RECORDS, Recorder
gpu_tb._verdict, gpu_tb.create_model, gpu_tb._run = verdict, create_model, _run
#: What cocotb runs.
run_gpu_jobs = gpu_tb.run_gpu_jobs
