"""A prediction in progress: the machine of :mod:`.model`, a memory model at its port, and the golden model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from metronome.hdl.config import LINE_BYTES, SmConfig

from ..machine.events import NONE
from ..machine.memory.model import Console
from ..machine.memory.registry import create_model
from ..machine.memory.stacks import interleave, to_bus
from ..machine.memory.store import SparseMemory
from ..machine.policies.base import Policy
from ..run.probe_events import tidy
from ..run.types import Job, RunRequest, Watcher
from . import sums
from .choosing import Chooser
from .model import machine, policies
from .model.code import CodeTable
from .model.records import RING
from .setup import LOG, Executed, configured, new_machine
from .stepping import PLACES, Stepper
from .streams import Streams

__all__ = ["OrderMattersError", "PredictionRun", "StoppedError"]

_NO_LINE = bytes(LINE_BYTES)
_NEVER = (1 << 62) - 1
#: The maximum number of cycles between polls of the memory model, as in a simulation.
_MOST_CYCLES = 1 << 16
_EVENTS = 1 << 12
#: The number of cached choices of a policy in Python.
_CHOICES = 1 << 18


class OrderMattersError(Exception):
    """The behaviour of the program depends on the order of issue."""


class StoppedError(Exception):
    """The machine stopped at a fault that the golden model does not have: a wrong list of accesses."""


class PredictionRun:
    """A prediction in progress.

    With ``streams``, the instructions of every warp are known in advance. Otherwise, the golden model executes them one
    by one. With ``supplied``, nothing is fetched and the values of loads are ignored: every warp executes its
    ``streams``. With ``oracle``, every branch and jump of ``streams`` is
    predicted right. ``policy``: the issue policy, instead of the one that the request names.
    """

    def __init__(
        self, config: SmConfig, request: RunRequest, job: Job, memory: SparseMemory, streams: Streams | None,
        watcher: Watcher | None = None, *, supplied: bool = False, oracle: bool = False,
        policy: Policy[Any] | None = None,
    ) -> None:
        self.config, self.start_pc, self.streams = config, job.start_pc, streams
        self.watcher = watcher
        self.stepper = None if streams else Stepper(memory.copy(), job)
        interleave(config, memory)
        self._printed: list[str] = []
        self._console = Console(config.memory_map, self._printed.append)
        self.model = create_model(
            request.memory, memory, self._console, latency=request.latency, seed=request.seed,
            options=request.memory_options, tags=1 << config.mem_tag_bits,
        )
        if job.without_argument:
            self.model.unwritten = job.arg // LINE_BYTES
        self.codes = CodeTable(config)
        source: Any = streams or self.stepper
        self.supplied = supplied
        #: The policy in Python that selects the warps, if there is one.
        self.chooser = None
        keeps = getattr(policy, "keeps", False)
        if policy is not None:
            self.chooser = Chooser(config, policy, keeps=keeps)
        elif keeps := request.policy not in policies.NAMES:
            self.chooser = Chooser.of_file(config, request.policy)
        settings = configured(config, request, ring=0 if streams else PLACES - 1, supplied=supplied, oracle=oracle)
        self.machine = new_machine(
            settings, Executed(source.steps, source.first, source.known, source.addresses),
            icache=config.schedulers * int(settings["icache_sets"][0]) * config.icache_ways,
            dcache=int(settings["dcache_sets"][0]) * config.dcache_ways,
            code=streams.code if streams and supplied else self.codes.table,
            shared=streams.shared if streams else np.zeros(1, np.int64),
            lists=streams.lists if streams else source.lists.table, events=_EVENTS if watcher else 0,
            choices=_CHOICES if keeps else 1,
        )
        settings["events"] = watcher is not None
        if self.chooser is not None:
            settings["policy"], settings["reads"] = policies.OUTSIDE, self.chooser.reads
        self.box, self.sums, self.lsu, self.whole = (part[0] for part in (
            self.machine.port, self.machine.observer, self.machine.lsu, self.machine.whole,
        ))
        self.box["cycle"] = -1
        self.issued: list[np.ndarray] = []
        #: The bytes of each entry of the write buffer, and the line of each request of the I-cache.
        self.entries = [bytearray(LINE_BYTES) for _ in range(config.store_buffer)]
        self.fetched: dict[int, int] = {}
        self.source, self.kind = (int(settings[name][0]) for name in ("source_bit", "kind_bit"))

    def console_text(self) -> list[str]:
        """Return the lines that the program has printed; the last one may be incomplete."""
        self._console.flush()
        return self._printed

    def run(self, tell: Callable[[int], None]) -> None:
        """Run to the end, and call ``tell`` with the current cycle from time to time.

        Raises
        ------
        OrderMattersError
            If the instructions known in advance are not those of this schedule.
        StoppedError
            If instructions were known in advance, and not all of them were executed.
        """
        self._attend(0)
        while True:
            reason = machine.advance(self.machine, self.start_pc)
            if reason == machine.CHOOSE and self.chooser is not None:
                self.chooser.choose(self.machine)
                continue
            if reason == machine.RACE:
                raise OrderMattersError
            if self.stepper is not None and self._step(self.stepper, reason):
                continue
            finished = reason == machine.FINISHED
            if finished or self.sums["issues"] > LOG - self.config.schedulers:
                self.issued.append(self.machine.issued[: int(self.sums["issues"])].copy())
                self.sums["issues"] = 0
            if self.watcher is not None and (finished or self.sums["events"] == _EVENTS):
                events = self.machine.events[: int(self.sums["events"])]
                # In swas, the oracles select from the same warps as the scheduler (docs/policies.md, "The oracles").
                events["osched1"] = events["osched2"] = events["selected"] if self.config.oracles else NONE
                self.watcher.take(tidy(events))
                self.sums["events"] = 0
            if finished or reason == machine.SERVE:
                # The port has the number of the next cycle, except at the end: then it has that of the last one.
                cycle = int(self.box["cycle"]) - (not finished)
                self._serve(cycle)
                tell(cycle)
            if finished:
                break
        if self.streams is not None and not self.supplied:
            self._require_all(self.streams)

    def _require_all(self, streams: Streams) -> None:
        """Check that all known instructions were executed, with the recorded last store to each shared byte."""
        if self.whole["halted"]:
            raise StoppedError
        if not np.array_equal(self.machine.writers, streams.writers):
            raise OrderMattersError

    def _step(self, stepper: Stepper, reason: int) -> bool:
        """Let the golden model do its part; return whether the machine is in the middle of a cycle."""
        part = int(self.whole["asks"])
        if reason == machine.STEP:
            front = self.machine.front[part]
            code = self.machine.code[front["selected_code"]]
            warp = int(front["selected"]) * self.config.schedulers + part
            stepper.step(warp, code, int(front["selected_pc"]))
            if len(stepper.lists.rows) != len(self.machine.lists):
                self.machine = self.machine._replace(lists=stepper.lists.table)
            return True
        if reason == machine.VOLATILE:
            self._poke(stepper, part)
            return True
        if reason != machine.FINISHED and self.lsu["goes"] and self.lsu["event_store"]:
            self._keep(stepper)
        return False

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

    def _keep(self, stepper: Stepper) -> None:
        """Record the bytes of a store that enters the write buffer in this cycle."""
        entry, stored = int(self.lsu["entry"]), stepper.stored[int(self.lsu["event_row"])]
        assert stored is not None
        addresses, data, size = stored
        if not self.lsu["joins"]:
            self.entries[entry] = bytearray(LINE_BYTES)
        lanes = int(self.lsu["event_lanes"])
        for lane in range(self.config.threads):
            if lanes >> lane & 1:
                at = to_bus(self.config, int(addresses[lane])) % LINE_BYTES
                self.entries[entry][at : at + size] = int(data[lane]).to_bytes(4, "little")[:size]

    def _serve(self, cycle: int) -> None:
        """Pass requests to the memory model and its answers back, as tb/mailbox.py does for the hardware."""
        box, model = self.box, self.model
        for number in range(int(box["taken"]), int(box["given"])):
            at = number % RING
            tag, line, write = int(box["request_tag"][at]), int(box["request_line"][at]), bool(box["request_write"][at])
            data, mask = _NO_LINE, 0
            if write and self.stepper is not None:
                data = bytes(self.entries[tag & self.kind - 1])
                mask = int(box["request_bytes"][at]) & (1 << LINE_BYTES) - 1
            if not tag & self.source:
                self.fetched[tag] = line
            model.request(int(box["request_cycle"][at]), tag, line, write, mask, data)
        box["taken"] = box["given"]
        index = int(box["answers"])
        for due, tag, error, data in model.complete(cycle + model.lookahead):
            at = index % RING
            box["answer_due"][at], box["answer_tag"][at], box["answer_error"][at] = due, tag, error
            if not tag & self.source:
                line = self.fetched[tag]
                unsure = self.streams.unsure.get(line, 0) if self.streams else 0
                box["answer_code"][at] = self.codes.line(line, data, error, unsure)
                if self.codes.table is not self.machine.code:
                    self.machine = self.machine._replace(code=self.codes.table)
            index += 1
        box["answers"] = index
        self._attend(cycle)

    def _attend(self, cycle: int) -> None:
        """Set when the memory model is next polled, and how many requests it accepts until then."""
        box, model = self.box, self.model
        due = model.next_due
        box["lookahead"] = min(model.lookahead, model.room)
        box["wake_cycle"] = min(cycle + _MOST_CYCLES, _NEVER if due is None else due - 1)
        box["ready_from"] = model.ready_from
