"""What a warp asks of what all warps share, and what is known of all of them together."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from types import SimpleNamespace

from metronome.hdl.config import LINE_BYTES, SmConfig
from metronome.sim.predict.compiled import as_python
from metronome.sim.predict.l1 import set_of
from metronome.sim.prediction.setup import data_cache

from .costs import DEPTH, Costs
from .memory_bound import MemoryBound
from .order import target_of
from .prefix import NOTHING, Prefix
from .program import Program

__all__ = ["Counts", "Shared"]


@dataclass
class Counts:
    """What a warp asks for, at most. All are numbers of instructions but for NOPs, ``excess`` and accesses to lines.

    ``redirected``: NOPs behind resolved control flow. ``followed``: jumps followed at decode, and the ``turned`` NOPs
    behind them. ``started``: NOPs in its buffer when it was started. ``excess``: cycles beyond the first that an access
    takes in the load/store unit. ``answers``: parts of loads; ``missing``: those that may wait for memory, of
    which so many ``parts`` are under way at once. ``uncached``: accesses to lines that are not cached. ``results``:
    instructions that write in a fixed cycle, by how many cycles behind the issue that is.
    """

    instructions: int = 0
    redirected: int = 0
    followed: int = 0
    turned: int = 0
    started: int = 0
    excess: int = 0
    missing: int = 0
    parts: int = 0
    uncached: int = 0
    answers: int = 0
    divisions: int = 0
    float_divisions: int = 0
    loaded_lines: int = 0
    stored_lines: int = 0
    fences: int = 0
    flushes: int = 0
    results: dict[int, int] = field(default_factory=dict)

    def copy(self) -> Counts:
        """Of another path that is the same so far."""
        return dataclasses.replace(self, results=dict(self.results))

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
        for latency, count in other.results.items():
            self.results[latency] = max(count, self.results.get(latency, 0))


_NAMES = [each.name for each in dataclasses.fields(Counts) if each.name != "results"]


@dataclass
class Shared:
    """What is known of all warps together: lines of code and data that are touched on any path.

    - ``loads_anywhere``, ``stores_anywhere``: of some load or store the lines are not known; ``store_ranges``: but from
      which line to which they are.
    - ``meetings``: how often warps have gone on together; ``active``: so many are active at once, at most.
    - ``loops``: how often a loop is gone through at most, entered once, by its header.
    - ``turned``: NOPs behind a jump that is followed at decode, by its pc, at most.
    - ``code``, ``awaited``: lines of code, and of data that loads may find missing, behind the common ``prefix``;
      ``prefix_lost``: whether a warp has parted in it.
    - ``local``: whether local memory is accessed.
    - ``gone``: lines that another may push out of the data cache; None: any may be. It is a guess until all is known.
    """

    config: SmConfig
    program: Program
    costs: Costs
    memory: MemoryBound
    gone: frozenset[int] | None = frozenset()
    prefix: Prefix = NOTHING
    prefix_lost: bool = False
    awaited: set[int] = field(default_factory=set)
    all_code: set[int] = field(default_factory=set)
    code: set[int] = field(default_factory=set)
    loads: set[int] = field(default_factory=set)
    stores: set[int] = field(default_factory=set)
    loops: dict[int, int] = field(default_factory=dict)
    meetings: int = 0
    active: int = 1
    turned: dict[int, int] = field(default_factory=dict)
    store_ranges: set[tuple[int, int]] = field(default_factory=set)
    load_ranges: set[tuple[int, int]] = field(default_factory=set)
    local: bool = False
    loads_anywhere: bool = False
    stores_anywhere: bool = False
    _seen: set[tuple[int, bool]] = field(default_factory=set)

    def stays(self, line: int) -> bool:
        """Whether the data cache keeps a line once it has come."""
        cached = line >= self.config.memory_map.user // LINE_BYTES
        return cached and self.gone is not None and line not in self.gone

    def pushed_out(self) -> frozenset[int] | None:
        """What ``gone`` is by all that is loaded: the lines of the sets that more may be in than there are ways."""
        config = self.config
        if self.loads_anywhere or not config.dcache_bytes:
            return None
        sizes = SimpleNamespace(**data_cache(config))
        there: dict[int, list[int]] = {}
        for line in self.loads:
            there.setdefault(as_python(set_of)(sizes, line), []).append(line)
        return frozenset(line for lines in there.values() if len(lines) > config.dcache_ways for line in lines)

    def stored_and_loaded(self) -> int | None:
        """How many lines a load may find missing and a store may touch, too; None: any."""
        if self.loads_anywhere or self.stores_anywhere:
            return None
        return sum(
            line in self.stores or any(first <= line <= last for first, last in self.store_ranges)
            for line in self.awaited
        )

    def fetch(self, pc: int, *, behind_prefix: bool) -> None:
        """The instruction at ``pc`` is executed: it and what may be fetched behind it on a wrong path."""
        if (pc, behind_prefix) in self._seen:
            return
        self._seen.add((pc, behind_prefix))
        lines = self._fetched(pc)
        self.all_code |= lines
        if behind_prefix:
            self.code |= lines

    def _fetched(self, pc: int) -> set[int]:
        """The lines of what is fetched while ``pc`` is in the buffer, jumps followed at decode included."""
        target = target_of(self.program.at(pc).decoded, pc)
        places = {pc} if target is None else {pc, target}
        reached = set(places)
        # A slot is a fetch, squashed or not, and there are d of them; twice as many are looked at.
        for _ in range(2 * DEPTH):
            places = {following for place in places for following in self._behind(place)} - reached
            reached |= places
        return {place // LINE_BYTES for place in reached}

    def _behind(self, place: int) -> list[int]:
        """Where the fetch may go on behind that of a place."""
        decoded = self.program.look(place)
        target = None if decoded is None else target_of(decoded, place)
        followed = target is not None and decoded is not None and self.costs.of(decoded.word).followed
        return [place + 4, target] if followed and target is not None else [place + 4]
