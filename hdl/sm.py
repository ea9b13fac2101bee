"""The streaming multiprocessor: instantiates its parts and connects them, with hardly any logic of its own."""

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Module, Mux, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from .config import SmConfig
from .execute.compute import ComputeUnits
from .execute.controls import Controls
from .execute.faults import FaultLatch
from .execute.shared_units import SharedUnits
from .frontend.frontend import FrontEnd
from .isa.ops import Unit
from .isa.sharing import partitions_of_a_port, shares_units
from .issue.issue import IssueStage
from .issue.sharing import Sharing
from .layouts.barrier import arrival_signature
from .layouts.counters import COUNTER_BITS, counter_places, counters_layout
from .layouts.execute import fault_layout
from .layouts.memory import memory_request_layout, memory_response_layout
from .layouts.probe import ASSERTIONS, passed_over_layout, probe_layout
from .layouts.signatures import sharing_signature
from .lib.component import Component
from .lib.onehot import or_all
from .lib.partitions import chosen, global_warp, named, owned
from .memory.arbiter import MemoryArbiter
from .memory.lsu import Lsu
from .observe.observer import Observer

__all__ = ["Sm"]


class Sm(Component):
    """One SIMT streaming multiprocessor (design.md).

    A pulse of ``start`` after reset starts a program. Each scheduler issues at most one instruction per cycle.
    ``assertions`` reports conditions that may never occur.

    Parameters
    ----------
    config
        The machine.
    in_gpu
        Whether it shares memory with other SMs (:mod:`hdl.gpu`): its number comes through a port, a fence also
        orders later loads, and there is a port for barriers between SMs.
    tells_fences
        Whether a port says when a fence empties the caches: there is another one between the SM and the others.
    """

    def __init__(self, config: SmConfig, *, in_gpu: bool = False, tells_fences: bool = False) -> None:
        self.config = config
        self._in_gpu, self._tells_fences = in_gpu, tells_fences
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
        if in_gpu:
            members["core_id"] = In(range(config.cores))  # its number, for the CSRs; constant
            members["halt"] = In(1)  # another SM has stopped by a fault: this one stops, too; stays high until reset
            #: The barrier of all SMs: it is ``arrived`` when all accesses of the SM to memory are done, too.
            members["barrier"] = Out(arrival_signature(config))
        if tells_fences:
            #: One-cycle pulse: a fence empties the data cache, or a fence.i the I-cache, before any later request.
            members["fences"] = Out(1)
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
        config, partitions = self.config, range(self.config.schedulers)
        part, share = config.partition, sharing_signature(config) if config.schedulers > 1 else None
        self._asks = share is not None and "asks" in share.members
        self._fronts = [FrontEnd(part, asks=self._asks) for _ in partitions]
        self._issues = [IssueStage(part, share=share) for _ in partitions]
        self._computes = [SharedUnits(config)] if shares_units(config) else [ComputeUnits(part) for _ in partitions]
        self._controls = Controls(config, in_gpu=self._in_gpu)
        self._lsu = Lsu(config, fences=self._in_gpu, tells_fences=self._tells_fences)
        for p in partitions:
            m.submodules[named("frontend", p)] = self._fronts[p]
            m.submodules[named("issue", p)] = self._issues[p]
        for p, units in enumerate(self._computes):
            m.submodules[named("compute", p)] = units
        m.submodules.control, m.submodules.lsu = self._controls, self._lsu
        m.submodules.faults = faults = FaultLatch(config)
        #: A fault has stopped the SM, or another one.
        self._halts: Value = faults.valid | self.halt if self._in_gpu else faults.valid
        m.submodules.observer = observer = Observer(config)
        if share:
            self._share(m)
        for p in partitions:
            self._issue(m, p)
            self._execute(m, p)
            self._control_flow(m, p)
        self._fault(m, faults)
        self._take(m)
        self._memory(m)
        self._observe(m, observer)
        if self._in_gpu:
            self._join_gpu(m)
        m.d.comb += [
            self._controls.start.eq(self.start),
            self._controls.start_pc.eq(self.start_pc),
            self._controls.argument.eq(self.arg),
            self.busy.eq(
                (or_all(self._control("flow", p).active.any() for p in partitions) & ~self._halts)
                | or_all(issue.busy for issue in self._issues) | ~self._lsu.idle
            ),
        ]
        return m

    def _join_gpu(self, m: Module) -> None:
        """Connect the ports of a GPU. The end of a barrier between SMs orders accesses as a fence does."""
        control, lsu = self._controls, self._lsu
        m.d.comb += [
            control.core_id.eq(self.core_id),
            lsu.fence.eq(control.fence | self.barrier.release),
            control.barrier.release.eq(self.barrier.release),
            self.barrier.arrived.eq(control.barrier.arrived & lsu.idle),
            self.barrier.id.eq(control.barrier.id),
            self.barrier.count.eq(control.barrier.count),
        ]
        if self._tells_fences:
            fetches = or_all(self._control("flow", p).invalidate for p in range(self.config.schedulers))
            m.d.comb += self.fences.eq(lsu.empties | fetches)

    def _control(self, name: str, partition: int) -> Any:
        """A port of the control units for a partition."""
        return getattr(self._controls, named(name, partition))

    def _compute(self, name: str, partition: int) -> Any:
        """A port of the arithmetic units for a partition."""
        if shares_units(self.config):
            return getattr(self._computes[0], named(name, partition))
        return getattr(self._computes[partition], name)

    def _share(self, m: Module) -> None:
        """Tell partitions what they may use of what they share."""
        m.submodules.sharing = sharing = Sharing(self.config)
        m.d.comb += [sharing.start.eq(self.start), self._controls.peek.eq(sharing.peek)]
        for p, issue in enumerate(self._issues):
            connect(m, issue.share, getattr(sharing, named("partition", p)))
            if self._asks:
                m.d.comb += issue.may_issue.eq(self._fronts[p].may_issue)

    def _issue(self, m: Module, p: int) -> None:
        frontend, issue = self._fronts[p], self._issues[p]
        connect(m, frontend.selection, issue.selection)
        if "ahead" in issue.signature.members:
            connect(m, frontend.ahead, issue.ahead)
        m.d.comb += [
            issue.lsu_ready.eq(self._lsu.ready),
            issue.stores_pending.eq(owned(self.config, self._lsu.stores_pending, p)),
            issue.kill.eq(self._control("fault_valid", p)),
            issue.halt.eq(self._halts if self._in_gpu else self.fault_valid),
        ]
        if self.config.ordered:
            m.d.comb += [
                issue.lsu_room.eq(owned(self.config, self._lsu.room, p)),
                issue.lsu_idle.eq(self._lsu.idle),
                issue.region.eq(self._control("event", p).region),
            ]

    def _take(self, m: Module) -> None:
        """The load or store that is selected; at most one partition selects one."""
        lsu, fronts, issues = self._lsu, self._fronts, self._issues
        takes = [issue.lsu_take for issue in issues]
        warps = [global_warp(self.config, each.selection.warp, p) for p, each in enumerate(fronts)]
        m.d.comb += [
            lsu.cancel.eq(or_all(issue.lsu_cancel for issue in issues)),
            lsu.take.eq(or_all(takes)),
            lsu.take_warp.eq(chosen(takes, warps)),
            lsu.take_store.eq(chosen(takes, [each.selection.info.store for each in fronts])),
        ]
        if self.config.ordered:
            m.d.comb += [
                lsu.selects.eq(or_all(each.selection.select.any() for each in fronts)),
                lsu.order.eq(self._controls.order),
            ]

    def _execute(self, m: Module, p: int) -> None:
        issue = self._issues[p]
        m.d.comb += [
            self._compute("x", p).eq(issue.operands),
            self._compute("write_unit", p).eq(issue.write_unit),
            self._compute("rm", p).eq(self._control("rm", p)),
            self._compute("scalar", p).eq(self._control("result", p)),
            self._compute("add_lane", p).eq(self._control("add_lane", p)),
            issue.result.eq(self._compute("result", p)),
            self._control("x", p).eq(issue.operands),
            self._control("peek_warp", p).eq(issue.next_warp),
            self._control("raise_valid", p).eq(issue.flags_valid),
            self._control("raised_warp", p).eq(issue.flags_warp),
            self._control("raised", p).eq(self._compute("flags", p)),
        ]
        if partitions_of_a_port(self.config) > 1:
            m.d.comb += self._compute("due", p).eq(issue.share.due)

    def _control_flow(self, m: Module, p: int) -> None:
        frontend = self._fronts[p]
        connect(m, self._control("flow", p), frontend.flow, self._issues[p].flow)
        if self.config.schedulers > 1:
            # A fence.i of any warp empties the I-caches of all.
            invalidate = or_all(self._control("flow", other).invalidate for other in range(self.config.schedulers))
            m.d.comb += frontend.flow.invalidate.eq(invalidate)
        if len(self.config.policies) > 1:
            m.d.comb += frontend.policy.eq(self.policy)
        if len(self.config.fetch_policies) > 1:
            m.d.comb += frontend.fetch_policy.eq(self.fetch_policy)
        m.d.comb += frontend.halt.eq(self._halts)

    def _fault(self, m: Module, faults: FaultLatch) -> None:
        """The fault of stage X; of several partitions in one cycle the first one's counts."""
        partitions = range(self.config.schedulers)
        valid = [self._control("fault_valid", p) for p in partitions]
        m.d.comb += [
            faults.execute_valid.eq(or_all(valid)),
            faults.lsu_valid.eq(self._lsu.fault_valid),
            faults.lsu.eq(self._lsu.fault),
            self.fault_valid.eq(faults.valid),
            self.fault.eq(faults.fault),
        ]
        for name in ("cause", "pc", "address", "warp"):
            of = [self._control("fault", p)[name] for p in partitions]
            of = [global_warp(self.config, warp, p) for p, warp in enumerate(of)] if name == "warp" else of
            m.d.comb += faults.execute[name].eq(chosen(valid, of))

    def _memory(self, m: Module) -> None:
        config, lsu = self.config, self._lsu
        m.submodules.arbiter = arbiter = MemoryArbiter(config)
        for p, frontend in enumerate(self._fronts):
            connect(m, frontend.mem, getattr(arbiter, named("icache", p)))
            if config.watches_locality:
                m.d.comb += frontend.lost.eq(owned(self.config, lsu.lost, p))
        connect(m, lsu.mem, arbiter.lsu)
        connect(m, arbiter.port.request, flipped(self.mem.req))
        connect(m, flipped(self.mem.resp), arbiter.port.response)
        self._load(m)
        operands = [issue.operands for issue in self._issues]
        valid = [x.valid & (x.entry.decoded.info.unit == Unit.LSU) for x in operands]

        def of(value: Callable[[Any], Value]) -> Value:
            return chosen(valid, [Value.cast(value(x)) for x in operands])

        m.d.comb += [
            lsu.request_valid.eq(or_all(valid)),
            lsu.request.warp.eq(chosen(valid, [global_warp(self.config, x.warp, p) for p, x in enumerate(operands)])),
            lsu.request.pc.eq(of(lambda x: x.entry.pc)),
            lsu.request.op.eq(of(lambda x: x.entry.decoded.op)),
            lsu.request.rd.eq(of(lambda x: x.entry.decoded.info.rd)),
            lsu.request.writes_rd.eq(of(lambda x: x.entry.decoded.info.writes_rd)),
            lsu.request.mask.eq(of(lambda x: x.mask)),
            lsu.request.base.as_value().eq(of(lambda x: x.rs1)),
            lsu.request.offset.eq(of(lambda x: x.entry.decoded.imm)),
            lsu.request.data.as_value().eq(of(lambda x: x.rs2)),
        ]

    def _load(self, m: Module) -> None:
        """Give a load's values to the partition of its warp."""
        if self.config.schedulers == 1:
            connect(m, self._lsu.wb, self._issues[0].load)
            return
        values = self._lsu.wb
        bits = (self.config.schedulers - 1).bit_length()
        for p, issue in enumerate(self._issues):
            load, mine = issue.load, values.payload.warp[:bits] == p
            m.d.comb += [
                load.valid.eq(values.valid & mine), load.payload.warp.eq(values.payload.warp[bits:]),
                *(load.payload[name].eq(values.payload[name]) for name in ("rd", "mask", "last", "data")),
            ]
            with m.If(mine):
                m.d.comb += values.ready.eq(load.ready)

    def _observe(self, m: Module, observer: Observer) -> None:
        """Connect the observer, which monitors all parts and returns only the counters that software reads."""
        control, lsu = self._controls, self._lsu
        for p in range(self.config.schedulers):
            m.d.comb += [
                getattr(observer, named("front", p)).eq(self._fronts[p].event),
                getattr(observer, named("issue", p)).eq(self._issues[p].event),
                getattr(observer, named("wb", p)).eq(self._issues[p].write_event),
                getattr(observer, named("control", p)).eq(self._control("event", p)),
            ]
        if shares_units(self.config):
            # As serious as two results in one cycle of a writeback port.
            m.d.comb += observer.issue.clash.eq(self._issues[0].event.clash | self._compute("clash", 0))
        m.d.comb += [
            observer.start.eq(self.start),
            observer.running.eq(self.busy),
            observer.halt.eq(self._halts if self._in_gpu else self.fault_valid),
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
