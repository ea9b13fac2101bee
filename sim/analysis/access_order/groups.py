"""The work-group, and the warp in it, that each hardware warp runs (riscv_kernels/runtime/spawn.S)."""

from __future__ import annotations

import struct

from metronome.hdl.isa.ops import BranchOp, Unit

from ...machine.golden import Iss
from ...program.elf import ElfImage
from ..code.decoding import Decoded
from .records import Grid, Place

__all__ = ["WorkGroups"]

#: Registers of context.h: s9, the warps of a group, and s10, the number of the block.
_GROUP_WARPS, _BLOCK = 25, 26
_RETURN = 1
#: Dimension, grid and block in the launch record, and their offset.
_SIZES, _SIZES_AT = struct.Struct("<7I"), 16
_GROUPS, _THREADS, _RECORD = "__groups_worker", "__threads_worker", "__spawn_context"


class WorkGroups:
    """The block that each warp runs, which changes at each call of the kernel's function.

    A program without Metronome's runtime has no work-groups.
    """

    def __init__(self, iss: Iss, image: ElfImage) -> None:
        self._iss = iss
        self._workers = {
            name: range(place, place + size)
            for name in (_GROUPS, _THREADS) if (symbol := image.symbols.get(name)) for place, size in (symbol,)
        }
        self._record = image.symbols.get(_RECORD, (0, 0))[0]
        self._outside = [Place(0, warp, None) for warp in range(iss.config.warps)]
        self._places = list(self._outside)
        self.grids: list[Grid] = []

    def of(self, warp: int) -> Place:
        """Return the current place of ``warp``."""
        return self._places[warp]

    def start(self, warp: int) -> None:
        """Start ``warp``, outside work-groups."""
        self._places[warp] = self._outside[warp]

    def executed(self, pc: int, code: Decoded, warps: list[int]) -> None:
        """Follow an instruction of ``warps``. Only jumps of the runtime's workers matter."""
        if code.unit is not Unit.BRANCH or code.row.op is not BranchOp.JALR:
            return
        for name, worker in self._workers.items():
            if pc in worker:
                for warp in warps:
                    self._jump(warp, groups=name == _GROUPS, enters=code.writes == _RETURN)

    def _jump(self, warp: int, *, groups: bool, enters: bool) -> None:
        """Follow a worker that calls the kernel's function (``enters``) or finishes."""
        if not enters:
            self.start(warp)
            return
        grid = self._grid()
        if grid not in self.grids:
            self.grids.append(grid)
        if groups:
            registers = self._iss.regs[warp, :, int(self._iss.leaders[warp])]
            block = int(registers[_BLOCK])
            x, y, _ = grid.grid
            at = block % x, block // x % y, block // (x * y)
            self._places[warp] = Place(block, warp % int(registers[_GROUP_WARPS]), at)

    def _grid(self) -> Grid:
        data = self._iss.memory.read(self._record + _SIZES_AT, _SIZES.size)
        _, gx, gy, gz, bx, by, bz = _SIZES.unpack(data)
        return Grid((gx, gy, gz), (bx, by, bz))
