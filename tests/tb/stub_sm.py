"""A stand-in with the ports of the SM, driven by a script in memory: tests of the harness without the SM.

The line at ``start_pc`` holds words: 0 the number of lines to read (from ``arg`` upwards), 1 the word to store to 0x88,
2 how it ends (0 ends, 1 fault, 2 assertion, 3 never), 3 the number of issue records (one a cycle, after the reads),
4 the number of characters to print, at most 4: those of word 5, the last one first.
"""

import functools
from collections.abc import Callable

from amaranth.back import verilog
from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from metronome.hdl.config import SmConfig
from metronome.hdl.layouts.counters import StallReason, counters_layout
from metronome.hdl.layouts.execute import fault_layout
from metronome.hdl.layouts.memory import memory_request_layout, memory_response_layout
from metronome.hdl.layouts.probe import ASSERTIONS, passed_over_layout, probe_layout

__all__ = ["ASSERTS", "ENDS", "FAULTS", "HANGS", "StubSm", "stub_verilog"]

ENDS, FAULTS, ASSERTS, HANGS = range(4)


class StubSm(wiring.Component):
    """One request at a time: read the script, read lines, print, make records, store the exit code, end."""

    def __init__(self, config: SmConfig) -> None:
        ports = {
            "start": In(1), "start_pc": In(32), "arg": In(32),
            "mem": Out(wiring.Signature({
                "req": Out(stream.Signature(memory_request_layout(config))),
                "resp": In(stream.Signature(memory_response_layout(config))),
            })),
            "busy": Out(1), "fault_valid": Out(1), "fault": Out(fault_layout(config)),
            "counters": Out(counters_layout()),
            "counter_index": In(5), "counter_value": Out(48), "counter_valid": Out(1),
        }
        if len(config.policies) > 1:
            ports["policy"] = In(range(len(config.policies)))
        if config.probe:
            ports |= {
                "probe": Out(probe_layout(config)),
                "hang_pc": Out(data.ArrayLayout(32, config.warps)), "passed_over": Out(passed_over_layout(config)),
            }
        if config.assertions:
            ports["assertions"] = Out(len(ASSERTIONS))
        super().__init__(ports)
        self.script = Signal(data.ArrayLayout(32, 16))
        self.count = Signal(32)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.mem.resp.ready.eq(1)
        m.d.sync += self.counters.total_cycles.eq(self.counters.total_cycles + self.busy)
        with m.FSM():
            with m.State("IDLE"):
                with m.If(self.start):
                    m.d.sync += self.busy.eq(1)
                    m.next = "SCRIPT"
            self._fetch(m)
            self._print(m)
            self._record(m)
            self._end(m)
        return m

    def _access(self, m: Module, state: str, following: Callable[[], None], line: object, **fields: object) -> None:
        """State ``state`` makes a request, ``state``_WAIT takes its response and calls ``following`` in its cycle."""
        req = self.mem.req
        with m.State(state):
            m.d.comb += [req.valid.eq(1), req.payload.line.eq(line)]
            m.d.comb += [req.payload[name].eq(value) for name, value in fields.items()]
            with m.If(req.ready):
                m.next = f"{state}_WAIT"
        with m.State(f"{state}_WAIT"), m.If(self.mem.resp.valid):
            following()

    def _fetch(self, m: Module) -> None:
        def got_script() -> None:
            m.d.sync += [self.script.eq(self.mem.resp.payload.data), self.count.eq(0)]
            m.next = "CHECK_READ"

        def got_line() -> None:
            m.d.sync += self.count.eq(self.count + 1)
            m.next = "CHECK_READ"

        self._access(m, "SCRIPT", got_script, self.start_pc[6:])
        with m.State("CHECK_READ"):
            m.next = "READ"
            with m.If(self.count == self.script[0]):
                m.next = "CHECK_PRINT"
        self._access(m, "READ", got_line, self.arg[6:] + self.count, tag=self.count[:2])

    def _print(self, m: Module) -> None:
        left = self.script[4]
        characters = self.script[5]

        def printed() -> None:
            m.next = "CHECK_PRINT"

        with m.State("CHECK_PRINT"):
            m.d.sync += [left.eq(left - 1), self.count.eq(0)]
            m.next = "PRINT"
            with m.If(left == 0):
                m.next = "RECORD"
        self._access(m, "PRINT", printed, 1, write=1, byte_mask=1, data=characters.word_select(left[:2], 8))

    def _record(self, m: Module) -> None:
        with m.State("RECORD"):
            m.d.sync += self.count.eq(self.count + 1)
            with m.If(self.count == self.script[3]):
                m.next = "EXIT"
            if hasattr(self, "probe"):
                issue = self.probe.issue
                m.d.comb += issue.valid.eq(self.count != self.script[3])
                m.d.comb += [issue.pc.eq(self.count << 2), issue.mask.eq(1)]

    def _end(self, m: Module) -> None:
        def stored() -> None:
            m.next = "END"

        self._access(m, "EXIT", stored, 2, write=1, byte_mask=0xF00, data=self.script[1] << 64)
        with m.State("END"), m.Switch(self.script[2]):
            with m.Case(ENDS):
                m.d.sync += self.busy.eq(0)
                m.next = "IDLE"
            with m.Case(FAULTS):
                m.d.sync += [
                    self.busy.eq(0), self.fault_valid.eq(1), self.fault.cause.eq(2), self.fault.warp.eq(1),
                    self.fault.pc.eq(self.start_pc), self.fault.address.eq(self.arg),
                ]
            if hasattr(self, "assertions"):
                with m.Case(ASSERTS):
                    m.d.sync += self.assertions.eq(0b10)
            if hasattr(self, "probe"):
                with m.Case(HANGS):
                    m.d.comb += [self.probe.control.active.eq(0b10), self.probe.sm.reason[1].eq(StallReason.BARRIER)]
                    m.d.comb += [self.hang_pc[1].eq(self.start_pc), self.passed_over.issue.eq(0b10)]


@functools.cache
def stub_verilog(config: SmConfig) -> str:
    """The stub as a Verilog module ``metronome_sm``."""
    return verilog.convert(StubSm(config), name="metronome_sm", emit_src=False)
