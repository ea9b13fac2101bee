"""Cycle-by-cycle comparison of a warp policy in plain Python with its hardware, for the author of a policy."""

from __future__ import annotations

import random
from dataclasses import dataclass, fields
from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from metronome.hdl.config import SmConfig
from metronome.hdl.frontend.scheduler import Scheduler
from metronome.sim.machine.policies.base import DeclaredInputs, PolicyInputs
from metronome.sim.machine.policies.files import PolicyFileError, load, loaded, require_hardware, require_python
from metronome.sim.machine.policies.plain import POLICIES

__all__ = ["Disagreement", "disagreement"]

#: Sets of warps, as bits.
_SETS = ("eligible", "active", "waiting", "activated")


@dataclass(frozen=True)
class Disagreement:
    """The first cycle in which the two classes select different warps."""

    cycle: int
    state: Any  # of the class in plain Python, before the cycle
    inputs: PolicyInputs
    in_python: int | None  # the warp that each class selects
    in_hardware: int | None

    def __str__(self) -> str:
        asked = [f"{each.name}={_shown(each.name, getattr(self.inputs, each.name))}" for each in fields(self.inputs)]
        first = f"cycle {self.cycle}: Python selects {_warp(self.in_python)}, the hardware {_warp(self.in_hardware)}"
        return "\n".join([first, f"  state  {self.state}", f"  inputs {', '.join(asked)}"])


def _warp(number: int | None) -> str:
    return "no warp" if number is None else f"warp {number}"


def _shown(name: str, value: Any) -> str:
    if name not in _SETS:
        return str(value)
    return f"{{{', '.join(str(w) for w in range(value.bit_length()) if value >> w & 1)}}}"


def disagreement(
    text: str, *, warps: int = 4, threads: int = 4, cycles: int = 2000, seed: int = 1
) -> Disagreement | None:
    """Drive both classes of a policy's file with the same random inputs from reset.

    Parameters
    ----------
    text
        ``FILE.py`` or ``FILE.py:CLASS``.
    warps, threads
        The size of the machine.
    cycles, seed
        The number of cycles, and the seed of the inputs.

    Returns
    -------
    The first cycle in which they differ, or None.

    Raises
    ------
    PolicyFileError
        If the file lacks one of the classes.
    """
    name = load(text)
    require_python(name)
    require_hardware(loaded([name]))
    config = SmConfig(warps=warps, threads=threads, policies=(name,))
    policy, dut, rng = POLICIES[name].of(config), Scheduler(config), random.Random(seed)
    found: list[Disagreement] = []

    async def testbench(ctx: Any) -> None:
        state, active, waiting = policy.reset(), 0, 0
        for cycle in range(cycles):
            inputs = _inputs(rng, config, active, waiting)
            for field in _SETS:
                ctx.set(getattr(dut, field), getattr(inputs, field))
            for w in range(warps):
                ctx.set(dut.lanes[w], inputs.lanes[w])
                ctx.set(dut.fetched[w], inputs.fetched[w])
            seen: Any = DeclaredInputs(inputs, policy.reads)
            picked, selected = policy.pick(state, seen), ctx.get(dut.select)
            if ctx.get(dut.select_valid) != (selected != 0):
                raise PolicyFileError(f"{text}: a policy that may select no warp although one is eligible needs "
                                      "idles = True in its class for the hardware")
            if selected != (0 if picked is None else 1 << picked):
                number = selected.bit_length() - 1 if selected else None
                found.append(Disagreement(cycle, state, inputs, picked, number))
                return
            state = policy.update(state, seen, picked)
            await ctx.tick()
            active = (active | inputs.activated) & ~(_some(rng, warps, 40))
            waiting = (waiting & ~_some(rng, warps, 3) | _some(rng, warps, 20)) & active

    # A policy without state has no register, and so no clock of its own.
    top, cycle_is_odd = Module(), Signal()
    top.submodules.dut = dut
    top.d.sync += cycle_is_odd.eq(~cycle_is_odd)
    simulator = Simulator(top)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()
    return found[0] if found else None


def _inputs(rng: random.Random, config: SmConfig, active: int, waiting: int) -> PolicyInputs:
    """Draw inputs that a machine could produce: only active warps that do not wait can be eligible."""
    warps = config.warps
    return PolicyInputs(
        eligible=active & ~waiting & rng.getrandbits(warps), active=active, waiting=waiting,
        activated=_some(rng, warps, 8) & ~active,
        lanes=tuple(rng.randint(1, config.threads) if active >> w & 1 else 0 for w in range(warps)),
        fetched=tuple(rng.randint(0, config.buffer_depth) for _ in range(warps)),
    )


def _some(rng: random.Random, warps: int, one_in: int) -> int:
    """Draw a set that contains each warp with probability 1/``one_in``."""
    return sum((rng.randrange(one_in) == 0) << w for w in range(warps))
