"""The streaming multiprocessor: instantiates its parts and connects them, without logic of its own."""

from amaranth.hdl import Module, Mux
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from .config import SmConfig
from .execute.compute import ComputeUnits
from .execute.controls import Controls
from .execute.faults import FaultLatch
from .frontend.frontend import FrontEnd
from .isa.ops import Unit
from .issue.issue import IssueStage
from .layouts.counters import COUNTER_BITS, counter_places, counters_layout
from .layouts.execute import fault_layout
from .layouts.memory import memory_request_layout, memory_response_layout
from .layouts.probe import ASSERTIONS, passed_over_layout, probe_layout
from .lib.component import Component
from .memory.arbiter import MemoryArbiter
from .memory.lsu import Lsu
from .observe.observer import Observer

__all__ = ["Sm"]


class Sm(Component):
    """One SIMT streaming multiprocessor (design.md).

    A pulse of ``start`` after reset starts a program. At most one instruction issues per cycle. ``assertions`` reports
    conditions that may never occur.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        members = {
            "start": In(1),  # launch: high for one cycle; starts warp 0
            "start_pc": In(32),  # with ``start``: the start address
            "arg": In(32),  # with ``start``: the initial value of mscratch
            #: The memory port: requests for lines, and responses in any order (:mod:`hdl.layouts.memory`).
            "mem": Out(wiring.Signature({
                #: A request to memory.
                "req": Out(stream.Signature(memory_request_layout(config))),
                #: A response from memory.
                "resp": In(stream.Signature(memory_response_layout(config))),
            })),
            #: High from the cycle after ``start`` until no warp is active (or a fault has stopped the SM) and nothing
            #: is in flight.
            "busy": Out(1),
            "fault_valid": Out(1),  # a fault has stopped the SM; stays high until reset
            "fault": Out(fault_layout(config)),  # the details of the fault; undefined without ``fault_valid``
            #: The counter to read, as an index into :func:`hdl.layouts.counters.counter_places`.
            "counter_index": In(range(len(counter_places()))),
            #: Combinational: its value; undefined if there is none, or without ``counter_valid``.
            "counter_value": Out(COUNTER_BITS),
            "counter_valid": Out(1),  # 0 in any cycle in which the program reads a CSR
        }
        if config.all_counters:
            members["counters"] = Out(counters_layout())  # all counters, registered
        if len(config.policies) > 1:
            #: The issue policy, as an index into ``policies`` of the configuration; constant while ``busy``.
            members["policy"] = In(range(len(config.policies)))
        if len(config.fetch_policies) > 1:
            members["fetch_policy"] = In(range(len(config.fetch_policies)))  # the fetch policy, likewise
        if config.assertions:
            #: One sticky bit for each of :data:`hdl.layouts.probe.ASSERTIONS`; may never be 1.
            members["assertions"] = Out(len(ASSERTIONS))
        if config.probe:
            members["probe"] = Out(probe_layout(config))  # the events of this cycle
            members["hang_pc"] = Out(data.ArrayLayout(32, config.warps))  # the pc of each warp's last issue
            members["passed_over"] = Out(passed_over_layout(config))  # the warps starved by each scheduler
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.frontend = frontend = FrontEnd(config)
        m.submodules.issue = issue = IssueStage(config)
        m.submodules.compute = compute = ComputeUnits(config)
        m.submodules.control = control = Controls(config)
        m.submodules.lsu = lsu = Lsu(config)
        m.submodules.faults = faults = FaultLatch(config)
        m.submodules.observer = observer = Observer(config)
        self._issue(m, frontend, issue, control, lsu)
        self._execute(m, issue, compute, control)
        self._control_flow(m, frontend, issue, control, faults)
        self._memory(m, frontend, issue, lsu)
        self._observe(m, observer, frontend, issue, control, lsu)
        m.d.comb += [
            faults.execute_valid.eq(control.fault_valid),
            faults.execute.eq(control.fault),
            faults.lsu_valid.eq(lsu.fault_valid),
            faults.lsu.eq(lsu.fault),
            self.fault_valid.eq(faults.valid),
            self.fault.eq(faults.fault),
            self.busy.eq((control.flow.active.any() & ~faults.valid) | issue.busy | ~lsu.idle),
        ]
        return m

    def _issue(self, m: Module, frontend: FrontEnd, issue: IssueStage, control: Controls, lsu: Lsu) -> None:
        connect(m, frontend.selection, issue.selection)
        if "ahead" in issue.signature.members:
            connect(m, frontend.ahead, issue.ahead)
        m.d.comb += [
            issue.lsu_ready.eq(lsu.ready),
            issue.stores_pending.eq(lsu.stores_pending),
            issue.kill.eq(control.fault_valid),
            issue.halt.eq(self.fault_valid),
            lsu.cancel.eq(issue.lsu_cancel),
            lsu.take.eq(issue.lsu_take),
            lsu.take_warp.eq(frontend.selection.warp),
            lsu.take_store.eq(frontend.selection.info.store),
        ]
        if self.config.ordered:
            m.d.comb += [
                issue.lsu_room.eq(lsu.room),
                issue.lsu_idle.eq(lsu.idle),
                issue.region.eq(control.event.region),
                lsu.selects.eq(frontend.selection.select.any()),
                lsu.order.eq(control.order),
            ]

    def _execute(self, m: Module, issue: IssueStage, compute: ComputeUnits, control: Controls) -> None:
        m.d.comb += [
            compute.x.eq(issue.operands),
            compute.write_unit.eq(issue.write_unit),
            compute.rm.eq(control.rm),
            compute.scalar.eq(control.result),
            compute.add_lane.eq(control.add_lane),
            issue.result.eq(compute.result),
            control.x.eq(issue.operands),
            control.peek_warp.eq(issue.next_warp),
            control.raise_valid.eq(issue.flags_valid),
            control.raised_warp.eq(issue.flags_warp),
            control.raised.eq(compute.flags),
        ]

    def _control_flow(self, m: Module, frontend: FrontEnd, issue: IssueStage, control: Controls,
                      faults: FaultLatch) -> None:
        connect(m, control.flow, frontend.flow, issue.flow)
        if len(self.config.policies) > 1:
            m.d.comb += frontend.policy.eq(self.policy)
        if len(self.config.fetch_policies) > 1:
            m.d.comb += frontend.fetch_policy.eq(self.fetch_policy)
        m.d.comb += [
            control.start.eq(self.start),
            control.start_pc.eq(self.start_pc),
            control.argument.eq(self.arg),
            frontend.halt.eq(faults.valid),
        ]

    def _memory(self, m: Module, frontend: FrontEnd, issue: IssueStage, lsu: Lsu) -> None:
        m.submodules.arbiter = arbiter = MemoryArbiter(self.config)
        x = issue.operands
        decoded = x.entry.decoded
        connect(m, frontend.mem, arbiter.icache)
        connect(m, lsu.mem, arbiter.lsu)
        connect(m, arbiter.port.request, flipped(self.mem.req))
        connect(m, flipped(self.mem.resp), arbiter.port.response)
        connect(m, lsu.wb, issue.load)
        if self.config.watches_locality:
            m.d.comb += frontend.lost.eq(lsu.lost)
        m.d.comb += [
            lsu.request_valid.eq(x.valid & (decoded.info.unit == Unit.LSU)),
            lsu.request.warp.eq(x.warp),
            lsu.request.pc.eq(x.entry.pc),
            lsu.request.op.eq(decoded.op),
            lsu.request.rd.eq(decoded.info.rd),
            lsu.request.writes_rd.eq(decoded.info.writes_rd),
            lsu.request.mask.eq(x.mask),
            lsu.request.base.eq(x.rs1),
            lsu.request.offset.eq(decoded.imm),
            lsu.request.data.eq(x.rs2),
        ]

    def _observe(self, m: Module, observer: Observer, frontend: FrontEnd, issue: IssueStage, control: Controls,
                 lsu: Lsu) -> None:
        """Connect the observer, which monitors all parts and returns only the counters that software reads."""
        m.d.comb += [
            observer.start.eq(self.start),
            observer.running.eq(self.busy),
            observer.halt.eq(self.fault_valid),
            observer.front.eq(frontend.event),
            observer.issue.eq(issue.event),
            observer.wb.eq(issue.write_event),
            observer.control.eq(control.event),
            observer.store.eq(lsu.store_event),
            observer.lookup.eq(lsu.lookup_event),
            observer.overflow.eq(lsu.overflow),
            observer.disorder.eq(lsu.disorder),
            observer.counter_index.eq(Mux(control.reads_csr, control.counter_index, self.counter_index)),
            control.counter_value.eq(observer.counter_value),
            self.counter_value.eq(observer.counter_value),
            self.counter_valid.eq(~control.reads_csr),
        ]
        if self.config.all_counters:
            m.d.comb += self.counters.eq(observer.counters)
        if self.config.assertions:
            m.d.comb += self.assertions.eq(observer.assertions)
        if self.config.probe:
            m.d.comb += [
                self.probe.eq(observer.probe),
                self.hang_pc.eq(observer.hang_pc),
                self.passed_over.eq(observer.passed_over),
            ]
