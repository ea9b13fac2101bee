"""When a fetch miss gets an MSHR and when its line is asked for, in plain Python."""

from collections.abc import Collection

from metronome.hdl.config import SmConfig

__all__ = ["RegisterModel"]


class RegisterModel:
    """The MSHRs of the I-cache, cycle by cycle: the contract of ``MissUnit`` in hdl.frontend.misses.

    A warp that misses in a cycle asks in the next; with no miss before it, the lowest warp that waited then asks. One
    that is squashed, or whose line comes, while it asks still gets its register in that cycle.
    """

    def __init__(self, config: SmConfig) -> None:
        self.shares = config.icache_bytes > 0
        self.registers: list[tuple[int, bool] | None] = [None] * config.fetch_requests  # line, was taken by memory
        self.waiting: dict[int, int] = {}
        self.asks: tuple[int, int] | None = None
        self.offered: int | None = None
        self.last = -1

    def offer(self) -> tuple[int, int] | None:
        """(line, tag) at the port to memory in this cycle."""
        number = self._offered()
        return None if number is None else (self.registers[number][0], number)

    def _offered(self) -> int | None:
        if self.offered is not None:
            return self.offered
        count = len(self.registers)
        first = 0 if self.shares else self.last + 1
        turns = (number % count for number in range(first, first + count))
        return next((number for number in turns if self.registers[number] and not self.registers[number][1]), None)

    def granted(self) -> tuple[int, bool] | None:
        """The register of the warp that asks in this cycle, and whether its line is requested anew."""
        if self.asks is None or self.asks[0] not in self.waiting:
            return None
        warp, line = self.asks
        its = range(len(self.registers)) if self.shares else (warp,)
        same = [number for number in its if self.registers[number] and self.registers[number][0] == line]
        free = [number for number in its if self.registers[number] is None]
        if same:
            return same[0], False
        return (free[0], True) if free else None

    def tick(
        self, *, miss: tuple[int, int] | None, release: Collection[int], answered: int | None, ready: bool
    ) -> None:
        """End the cycle; ``answered``: the register whose answer memory gave in the cycle before."""
        offered, granted = self._offered(), self.granted()
        asks, line = self.asks, None if answered is None else self.registers[answered][0]
        waited = [warp for warp in self.waiting if self.shares or self.registers[warp] is None]
        self.asks = miss or ((min(waited), self.waiting[min(waited)]) if waited else None)
        if offered is not None and ready:
            self.registers[offered] = self.registers[offered][0], True
            self.last = offered
        self.offered = None if ready else offered
        if granted is not None:
            del self.waiting[asks[0]]
            if granted[1]:
                self.registers[granted[0]] = asks[1], False
        if miss is not None:
            self.waiting[miss[0]] = miss[1]
        if answered is not None:
            self.registers[answered] = None
            for warp in [its for its, wanted in self.waiting.items() if wanted == line]:
                if self.shares or warp == answered:
                    del self.waiting[warp]
        for warp in release:
            self.waiting.pop(warp, None)
