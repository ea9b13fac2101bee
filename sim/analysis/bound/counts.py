"""The demand of one warp on shared resources, and the state that all warps share in the analysis."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

from metronome.hdl.config import LINE_BYTES, SmConfig

from ...predict.model.compiled import as_python
from ...predict.model.search import hashed
from ...predict.setup import data_cache
from ..code.costs import Costs
from ..code.decoding import Decoded
from ..code.fetching import fetched, followed
from ..code.program import AnalyzedProgram
from ..paths.clock import Access
from .memory_bound import MemoryBound
from .prefix import NOTHING, Prefix

__all__ = ["SharedState", "WarpCounts", "few_lines"]

#: The most lines of a range that are listed one by one.
_MANY = 1 << 12


def few_lines(within: tuple[int, int] | None) -> range | None:
    """Return the lines from the first to the last of ``within``; None if there are many, or they are unknown."""
    return None if within is None or within[1] - within[0] >= _MANY else range(within[0], within[1] + 1)


@dataclass
class WarpCounts:
    """Upper bounds on a warp's demand. Fields that are not listed here count instructions or line accesses.

    - ``nops``: NOPs after jumps. ``started``: NOPs in its buffer when it was started.
    - ``excess``: the cycles that accesses take in the load/store unit, each beyond its first cycle.
    - ``answers``: the parts of loads. ``missing``: the parts that may wait for memory. ``parts``: the most of them
      in flight at once. ``uncached``: accesses to uncached lines.
    - ``turns``: the instructions for what the partitions of an SM share.
    - ``results``: the number of instructions that write in a fixed cycle, by :attr:`Cost.written`.
    """

    instructions: int = 0
    nops: int = 0
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
    turns: int = 0
    results: dict[int, int] = field(default_factory=dict)

    def copy(self) -> WarpCounts:
        """Return an independent copy."""
        return dataclasses.replace(self, results=dict(self.results))

    @property
    def slots(self) -> int:
        """The issue slots, without NOPs for misses."""
        return self.instructions + self.nops + self.started

    def join(self, other: WarpCounts) -> None:
        """Take the maximum of each field."""
        for each in _NAMES:
            mine, theirs = getattr(self, each), getattr(other, each)
            if theirs > mine:
                setattr(self, each, theirs)
        for latency, count in other.results.items():
            self.results[latency] = max(count, self.results.get(latency, 0))


_NAMES = [each.name for each in dataclasses.fields(WarpCounts) if each.name != "results"]


@dataclass
class SharedState:
    """State shared by all warps: the lines of code and data that any path accesses, and more.

    - ``loads_anywhere``, ``stores_anywhere``: whether the lines of a load or store are unknown. ``store_ranges``: the
      ranges of lines of other stores.
    - ``releases``: how often warps have continued together. ``active``: the most warps active at once.
    - ``phases``: for each time that warps have continued together, the most issue slots of each warp since the time
      before. ``ran``: the warps that have run. ``apart``: some have continued together without the others.
    - ``loops``: the most passes for each entry of a loop, by loop header.
    - ``kept``: the addresses that predictors of indirect jumps may have kept.
    - ``followed``: the places of words that decide what is fetched after a control instruction, by its pc.
    - ``code``, ``awaited``: after the common ``prefix``, the lines of code, and the lines of data that loads may find
      missing. ``prefix_lost``: whether a warp has forked inside the prefix.
    - ``local``, ``uncached``: whether local memory or uncached lines may be accessed.
    - ``gone``: the lines that may be evicted from the data cache, as assumed in this pass; None if any line may.
    """

    config: SmConfig
    program: AnalyzedProgram
    costs: Costs
    memory: MemoryBound
    gone: frozenset[int] | None = frozenset()
    prefix: Prefix = NOTHING
    prefix_lost: bool = False
    awaited: set[int] = field(default_factory=set)
    all_code: set[int] = field(default_factory=set)
    kept: set[int] = field(default_factory=set)
    followed: dict[int, set[int]] = field(default_factory=dict)
    code: set[int] = field(default_factory=set)
    loads: set[int] = field(default_factory=set)
    stores: set[int] = field(default_factory=set)
    loops: dict[int, int] = field(default_factory=dict)
    releases: int = 0
    active: int = 1
    phases: list[dict[int, int]] = field(default_factory=list)
    ran: set[int] = field(default_factory=set)
    apart: bool = False
    store_ranges: set[tuple[int, int]] = field(default_factory=set)
    local: bool = False
    uncached: bool = False
    loads_anywhere: bool = False
    stores_anywhere: bool = False
    _seen: set[tuple[int, bool]] = field(default_factory=set)

    def stays(self, line: int) -> bool:
        """Return whether the data cache keeps a line once it has loaded it."""
        cached = line >= self.config.memory_map.user // LINE_BYTES
        return cached and self.gone is not None and line not in self.gone

    def access(self, store: bool, access: Access) -> int:
        """Record the lines of an access; return how many may be uncached, which are accessed one after the other."""
        lines = self.stores if store else self.loads
        if access.lines is not None:
            lines.update(access.lines)
        elif store and access.within is not None:
            self.store_ranges.add(access.within)
        elif store:
            self.stores_anywhere = True
        elif (some := few_lines(access.within)) is not None:
            lines.update(some)
        else:
            self.loads_anywhere = True
        uncached = self._uncached_lines(access)
        self.uncached |= uncached > 0
        return uncached

    def _uncached_lines(self, access: Access) -> int:
        user = self.config.memory_map.user // LINE_BYTES
        if access.lines is not None:
            return sum(line < user for line in access.lines)
        return access.most if access.within is None or access.within[0] < user else 0

    def pushed_out(self) -> frozenset[int] | None:
        """Return ``gone`` as this pass's loads imply it: the lines of sets that need more lines than they have ways."""
        config = self.config
        if self.loads_anywhere or not config.dcache_bytes:
            return None
        sizes = data_cache(config)
        there: dict[int, list[int]] = {}
        for line in self.loads:
            there.setdefault(as_python(hashed)(line, sizes["dcache_sets"], sizes["dcache_bits"]), []).append(line)
        return frozenset(line for lines in there.values() if len(lines) > config.dcache_ways for line in lines)

    def stored_and_loaded(self) -> set[int] | None:
        """Return the lines that a load may find missing and a store may write; None if any line may be such a line."""
        if self.loads_anywhere or self.stores_anywhere:
            return None
        return {line for line in self.awaited if self.may_store(line)}

    def may_store(self, line: int) -> bool:
        """Return whether a store may write to a line."""
        within = any(first <= line <= last for first, last in self.store_ranges)
        return self.stores_anywhere or line in self.stores or within

    def fetch(self, pc: int, *, after_prefix: bool) -> None:
        """Record the execution of the instruction at ``pc``, and the lines that may be fetched after it."""
        if (pc, after_prefix) in self._seen:
            return
        self._seen.add((pc, after_prefix))
        self._reach(pc, after_prefix=after_prefix)

    def _reach(self, pc: int, *, after_prefix: bool) -> set[int]:
        """Record the lines and words fetched while the instruction at ``pc`` is in the buffer; return the words."""
        places = fetched(pc, self.program.look, self._follows, self.kept)
        lines = {place // LINE_BYTES for place in places}
        if self.config.follows and self.program.at(pc).decoded.row.control:
            self.followed[pc] = followed(pc, self.program.look, self._follows, self.kept)
        self.all_code |= lines
        if after_prefix:
            self.code |= lines
        return places

    def end_fetches(self) -> None:
        """Record wrong paths of indirect jumps: to all addresses kept, and return addresses of calls on such paths."""
        before = -1
        while self.config.learns and before != len(self.kept):
            before = len(self.kept)
            for pc, after_prefix in self._seen:
                places = self._reach(pc, after_prefix=after_prefix)
                self.kept.update(place + 4 for place in places if self._pushes(place))

    def _follows(self, decoded: Decoded) -> bool:
        cost = self.costs.of(decoded.word)
        return cost.followed or cost.learned

    def _pushes(self, place: int) -> bool:
        decoded = self.program.look(place)
        return decoded is not None and self.costs.of(decoded.word).pushes
