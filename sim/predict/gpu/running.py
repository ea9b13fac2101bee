"""A prediction of a GPU in progress: the machine of :mod:`..model.gpu`, a memory model, and the golden models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from metronome.hdl.gpu.config import GpuConfig, Interconnect

from ...machine.events import WARPS
from ...machine.memory.sm_slots import SmSlots
from ...machine.memory.store import SparseMemory
from ...run.types import Job, RunRequest, Watcher
from ..choosing import Chooser
from ..memory_side import MemorySide, Requester, SmRequester
from ..model import dispatch, interconnect, machine, policies
from ..model.gpu import Gpu, advance_gpu
from ..model.l2 import L2
from ..model.records import Machine
from ..setup import CHOICES, Executed, configured, new_machine
from ..sm_run import EVENTS
from ..stepping import PLACES, Stepper
from .dispatch import DispatchUnit, dispatch_settings
from .l2 import L2Requester, l2_kind, l2_settings
from .sm_run import GpuSmRun
from .streams import GpuStreams
from .transfers import Transfers, WithoutPort

__all__ = ["GpuPredictionRun", "new_gpu"]

#: By their numbers in :mod:`..model.interconnect`.
_KINDS = (Interconnect.ROUND_ROBIN, Interconnect.FIXED_PRIORITY, Interconnect.TDM)
#: Arrays of a Machine of which each SM has its own.
_OWN = (
    "front", "issue", "control", "whole", "lsu", "port", "observer", "writers", "icache_line", "icache_code",
    "icache_used", "dcache_line", "dcache_used", "dcache_owner", "issued", "events", "choices",
)


class _NoWait:
    """Barriers between SMs for golden models that the machine leads: a warp executes when the machine issues it."""

    def arrive(self, state: Any, warp: int, after: int, barrier: int, count: int) -> int:
        """Return the next pc. The machine knows how long the warp waits."""
        return after

    def check(self, state: Any) -> None:
        """Nothing waits."""


class GpuPredictionRun:
    """A prediction in progress.

    With ``streams``, the instructions of every warp are known in advance. Otherwise the golden models execute them one
    by one. ``watchers``: those of the SMs' events, and perhaps one more, as in :func:`sim.run.gpu.runner.run_many_gpu`.
    """

    def __init__(
        self, gpu: GpuConfig, request: RunRequest, job: Job, memory: SparseMemory, streams: GpuStreams | None,
        watchers: Sequence[Watcher] | None = None,
    ) -> None:
        self.gpu, self.start_pc, self.streams = gpu, job.start_pc, streams
        config = gpu.sm_of(0)
        steppers = [] if streams else _steppers(gpu, job, memory.copy())
        self.memory = MemorySide(
            config, request, job, memory, tags=1 << gpu.mem_tag_bits, unsure=streams.unsure if streams else {},
            slots=SmSlots.of(gpu),
        )
        self._codes = self.memory.codes.table
        settings = configured(config, request, ring=0 if streams else PLACES - 1, in_gpu=True)
        settings["events"] = watchers is not None
        choosers = [
            None if request.policy in policies.NAMES else Chooser.of_file(config, request.policy)
            for _ in range(gpu.sms)
        ]
        if choosers[0] is not None:
            settings["policy"], settings["reads"] = policies.OUTSIDE, choosers[0].reads
        self._state = new_gpu(
            settings, _executed(streams, steppers), code=self._codes, sms=gpu.sms,
            shared=streams.sms[0].shared if streams else np.zeros(1, np.int64),
            l2=(max(1, gpu.l2_parts), gpu.l2_sets * gpu.part_ways), events=EVENTS if watchers else 0,
            choices=1 if choosers[0] is None else CHOICES,
        )
        for name, value in {
            "kind": _KINDS.index(gpu.interconnect), "slot_cycles": gpu.slot_cycles, "tag_bits": config.mem_tag_bits,
            "max_cycles": request.max_cycles, "l2": l2_kind(gpu),
            "most_loads": 64 * gpu.sms * config.threads,
        }.items():
            self._state.link[name] = value
        for name, value in l2_settings(gpu).items():
            self._state.l2[name] = value
        for name, value in dispatch_settings(gpu).items():
            self._state.unit[name] = value
        self.link, self.box = self._state.link[0], self._state.memory[0]
        self.sms = [
            GpuSmRun(
                gpu.sm_of(number), _view(self._state, number), steppers[number] if steppers else None,
                watcher=WithoutPort(watchers[number]) if watchers else None, chooser=choosers[number],
            )
            for number in range(gpu.sms)
        ]
        self.l2 = None if not gpu.l2_parts else L2Requester(
            gpu, self.sms, self._state.l2, self._state.l2_line, self._state.l2_code)
        self._unit = DispatchUnit(gpu, self.sms, self._state.unit[0], self._state.dispatch)
        self._requester: Requester = SmRequester(self.sms) if self.l2 is None else self.l2
        self._transfers = Transfers(self.box)
        self._of_port = (watchers or [])[gpu.sms :]

    @property
    def cycle(self) -> int:
        """The last cycle, at the end of the run."""
        return int(self.box["cycle"])

    def run(self, tell: Callable[[int], None]) -> None:
        """Run to the end; as :meth:`sim.predict.running.PredictionRun.run`."""
        self.memory.attend(self.box, 0)
        while True:
            reason = advance_gpu(self._state, self.start_pc)
            if self.sms[int(self.link["asks"])].take_part(reason):
                continue
            finished = reason == machine.FINISHED
            if not finished:
                self._move()
            self._tell(finished)
            self._renew()
            if finished or reason == machine.SERVE:
                cycle = int(self.box["cycle"]) - (not finished)
                self.memory.serve(self.box, self._requester, cycle)
                self._renew()
                tell(cycle)
            if finished:
                break
        if self.streams is not None:
            for sm, streams in zip(self.sms, self.streams.sms, strict=True):
                sm.require_all(streams)

    def _move(self) -> None:
        """Follow the bytes that have moved in the cycle that has ended."""
        if self.l2 is not None and self.streams is None:
            self.l2.move(self.memory.codes)
        self._unit.move()
        for sm in self.sms:
            sm.move()

    def _tell(self, finished: bool) -> None:
        """Pass on what has happened; the transfers of a cycle before the events of the SMs."""
        for watcher in self._of_port:
            watcher.take(self._transfers.new())
        for sm in self.sms:
            sm.empty_logs(finished)

    def _renew(self) -> None:
        """Give the machines the table of decoded lines, if it has grown."""
        codes = self.memory.codes.table
        if codes is not self._codes:
            self._codes = codes
            self._state = self._state._replace(sms=self._state.sms._replace(code=codes))
            for sm in self.sms:
                sm.machine = sm.machine._replace(code=codes)


def _steppers(gpu: GpuConfig, job: Job, memory: SparseMemory) -> list[Stepper]:
    """Return the golden model of each SM, all on one memory, in one place for their instructions."""
    steppers = [
        Stepper(memory, replace(job, config=gpu.sm_of(number)), sm=number, sms=gpu.sms) for number in range(gpu.sms)
    ]
    for stepper in steppers:
        stepper.iss.between_sms = _NoWait()  # type: ignore[assignment]
        stepper.steps, stepper.addresses = steppers[0].steps, steppers[0].addresses
    return steppers


def _executed(streams: GpuStreams | None, steppers: Sequence[Stepper]) -> Executed:
    """Return the instructions of all SMs; ``first`` and ``known`` have a row for each."""
    sources: Sequence[Any] = streams.sms if streams else steppers
    whole: Any = streams or steppers[0]
    known = np.array([each.known for each in sources])
    for stepper, mine in zip(steppers, known, strict=False):
        stepper.known = mine
    return Executed(whole.steps, np.array([each.first for each in sources]), known, whole.addresses)


def new_gpu(
    settings: np.ndarray, executed: Executed, *, code: np.ndarray, shared: np.ndarray, sms: int,
    l2: tuple[int, int] = (1, 1), events: int = 0, choices: int = 1,
) -> Gpu:
    """Return a GPU before its first cycle; as :func:`sim.predict.setup.new_machine`.

    ``l2``: the parts of the L2 and the lines of each; at least one, even if there is no L2.
    """
    nobody = np.zeros(WARPS, np.int64)
    one = new_machine(
        settings, Executed(executed.steps, nobody, nobody, executed.addresses), code=code, shared=shared,
        events=events, choices=choices,
    )
    arrays: dict[str, Any] = {
        name: np.zeros((sms, *getattr(one, name).shape), getattr(one, name).dtype) for name in _OWN
    }
    link, memory = np.zeros(1, interconnect.LINK), np.zeros(1, interconnect.MEMORY)
    link["sms"], memory["cycle"] = sms, -1
    return Gpu(
        link=link, memory=memory, queue=np.zeros((sms, 1), interconnect.QUEUE), l2=np.zeros((l2[0], 1), L2),
        l2_line=np.zeros(l2, np.int64), l2_used=np.zeros(l2, np.int64), l2_code=np.zeros(l2, np.int64),
        unit=np.zeros(1, dispatch.UNIT), dispatch=np.zeros((sms, 1), dispatch.SM_DISPATCH),
        sms=one._replace(first=executed.first, known=executed.known, **arrays),
    )


def _view(state: Gpu, number: int) -> Machine:
    """Return the machine of an SM."""
    own: dict[str, Any] = {name: getattr(state.sms, name)[number] for name in (*_OWN, "first", "known")}
    return state.sms._replace(**own)
