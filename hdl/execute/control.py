"""Decisions made once per warp: branches, rounding modes, system instructions, and their faults."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Member, Out

from ..config import FaultCause, SmConfig
from ..isa.ops import FLOAT_UNITS, BranchOp, SystemOp, Unit
from ..layouts.events import control_event_layout
from ..layouts.execute import fault_layout, operands_layout
from ..layouts.prediction import (
    JumpKind,
    is_branch,
    is_jalr,
    is_link,
    is_usually_taken,
    jump_kind,
    pops,
    with_high_bits,
)
from ..layouts.signatures import csr_signature, flow_signature, simt_signature
from ..lib.component import Component
from ..lib.onehot import highest_one, one_hot, select
from .branch import BranchLanes

__all__ = ["ControlUnit", "decision_ports"]

#: ``rm`` of an instruction that takes its rounding mode from frm; 5 and 6 are reserved (RISC-V, chapter F).
_DYNAMIC, _LAST_MODE = 7, 4

_SYSTEM_FAULTS = {
    SystemOp.ECALL: FaultCause.ENVIRONMENT_CALL,
    SystemOp.EBREAK: FaultCause.BREAKPOINT,
    SystemOp.FETCH_FAULT: FaultCause.FETCH_ACCESS,
}


def decision_ports(config: SmConfig) -> dict[str, Member]:
    """The ports with what is decided about the instruction in stage X, of the unit and of all that contains it."""
    return {
        #: The outcome of a branch or jump is known in t+R, the cycle after X, with a redirect if the fetch was
        #: wrong. The same applies to a join, a fence.i, and the warp's end. A jal that fetch has followed does not
        #: resolve. With an operand register, an outcome without a redirect is a ``release`` in X.
        "flow": Out(flow_signature(config)),
        "fault_valid": Out(1),  # in X, combinational: the instruction faults and changes nothing
        "fault": Out(fault_layout(config)),  # in X: the fault; with ``fault_valid``
        "result": Out(32),  # in the cycle after X: the value for rd
        "add_lane": Out(1),  # likewise: each lane adds its number to ``result``
        "rm": Out(3),  # in X, combinational: the rounding mode of an instruction of the FPU; a reserved one faults
        "event": Out(control_event_layout(config)),  # this cycle, for observers
    }


class ControlUnit(Component):
    """Executes the instructions of BRANCH, SIMT, CSR and SYSTEM in stage X (``x``).

    Thread masks and CSRs are outside: it asks for their changes, and uses the answers.

    A scalar taken from a warp is that of its leader, the highest active lane, except CSR write data (lane 0). One
    instruction a cycle; ``result`` is for stage W, one cycle later. A faulting instruction changes nothing.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        super().__init__({
            "x": In(operands_layout(config)),  # in X: the instruction
            "simt": Out(simt_signature(config)),  # to the thread masks, which it changes
            "csr": Out(csr_signature(config)),  # to the CSRs
            **decision_ports(config),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        x = self.x
        leader = Signal(config.threads)
        self._rs1, self._rs2 = Signal(32), Signal(32)
        m.d.comb += [
            leader.eq(highest_one(x.mask)),
            self._rs1.eq(select(leader, [x.rs1[i] for i in range(config.threads)])),
            self._rs2.eq(select(leader, [x.rs2[i] for i in range(config.threads)])),
            self.fault.warp.eq(x.warp),
            self.fault.pc.eq(x.entry.pc),
        ]
        self._redirect, self._target = Signal(), Signal(32)
        self._jumps, self._waits, self._jump = Signal(), Signal(), Signal(JumpKind)
        self._value, self._add_lane = Signal(32), Signal()
        self._ask(m)
        # Outside the conditions below: the operands of a comparison need not wait for them.
        m.submodules.branch_lanes = self._lanes = lanes = BranchLanes(config)
        m.d.comb += [lanes.op.eq(x.entry.decoded.op), lanes.a.eq(x.rs1), lanes.b.eq(x.rs2)]
        with m.If(x.valid):
            with m.Switch(x.entry.decoded.info.unit):
                with m.Case(Unit.BRANCH):
                    self._branch(m, leader)
                with m.Case(Unit.SIMT):
                    self._finish_simt(m)
                with m.Case(Unit.CSR):
                    self._finish_csr(m)
                with m.Case(Unit.SYSTEM):
                    self._system(m)
                if config.fpu:
                    with m.Case(*FLOAT_UNITS):
                        self._round(m)
        self._resolve(m)
        if config.learns:
            m.d.sync += self.flow.outcome.valid.eq(self._is(Unit.BRANCH) & ~self.fault_valid)
        count = sum((x.mask[i] for i in range(config.threads)), Const(0, 1))
        retired = Signal(range(config.threads + 1))
        m.d.comb += [
            retired.eq(Mux(x.valid & ~self.fault_valid, count, 0)),
            self.csr.retired.eq(Mux(x.valid, count, 0)), self.csr.cancelled.eq(self.fault_valid),
        ]
        self._tell(m, retired)
        m.d.sync += [self.result.eq(self._value), self.add_lane.eq(self._add_lane)]
        return m

    def _is(self, unit: Unit) -> Value:
        return self.x.valid & (self.x.entry.decoded.info.unit == unit)

    def _ask(self, m: Module) -> None:
        """Give a SIMT instruction or a CSR access to the units that hold the state."""
        x, simt, csr = self.x, self.simt, self.csr
        m.d.comb += [
            simt.valid.eq(self._is(Unit.SIMT)), simt.op.eq(x.entry.decoded.op),
            simt.warp.eq(x.warp), simt.mask.eq(x.mask), simt.pc.eq(x.entry.pc),
            simt.predicate.eq(Cat(x.rs1[i][0] for i in range(self._config.threads))),
            simt.negate.eq(x.entry.decoded.imm[0]),
            simt.leader_rs1.eq(self._rs1), simt.leader_rs2.eq(self._rs2),
            self.flow.masks.eq(simt.masks), self.flow.active.eq(simt.active), self.flow.waiting.eq(simt.waiting),
            self.flow.activation.eq(simt.activation),
            csr.valid.eq(self._is(Unit.CSR)), csr.op.eq(x.entry.decoded.op),
            csr.use_imm.eq(x.entry.decoded.use_imm), csr.immediate.eq(x.entry.decoded.imm),
            csr.rs1.eq(x.rs1[0]), csr.warp.eq(x.warp), csr.mask.eq(x.mask),
            self.rm.eq(Mux(x.entry.decoded.rm == _DYNAMIC, csr.frm, x.entry.decoded.rm)),
        ]
        if self._config.policy_csr:
            m.d.comb += self.flow.change.eq(csr.change)

    def _branch(self, m: Module, leader: Signal) -> None:
        """Resolve a branch once per warp; lanes that disagree are a fault (isa.md, "Branches and jumps")."""
        config = self._config
        x = self.x
        decoded = x.entry.decoded
        is_jalr = decoded.op == BranchOp.JALR.value
        taken = Signal()
        target = Signal(32)
        disagree = Signal()
        # The leader comes late: no logic here waits for it, nor does `taken` where lanes that disagree are a fault.
        other_way = self._differs(self._lanes.taken)
        other_target = Cat(
            self._differs(Cat(x.rs1[i][bit] for i in range(config.threads))) for bit in range(32)
        ).any()
        decides = x.mask if config.check_divergent_branch else leader
        elsewhere: Value = Const(0, 1)
        if config.learns:
            elsewhere = target[2:] != with_high_bits(x.prediction.target, x.entry.pc)[2:]
        m.d.comb += [
            taken.eq((self._lanes.taken & decides).any()),
            target.eq((Mux(is_jalr, self._rs1, x.entry.pc) + decoded.imm) & Const(0xFFFF_FFFE, 32)),
            self._value.eq(x.entry.pc + 4),
            # Fetch already follows the predicted path; only a wrong prediction needs a redirect.
            self._target.eq(Mux(taken, target, x.entry.pc + 4)),
            self._jumps.eq(taken),
        ]
        if config.check_divergent_branch:
            m.d.comb += disagree.eq(Mux(is_jalr, other_target, other_way))
        with m.If(disagree):
            m.d.comb += [self.fault_valid.eq(1), self.fault.cause.eq(FaultCause.DIVERGENT_BRANCH)]
        with m.Elif(taken & target[1]):
            m.d.comb += [
                self.fault_valid.eq(1),
                self.fault.cause.eq(FaultCause.FETCH_MISALIGNED),
                self.fault.address.eq(target),
            ]
        with m.Else():
            m.d.comb += self._redirect.eq((taken ^ decoded.predicted) | (is_jalr & elsewhere))
        m.d.comb += self._jump.eq(jump_kind(x.entry.instruction))
        if config.learns:
            self._tell_predictors(m, taken, target)

    def _tell_predictors(self, m: Module, taken: Signal, target: Signal) -> None:
        """Give the front end the outcome of the branch or jump."""
        x, outcome, word = self.x, self.flow.outcome, self.x.entry.instruction
        m.d.sync += [
            outcome.warp.eq(x.warp), outcome.pc.eq(x.entry.pc), outcome.taken.eq(taken), outcome.target.eq(target),
            outcome.conditional.eq(is_branch(word)), outcome.usual.eq(is_usually_taken(word)),
            outcome.indirect.eq(is_jalr(word)),
            outcome.pushes.eq(is_link(word[7:12]) & ~is_branch(word)), outcome.pops.eq(pops(word)),
            outcome.wrong.eq(self._redirect), outcome.run.eq(x.prediction.run), outcome.way.eq(x.prediction.way),
        ]

    def _differs(self, bits: Value) -> Value:
        """Whether two active lanes differ in ``bits``, which has one bit per lane."""
        return (self.x.mask & bits).any() & (self.x.mask & ~bits).any()

    def _finish_simt(self, m: Module) -> None:
        simt = self.simt
        m.d.comb += [
            self._value.eq(simt.result),
            self._redirect.eq(simt.redirect),
            self._jumps.eq(simt.redirect & ~simt.ended),
            self._target.eq(simt.target),
            self._waits.eq(simt.waits),
            self.fault_valid.eq(simt.fault),
            self.fault.cause.eq(simt.cause),
        ]

    def _finish_csr(self, m: Module) -> None:
        csr = self.csr
        m.d.comb += [self._value.eq(csr.value), self._add_lane.eq(csr.add_lane)]
        with m.If(csr.unknown):
            m.d.comb += [
                self.fault_valid.eq(1),
                self.fault.cause.eq(FaultCause.UNKNOWN_CSR),
                self.fault.address.eq(self.x.entry.decoded.imm[:12]),
            ]

    def _round(self, m: Module) -> None:
        """Check that an instruction that rounds has an existing mode; the others have 0 there."""
        with m.If(self.rm > _LAST_MODE):
            self._illegal(m)

    def _illegal(self, m: Module) -> None:
        m.d.comb += [
            self.fault_valid.eq(1),
            self.fault.cause.eq(FaultCause.ILLEGAL_INSTRUCTION),
            self.fault.address.eq(self.x.entry.instruction),
        ]

    def _system(self, m: Module) -> None:
        entry = self.x.entry
        with m.Switch(entry.decoded.op):
            for op, cause in _SYSTEM_FAULTS.items():
                with m.Case(op):
                    m.d.comb += [self.fault_valid.eq(1), self.fault.cause.eq(cause)]
                    if op is SystemOp.FETCH_FAULT:
                        m.d.comb += self.fault.address.eq(entry.pc)
            with m.Case(SystemOp.ILLEGAL):
                self._illegal(m)
            with m.Case(SystemOp.FENCE_I):
                m.d.comb += [
                    self.flow.invalidate.eq(1), self._redirect.eq(1), self._jumps.eq(1), self._target.eq(entry.pc + 4),
                ]

    def _resolve(self, m: Module) -> None:
        x, simt = self.x, self.simt
        control = x.valid & x.entry.decoded.info.control
        resolves = Signal()
        m.d.comb += resolves.eq(control & ~self._waits & ~self.fault_valid)
        if self._config.operand_register:
            # The warp whose bar or branch is over in X is not released again one cycle later, with the others.
            released, onward = Signal(self._config.warps), Signal(self._config.warps)
            m.d.comb += onward.eq(Mux(resolves & ~self._redirect, one_hot(x.warp, self._config.warps), 0))
            m.d.sync += [released.eq(simt.release & ~onward), self.flow.resolution.valid.eq(resolves & self._redirect)]
            m.d.comb += self.flow.release.eq(released | onward)
        else:
            m.d.sync += [self.flow.release.eq(simt.release), self.flow.resolution.valid.eq(resolves)]
        with m.If(control):
            m.d.sync += [
                self.flow.resolution.warp.eq(x.warp),
                self.flow.resolution.redirect.eq(self._redirect),
                self.flow.resolution.target.eq(self._target),
            ]

    def _tell(self, m: Module, retired: Signal) -> None:
        """Fill the record of this cycle."""
        event = self.event
        m.d.comb += [
            event.active.eq(self.flow.active),
            event.waiting.eq(self.flow.waiting),
            event.release.eq(self.flow.release),
            event.region.eq(self.csr.region),
            event.resolution.eq(self.flow.resolution),
            event.activation.eq(self.flow.activation),
            event.taken.eq(self._jumps & ~self.fault_valid),
            event.jump.eq(Mux(self.fault_valid, 0, self._jump)),
            event.wrong.eq(self._redirect),
            event.retired.eq(retired),
        ]
        if self._config.policy_csr:
            m.d.comb += event.change.eq(self.flow.change.as_value())
