"""A board's machine: the SM with its memory, host registers and monitor, reached over a serial line."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out, connect

from ..bus.hosted import add_hosted_sm
from ..bus.register_table import ADDRESS_BITS
from ..bus.registers import ControlRegisters
from ..config import SmConfig
from ..lib.component import Component
from .memory import BoardMemory, console_layout
from .monitor import Monitor
from .protocol import PROTOCOL_VERSION, Space, machine_digest
from .regions import Regions
from .uart import UartReceiver, UartTransmitter

__all__ = ["CONSOLE_BYTES", "BoardMachine"]

#: The most bytes of the console that wait for the host; the SM's next byte waits until one is read.
CONSOLE_BYTES = 512


class BoardMachine(Component):
    """The part that is the same on every board, with a clock, a reset and a serial line.

    ``clk``: rising edge. ``rst``: synchronous. It acts only on requests from the host, which docs/board.md lists.

    Parameters
    ----------
    config : SmConfig
        The SM.
    regions : Regions
        Its memory.
    clock_hz : int
        The clock frequency that is reported to the host.
    divisor : int
        Cycles of a bit on the serial line.
    patience : int
        Cycles of silence that end a request.
    """

    def __init__(self, config: SmConfig, regions: Regions, *, clock_hz: int, divisor: int, patience: int) -> None:
        self._config, self._regions = config, regions
        self._clock_hz, self._divisor, self._patience = clock_hz, divisor, patience
        super().__init__({
            "clk": In(1),  # the only clock
            "rst": In(1),  # of everything except the contents of memory
            "rx": In(1, init=1),  # type: ignore[call-arg]  # serial line from the host, of no clock
            "tx": Out(1, init=1),  # type: ignore[call-arg]  # serial line to the host
            "busy": Out(1),  # a program runs
            "fault": Out(1),  # one was stopped by a fault
            "heard": Out(1),  # a byte has come from the host, one cycle
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        memory, monitor = BoardMemory(self._config, self._regions), Monitor(self._patience)
        receiver, transmitter = UartReceiver(self._divisor), UartTransmitter(self._divisor)
        console = SyncFIFOBuffered(width=console_layout(self._config).size, depth=CONSOLE_BYTES)
        parts = {"memory": memory, "monitor": monitor, "receiver": receiver, "transmitter": transmitter,
                 "console": console}
        sm, registers = add_hosted_sm(
            m, self._config, parts, clk=self.clk, rst=self.rst, port=memory.port, idle=~memory.busy
        )
        connect(m, receiver.bytes, monitor.received)
        connect(m, monitor.sent, transmitter.bytes)
        m.d.comb += [
            receiver.rx.eq(self.rx), self.tx.eq(transmitter.tx), self.heard.eq(receiver.bytes.valid),
            self.busy.eq(sm.busy), self.fault.eq(sm.fault_valid),
            console.w_en.eq(memory.console.valid), memory.console.ready.eq(console.w_rdy),
            console.w_data.eq(memory.console.payload),
        ]
        self._host(m, monitor, memory, registers, console)
        return m

    def _host(self, m: Module, monitor: Monitor, memory: BoardMemory, registers: ControlRegisters,
              console: SyncFIFOBuffered) -> None:
        """Answer the monitor: memory takes its own time, the others answer at once."""
        infos = [PROTOCOL_VERSION, self._clock_hz, machine_digest(self._config), len(self._regions.parts)]
        for region in self._regions.parts:
            infos += [region.first, region.size]
        m.d.comb += [
            memory.host_address.eq(monitor.address), memory.host_write.eq(monitor.write),
            memory.host_data.eq(monitor.data), memory.host_valid.eq(monitor.valid & (monitor.space == Space.MEMORY)),
            registers.read_address.eq(monitor.address), registers.write_address.eq(monitor.address),
            registers.write_data.eq(monitor.data), registers.write_strobe.eq(-1),
        ]
        outside = Signal()
        m.d.comb += outside.eq(monitor.address[ADDRESS_BITS - 2 :].any())
        with m.Switch(monitor.space):
            with m.Case(Space.MEMORY):
                m.d.comb += [
                    monitor.done.eq(memory.host_done), monitor.read.eq(memory.host_read),
                    monitor.error.eq(memory.host_error),
                ]
            with m.Case(Space.REGISTERS):
                access = monitor.valid & ~outside
                m.d.comb += [
                    registers.read.eq(access & ~monitor.write & registers.read_ready),
                    registers.write.eq(access & monitor.write),
                    monitor.done.eq(outside | monitor.write | registers.read_ready),
                    monitor.read.eq(registers.read_data),
                    monitor.error.eq(outside | ~Mux(monitor.write, registers.write_known, registers.read_known)),
                ]
            with m.Case(Space.INFO):
                m.d.comb += [monitor.done.eq(1), monitor.error.eq(monitor.address >= len(infos))]
                with m.Switch(monitor.address):
                    for place, value in enumerate(infos):
                        with m.Case(place):
                            m.d.comb += monitor.read.eq(value)
            with m.Case(Space.CONSOLE):
                m.d.comb += [
                    monitor.done.eq(1), console.r_en.eq(monitor.valid),
                    monitor.read.eq(console.r_data), monitor.read[31].eq(console.r_rdy),
                ]
