"""What memory may see of the load/store unit: which requests, in which order."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

__all__ = ["MemoryCheck"]


class MemoryCheck:
    """Judges the unit's line requests as memory, which may reorder them, gets them.

    ``expected`` are the line accesses of the program in order. Requests to one line never meet in memory, unless both
    are reads and there is no cache; all uncached lines are one line in this. The writes of a line are, one after the
    other, the stores of the program to it, each write the bytes of one or more that follow each other; an uncached
    write is one store. Each line is read at most once for each load of it, an uncached one exactly so, and uncached
    accesses come in program order.
    """

    def __init__(self, bench: Any, expected: Sequence[Any]) -> None:
        self.bench = bench
        self.user = bench.config.memory_map.user // 64
        self.cached = bench.config.dcache_bytes > 0
        self.stores: dict[int, list[Any]] = {}
        self.uncached = [access for access in expected if access.line < self.user]
        self.loads = Counter(access.line for access in expected if not access.write)
        self.reads: Counter[int] = Counter()
        for access in expected:
            if access.write:
                self.stores.setdefault(access.line, []).append(access)
        # How many of a line's stores memory has seen: all numbers that are possible.
        self.sent: dict[int, set[int]] = {line: {0} for line in self.stores}
        self.completed = dict.fromkeys(self.stores, 0)
        self.writes: list[tuple[int, set[int]]] = []

    def order(self, line: int) -> int:
        """Lines of equal order number must not meet."""
        return -1 if line < self.user else line

    def accept(self, line: int, write: bool, written: tuple[tuple[int, int], ...], flying: Sequence[Any]) -> None:
        """A request comes in while those of ``flying`` are not completed."""
        check = self.bench.check
        for other in flying:
            if self.order(other.line) == self.order(line):
                both_read = not write and not other.write and not self.cached and line >= self.user
                check(both_read, f"line {line:#x} meets {'a write' if other.write else 'a read'} of {other.line:#x}")
        if line < self.user:
            check(bool(self.uncached), f"uncached request to line {line:#x} that nothing asked for")
            access = self.uncached.pop(0)
            got, wanted = (line, write, written), (access.line, access.write, access.data)
            check(got == wanted, f"uncached request {got} instead of {wanted}")
        if write:
            self._write(line, written)
        else:
            self.reads[line] += 1
            check(self.reads[line] <= self.loads[line], f"line {line:#x} read {self.reads[line]} times")

    def _write(self, line: int, written: tuple[tuple[int, int], ...]) -> None:
        stores = self.stores.get(line, [])
        before, after = self.sent.get(line, set()), set()
        for first in before:
            data: dict[int, int] = {}
            for count, store in enumerate(stores[first:], start=first + 1):
                data |= dict(store.data)
                if tuple(sorted(data.items())) == written:
                    after.add(count)
                if line < self.user:
                    break
        self.bench.check(bool(after), f"write to line {line:#x} that is not made of its next stores: {written}")
        self.writes.append((line, before))
        self.sent[line] = after

    def complete(self, line: int) -> Iterator[int]:
        """A write of ``line`` is completed: the stores that memory has now, for certain."""
        done = min(self.sent[line])
        for store in self.stores[line][self.completed[line] : done]:
            yield store.access
        self.completed[line] = max(done, self.completed[line])

    def refused_writes(self, bad: Callable[[int], bool]) -> Iterator[list[Any]]:
        """For each write to a bad line, what may be its first store."""
        for line, before in self.writes:
            if bad(line):
                yield [self.stores[line][number] for number in before if number < len(self.stores[line])]

    def finish(self) -> None:
        """All stores must have been seen."""
        for line, sent in self.sent.items():
            self.bench.check(len(self.stores[line]) in sent, f"stores to line {line:#x} are missing: {sent}")
        self.bench.check(not self.uncached, f"uncached accesses are missing: {self.uncached}")
