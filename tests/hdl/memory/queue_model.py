"""The way to the lookup in plain Python, cycle by cycle: the queue, the coalescer, the banks of local memory."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metronome.hdl.config import SmConfig
from metronome.hdl.memory.lsu import QUEUE_DEPTH
from metronome.sim.machine.memory.stacks import to_bus

__all__ = ["LINE", "Inputs", "Part", "QueueModel", "line_parts"]

LINE = 64


@dataclass(frozen=True)
class Part:
    """The lanes of a load or store in one line, or those of a local load that are served together."""

    warp: int
    rd: int
    writes_rd: bool
    lanes: int
    line: int = 0
    store: bool = False
    first: bool = False
    bytes: int = 0
    pc: int = 0


@dataclass(frozen=True)
class Inputs:
    """What the surroundings do in a cycle. ``answer``: (number, is of a store, error), offered by memory."""

    take: Any = None
    request: Any = None
    cancel: Any = None
    answer: tuple[int, bool, bool] | None = None
    memory_ready: bool = False
    wb_ready: bool = False


class QueueModel:
    """The entrance, the queue and the coalescer: instructions as their lines and then their local accesses."""

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        self.used = 0
        self.waiting: deque[Any] = deque()
        self.lines: list[Part] = []
        self.local: list[int] = []
        self.started = False
        self.stores: list[int] = []

    @property
    def ready(self) -> bool:
        return self.used < QUEUE_DEPTH

    @property
    def head(self) -> Any:
        return self.waiting[0] if self.waiting else None

    @property
    def offers(self) -> Part | None:
        return self.lines[0] if self.lines else None

    def arrive(self) -> None:
        """The head is new: its accesses are made."""
        access = self.head
        self.started = False
        self.lines = [] if access.misaligned else line_parts(self.config, access)
        base, size = self.config.memory_map.local, self.config.local_bytes
        self.local = [lane for lane in access.lanes if base <= access.address[lane] < base + size]

    def served(self) -> list[int]:
        """The lanes of the head that the banks take now."""
        return self.served_of(self.head, self.local)

    def served_of(self, access: Any, lanes: Sequence[int]) -> list[int]:
        """The ``lanes`` that the banks take: in each bank the lowest, and for a load all with the same word."""
        winners: dict[int, int] = {}
        words = {lane: access.address[lane] % self.config.local_bytes // 4 for lane in lanes}
        for lane in lanes:
            winners.setdefault(words[lane] % self.config.threads, lane)
        if access.store:
            return list(winners.values())
        taken = {words[lane] for lane in winners.values()}
        return [lane for lane in lanes if words[lane] in taken]

    def tick(self, now: Inputs, *, line_taken: bool, served: Sequence[int], dropped: bool) -> bool:
        """Whether the head leaves."""
        access = self.head
        if line_taken:
            self.lines.pop(0)
        self.local = [lane for lane in self.local if lane not in served]
        pops = access is not None and (dropped or (not access.misaligned and not self.lines and not self.local))
        self.started = access is not None
        if pops:
            self.waiting.popleft()
            if access.store:
                self.stores.remove(access.warp)
        if now.request is not None:
            self.waiting.append(now.request)
        if self.waiting and (pops or access is None):
            self.arrive()
        if now.take is not None and now.take.store:
            self.stores.append(now.take.warp)
        if now.cancel is not None and now.cancel.store:
            self.stores.remove(now.cancel.warp)
        self.used += (now.take is not None) - pops - (now.cancel is not None)
        return pops


def line_parts(config: SmConfig, access: Any) -> list[Part]:
    """A line for each of the lowest lanes left, with all lanes that share it."""
    base, lines = config.memory_map.local, {}
    for lane in access.lanes:
        if not base <= access.address[lane] < base + config.local_bytes:
            address = to_bus(config, access.address[lane])
            lanes, touched = lines.get(address // LINE, (0, 0))
            touched |= ((1 << access.size) - 1) << address % LINE
            lines[address // LINE] = lanes | 1 << lane, touched
    return [
        Part(warp=access.warp, rd=access.rd, writes_rd=access.writes_rd, lanes=lanes, line=line, store=access.store,
             first=number == 0, bytes=touched, pc=access.pc)
        for number, (line, (lanes, touched)) in enumerate(lines.items())
    ]
