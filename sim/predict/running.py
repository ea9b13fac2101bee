"""A prediction in progress: the machine of :mod:`.model`, a memory model at its port, and the golden model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from metronome.hdl.config import SmConfig

from ..machine.memory.store import SparseMemory
from ..machine.policies.base import Policy
from ..run.types import Job, RunRequest, Watcher
from .choosing import Chooser
from .memory_side import MemorySide, SmRequester
from .model import machine, policies
from .setup import CHOICES, Executed, configured, new_machine
from .sm_run import EVENTS, SmRun
from .stepping import PLACES, Stepper
from .streams import Streams

__all__ = ["PredictionRun"]


class PredictionRun(SmRun):
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
        self.start_pc, self.streams, self.supplied = job.start_pc, streams, supplied
        stepper = None if streams else Stepper(memory.copy(), job)
        self.memory = MemorySide(
            config, request, job, memory, tags=1 << config.mem_tag_bits, unsure=streams.unsure if streams else {})
        source: Any = streams or stepper
        #: The policy in Python that selects the warps, if there is one.
        chooser = None
        keeps = getattr(policy, "keeps", False)
        if policy is not None:
            chooser = Chooser(config, policy, keeps=keeps)
        elif keeps := request.policy not in policies.NAMES:
            chooser = Chooser.of_file(config, request.policy)
        settings = configured(config, request, ring=0 if streams else PLACES - 1, supplied=supplied, oracle=oracle)
        built = new_machine(
            settings, Executed(source.steps, source.first, source.known, source.addresses),
            code=streams.code if streams and supplied else self.memory.codes.table,
            shared=streams.shared if streams else np.zeros(1, np.int64),
            lists=streams.lists if streams else source.lists.table, events=EVENTS if watcher else 0,
            choices=CHOICES if keeps else 1,
        )
        settings["events"] = watcher is not None
        if chooser is not None:
            settings["policy"], settings["reads"] = policies.OUTSIDE, chooser.reads
        super().__init__(config, built, stepper, watcher=watcher, chooser=chooser)
        self.box["cycle"] = -1
        self._requester = SmRequester([self])

    def run(self, tell: Callable[[int], None]) -> None:
        """Run to the end, and call ``tell`` with the current cycle from time to time.

        Raises
        ------
        OrderMattersError
            If the instructions known in advance are not those of this schedule.
        StoppedError
            If instructions were known in advance, and not all of them were executed.
        """
        self.memory.attend(self.box, 0)
        while True:
            reason = machine.advance(self.machine, self.start_pc)
            if self.take_part(reason):
                continue
            finished = reason == machine.FINISHED
            if not finished:
                self.move()
            self.empty_logs(finished)
            if finished or reason == machine.SERVE:
                # The port has the number of the next cycle, except at the end: then it has that of the last one.
                cycle = int(self.box["cycle"]) - (not finished)
                self._serve(cycle)
                tell(cycle)
            if finished:
                break
        if self.streams is not None and not self.supplied:
            self.require_all(self.streams)

    def _serve(self, cycle: int) -> None:
        """Let the memory model take requests and give answers."""
        codes = self.memory.codes
        before = codes.table
        self.memory.serve(self.box, self._requester, cycle)
        if codes.table is not before:
            self.machine = self.machine._replace(code=codes.table)
