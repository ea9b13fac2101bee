"""List a program's accesses to global memory in the total order, from one run of the golden model."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from metronome.hdl.config import LINE_BYTES, SmConfig
from metronome.hdl.isa.csrs import Csr
from metronome.hdl.isa.ops import SimtOp, Unit

from ...machine.golden import Iss
from ...machine.golden.state import warps_of
from ...machine.memory.stacks import to_bus_all
from ...program.elf import ElfImage
from ...program.kernels import Launch
from ...run.jobs import job_of
from ...run.types import RunRequest, unpack_memory
from ..code.decoding import Decoded
from ..code.dependence import DependenceKind, InputTracker
from ..code.inputs import Inputs
from ..code.refusals import INSTRUCTION_LIMIT, RefusedError, refuse_end
from .barriers import Barriers
from .groups import WorkGroups
from .happens_before import HappensBefore
from .phases import Epochs
from .records import Access, Listing

__all__ = ["analyze"]

_DEPENDS = {
    DependenceKind.CONTROL: "its control flow depends on the inputs",
    DependenceKind.ADDRESS: "an address that it loads or stores depends on the inputs",
    DependenceKind.ORDER: "a barrier, the measured region or the order of warps depends on the inputs",
}
#: CSRs that all warps share.
_SHARED = (Csr.MSCRATCH, Csr.MPOLICY)


class _Recorder:
    """Records the accesses of a run (:class:`sim.machine.golden.watch.Recorder`)."""

    def __init__(self, iss: Iss, image: ElfImage, inputs: Inputs) -> None:
        self._iss, self._config = iss, iss.config
        warps = iss.config.warps
        self._everyone = range(warps)
        self._local = iss.config.memory_map.local, iss.config.memory_map.local + iss.config.local_bytes
        self._follower = InputTracker(iss, inputs)
        self._epochs = Epochs(warps)
        self.order = HappensBefore(iss.config)
        self._barriers = Barriers(self.order)
        self.groups = WorkGroups(iss, image)
        self.accesses: list[Access] = []
        #: The arguments of bar, wspawn, or writes of mregion and mpolicy in this instruction: a warp and two numbers.
        self._said: list[tuple[int, int, int]] = []
        #: Warps whose wspawn waits for others to end, and how many warps each starts.
        self._spawners: dict[int, int] = {}
        self._addresses = np.zeros(0, np.uint32)
        self._pcs: set[int] = set()
        self._stored: set[int] = set()

    # Calls from the golden model.

    def access(self, addresses: np.ndarray, data: np.ndarray | None) -> None:
        """See :class:`sim.machine.golden.watch.Recorder`."""
        self._addresses = addresses
        self._follower.access(addresses, data)

    def arguments(self, warp: int, first: int, second: int) -> None:
        """See :class:`sim.machine.golden.watch.Recorder`."""
        self._said.append((warp, first, second))

    def volatile(self, pc: int) -> None:
        """See :class:`sim.machine.golden.watch.Recorder`: a volatile read is marked like an input."""

    def executed(self, pc: int, warps: int, epoch: int, masks: np.ndarray) -> None:
        """See :class:`sim.machine.golden.watch.Recorder`."""
        code = self._follower.code(pc)
        self._follower.executed(pc, warps, epoch, masks)
        self._pcs.add(pc)
        if code is None:
            return
        for found in self._follower.found:
            raise RefusedError(_DEPENDS[found.kind], found.pc)
        if code.unit is Unit.LSU:
            self._access(pc, code, warps_of(warps), masks)
        elif code.unit is Unit.SIMT:
            self._simt(pc, code)
        elif code.unit is Unit.CSR:
            self._csr(pc, code)
        else:
            self.groups.executed(pc, code, warps_of(warps))
        self._said.clear()

    # Steps of ``executed``.

    def _access(self, pc: int, code: Decoded, warps: list[int], masks: np.ndarray) -> None:
        first = 0
        for warp in warps:
            end = first + int(masks[warp]).bit_count()
            addresses = self._addresses[first:end]
            first = end
            self.order.access(warp, pc, addresses, code.size, code.store)
            if code.store:
                self._stored.update((addresses >> 2).tolist())
            low, high = self._local
            lines = lines_of(self._config, addresses[(addresses < low) | (addresses >= high)])
            if lines:
                self.accesses.append(Access(
                    warp, pc, code.store, lines, self._epochs.access(warp, pc), self.groups.of(warp),
                    self.order.in_region,
                ))

    def _simt(self, pc: int, code: Decoded) -> None:
        """Follow barriers, which release warps, and wspawn, which starts warps now or after others have ended."""
        if code.row.op is SimtOp.BAR:
            for warp, asked, count in self._said:
                barrier = asked % self._config.barriers
                together = self._barriers.arrive(warp, barrier, count, pc)
                if together:
                    self._meet(together)
                    self._barriers.met(barrier, together)
        elif code.row.op is SimtOp.WSPAWN:
            self._spawners |= {warp: count for warp, count, _ in self._said}
        for warp in list(self._spawners):
            # Whether it waited for others to end depends on time; in either case, it comes after all their accesses.
            if self._iss.waiting[warp] is None:
                started = [other for other in self._everyone[: self._spawners.pop(warp)] if other != warp]
                self._meet([warp, *started], self._everyone)
                for other in started:
                    self.groups.start(other)

    def _meet(self, warps: list[int], others: Iterable[int] = ()) -> None:
        others = list(others)
        self._epochs.meet(warps, others)
        self.order.meet(warps, others)

    def _csr(self, pc: int, code: Decoded) -> None:
        if code.csr == Csr.MREGION:
            for warp, value, _ in self._said:
                if self.order.region(warp, value, pc):
                    self._epochs.turn()
        elif code.csr == Csr.ACTIVE_WARPS and code.writes is not None:
            raise RefusedError("it reads the mask of active warps, which depends on the schedule", pc)
        elif code.csr in _SHARED and code.writes_csr and self._iss.active_mask.bit_count() > 1:
            name = Csr(code.csr).name.lower()
            raise RefusedError(f"it writes {name}, while other warps are active: the value that they read depends on "
                               "the schedule", pc)

    def listing(self) -> Listing:
        """Return the accesses in order."""
        for pc in sorted(self._pcs):
            if self._follower.was_marked(pc):
                raise RefusedError("it executes an instruction that depends on the inputs", pc)
        written = self._stored & {pc >> 2 for pc in self._pcs}
        if written:
            raise RefusedError("it executes an instruction that it stored: self-modifying code", min(written) << 2)
        return Listing(
            tuple(sorted(self.accesses, key=lambda each: each.key)), tuple(self.groups.grids),
            self._config.memory_map.user // LINE_BYTES, self.order.regions,
        )


def lines_of(config: SmConfig, addresses: np.ndarray) -> tuple[int, ...]:
    """Return the lines of the lanes' ``addresses`` in global memory, in the coalescer's order."""
    return tuple(dict.fromkeys((to_bus_all(config, addresses) // LINE_BYTES).tolist()))


def analyze(config: SmConfig, request: RunRequest, launch: Launch) -> Listing:
    """Return the accesses of ``launch``, which ``request`` runs; they are the same in every run.

    Raises
    ------
    RefusedError
        If they depend on the inputs or on the schedule, with the reason and the place.
    """
    job = job_of(config, request)
    iss = Iss(config, unpack_memory(config, job.pages))
    iss.launch(job.start_pc, job.arg)
    recorder = iss.recorder = _Recorder(iss, launch.image, Inputs(launch))
    refuse_end(iss.run(INSTRUCTION_LIMIT))
    if not recorder.order.regions:
        raise RefusedError("the program opens no measured region: say --region whole, main or a function")
    return recorder.listing()
