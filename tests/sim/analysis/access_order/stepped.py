"""The golden model, one warp at a time in a random order: its accesses, and what orders them in every run."""

import random
from collections.abc import Iterator

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.sim.machine.golden import Iss
from metronome.sim.machine.golden.view import View
from metronome.sim.machine.memory.stacks import to_bus
from metronome.sim.program.kernels import Launch
from metronome.sim.run.runner import job_of
from metronome.sim.run.types import unpack_memory
from tests.sim.analysis.access_order.programs import request_of

Place = tuple[int, int]


class Stepped:
    """A ``Watch`` of the golden model. ``accesses``: (pc, store, lines) of each warp that touch global memory.

    ``cuts``: at a meeting, how many accesses each warp had behind it, and the warps that go on from there.
    """

    def __init__(self, config: SmConfig, launch: Launch, seed: int) -> None:
        job = job_of(config, request_of(config, launch))
        self._config = config
        self._iss = Iss(config, unpack_memory(config, job.pages))
        self._iss.launch(job.start_pc, job.arg)
        self._iss.watch = self
        self.accesses: list[list[tuple[int, bool, tuple[int, ...]]]] = [[] for _ in range(config.warps)]
        self.cuts: list[tuple[dict[int, int], list[int]]] = []
        rng = random.Random(seed)
        while not self._iss.ended:
            ready = [warp for warp, active in enumerate(self._iss.active) if active and self._iss.waiting[warp] is None]
            warp = rng.choice(ready)
            for _ in range(rng.choice((1, 1, 5, 200))):
                if self._iss.active[warp] and self._iss.waiting[warp] is None:
                    assert self._iss.step(warp).fault is None

    def before(self, view: View, pc: int, word: int) -> None:
        """Of no interest."""

    def access(
        self, warp: int, pc: int, lanes: np.ndarray, addresses: np.ndarray, size: int, data: np.ndarray | None
    ) -> None:
        local = self._config.memory_map.local
        lines: list[int] = []
        for address in addresses.tolist():
            line = to_bus(self._config, address) // 64
            if not local <= address < local + self._config.local_bytes and line not in lines:
                lines.append(line)
        if lines:
            self.accesses[warp].append((pc, data is not None, tuple(lines)))

    def barrier(self, warps: list[int]) -> None:
        self.cuts.append(({warp: len(self.accesses[warp]) for warp in warps}, warps))

    def spawn(self, issuer: int, mask: int, warps: list[int]) -> None:
        everyone = {warp: len(rows) for warp, rows in enumerate(self.accesses)}
        self.cuts.append((everyone, [issuer, *warps]))

    def ordered(self) -> Iterator[tuple[Place, Place]]:
        """Pairs of accesses, (warp, number), of which the first comes before the second in every run."""
        for before, after in self.cuts:
            for first, count in before.items():
                for second in after:
                    behind = len(self.accesses[second]), len(self.accesses[first])
                    if count and before.get(second, 0) < behind[0]:
                        yield (first, count - 1), (second, before.get(second, 0))
