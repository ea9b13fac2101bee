"""One page for two runs, made from their pages, on one time axis, with the first difference between their schedules."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from .legend import LEGEND
from .page import block_line, page_head, page_tail
from .profile import USES

__all__ = ["PageError", "write_difference"]

_BLOCK = re.compile(
    rb'<script type="text/plain" data-run="(\d+)" data-level="(\d+)" data-block="(\d+)">([^<]*)</script>\n'
)
_RUN = re.compile(rb'<script type="application/json" class="run" id="run-\d+">(.*)</script>\n')
_NAMES = {word: sign.label for signs in LEGEND.values() for word, sign in signs.items()}


class PageError(ValueError):
    """The file is not a page of one run."""


class _Cycles(NamedTuple):
    """The selections in consecutive cycles, from ``first`` on: rows of a cycle, with a column for each partition.

    ``keys``: -1 for no selection, else 2 * code + 1 for an instruction or 0 for a NOP, with the warp in the upper half.
    ``slots``: the state of the scheduler.
    """

    first: int
    keys: np.ndarray
    slots: np.ndarray

    def since(self, cycle: int) -> _Cycles:
        cut = max(0, min(len(self.keys), cycle - self.first))
        return _Cycles(self.first + cut, self.keys[cut:], self.slots[cut:])

    def padded(self, partitions: int) -> np.ndarray:
        """Return the keys, as many in each cycle as a machine with these partitions has."""
        more = partitions - self.keys.shape[1]
        return np.pad(self.keys, ((0, 0), (0, more)), constant_values=-1).reshape(-1)


class _Issues(NamedTuple):
    """Issues in their order, in one cycle by partition: their ``keys`` as above, and their ``cycles``."""

    keys: np.ndarray
    cycles: np.ndarray

    def after(self, cycle: int) -> _Issues:
        """Return the issues from a cycle on."""
        cut = int(np.searchsorted(self.cycles, cycle))
        return _Issues(self.keys[cut:], self.cycles[cut:])


class _Page:
    """A page, read one line at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        runs = [match[1] for line in self._lines() if (match := _RUN.fullmatch(line))]
        if len(runs) != 1:
            raise PageError(f"{path}: not a page of one run: make it with `metronome trace -o FILE.html`")
        self.run: dict[str, Any] = json.loads(runs[0])
        #: The rows of the schedulers.
        self._slots = [place for place, each in enumerate(self.run["states"]) if each["group"] == "sm"]
        #: The number of schedulers.
        self.schedulers = len(self._slots)
        #: The pc for each instruction number; pcs are common to both runs.
        self._pcs = np.array([code[0] for code in self.run["codes"]], np.int64)
        #: For each pc, its instruction and source line.
        self._texts = {pc: f"{text}; {self.run['places'][place]['line']}" for pc, text, _, place in self.run["codes"]}

    def _lines(self) -> Iterator[bytes]:
        with self.path.open("rb") as file:
            yield from file

    def blocks(self) -> Iterator[tuple[int, int, bytes]]:
        """Return the level, number and text of each block."""
        for line in self._lines():
            match = _BLOCK.fullmatch(line)
            if match:
                yield int(match[2]), int(match[3]), match[4]

    def cycles(self) -> Iterator[_Cycles]:
        """Return the selection in every cycle, block by block."""
        states, first = len(self.run["states"]), 0
        before = states + 2 * len(self.run["numbers"])
        for level, _, text in self.blocks():
            if level:
                continue
            content = zlib.decompress(base64.b64decode(text))
            count = len(content) // (before + 8 * self.schedulers)
            rows = np.frombuffer(content, np.uint8, states * count).reshape(states, count)
            codes = np.frombuffer(content, "<u4", count * self.schedulers, offset=before * count)
            keys = [
                self._keys(rows, its, partition) for partition, its in enumerate(codes.reshape(self.schedulers, count))
            ]
            yield _Cycles(first, np.array(keys).T, rows[self._slots].T)
            first += count

    def _keys(self, rows: np.ndarray, codes: np.ndarray, partition: int) -> np.ndarray:
        """Return the selection of a partition in each cycle."""
        uses = rows[partition : self.run["warps"] : self.schedulers]
        chosen = (uses > 0) & (uses <= 1 + USES.index("nop_redirect"))
        warp, selected = chosen.argmax(axis=0) * self.schedulers + partition, chosen.any(axis=0)
        what = np.where((uses == 1).any(axis=0), 2 * self._pcs[codes] + 1, 0)
        return np.where(selected, warp << 40 | what, -1)

    def issues(self) -> Iterator[_Issues]:
        """Return the issues of each block."""
        for part in self.cycles():
            at, partition = np.nonzero((part.keys >= 0) & (part.keys & 1 != 0))
            yield _Issues(part.keys[at, partition], part.first + at)

    def told(self, key: int, state: int) -> str:
        """Describe a selection in words; ``state``: that of the scheduler."""
        if key < 0:
            return f"issues nothing ({_NAMES[USES[state - 1]]})" if state else "does nothing"
        warp, what = int(key) >> 40, int(key) & (1 << 40) - 1
        pc = what >> 1
        return f"issues {pc:#010x} ({self._texts[pc]}) of warp {warp}" if what & 1 else f"issues a NOP of warp {warp}"

    def told_of(self, cycles: _Cycles, partition: int) -> str:
        """Describe the selection of a partition in the first of these cycles."""
        if self.schedulers == 1 and partition == 0:
            return self.told(cycles.keys[0, 0], cycles.slots[0, 0])
        if partition >= self.schedulers:
            return f"has no partition {partition}"
        return f"{self.told(cycles.keys[0, partition], cycles.slots[0, partition])} in partition {partition}"


def write_difference(paths: tuple[Path, Path], file: IO[bytes]) -> list[dict[str, Any] | None]:
    """Write the page of both runs, and return the origin of each (:mod:`sim.build.origin`); None if its page has none.

    Raises
    ------
    PageError
        If a file is not a page of one run, or if the runs cannot be compared.
    OSError
        If a file cannot be read or written.
    """
    pages = [_Page(path) for path in paths]
    file.seek(0)
    file.truncate()
    facts = [page.run["facts"] for page in pages]
    origins = [page.run.get("origin") for page in pages]
    file.write(page_head(" and ".join(dict.fromkeys(page.run["name"] for page in pages)), facts, origins))
    for number, page in enumerate(pages):
        for level, block, text in page.blocks():
            file.write(block_line(number, level, block, text))
    file.write(page_tail([page.run for page in pages], _differences(*pages)))
    return origins


def _differences(one: _Page, other: _Page) -> dict[str, Any]:
    """Find the first differences in the three alignments; ``start`` names the one with which the page begins.

    A different order of instructions in the measured region matters most, then different cycles there. Differences
    before the region, and differences of NOPs alone, matter least.
    """
    begins = [page.run["regions"][0][0] if page.run["regions"] else 0 for page in (one, other)]
    found = {
        "order": _of_order(one, other, *begins), "region": _of_cycles(one, other, *begins),
        "cycle": _of_cycles(one, other, 0, 0),
    }
    return found | {"start": next((name for name, each in found.items() if each is not None), "order")}


def _of_cycles(one: _Page, other: _Page, *begins: int) -> dict[str, Any] | None:
    """Find the first cycle after ``begins`` in which the selections differ."""
    parts = [[part.since(begin) for part in page.cycles()] for page, begin in zip((one, other), begins, strict=True)]
    partitions = max(one.schedulers, other.schedulers)
    key = _parting([[part.padded(partitions) for part in its] for its in parts])
    if key is None:
        return None
    place, partition = divmod(key, partitions)
    cycles, texts = [], []
    for page, its, begin, name in zip((one, other), parts, begins, "AB", strict=True):
        cycle = begin + place
        cycles.append(cycle if cycle < page.run["cycles"] else None)
        found = [part.since(cycle) for part in its if part.first <= cycle < part.first + len(part.keys)]
        texts.append(f"{name} {page.told_of(found[0], partition) if found else 'is over'}")
    after = f" after the start of the measured region ({begins[0]:,} and {begins[1]:,})" if any(begins) else ""
    return {"cycles": cycles, "text": f"cycle {place:,}{after}: {', '.join(texts)}"}


def _of_order(one: _Page, other: _Page, *begins: int) -> dict[str, Any] | None:
    """Find the first instruction from ``begins`` on at which the order of issue differs, without NOPs and waiting."""
    parts = [[part.after(begin) for part in page.issues()] for page, begin in zip((one, other), begins, strict=True)]
    place = _parting([[part.keys for part in its] for its in parts])
    if place is None:
        return None
    cycles: list[int | None] = []
    texts = []
    for page, its, name in zip((one, other), parts, "AB", strict=True):
        at = place
        for part in its:
            if at < len(part.keys):
                cycles.append(int(part.cycles[at]))
                texts.append(f"{name} {page.told(part.keys[at], 0)} in cycle {part.cycles[at]:,}")
                break
            at -= len(part.keys)
        else:
            cycles.append(None)
            texts.append(f"{name} has issued all")
    where = "of the measured region " if any(begins) else ""
    return {"cycles": cycles, "text": f"instruction {place:,} {where}in the order of issue: {', '.join(texts)}"}


def _parting(sides: list[list[np.ndarray]]) -> int | None:
    """Find the first index at which two sequences of numbers, each given in pieces, differ."""
    one, other = (np.concatenate([np.zeros(0, np.int64), *pieces]) for pieces in sides)
    common = min(len(one), len(other))
    differ = np.flatnonzero(one[:common] != other[:common])
    if len(differ):
        return int(differ[0])
    return None if len(one) == len(other) else common
