"""The architectural state of one SM, and the operations of instructions on its warps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from metronome.hdl.config import SmConfig

from ..memory.store import SparseMemory
from .between_sms import BetweenSms
from .local import LocalMemory
from .records import Arrival, Wait
from .view import DISCARD, View
from .watch import Recorder, Watch

__all__ = ["DivergenceStack", "State", "warps_of"]


class DivergenceStack:
    """The divergence stacks: each warp's open divergent splits; arrays are indexed [warp, entry]."""

    def __init__(self, warps: int, depth: int, threads: int) -> None:
        self.depth = depth
        self.pointer = np.zeros(warps, np.int64)
        self.union = np.zeros((warps, depth, threads), bool)
        self.other = np.zeros((warps, depth, threads), bool)
        self.pc = np.zeros((warps, depth), np.int64)
        self.visited = np.zeros((warps, depth), bool)


class State:
    """The state visible to software, and the views through which instructions work on it.

    Reading is unrestricted; registers are written with :meth:`sim.machine.golden.Iss.poke`.

    - ``regs``: uint32 (warps, 64, threads); 0..31 are x, 32..63 f registers. ``tmask``: bool (warps, threads).
    - ``pc``, ``active``, ``waiting``: lists by warp; ``waiting`` holds the condition that a warp waits for, or None.
    - ``stack``: the divergence stacks; ``fcsr``: uint32 (warps,); ``mscratch``, ``mregion``, ``morder``, ``mpolicy``:
      one for the core.
    - ``local.data``: local memory, uint8; ``memory``: everything else, shared with the caller.
    - ``no_code``: the addresses in memory from which no instruction can be fetched.
    - ``watch``: observer of accesses and synchronisation while the machine is stepped.
    - ``recorder``: observer of every operation of a run.
    - ``spawned``: called when a wspawn takes effect, when the warps that it waited for have ended.
    - ``between_sms``: the barriers between SMs; None if there are no others.
    - ``arrival``: data that comes into memory from outside, once; None if there is none or it has arrived.
    - ``mcycle`` (instructions executed, unless the caller sets it) and ``minstret`` (active lanes summed).
    """

    def __init__(self, config: SmConfig, memory: SparseMemory) -> None:
        warps, threads = config.warps, config.threads
        self.config = config
        self.memory = memory
        self.no_code = config.interleaved_stacks
        self.watch: Watch | None = None
        self.recorder: Recorder | None = None
        self.spawned: Callable[[], None] | None = None
        self.arrival: Arrival | None = None
        self.between_sms: BetweenSms | None = None
        self.local = LocalMemory(config.memory_map.local, config.local_bytes)
        # The register is the first index, so that one register of all warps is contiguous; DISCARD takes writes to x0.
        self._registers = np.zeros((DISCARD + 1, warps, threads), np.uint32)
        self.regs = self._registers[:DISCARD].transpose(1, 0, 2)
        self.lane_numbers = np.arange(threads)
        self._views = [View(self._registers, warp, 1) for warp in range(warps)]
        self._all = View(self._registers, 0, warps)
        self.launch(config.memory_map.start, 0)

    def launch(self, start_pc: int, arg: int) -> None:
        """Start warp 0 at ``start_pc`` with thread mask 1, mscratch = ``arg``, and all else as after reset.

        Registers and local memory keep their contents, as in the hardware.
        """
        warps, threads = self.config.warps, self.config.threads
        self.pc = [start_pc & 0xFFFF_FFFF] * warps
        self.active = [False] * warps
        self.active_mask = 0
        self.waiting: list[Wait | None] = [None] * warps
        self.arrived: list[list[int]] = [[] for _ in range(self.config.barriers)]
        self.released: list[int] = []
        self.stack = DivergenceStack(warps, self.config.stack_depth, threads)
        self.tmask = np.zeros((warps, threads), bool)
        self.leaders = np.zeros(warps, np.int64)
        self.mask_words = np.zeros(warps, np.uint32)
        self.mask_bits = [0] * warps
        self.lane_counts = [0] * warps
        self.epoch = 0
        self._all.epoch = -1
        self.fcsr = np.zeros(warps, np.uint32)
        self.mscratch = arg & 0xFFFF_FFFF
        self.mregion = self.morder = self.mpolicy = 0
        self.mcycle = 0
        self.minstret = 0
        self._activate(0, start_pc)

    def arrive(self, pc: int) -> None:
        """Write the contents of ``arrival`` to memory if its pc is ``pc``, that of the next instruction."""
        arrival = self.arrival
        if arrival is not None and arrival.pc == pc:
            self.arrival = None
            for address, data in arrival.contents:
                self.memory.write(address, data)
            arrival.tell()

    # Operations of instructions on the warps (called by sim.machine.golden.simt).

    def set_masks(self, warps: np.ndarray, masks: np.ndarray) -> None:
        """Set the thread masks (k, threads) of the ``warps`` (k,) given by number."""
        self.tmask[warps] = masks
        threads = self.config.threads
        self.leaders[warps] = threads - 1 - np.argmax(masks[:, ::-1], axis=1)
        packed = np.packbits(masks, axis=1, bitorder="little")
        for row, warp in enumerate(warps.tolist()):
            bits = int.from_bytes(packed[row].tobytes(), "little")
            self.mask_bits[warp] = bits
            self.mask_words[warp] = bits
            self.lane_counts[warp] = bits.bit_count()
            self._views[warp].select([warp], 1 << warp, self.tmask[warp : warp + 1], bits.bit_count())
        self.epoch += 1

    def _activate(self, warp: int, pc: int) -> None:
        self.pc[warp] = pc & 0xFFFF_FFFF
        self.active[warp] = True
        self.active_mask |= 1 << warp
        self.stack.pointer[warp] = 0
        self.set_masks(np.array([warp]), np.arange(self.config.threads)[None] == 0)

    def end_if_empty(self, following: dict[int, int]) -> dict[int, int]:
        """End the warps in ``following`` (pc to warps) whose mask is empty; return it without them."""
        remaining = {}
        ended = []
        for pc, bits in following.items():
            for warp in warps_of(bits):
                if self.lane_counts[warp] == 0:
                    self.pc[warp] = pc
                    ended.append(warp)
                    bits &= ~(1 << warp)
            if bits:
                remaining[pc] = bits
        for warp in ended:
            self._end(warp)
        return remaining

    def _end(self, warp: int) -> None:
        self.active[warp] = False
        self.active_mask &= ~(1 << warp)
        if self.between_sms is not None:
            self.between_sms.check(self)
        if self.active_mask.bit_count() == 1:
            last = self.active_mask.bit_length() - 1
            wait = self.waiting[last]
            if wait is not None and wait.spawn is not None:
                self.spawn(last, *wait.spawn)
                self.release(last)

    def spawn(self, issuer: int, count: int, pc: int) -> None:
        """Activate warps 0..count-1, except the issuer, at ``pc``."""
        started = [warp for warp in range(min(count, self.config.warps)) if warp != issuer]
        for warp in started:
            self._activate(warp, pc)
        self.released += started
        if self.spawned is not None:
            self.spawned()
        if self.watch is not None:
            self.watch.spawn(issuer, self.mask_bits[issuer], started)

    def wait(self, warp: int, after: int, reason: Wait) -> None:
        """Let the warp wait; when released, it continues at ``after``."""
        self.pc[warp] = after
        self.waiting[warp] = reason

    def release(self, warp: int) -> None:
        """End the wait of a warp."""
        self.waiting[warp] = None
        self.released.append(warp)

    # Views.

    def lanes_of(self, warp: int) -> np.ndarray:
        """Return the registers of one warp, (DISCARD + 1, threads), as a writable view."""
        return self._registers[:, warp]

    def lane_bytes(self, warp: int, register: int | None) -> bytes | None:
        """Return the values of a register of one warp, lane by lane, as bytes; None if ``register`` is None."""
        return None if register is None else self._views[warp].flat[register].tobytes()

    def warp_view(self, warp: int) -> View:
        """Return the view of one warp."""
        return self._views[warp]

    def group_view(self, bits: int) -> View:
        """Return the view of the warps in ``bits``, valid until a thread mask changes or another group is requested."""
        if bits & bits - 1 == 0:
            return self._views[bits.bit_length() - 1]
        view = self._all
        if view.bits != bits or view.epoch != self.epoch:
            warps = warps_of(bits)
            lanes = sum([self.lane_counts[warp] for warp in warps])
            members = np.frombuffer(bits.to_bytes(8, "little"), np.uint8)
            rows = np.unpackbits(members, bitorder="little", count=self.config.warps).view(bool)
            view.select(warps, bits, self.tmask & rows[:, None], lanes)
            view.epoch = self.epoch
        return view

    @property
    def ended(self) -> bool:
        """Whether no warp is active."""
        return self.active_mask == 0

    def waits(self) -> dict[int, str]:
        """Describe the wait of each waiting warp."""
        return {warp: f"pc {self.pc[warp]:#010x}: {wait}" for warp, wait in enumerate(self.waiting) if wait is not None}


def warps_of(bits: int) -> list[int]:
    """Return the warp numbers in a bit mask, ascending."""
    return [warp for warp in range(bits.bit_length()) if bits >> warp & 1]
