"""The surroundings of an SM or GPU that a host starts through registers: clock domains, memory, console and wires."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import ClockDomain, DomainRenamer, Elaboratable, Module, Signal, Value

from ..config import LINE_BYTES, LINE_OFFSET_BITS, SmConfig
from ..gpu.config import GpuConfig, sm_config
from ..gpu.gpu import Gpu
from ..sm import Sm
from .console import ConsoleQueue
from .registers import ControlRegisters

__all__ = ["add_hosted_sm"]

#: The clock domains of the SM and of all around it; a design around these may have a `sync` of its own.
_OUTER, _INNER = "metronome_host", "metronome_sm"


def add_hosted_sm(
    m: Module, config: SmConfig | GpuConfig, parts: Mapping[str, Elaboratable], *, clk: Value, rst: Value,
    port: Any, idle: Value, console: int = 0,
) -> tuple[Sm | Gpu, ControlRegisters]:
    """Add an SM and its host's registers as submodules ``sm`` and ``registers``, with ``parts`` around them.

    For a :class:`hdl.gpu.config.GpuConfig` it is a GPU, which this function's text calls an SM, too: it starts, ends
    and is reset as a whole.

    While the registers hold the SM in reset, its requests are held back and answers of ``port`` are discarded.

    Parameters
    ----------
    clk, rst
        Clock and synchronous reset of everything; the registers reset the SM too.
    port
        The port of one of the parts: the memory, as the SM's own port sees it.
    idle
        Whether no access of the SM is in flight beyond ``port``.
    console
        Characters that the queue behind the register ``console`` holds; 0: none, and the register is always 0.

    Returns
    -------
    Sm or Gpu, ControlRegisters
        The caller connects the registers' host side and ``irq``.
    """
    # Both domains have one clock signal and differ only in reset: signals between them behave as in one domain.
    outer, inner = ClockDomain(_OUTER, local=True), ClockDomain(_INNER, local=True)
    outer.clk = inner.clk = clk  # type: ignore[attr-defined]  # the stubs give a domain no signals
    outer.rst = rst  # type: ignore[attr-defined]  # as above
    m.domains += [outer, inner]
    sm = Gpu(config) if isinstance(config, GpuConfig) else Sm(config)
    registers = ControlRegisters(config, console=console)
    config = sm_config(config)
    queue = {"console": ConsoleQueue(config, depth=console)} if console else {}
    for name, part in {"sm": sm, "registers": registers, **queue, **parts}.items():
        m.submodules[name] = DomainRenamer(_INNER if part is sm else _OUTER)(part)
    held, request, response, passes = registers.sm_reset, sm.mem.req, sm.mem.resp, Signal(init=1)
    for each in queue.values():
        _connect_console(m, each, sm, registers)
        m.d.comb += passes.eq(each.passes)
    m.d.comb += [
        inner.rst.eq(rst | held),  # type: ignore[attr-defined]  # as above
        port.request.valid.eq(request.valid & ~held & passes),
        port.request.payload.eq(request.payload),
        request.ready.eq(port.request.ready & ~held & passes),
        response.valid.eq(port.response.valid & ~held),
        response.payload.eq(port.response.payload),
        port.response.ready.eq(response.ready | held),
        registers.idle.eq(idle),
        sm.start.eq(registers.start), sm.start_pc.eq(registers.start_pc), sm.arg.eq(registers.arg),
        registers.busy.eq(sm.busy), registers.fault_valid.eq(sm.fault_valid), registers.fault.eq(sm.fault),
        sm.counter_index.eq(registers.counter_index),
        registers.counter_value.eq(sm.counter_value), registers.counter_valid.eq(sm.counter_valid),
    ]
    for strap in ("policy", "fetch_policy", "counter_sm"):
        if strap in sm.signature.members:
            m.d.comb += getattr(sm, strap).eq(getattr(registers, strap))
    if "fault_sm" in sm.signature.members:
        m.d.comb += registers.fault_sm.eq(sm.fault_sm)
    exit_code = config.memory_map.exit_code
    place = exit_code % LINE_BYTES
    m.d.comb += registers.exit_data.eq(request.payload.data[8 * place : 8 * place + 32])
    with m.If(request.valid & request.ready & request.payload.write
              & (request.payload.line == exit_code >> LINE_OFFSET_BITS)):
        m.d.comb += registers.exit_mask.eq(request.payload.byte_mask[place : place + 4])
    return sm, registers


def _connect_console(m: Module, queue: ConsoleQueue, sm: Sm | Gpu, registers: ControlRegisters) -> None:
    """Connect the queue between the SM's requests and the registers; a start or reset empties it."""
    request = sm.mem.req
    m.d.comb += [
        queue.write.eq(request.valid & request.payload.write), queue.line.eq(request.payload.line),
        queue.byte_mask.eq(request.payload.byte_mask), queue.data.eq(request.payload.data),
        queue.taken.eq(request.valid & request.ready), queue.clear.eq(registers.sm_reset),
        registers.characters.valid.eq(queue.characters.valid),
        registers.characters.payload.eq(queue.characters.payload),
        queue.characters.ready.eq(registers.characters.ready),
        registers.character_count.eq(queue.count), registers.character_lost.eq(queue.lost),
    ]
