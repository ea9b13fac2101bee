"""What a warp asks of what all warps share, and what is known of all of them together."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from types import SimpleNamespace

from metronome.hdl.config import LINE_BYTES, Prediction, SmConfig

from ...predict.model.compiled import as_python
from ...predict.model.l1 import set_of
from ...predict.setup import data_cache
from ..code.costs import Costs
from ..code.decoding import Decoded
from ..code.fetching import fetched, followed
from ..code.program import AnalyzedProgram
from .memory_bound import MemoryBound
from .prefix import NOTHING, Prefix

__all__ = ["SharedState", "WarpCounts", "few_lines"]

#: LoadedLines of a range that are looked at one by one, at most.
_MANY = 1 << 12


def few_lines(within: tuple[int, int] | None) -> range | None:
    """The lines from the first to the last of ``within``; None if there are many, or it is not known which."""
    return None if within is None or within[1] - within[0] >= _MANY else range(within[0], within[1] + 1)


@dataclass
class WarpCounts:
    """What a warp asks for, at most. All are numbers of instructions but for NOPs, ``excess`` and accesses to lines.

    ``nops``: NOPs behind jumps. ``started``: NOPs in its buffer when it was started. ``excess``: cycles beyond the
    first that an access takes in the load/store unit. ``answers``: parts of loads; ``missing``: those that may wait for
    memory, of which so many ``parts`` are under way at once. ``uncached``: accesses to lines that are not cached.
    ``results``: instructions that write in a fixed cycle, by how many cycles behind the issue that is.
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
    results: dict[int, int] = field(default_factory=dict)

    def copy(self) -> WarpCounts:
        """Of another path that is the same so far."""
        return dataclasses.replace(self, results=dict(self.results))

    @property
    def slots(self) -> int:
        """Issue slots, but for NOPs behind misses."""
        return self.instructions + self.nops + self.started

    def join(self, other: WarpCounts) -> None:
        """The greater of each two."""
        for each in _NAMES:
            mine, theirs = getattr(self, each), getattr(other, each)
            if theirs > mine:
                setattr(self, each, theirs)
        for latency, count in other.results.items():
            self.results[latency] = max(count, self.results.get(latency, 0))


_NAMES = [each.name for each in dataclasses.fields(WarpCounts) if each.name != "results"]


@dataclass
class SharedState:
    """What is known of all warps together: lines of code and data that are touched on any path.

    - ``loads_anywhere``, ``stores_anywhere``: of some load or store the lines are not known; ``store_ranges``: but from
      which line to which they are.
    - ``meetings``: how often warps have gone on together; ``active``: so many are active at once, at most.
    - ``loops``: how often a loop is gone through at most, entered once, by its header.
    - ``followed``: by the pc of a control instruction the places of words that tell what is fetched behind it.
    - ``code``, ``awaited``: lines of code, and of data that loads may find missing, behind the common ``prefix``;
      ``prefix_lost``: whether a warp has parted in it.
    - ``local``: whether local memory is accessed; ``uncached``: whether what is not cached may be.
    - ``gone``: lines that another may push out of the data cache; None: any may be. It is a guess until all is known.
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
    followed: dict[int, set[int]] = field(default_factory=dict)
    code: set[int] = field(default_factory=set)
    loads: set[int] = field(default_factory=set)
    stores: set[int] = field(default_factory=set)
    loops: dict[int, int] = field(default_factory=dict)
    meetings: int = 0
    active: int = 1
    store_ranges: set[tuple[int, int]] = field(default_factory=set)
    local: bool = False
    uncached: bool = False
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

    def stored_and_loaded(self) -> set[int] | None:
        """The lines that a load may find missing and a store may touch, too; None: any."""
        if self.loads_anywhere or self.stores_anywhere:
            return None
        return {
            line for line in self.awaited
            if line in self.stores or any(first <= line <= last for first, last in self.store_ranges)
        }

    def fetch(self, pc: int, *, behind_prefix: bool) -> None:
        """The instruction at ``pc`` is executed: it and what may be fetched behind it on a wrong path."""
        if (pc, behind_prefix) in self._seen:
            return
        self._seen.add((pc, behind_prefix))
        lines = {place // LINE_BYTES for place in fetched(pc, self.program.look, self._follows)}
        if self.config.prediction is Prediction.BTFN and self.program.at(pc).decoded.row.control:
            self.followed[pc] = followed(pc, self.program.look, self._follows)
        self.all_code |= lines
        if behind_prefix:
            self.code |= lines

    def _follows(self, decoded: Decoded) -> bool:
        return self.costs.of(decoded.word).followed
