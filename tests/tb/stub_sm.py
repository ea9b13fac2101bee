"""A stand-in with the ports of the SM, driven by a script in memory: tests of the harness without the SM.

The line at ``start_pc`` holds words: 0 the number of line reads to make (from ``arg`` upwards), 1 the word to store to
0x88, 2 how it ends (0 ends, 1 fault, 2 assertion, 3 never), 3 the number of issue records (one a cycle) to make after the reads,
4 whether the console gets "hi\n" first.
"""

from amaranth.back import verilog
from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hdl.config import SmConfig
from hdl.layouts.execute import fault_layout
from hdl.layouts.memory import memory_request_layout, memory_response_layout
from hdl.layouts.probe import ASSERTIONS, counters_layout, probe_layout

__all__ = ["StubSm", "stub_verilog"]

ENDS, FAULTS, ASSERTS, HANGS = range(4)


class StubSm(wiring.Component):
    """One request at a time: read the script, read lines, store the console, emit records, store the exit code, end."""

    def __init__(self, config: SmConfig, outstanding: int = 1) -> None:
        self.config = config
        ports = {
            "start": In(1), "start_pc": In(32), "arg": In(32),
            "mem": Out(wiring.Signature({
                "req": Out(wiring.Signature({
                    "valid": Out(1), "ready": In(1), "payload": Out(memory_request_layout(config)),
                })),
                "resp": In(wiring.Signature({
                    "valid": Out(1), "ready": In(1), "payload": Out(memory_response_layout(config)),
                })),
            })),
            "busy": Out(1), "fault_valid": Out(1), "fault": Out(fault_layout(config)),
            "counters": Out(counters_layout()),
        }
        if len(config.policies) > 1:
            ports["policy"] = In((len(config.policies) - 1).bit_length())
        if config.probe:
            ports |= {
                "probe": Out(probe_layout(config)),
                "hang": Out(data.ArrayLayout(4, config.warps)), "hang_pc": Out(data.ArrayLayout(32, config.warps)),
            }
        if config.assertions:
            ports["assertions"] = Out(len(ASSERTIONS))
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        req, resp = self.mem.req, self.mem.resp
        script = Signal(data.ArrayLayout(32, 16))
        count = Signal(32)
        console = Cat(Const(ord(c), 8) for c in "hi\n")
        m.d.comb += resp.ready.eq(1)
        m.d.sync += self.counters.total_cycles.eq(self.counters.total_cycles + self.busy)
        m.d.comb += self.hang_pc[0].eq(self.start_pc)

        def ask(next_state: str, line: object, **fields: object) -> None:
            m.d.comb += [req.valid.eq(1), req.payload.line.eq(line)]
            m.d.comb += [req.payload[name].eq(value) for name, value in fields.items()]
            with m.If(req.ready):
                m.next = next_state

        with m.FSM():
            with m.State("IDLE"):
                with m.If(self.start):
                    m.d.sync += [self.busy.eq(1), self.counters.total_cycles.eq(0)]
                    m.next = "SCRIPT"
            with m.State("SCRIPT"):
                ask("SCRIPT_WAIT", self.start_pc[6:])
            with m.State("SCRIPT_WAIT"):
                with m.If(resp.valid):
                    m.d.sync += [script.eq(resp.payload.data), count.eq(0)]
                    m.next = "READ"
            with m.State("READ"):
                with m.If(count == script[0]):
                    m.next = "PRINT"
                with m.Else():
                    ask("READ_WAIT", self.arg[6:] + count, tag=count[:2])
            with m.State("READ_WAIT"):
                with m.If(resp.valid):
                    m.d.sync += count.eq(count + 1)
                    m.next = "READ"
            with m.State("PRINT"):
                with m.If(script[4] == 0):
                    m.d.sync += count.eq(0)
                    m.next = "RECORD"
                with m.Else():
                    m.d.sync += script[4].eq(script[4] - 1)
                    ask("PRINT_WAIT", 1, write=1, byte_mask=1, data=console.word_select((3 - script[4])[:2], 8))
            with m.State("PRINT_WAIT"):
                with m.If(resp.valid):
                    m.next = "PRINT"
            with m.State("RECORD"):
                m.d.sync += count.eq(count + 1)
                m.d.comb += [
                    self.probe.issue.valid.eq(count != script[3]), self.probe.issue.pc.eq(count << 2),
                    self.probe.issue.mask.eq(1), self.probe.front.active.eq(1),
                ]
                with m.If(count == script[3]):
                    m.next = "EXIT"
            with m.State("EXIT"):
                ask("EXIT_WAIT", 2, write=1, byte_mask=0xF00, data=script[1] << 64)
            with m.State("EXIT_WAIT"):
                with m.If(resp.valid):
                    m.next = "END"
            with m.State("END"):
                with m.Switch(script[2]):
                    with m.Case(ENDS):
                        m.d.sync += self.busy.eq(0)
                        m.next = "IDLE"
                    with m.Case(FAULTS):
                        m.d.sync += [
                            self.busy.eq(0), self.fault_valid.eq(1), self.fault.cause.eq(2),
                            self.fault.pc.eq(self.start_pc), self.fault.address.eq(self.arg),
                        ]
                    with m.Case(ASSERTS):
                        m.d.sync += self.assertions.eq(0b10)
                m.d.comb += self.hang[0].eq(Mux(script[2] == HANGS, 8, 0))
        return m


def stub_verilog(config: SmConfig) -> str:
    """The stub as a Verilog module ``metronome_sm``."""
    return verilog.convert(StubSm(config), name="metronome_sm", emit_src=False)
