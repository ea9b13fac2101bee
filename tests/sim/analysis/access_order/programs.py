"""What the tests of the analyzer have in common: programs, and what the machine does with them."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.hdl.isa.ops import Unit
from metronome.sim.analysis.access_order.analyzer import analyze
from metronome.sim.analysis.access_order.records import Access, Listing
from metronome.sim.analysis.code.decoding import decode
from metronome.sim.machine.events import NONE
from metronome.sim.predict.predictor import predict
from metronome.sim.program.kernels import Launch
from metronome.sim.run.types import RunRequest
from tests.support.programs import prepared


class Looked(NamedTuple):
    """A load or store as the lookup has seen it."""

    store: bool
    lines: tuple[int, ...]
    uncached: tuple[bool, ...]


class Lookups:
    """A watcher (:class:`sim.run.types.Watcher`): by warp, which loads and stores it executes and looks up."""

    def __init__(self, warps: int) -> None:
        self._warps = warps
        self.begin()

    def begin(self) -> None:
        self.pcs: list[list[int]] = [[] for _ in range(self._warps)]
        self._rows: list[list[Looked]] = [[] for _ in range(self._warps)]

    @property
    def looked(self) -> list[list[Looked]]:
        return self._rows

    def take(self, events: np.ndarray) -> None:
        executed = events[events["executed"] != NONE]
        for warp, pc, word in zip(
            executed["executed"].tolist(), executed["executed_pc"].tolist(), executed["executed_word"].tolist(),
            strict=True,
        ):
            code = decode(word & 0xFFFF_FFFF)
            if code is not None and code.unit is Unit.LSU:
                self.pcs[warp].append(pc & 0xFFFF_FFFF)
        accesses = events[events["access"] != 0]
        for warp, first, store, line, uncached in zip(
            *(accesses[name].tolist() for name in ("access_warp", "first", "store", "line", "uncached")), strict=True
        ):
            self.look_up(warp, first, store, line, uncached)

    def look_up(self, warp: int, first: int, store: int, line: int, uncached: int) -> None:
        rows = self._rows[warp]
        if first:
            rows.append(Looked(bool(store), (), ()))
        last = rows[-1]
        assert last.store == bool(store)
        rows[-1] = last._replace(lines=(*last.lines, line), uncached=(*last.uncached, bool(uncached)))


def listing_of(config: SmConfig, launch: Launch) -> Listing:
    """What the analyzer says."""
    return analyze(config, request_of(config, launch), launch)


def request_of(config: SmConfig, launch: Launch) -> RunRequest:
    return RunRequest(launch=launch, policy=config.policies[0])


def by_warp(config: SmConfig, listing: Listing) -> list[list[Access]]:
    """The accesses of the whole run, in the order of each warp."""
    rows: list[list[Access]] = [[] for _ in range(config.warps)]
    for each in listing.sequence:
        rows[each.warp].append(each)
    return rows


def predicted(config: SmConfig, launch: Launch) -> Lookups:
    """What the predicted machine does."""
    lookups = Lookups(config.warps)
    predict(config, request_of(config, launch), watcher=lookups)
    return lookups


def differences(config: SmConfig, listing: Listing, seen: Lookups) -> list[str]:
    """Where the machine does something else than the listing says, a line each."""
    found = []
    for warp, (listed, looked, pcs) in enumerate(zip(by_warp(config, listing), seen.looked, seen.pcs, strict=True)):
        told = [
            Looked(each.store, each.lines, tuple(line < listing.user_line for line in each.lines)) for each in listed
        ]
        if told != looked:
            at = next((n for n, pair in enumerate(zip(told, looked, strict=False)) if pair[0] != pair[1]), "the end")
            found.append(f"warp {warp}: {len(told)} listed, {len(looked)} looked up, the first other at {at}")
        # What is left out touches local memory only.
        rest = iter(pcs)
        if not all(any(pc == each.pc for pc in rest) for each in listed):
            found.append(f"warp {warp}: the pcs are others")
        known = {each.pc for each in listing.sequence}
        if len([pc for pc in pcs if pc in known]) < len(listed):
            found.append(f"warp {warp}: too few of the pcs are executed")
    return found


def compiled(folder: Path, text: str, config: SmConfig) -> Launch:
    """A program of C, with the runtime."""
    return prepared(folder, '#include "metronome.h"\n' + text, config)
