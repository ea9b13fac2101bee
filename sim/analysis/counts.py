"""What a warp asks of what all warps share, and what is known of all of them together."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

from metronome.hdl.config import LINE_BYTES, SmConfig

from .costs import DEPTH, Costs
from .order import target_of
from .program import Program

__all__ = ["Counts", "Shared"]


@dataclass
class Counts:
    """What a warp asks for, at most. All are numbers of instructions but for NOPs, ``excess`` and accesses to lines.

    ``redirected``: NOPs behind resolved control flow. ``followed``: jumps followed at decode, and the ``turned`` NOPs
    behind them. ``started``: NOPs in its buffer when it was started. ``excess``: cycles beyond the first that an access
    takes in the load/store unit. ``long``: writes that can be in the way of a younger instruction's.
    """

    instructions: int = 0
    redirected: int = 0
    followed: int = 0
    turned: int = 0
    started: int = 0
    excess: int = 0
    long: int = 0
    divisions: int = 0
    float_divisions: int = 0
    loaded_lines: int = 0
    stored_lines: int = 0
    fences: int = 0
    flushes: int = 0

    @property
    def slots(self) -> int:
        """Issue slots, but for NOPs behind misses."""
        return self.instructions + self.redirected + self.started + self.turned

    def join(self, other: Counts) -> None:
        """The greater of each two."""
        for each in _NAMES:
            mine, theirs = getattr(self, each), getattr(other, each)
            if theirs > mine:
                setattr(self, each, theirs)


_NAMES = [each.name for each in dataclasses.fields(Counts)]


@dataclass
class Shared:
    """What is known of all warps together: lines of code and data that are touched on any path.

    - ``loads_anywhere``, ``stores_anywhere``: of some load or store the lines are not known; ``store_ranges``: but from
      which line to which they are.
    - ``meetings``: how often warps have gone on together; ``active``: so many are active at once, at most.
    - ``loops``: how often a loop is gone through at most, entered once, by its header.
    - ``turned``: NOPs behind a jump that is followed at decode, by its pc, at most.
    """

    config: SmConfig
    program: Program
    costs: Costs
    code: set[int] = field(default_factory=set)
    loads: set[int] = field(default_factory=set)
    stores: set[int] = field(default_factory=set)
    loops: dict[int, int] = field(default_factory=dict)
    meetings: int = 0
    active: int = 1
    turned: dict[int, int] = field(default_factory=dict)
    store_ranges: set[tuple[int, int]] = field(default_factory=set)
    loads_anywhere: bool = False
    stores_anywhere: bool = False
    _seen: set[int] = field(default_factory=set)

    def stored_and_loaded(self) -> int | None:
        """How many lines a load and a store may both touch; None: any."""
        if self.loads_anywhere or self.stores_anywhere:
            return None
        return sum(
            line in self.stores or any(first <= line <= last for first, last in self.store_ranges)
            for line in self.loads
        )

    def fetch(self, pc: int) -> None:
        """The instruction at ``pc`` is executed: it and what may be fetched behind it on a wrong path."""
        if pc in self._seen:
            return
        self._seen.add(pc)
        self.code.add(pc // LINE_BYTES)
        for behind in range(1, DEPTH + 1):
            place = pc + 4 * behind
            self.code.add(place // LINE_BYTES)
            decoded = self.program.look(place)
            target = None if decoded is None else target_of(decoded, place)
            if target is not None:
                self.code.add(target // LINE_BYTES)
        target = target_of(self.program.at(pc).decoded, pc)
        if target is not None:
            self.code.update(range(target // LINE_BYTES, (target + 4 * DEPTH) // LINE_BYTES + 1))
