"""Runs a testbench in Amaranth's simulator; shared by the tests of small parts, front end and issue side."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from operator import attrgetter
from typing import Any

from amaranth.hdl import Elaboratable
from amaranth.sim import Simulator

__all__ = ["bit_list", "evaluate", "maybe", "port", "simulate", "some_bit"]

Testbench = Callable[[Any], Awaitable[None]]


def simulate(design: Elaboratable, testbench: Testbench) -> None:
    """Runs ``testbench`` to its end with a clock on domain ``sync``."""
    sim = Simulator(design)
    sim.add_clock(1e-6)
    sim.add_testbench(testbench)
    sim.run()


def evaluate(design: Elaboratable, testbench: Testbench) -> None:
    """The same for a design without a clock."""
    sim = Simulator(design)
    sim.add_testbench(testbench)
    sim.run()


def port(component: Any, path: str) -> Any:
    """The port of ``component`` at ``path``: its name, behind those of the interfaces around it (``"fill.asked"``)."""
    return attrgetter(path)(component)


def bit_list(mask: int) -> list[int]:
    """The numbers of the set bits, lowest first."""
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def maybe(rng: random.Random, probability: float) -> bool:
    """True with this probability."""
    return rng.random() < probability


def some_bit(rng: random.Random, width: int) -> int:
    """A one-hot vector of ``width`` bits, or 0."""
    return (1 << rng.randrange(width + 1)) & ((1 << width) - 1)
