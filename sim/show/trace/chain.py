"""The critical path of a run through its warps: backwards from the warp that ended last, along the waits.

It is the chain in the argument about bounds (docs/wcet.md, "Work-conserving").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.hdl.isa.ops import Unit

from ...machine.events import NONE
from ...program.assembler.disassembly import unit_of
from .cycles import Cycles

__all__ = ["Chain", "Link"]


class Link(NamedTuple):
    """The path is on ``warp`` from cycle ``begin`` until the next link begins."""

    begin: int
    warp: int


class _Node(NamedTuple):
    link: Link
    before: _Node | None


class Chain:
    """A sink of cycles (:class:`sim.show.trace.cycles.Sink`): :attr:`links` is the path when the run is over.

    A warp released from a barrier has waited for the last warp to arrive. Warps started by a wspawn, and the warp that
    continues after it, have waited for the wspawn, or for the last warp that ended before it could start them.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config, self._warps = config, config.warps

    def begin(self) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        #: For each warp, the path that leads to its current activity.
        self._nodes: list[_Node | None] = [None] * self._warps
        #: For each warp, the cycle of its last wspawn or barrier, and the cycle in which it ended.
        self._came = [NONE] * self._warps
        self._ended = [NONE] * self._warps
        #: Whether warps have just been started; the warp that started them then continues.
        self._spawned = False
        self._last = NONE
        self._active = self._cycles = 0

    def take(self, partitions: Sequence[Cycles]) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        states = {name: _union(_with_before(each, name) for each in partitions) for name in ("active", "waiting")}
        changes = (np.diff(states["active"]) != 0) | (np.diff(states["waiting"]) != 0)
        activates = _union(each.events["activates"] for each in partitions)
        releases, last = self._releases(partitions)
        changes |= (releases != 0) | (activates != 0)
        for at in np.flatnonzero(changes).tolist():
            self._step(
                self._cycles + at, {name: (int(each[at]), int(each[at + 1])) for name, each in states.items()},
                int(releases[at]), int(last[at]), int(activates[at]),
            )
        self._cycles += len(activates)
        self._active = int(states["active"][-1])

    def _releases(self, partitions: Sequence[Cycles]) -> tuple[np.ndarray, np.ndarray]:
        """Return for each cycle the warps whose bar or wspawn was over in the previous one, and the last to arrive.

        Both are sets of warps; there is at most one last warp.
        """
        releases, lasts = [], []
        for cycles in partitions:
            executed = _with_before(cycles, "executed")
            releases.append(_with_before(cycles, "release"))
            lasts.append(np.where(executed != NONE, 1 << np.maximum(executed, 0), 0))
        release, last = _union(releases), _union(lasts)
        if not self._config.operand_register:
            return release[1:], last[:-1] & release[1:]
        # Control flow without a redirect is a release in its stage X, also that of the last warp to arrive.
        onward = last & release
        others = release[1:] & ~onward[1:]
        last = _union(
            np.where(_is_simt(_with_before(cycles, "executed_word")), each, 0)
            for cycles, each in zip(partitions, lasts, strict=True)
        ) & onward
        release = np.where(others != 0, others | last[:-1], 0)
        return release, last[:-1] & release

    def _step(self, cycle: int, states: dict[str, tuple[int, int]], release: int, last: int, activates: int) -> None:
        """Process a cycle in which something changes; ``states`` has the previous and current value of each state."""
        (was_active, active), (was_waiting, waiting) = states["active"], states["waiting"]
        for warp in range(self._warps):
            if waiting >> warp & 1 and not was_waiting >> warp & 1:
                self._came[warp] = cycle
            if was_active >> warp & 1 and not active >> warp & 1:
                self._ended[warp] = cycle
                self._last = warp
        # The last warp to arrive at a barrier did so in the previous cycle.
        if last:
            arrived = last.bit_length() - 1
            for warp in range(self._warps):
                if release >> warp & 1 and warp != arrived:
                    self._go_on(cycle, warp, arrived)
        elif activates or (release and not self._spawned):
            self._start(cycle, active, activates)
        self._spawned = activates != 0

    def _start(self, cycle: int, active: int, activates: int) -> None:
        """Start warps: by the launch, or by the only active warp, which may have waited to become the only one."""
        spawner = active.bit_length() - 1
        last = spawner
        if spawner != NONE:
            ended = max(range(self._warps), key=lambda warp: self._ended[warp])
            if self._ended[ended] > self._came[spawner]:
                last = ended
                self._go_on(cycle, spawner, last)
        for warp in range(self._warps):
            if activates >> warp & 1:
                self._go_on(cycle, warp, last)

    def _go_on(self, cycle: int, warp: int, after: int) -> None:
        """Let ``warp`` continue in ``cycle``, after it waited for the warp ``after``; NONE: for the launch."""
        self._nodes[warp] = _Node(Link(cycle, warp), self._nodes[after] if after != NONE else None)

    def finish(self) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""

    @property
    def links(self) -> list[Link]:
        """The links from the launch to the last end of a warp, or to the point at which the run was over."""
        # The last warp ends in the last cycle.
        last = self._active.bit_length() - 1 if self._active else self._last
        links = []
        node = self._nodes[last] if last != NONE else None
        while node is not None:
            links.append(node.link)
            node = node.before
        return links[::-1]


def _with_before(cycles: Cycles, name: str) -> np.ndarray:
    """Return a field in the cycle before these cycles, and in each of them."""
    return np.concatenate([cycles.before[name], cycles.events[name]])


def _union(sets: Iterable[np.ndarray]) -> np.ndarray:
    """Return for each cycle the warps of the SM that are in the set of a partition."""
    return np.bitwise_or.reduce(list(sets))


def _is_simt(words: np.ndarray) -> np.ndarray:
    """Return which of these instructions are SIMT instructions, such as bar."""
    values, places = np.unique(words, return_inverse=True)
    return np.array([unit_of(word) is Unit.SIMT for word in values.tolist()])[places]
