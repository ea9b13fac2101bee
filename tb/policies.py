"""Cycle-by-cycle comparison of a warp policy in plain Python with its hardware, for the author of a policy."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from metronome.hdl.config import SmConfig
from metronome.hdl.frontend.scheduler import Scheduler
from metronome.hdl.isa.csrs import PolicyParameter
from metronome.sim.machine.policies.base import DeclaredInputs, Policy, PolicyInputs, eligible_pick
from metronome.sim.machine.policies.files import (
    PolicyFileError,
    line_of,
    load,
    loaded,
    policy_code,
    require_python,
    text_of,
)
from metronome.sim.machine.policies.hardware import require_hardware
from metronome.sim.machine.policies.plain import POLICIES

__all__ = ["Disagreement", "disagreement"]

#: Sets of warps, as bits.
_SETS = ("eligible", "active", "waiting", "activated", "lost")


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
    if name == "change":
        return f"{value:#010x}"
    if not isinstance(value, int):
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
        If the file lacks one of the classes, or a class raises an exception or selects a warp that is not eligible.
    """
    name = load(text)
    require_python(name)
    config = _config(name, warps, threads)
    require_hardware(config)
    asked = _Asked(name, config)
    dut, rng = Scheduler(config, policies=(name,)), random.Random(seed)
    found: list[Disagreement] = []

    async def testbench(ctx: Any) -> None:
        active = waiting = 0
        for cycle in range(cycles):
            inputs = _inputs(rng, config, asked.reads, active, waiting)
            _drive(ctx, dut, inputs)
            picked = asked.pick(cycle, inputs)
            selected = ctx.get(dut.select)
            number = _number(text, cycle, selected, inputs)
            if number is None and ctx.get(dut.select_valid):
                raise PolicyFileError(f"{text}: a policy that may select no warp although one is eligible needs "
                                      "idles = True in its class for the hardware")
            if number != picked:
                found.append(Disagreement(cycle, asked.state, inputs, picked, number))
                return
            asked.update(cycle, inputs, picked)
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


def _config(name: str, warps: int, threads: int) -> SmConfig:
    """Return a machine that has the inputs that the policy reads."""
    reads = POLICIES[name].reads
    return SmConfig(
        warps=warps, threads=threads, policies=(name, "ccws") if "lost" in reads else (name,),
        policy_csr="change" in reads,
    )


class _Asked:
    """The class in plain Python with its state; whatever it raises is a PolicyFileError."""

    def __init__(self, name: str, config: SmConfig) -> None:
        (self._file,) = loaded([name]).values()
        with self._errors("at the start"):
            self._policy: Policy[Any] = POLICIES[name].of(config)
            self.reads = tuple(self._policy.reads)
            self.state = self._policy.reset()

    @contextlib.contextmanager
    def _errors(self, when: str) -> Iterator[None]:
        path = self._file.path
        try:
            with policy_code():
                yield
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            place = f"{path}{line_of(error, path)}: class {self._file.class_name}"
            raise PolicyFileError(f"{place}, {when}: {text_of(error)}") from None

    def pick(self, cycle: int, inputs: PolicyInputs) -> int | None:
        """Return the pick of a cycle."""
        picked: int | None = None
        with self._errors(f"cycle {cycle}"):
            picked = eligible_pick(self._policy.pick(self.state, self._seen(inputs)), inputs.eligible)
        return picked

    def update(self, cycle: int, inputs: PolicyInputs, picked: int | None) -> None:
        """Update the state at the end of a cycle."""
        with self._errors(f"cycle {cycle}"):
            self.state = self._policy.update(self.state, self._seen(inputs), picked)

    def _seen(self, inputs: PolicyInputs) -> Any:
        return DeclaredInputs(inputs, self.reads)


def _drive(ctx: Any, dut: Scheduler, inputs: PolicyInputs) -> None:
    for field in _SETS:
        ctx.set(getattr(dut, field), getattr(inputs, field))
    for w, (lanes, fetched) in enumerate(zip(inputs.lanes, inputs.fetched, strict=True)):
        ctx.set(dut.lanes[w], lanes)
        ctx.set(dut.fetched[w], fetched)
    if "change" in dut.signature.members:
        ctx.set(dut.change.as_value(), inputs.change)


def _number(text: str, cycle: int, selected: int, inputs: PolicyInputs) -> int | None:
    """Return the warp of a one-hot selection."""
    if selected & (selected - 1) or selected & ~inputs.eligible:
        raise PolicyFileError(f"{text}: in cycle {cycle} the hardware selects {_shown('select', selected)}, and may "
                              f"select one warp of {_shown('eligible', inputs.eligible)}")
    return selected.bit_length() - 1 if selected else None


def _inputs(
    rng: random.Random, config: SmConfig, reads: Sequence[str], active: int, waiting: int
) -> PolicyInputs:
    """Draw inputs that a machine could produce: only active warps that do not wait can be eligible."""
    warps = config.warps
    change = 0
    if "change" in reads and rng.randrange(16) == 0:
        change = rng.choice(list(PolicyParameter)) << 24 | rng.randrange(warps + 1) << 16 | rng.randrange(2 * warps)
    return PolicyInputs(
        eligible=active & ~waiting & rng.getrandbits(warps), active=active, waiting=waiting,
        activated=_some(rng, warps, 8) & ~active,
        lanes=tuple(rng.randint(1, config.threads) if active >> w & 1 else 0 for w in range(warps)),
        fetched=tuple(rng.randint(0, config.buffer_depth) for _ in range(warps)),
        lost=_some(rng, warps, 8) & active if "lost" in reads else 0, change=change,
    )


def _some(rng: random.Random, warps: int, one_in: int) -> int:
    """Draw a set that contains each warp with probability 1/``one_in``."""
    return sum((rng.randrange(one_in) == 0) << w for w in range(warps))
