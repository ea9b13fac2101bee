"""Runs a testbench in Amaranth's simulator; shared by the tests of small parts, front end and issue side."""

import functools
import inspect
import random
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from typing import Any

from amaranth.hdl import Cat, Const, Elaboratable, ResetInserter, Shape, ShapeCastable, Signal
from amaranth.sim import Simulator, SimulatorContext

__all__ = ["Simulation", "bit_list", "drive", "maybe", "port", "pulse", "set_all", "simulate", "simulated", "some_bit",
           "told"]

Testbench = Callable[[Any], Awaitable[None]]


class Simulation:
    """A design that is compiled once, which can take seconds, for many runs; each begins with power-up."""

    def __init__(self, design: Elaboratable, *background: Testbench) -> None:
        """``background``: testbenches that run beside that of each run."""
        self._simulator = Simulator(design)
        self._simulator.add_clock(1e-6)
        self._simulator.add_testbench(self._play)
        for each in background:
            self._simulator.add_testbench(each, background=True)
        self._testbench: Testbench | None = None

    async def _play(self, ctx: SimulatorContext) -> None:
        assert self._testbench is not None
        await self._testbench(ctx)

    def run(self, testbench: Testbench) -> None:
        if self._testbench is not None:
            self._simulator.reset()
        self._testbench = testbench
        self._simulator.run()


def drive(ctx: SimulatorContext, component: Any, **values: Any) -> None:
    """Set ports of a component, or members of an interface, by name, one after the other."""
    for name, value in values.items():
        ctx.set(getattr(component, name), value)


async def pulse(ctx: SimulatorContext, signal: Any) -> None:
    """One cycle with ``signal``: a reset."""
    ctx.set(signal, 1)
    await ctx.tick()
    ctx.set(signal, 0)


def set_all(ctx: SimulatorContext, values: Iterable[tuple[Any, Any]]) -> None:
    """Set each (port, value) at once: with ``ctx.set`` the whole design settles after each of them."""
    ports, word, offset = [], 0, 0
    for port, value in values:
        shape = port.shape()
        const = Const.cast(shape.const(value)) if isinstance(shape, ShapeCastable) else Const(value, shape)
        ports.append(port)
        word |= (const.value & (1 << len(const)) - 1) << offset
        offset += Shape.cast(shape).width
    ctx.set(Cat(*ports), word)


def simulate(design: Elaboratable, *testbenches: Testbench) -> None:
    """Run the testbenches to their ends, with a clock on domain ``sync`` if the design has it."""
    sim = Simulator(design)
    sim.add_clock(1e-6, if_exists=True)
    for each in testbenches:
        sim.add_testbench(each)
    sim.run()


@contextmanager
def told(what: str) -> Iterator[None]:
    """Where an assertion that fails says ``what`` first, as the seed."""
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{what}: {error}") from error


def simulated(make: Callable[..., Any], *, resets: bool = False) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Make a test of a testbench ``async def test_x(ctx, dut, ...)``, whose other parameters are the test's.

    ``make`` gives the design from those of its names; or what has one as ``dut``: a bench. With ``resets`` the third
    parameter is the signal that resets it.
    """
    # Of a component's class some versions of Python say ``*args, **kwargs``.
    wanted = {name: each for name, each in inspect.signature(make).parameters.items()
              if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)}

    def decorate(testbench: Callable[..., Any]) -> Callable[..., None]:
        signature = inspect.signature(testbench)
        _, bench, *own = signature.parameters.values()
        reset = own.pop(0) if resets else None
        more = [each for name, each in wanted.items() if name not in signature.parameters]

        @functools.wraps(testbench)
        def test(**parameters: Any) -> None:
            made = make(**{name: parameters[name] for name in wanted})
            design, handed = getattr(made, "dut", made), {bench.name: made}
            if reset:
                handed[reset.name] = Signal()
                design = ResetInserter(handed[reset.name])(design)
            handed.update((each.name, parameters[each.name]) for each in own)
            simulate(design, functools.partial(testbench, **handed))

        test.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
        return test

    return decorate


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
