"""Checks of the hardware class of a policy from a file, before a machine is built with it."""

from __future__ import annotations

import dataclasses
import functools
import re
from typing import Any

from metronome.hdl.config import SmConfig

from .files import WITH_LOST, PolicyFileError, line_of, loaded, policy_code, require_inputs, text_of

__all__ = ["require_hardware"]


#: The most warps of a machine for which a class is checked.
_WARPS = 8


class _NoHardware(Exception):
    """A fault of a class; the text says which."""


def require_hardware(config: SmConfig) -> None:
    """Check the policies of ``config`` that come from files.

    Raises
    ------
    PolicyFileError
        If a policy has no class for the hardware, reads an input that the machine does not have, or describes no
        hardware. Its pick must have one bit for each warp, its reset values must fit, and its only clock is ``sync``.
    """
    files = loaded((*config.policies, *config.fetch_policies))
    for file in files.values():
        if not file.in_hardware:
            raise PolicyFileError(
                f"{file.path.name} has no class {file.class_name}Hardware for the hardware: write it, or use "
                "metronome predict or --engine predict"
            )
    require_inputs(config)
    for name in files:
        if (line := _fault(name, config)) is not None:
            raise PolicyFileError(line)


@functools.cache
def _fault(name: str, config: SmConfig) -> str | None:
    """The line that refuses the hardware class of a loaded policy; None if there is no fault."""
    (file,) = loaded([name]).values()
    title = f"class {file.class_name}Hardware"
    try:
        with policy_code():
            text = _elaborated(name, _small(config))
    except KeyboardInterrupt:
        raise
    except _NoHardware as error:
        return f"{file.path}: {title}: {error}"
    except BaseException as error:  # SystemExit, too
        return f"{file.path}{line_of(error, file.path)}: {title}: {text_of(error).removesuffix(', path:')}"
    # The declaration of the port is the only line with this name if nothing reads it.
    if not config.watches_locality and len(re.findall(r"\\lost\b", text)) > 1:
        return f"{file.path}: {title} reads lost, {WITH_LOST}"
    return None


def _small(config: SmConfig) -> SmConfig:
    """Return a machine with few warps, because the check of many takes long; ``config`` itself if it needs many."""
    if config.warps <= _WARPS:
        return config
    try:
        return dataclasses.replace(config, warps=_WARPS, group_warps=0, rates=())
    except ValueError:
        return config


def _elaborated(name: str, config: SmConfig) -> str:
    """Return the RTLIL of this policy alone; its inputs are ports."""
    from amaranth.back import rtlil  # type: ignore[attr-defined]  # the stubs lack this module
    from amaranth.hdl import ClockDomain, Module, Signal

    from metronome.hdl.layouts.control import change_layout
    from metronome.hdl.policies import POLICIES, PolicyInputs

    warps = config.warps
    sets: dict[str, Any] = {each: Signal(warps, name=each) for each in ("eligible", "active", "waiting", "activated")}
    shapes = {"lanes": range(config.threads + 1), "fetched": range(config.buffer_depth + 1)}
    numbers: dict[str, Any] = {
        each: [Signal(shape, name=f"{each}_{w}") for w in range(warps)] for each, shape in shapes.items()
    }
    lost = Signal(warps, name="lost")
    change: Any = Signal(change_layout(), name="change")
    inputs = PolicyInputs(**sets, **numbers, lost=lost, change=change if config.policy_csr else None)
    m, selected, selects = Module(), Signal(warps, name="selected"), Signal(name="selects")
    ports: list[Any] = [lost, change.as_value(), selected]
    m.submodules.inputs = driver = Module()  # so that a class that assigns to an input is a second driver
    for signal in (*sets.values(), *numbers["lanes"], *numbers["fetched"]):
        ports.append(Signal.like(signal, name=f"of_{signal.name}"))
        driver.d.comb += signal.eq(ports[-1])
    policy = POLICIES[name].of(config)
    state = _state(policy)
    m.d.comb += [selected.eq(_pick(policy, state, inputs)), selects.eq(selected.any())]
    policy.update(m, state, dataclasses.replace(inputs, selects=selects), selected=selected)
    return str(rtlil.convert(
        m, ports=ports, emit_src=False,
        missing_domain=lambda domain: ClockDomain(domain) if domain == "sync" else None,
    ))


def _state(policy: Any) -> Any:
    """Return the registers of the policy."""
    from amaranth.hdl import Const, Signal
    from amaranth.lib import data

    layout, reset = policy.state_layout(), policy.state_reset()
    if not isinstance(layout, data.Layout):
        raise _NoHardware(f"state_layout returned {layout!r}, and must return a data.StructLayout")
    for field, value in reset.items():
        if isinstance(value, int) and field in dict(layout) and Const(value, layout[field].width).value != value:
            raise _NoHardware(f"the reset value of {field}, {value}, has more than {layout[field].width} bits")
    return Signal(layout, init=reset, name=f"{policy.name}_state")


def _pick(policy: Any, state: Any, inputs: Any) -> Any:
    """Return the pick, if it can be a one-hot vector of the warps."""
    from amaranth.hdl import Value

    picked = policy.pick(state, inputs)
    try:
        bits = len(Value.cast(picked))
    except TypeError:
        raise _NoHardware(f"pick returned {picked!r}, and must return a vector with one bit for each warp") from None
    if bits != len(inputs.eligible):
        raise _NoHardware(f"pick returned a value of width {bits}, and must return one bit for each of the "
                          f"{len(inputs.eligible)} warps")
    return picked
