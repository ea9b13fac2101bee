"""The load/store unit's bench for channels: which accesses pass which, and what memory sees then."""

from collections.abc import Sequence
from typing import Any

from amaranth.sim import SimulatorContext

from metronome.sim.machine.memory.stacks import to_bus
from tests.hdl.memory.lsu_harness import LsuBench
from tests.hdl.memory.lsu_reference import LINE, LineAccess
from tests.hdl.memory.memory_check import MemoryCheck

__all__ = ["ChannelBench"]


class PassingCheck(MemoryCheck):
    """Accesses are looked up in order within each warp, and none passes one of another warp that it conflicts with.

    The writes of a line are then its stores in the order of their lookups.
    """

    def __init__(self, bench: Any, expected: Sequence[LineAccess]) -> None:
        super().__init__(bench, expected)
        self.waiting = list(expected)
        self.total = {line: len(stores) for line, stores in self.stores.items()}
        self.stores = {line: [] for line in self.stores}
        #: How often an access was looked up before an older one of another warp.
        self.passed = 0

    def _warp(self, access: LineAccess) -> int:
        return self.bench.program[access.access].warp

    def _words(self, access: LineAccess) -> set[int]:
        config, program = self.bench.config, self.bench.program[access.access]
        places = [to_bus(config, program.address[lane]) % LINE for lane in access.lanes]
        return {place // 4 for place in places}

    def _conflict(self, one: LineAccess, other: LineAccess) -> bool:
        if one.line < self.user and other.line < self.user:
            return True
        return one.line == other.line and (one.write or other.write) and bool(self._words(one) & self._words(other))

    def look_up(self, warp: int, line: int, write: bool) -> None:
        """The lookup is done with an access."""
        check = self.bench.check
        mine = next((access for access in self.waiting if self._warp(access) == warp), None)
        if mine is None:
            self.bench.fail(f"warp {warp} looks up line {line:#x} that nothing asked for")
        check((mine.line, mine.write) == (line, write), f"warp {warp} looks up {line:#x} instead of {mine.line:#x}")
        for older in self.waiting[: self.waiting.index(mine)]:
            self.passed += 1
            check(not self._conflict(older, mine), f"warp {warp} passes a conflicting access to line {older.line:#x}")
        self.waiting.remove(mine)
        if write:
            self.stores[line].append(mine)

    def finish(self) -> None:
        super().finish()
        self.bench.check(not self.waiting, f"{len(self.waiting)} accesses were not looked up")
        seen = {line: len(stores) for line, stores in self.stores.items()}
        self.bench.check(seen == self.total, "stores were not looked up")


class ChannelBench(LsuBench):
    """All checks but those of the cycle in which something happens: the model knows the unit without channels."""

    def judge(self) -> MemoryCheck:
        return PassingCheck(self, self.expected)

    def _follow(self, ctx: SimulatorContext) -> None:
        event = ctx.get(self.dut.lookup_event)
        if event.access:
            self.memory_check.look_up(event.warp, event.line, bool(event.store))
        self.check(not ctx.get(self.dut.disorder), "disorder")
