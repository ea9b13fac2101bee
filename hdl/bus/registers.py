"""The host's registers, independent of the bus: start and reset of the SM, its state, faults and counters."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..gpu.config import GpuConfig, sm_config
from ..layouts.counters import COUNTER_BITS, counter_places
from ..layouts.execute import fault_layout
from ..lib.component import Component
from .console import console_layout
from .register_table import ADDRESS_BITS, COUNTERS_OFFSET, Access, constants, register_table

__all__ = ["ControlRegisters", "connect_host", "host_ports"]

#: Bits of ``control``.
_START, _RESET = 0, 1


def host_ports() -> dict[str, wiring.Member]:
    """The registers as a bus's slave sees them, from their own side; the slave has the same ports, flipped."""
    return {
        "read_address": In(ADDRESS_BITS - 2),  # a register's offset divided by 4
        "read": In(1),  # the register is read; reading a counter's low half saves the high half
        "read_data": Out(32),  # combinational: the value; 0 if there is no register
        "read_known": Out(1),  # combinational: the register exists
        "read_ready": Out(1),  # combinational: ``read_data`` is valid; ``read`` only then
        "write_address": In(ADDRESS_BITS - 2),  # a register's offset divided by 4
        "write": In(1),  # the register is written
        "write_data": In(32),  # with ``write``: the value
        "write_strobe": In(4),  # with ``write``: the bytes to write
        "write_known": Out(1),  # combinational: the register exists
    }


def connect_host(m: Module, slave: Any, registers: ControlRegisters) -> None:
    """Connect a bus's slave to the registers."""
    for name, member in host_ports().items():
        theirs, ours = getattr(slave, name), getattr(registers, name)
        m.d.comb += ours.eq(theirs) if member.flow is In else theirs.eq(ours)


class ControlRegisters(Component):
    """The host's registers: reads are combinational, writes take effect in the next cycle; one of each a cycle.

    A start or reset that is written in cycle c holds the SM in reset from c+1 until ``idle``, at least one cycle. A run
    starts in the cycle after. ``interrupt`` is set in the cycle after ``busy`` has fallen. Reset: nothing is set, and
    ``start_pc`` is the start address of programs in the build's memory map.

    Parameters
    ----------
    console : int
        The value of ``console_size``; with 0, nothing is connected to ``characters``.
    """

    def __init__(self, config: SmConfig | GpuConfig, *, console: int = 0) -> None:
        self._config, self._console = sm_config(config), console
        self._table = register_table(config)
        widths = {its.name: its.bits for its in self._table}
        self._of_gpu = isinstance(config, GpuConfig)
        more = {
            "fault_sm": In(widths["fault_sm"]),  # the number of the SM; with ``fault_valid``
            "counter_sm": Out(widths["counter_sm"]),  # the SM whose counters are read
        } if self._of_gpu else {}
        super().__init__({
            **host_ports(),
            "sm_reset": Out(1),  # holds the SM in reset; from a register
            "idle": In(1),  # no access of the SM is in flight on the bus
            "start": Out(1),  # launch, one cycle
            "start_pc": Out(32),  # the start address
            "arg": Out(32),  # the value of mscratch at the start
            "policy": Out(widths["policy"]),  # strap
            "fetch_policy": Out(widths["fetch_policy"]),  # strap
            "busy": In(1),  # the SM's
            "fault_valid": In(1),  # the SM's
            "fault": In(fault_layout(self._config)),  # the SM's; with ``fault_valid``
            "counter_index": Out(range(len(counter_places()))),  # the counter that is read, if a counter is read
            "counter_value": In(COUNTER_BITS),  # the SM's, of that counter
            "counter_valid": In(1),  # the SM's: the value is that counter's
            "exit_mask": In(4),  # bytes of the exit code that the SM writes in this cycle
            "exit_data": In(32),  # those bytes, in their places
            "characters": In(stream.Signature(console_layout(self._config))),  # the console's oldest character
            "character_count": In(16),  # characters that wait
            "character_lost": In(1),  # one was lost
            "irq": Out(1),  # a run has ended, and that interrupts; until ``interrupt`` is cleared
            **more,
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        state = {
            its.name: Signal(its.bits, name=its.name, init=self._initial(its.name))
            for its in self._table if its.access is Access.WRITE
        }
        for its in self._table:
            if its.access is Access.WRITE:
                with m.If(self._written(its.name)):
                    self._merge(m, state[its.name])
        done, interrupt, launch = Signal(), Signal(), Signal()
        running = Signal()
        m.d.comb += running.eq(self.busy | self.start | launch)
        self._run(m, done, interrupt, launch, running)
        code = Signal(32, name="code")
        for byte in range(4):
            with m.If(self.exit_mask[byte]):
                m.d.sync += code[8 * byte : 8 * byte + 8].eq(self.exit_data[8 * byte : 8 * byte + 8])
        with m.If(self.sm_reset):
            m.d.sync += code.eq(0)
        m.d.comb += [
            self.start_pc.eq(state["start_address"]), self.arg.eq(state["argument"]),
            self.policy.eq(state["policy"]), self.fetch_policy.eq(state["fetch_policy"]),
            self.irq.eq(interrupt & state["interrupt_enable"]),
        ]
        of_gpu = {}
        if self._of_gpu:
            m.d.comb += self.counter_sm.eq(state["counter_sm"])
            of_gpu["fault_sm"] = Mux(self.fault_valid, self.fault_sm, 0)
        status = running | self.fault_valid << 1 | self.sm_reset << 2 | done << 3
        self._read(m, {
            **constants(self._config, console=self._console), **state, "control": 0, "status": status,
            **of_gpu, "interrupt": interrupt, "exit_code": code, "console": self._character(m),
            "console_state": Cat(self.character_count, Const(0, 15), self.character_lost),
            **{f"fault_{name}": Mux(self.fault_valid, self.fault[name], 0)
               for name in ("cause", "warp", "pc", "address")},
        })
        return m

    def _character(self, m: Module) -> Value:
        """The value of ``console``, and the end of the character that is read."""
        offset = next(its.offset for its in self._table if its.name == "console")
        there, oldest = self.characters.valid, self.characters.payload
        m.d.comb += self.characters.ready.eq(self.read & (self.read_address == offset // 4))
        word = Cat(oldest.character, oldest.slot)
        return Mux(there, word | 1 << 31, 0)

    def _initial(self, name: str) -> int:
        return self._config.memory_map.start if name == "start_address" else 0

    def _written(self, name: str) -> Value:
        offset = next(its.offset for its in self._table if its.name == name)
        return self.write & (self.write_address == offset // 4)

    def _merge(self, m: Module, register: Signal) -> None:
        """Write the bytes that the strobe selects."""
        for byte in range(4):
            part = register[8 * byte : 8 * byte + 8]
            if len(part):
                with m.If(self.write_strobe[byte]):
                    m.d.sync += part.eq(self.write_data[8 * byte : 8 * byte + 8])

    def _run(self, m: Module, done: Signal, interrupt: Signal, launch: Signal, running: Signal) -> None:
        """Resets, starts, and the end of a run."""
        low = Signal()
        commanded = Signal()
        was_busy, ended = Signal(), Signal()
        m.d.comb += [
            low.eq(self.write_strobe[0]),
            commanded.eq(self._written("control") & low
                         & (self.write_data[_RESET] | (self.write_data[_START] & ~running))),
            ended.eq(was_busy & ~self.busy),
        ]
        # A reset does not end a run.
        m.d.sync += [was_busy.eq(self.busy & ~self.sm_reset), self.start.eq(0)]
        with m.If(self.sm_reset & self.idle):
            m.d.sync += [self.sm_reset.eq(0), self.start.eq(launch), launch.eq(0)]
        with m.If(commanded):
            m.d.sync += [self.sm_reset.eq(1), self.start.eq(0), launch.eq(self.write_data[_START])]
        with m.If(self._written("interrupt") & low & self.write_data[0]):
            m.d.sync += interrupt.eq(0)
        with m.If(ended):
            m.d.sync += [done.eq(1), interrupt.eq(1)]
        with m.If(self.sm_reset):
            m.d.sync += done.eq(0)

    def _read(self, m: Module, values: dict[str, Value | int]) -> None:
        """Read the register at ``read_address``; a counter's high half is the one kept when its low half was read."""
        kept, is_low = Signal(COUNTER_BITS - 32), Signal()
        counters = [its.offset // 4 for its in self._table if its.offset >= COUNTERS_OFFSET]
        with m.Switch(self.read_address):
            for its in self._table:
                if its.offset < COUNTERS_OFFSET:
                    with m.Case(its.offset // 4):
                        m.d.comb += [self.read_data.eq(values[its.name]), self.read_known.eq(1)]
            with m.Case(*counters[::2]):
                m.d.comb += [self.read_data.eq(self.counter_value), self.read_known.eq(1), is_low.eq(1)]
            with m.Case(*counters[1::2]):
                m.d.comb += [self.read_data.eq(kept), self.read_known.eq(1)]
        m.d.comb += [
            self.counter_index.eq((self.read_address - COUNTERS_OFFSET // 4) >> 1),
            self.read_ready.eq(self.counter_valid | ~is_low),
        ]
        with m.If(self.read & is_low):
            m.d.sync += kept.eq(self.counter_value[32:])
        with m.Switch(self.write_address):
            with m.Case(*(its.offset // 4 for its in self._table)):
                m.d.comb += self.write_known.eq(1)
