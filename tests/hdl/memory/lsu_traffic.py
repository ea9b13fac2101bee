"""How the surroundings of the load/store unit behave, and what memory owes it."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from metronome.hdl.config import SmConfig


@dataclass
class Traffic:
    """How the surroundings behave: probabilities per cycle, and the memory's latency in cycles (1 is the shortest)."""

    latency: Callable[[random.Random, bool], int] = lambda rng, write: 1
    take: float = 1.0
    request_ready: float = 1.0
    response: float = 1.0
    wb_ready: float = 1.0
    reorder: bool = False
    bad: Callable[[int], bool] = lambda line: False


@dataclass
class Outstanding:
    """A line request that memory has taken and not answered."""

    number: int
    tag: int
    line: int
    write: bool
    written: tuple[tuple[int, int], ...]
    due: int
    data: bytes | None

    def seen_by_the_unit(self, config: SmConfig, bad: Callable[[int], bool]) -> tuple[int, bool, bool]:
        """(number of the MSHR or of the write buffer's entry, answers a write, error)."""
        return self.tag & ((1 << config.l1_tag_bits - 1) - 1), self.write, bad(self.line)
