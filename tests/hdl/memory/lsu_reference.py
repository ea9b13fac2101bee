"""A program of loads and stores, executed one after the other: what the load/store unit must compute."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from metronome.hdl.config import SmConfig
from metronome.hdl.isa.ops import LsuOp
from metronome.sim.machine.memory.stacks import to_bus

MASK32 = 0xFFFF_FFFF
LINE = 64


@dataclass
class Access:
    """One load or store of a warp. ``cancel``: selected, but no request follows."""

    warp: int
    op: LsuOp
    address: Sequence[int]
    mask: int
    rd: int = 1
    writes_rd: bool = True
    data: Sequence[int] = ()
    offset: int = 0
    pc: int = 0x8000_0000
    cancel: bool = False

    @property
    def store(self) -> bool:
        return self.op.value >= 8

    @property
    def size(self) -> int:
        return 1 << (self.op.value & 3)

    @property
    def lanes(self) -> list[int]:
        return [lane for lane in range(len(self.address)) if self.mask >> lane & 1]

    @property
    def misaligned(self) -> list[int]:
        return [lane for lane in self.lanes if self.address[lane] % self.size]

    def extend(self, raw: bytes) -> int:
        """The register value of the loaded bytes."""
        signed = self.op in (LsuOp.LB, LsuOp.LH)
        return int.from_bytes(raw, "little", signed=signed) & MASK32


@dataclass(frozen=True)
class LineAccess:
    """The lanes of an access in one line; ``data`` holds only the written bytes."""

    line: int
    write: bool
    data: tuple[tuple[int, int], ...]
    access: int
    lanes: tuple[int, ...]


@dataclass
class Reference:
    """The program executed one access after the other, lane by lane in ascending order.

    ``memory``, ``refused`` and ``lines`` have the addresses of memory, where stacks are interleaved.
    """

    config: SmConfig
    local: dict[int, int] = field(default_factory=dict)
    memory: dict[int, int] = field(default_factory=dict)
    loads: dict[int, dict[int, int]] = field(default_factory=dict)
    #: What is stored to lines that memory refuses: nobody but a later load of the same bytes sees it.
    refused: dict[int, int] = field(default_factory=dict)
    lines: list[LineAccess] = field(default_factory=list)
    stores: list[int] = field(default_factory=list)

    def is_local(self, address: int) -> bool:
        base = self.config.memory_map.local
        return base <= address < base + self.config.local_bytes

    def run(self, program: Sequence[Access], bad: Callable[[int], bool] = lambda line: False) -> None:
        for index, access in enumerate(program):
            if access.cancel or access.misaligned:
                continue
            self._lines(index, access)
            if access.store:
                self.stores.append(index)
            for lane in access.lanes:
                self._lane(index, access, lane, bad)

    def _lane(self, index: int, access: Access, lane: int, bad: Callable[[int], bool]) -> None:
        address = access.address[lane]
        space = self.local if self.is_local(address) else self.memory
        address = to_bus(self.config, address)
        if space is self.memory and bad(address // LINE):
            space = self.refused
        places = range(address, address + access.size)
        if access.store:
            for place, byte in zip(places, access.data[lane].to_bytes(4, "little"), strict=False):
                space[place] = byte
        else:
            raw = bytes(space.get(place, 0) for place in places)
            self.loads.setdefault(index, {})[lane] = access.extend(raw)

    def _lines(self, index: int, access: Access) -> None:
        lines: dict[int, list[int]] = {}
        for lane in access.lanes:
            if not self.is_local(access.address[lane]):
                lines.setdefault(to_bus(self.config, access.address[lane]) // LINE, []).append(lane)
        for line, lanes in lines.items():
            written: dict[int, int] = {}
            if access.store:
                for lane in lanes:
                    first = to_bus(self.config, access.address[lane]) % LINE
                    for byte in range(access.size):
                        written[first + byte] = access.data[lane] >> 8 * byte & 255
            self.lines.append(LineAccess(line, access.store, tuple(sorted(written.items())), index, tuple(lanes)))
