"""Division and square root of RV32F."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data
from amaranth.lib.enum import EnumView
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ...isa.ops import FdivOp
from ...lib.component import Component
from ...lib.shared import share
from .formats import EXPONENT_BITS, Aligned, Flags, Rounding, Special
from .ports import fpu_ports
from .recurrence import STEPS, Recurrence
from .round import Denormalise, Round
from .unpack import Unpack

__all__ = ["FdivLane", "FdivUnit"]

#: Cycles of one operation after that of ``start``: unpack, the steps, denormalise, finish.
_WORK_CYCLES = STEPS + 3


class _Outline(data.Struct):
    """What is known of a result before its significand."""

    exponent: signed(EXPONENT_BITS)
    sign: 1
    zero: 1
    special: Special


class FdivLane(Component):
    """One lane: ``a / b``, or with ``square_root`` the root of ``a``, rounded and with its flags.

    An operation is ``start``, ``unpack``, the steps of :class:`hdl.execute.fpu.recurrence.Recurrence`, ``denormalise``
    and ``finish``, each in a later cycle than the one before. Registers keep their value in all other cycles, except
    ``flags``, which alone has a reset. So between operations nothing toggles, whatever the inputs do.
    """

    def __init__(self) -> None:
        super().__init__({
            "start": In(1),  # take `a`, `b`, `square_root` and `rm`
            "unpack": In(1),  # start the recurrence; in one cycle after `start`
            "step": In(STEPS),  # one bit for each step, the first one's highest, in consecutive cycles after `unpack`
            "denormalise": In(1),  # the first half of rounding, in the cycle after the last step
            "finish": In(1),  # the second half, in the next cycle: writes `result` and `flags`
            "square_root": In(1),  # the root of `a` is wanted; in the cycle of `start`
            "rm": In(Rounding),  # rounding mode, in the cycle of `start`
            "a": In(32),  # dividend or radicand, in the cycle of `start`
            "b": In(32),  # divisor, in the cycle of `start`
            "result": Out(32),  # from the cycle after `finish` until that after the next; from a register
            "flags": Out(Flags),  # in the cycle after `finish`, and 0 in all others
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        operand_a = Signal(32, reset_less=True)
        operand_b = Signal(32, reset_less=True)
        square_root = Signal(reset_less=True)
        rm = Signal(Rounding, reset_less=True)
        with m.If(self.start):
            m.d.sync += [
                operand_a.eq(self.a),
                operand_b.eq(self.b),
                square_root.eq(self.square_root),
                rm.eq(self.rm),
            ]

        m.submodules.unpack_a = unpack_a = Unpack()
        m.submodules.unpack_b = unpack_b = Unpack()
        m.submodules.recurrence = recurrence = Recurrence()
        a, b = unpack_a.value, unpack_b.value
        m.d.comb += [
            unpack_a.bits.eq(operand_a),
            unpack_b.bits.eq(operand_b),
            recurrence.load.eq(self.unpack),
            recurrence.step.eq(self.step),
            recurrence.square_root.eq(square_root),
            recurrence.odd.eq(a.exponent[0]),
            recurrence.a.eq(a.significand),
            recurrence.b.eq(b.significand),
        ]
        outline = Signal(_Outline, reset_less=True)
        with m.If(self.unpack):
            m.d.sync += outline.eq(_outline(m, a, b, square_root, recurrence.less))
        self._round(m, rm, outline, recurrence)
        return m

    def _round(self, m: Module, rm: "EnumView[Rounding]", outline: data.View, recurrence: Recurrence) -> None:
        """The last two cycles."""
        m.submodules.denormalise_step = denormalise = Denormalise()
        m.submodules.round_step = rounding = Round()
        aligned = Signal(Aligned, reset_less=True)
        result = Signal(32, reset_less=True)
        flags = Signal(Flags)
        m.d.comb += [
            denormalise.rm.eq(rm),
            denormalise.exact.exponent.eq(outline.exponent),
            denormalise.exact.sign.eq(outline.sign),
            rounding.rm.eq(rm),
            rounding.aligned.eq(aligned),
            rounding.special.eq(outline.special),
            self.result.eq(result),
            self.flags.eq(flags),
        ]
        with m.If(~outline.zero):
            m.d.comb += [
                Cat(denormalise.exact.guard, denormalise.exact.significand).eq(recurrence.root),
                denormalise.exact.sticky.eq(recurrence.remainder),
            ]
        with m.If(self.denormalise):
            m.d.sync += aligned.eq(denormalise.aligned)
        with m.If(self.finish):
            m.d.sync += result.eq(rounding.result)
        m.d.sync += flags.eq(Mux(self.finish, rounding.flags, 0))


def _outline(m: Module, a: data.View, b: data.View, square_root: Value, less: Value) -> data.View:
    """Exponent, sign and exceptions by the operands, combinational."""
    outline = Signal(_Outline, name="next_outline")
    special = outline.special
    sign = Signal(name="next_sign")
    m.d.comb += [
        sign.eq(a.sign ^ (b.sign & ~square_root)),
        outline.sign.eq(sign),
        special.sign.eq(sign),
    ]
    with m.If(square_root):
        negative = a.sign & ~a.zero & ~a.nan
        m.d.comb += [
            outline.exponent.eq(a.exponent >> 1),
            outline.zero.eq(a.zero),
            special.nan.eq(a.nan | negative),
            special.infinite.eq(a.infinite),
            special.invalid.eq(a.signalling | negative),
        ]
    with m.Else():
        undefined = (a.zero & b.zero) | (a.infinite & b.infinite)
        m.d.comb += [
            outline.exponent.eq(a.exponent - b.exponent - less),
            outline.zero.eq(a.zero | b.infinite),
            special.nan.eq(a.nan | b.nan | undefined),
            special.infinite.eq(a.infinite | b.zero),
            special.invalid.eq(a.signalling | b.signalling | undefined),
            special.divide_by_zero.eq(b.zero & ~a.zero & ~a.infinite & ~a.nan),
        ]
    return outline


class FdivUnit(Component):
    """:class:`hdl.isa.ops.FdivOp` over the lanes; latency ``config.latency_fdiv`` whatever the operands, not pipelined.

    Ports as in :func:`hdl.execute.fpu.ports.fpu_ports`, and ``busy``, which is 1 in the ``latency - 1`` cycles after
    that of ``valid``. ``valid`` may not be 1 in a cycle with ``busy``: a new operation arrives ``latency`` cycles after
    the one before (in the cycle in which that one's result is there) or later. ``result`` stays until the next
    operation's. Reset abandons an operation.
    """

    def __init__(self, config: SmConfig):
        self._config = config
        super().__init__({
            **fpu_ports(config),
            "busy": Out(1),  # an operation is under way and has no result yet: `valid` may not be 1
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        latency = self._config.latency_fdiv
        # Cycles left until the result is there. A longer latency waits before the work, not after it.
        left = Signal(range(latency))
        live = Signal(self._config.threads, reset_less=True)
        step = Signal(STEPS)
        m.d.comb += [
            self.busy.eq(left != 0),
            step.eq(Cat(left == 3 + k for k in range(STEPS))),
        ]
        with m.If(self.valid):
            m.d.sync += [
                left.eq(latency - 1),
                live.eq(self.mask),
            ]
        with m.Elif(self.busy):
            m.d.sync += left.eq(left - 1)

        for i in range(self._config.threads):
            lane = share(m, platform, f"lane{i}", FdivLane)
            m.d.comb += [
                lane.start.eq(self.valid & self.mask[i]),
                lane.unpack.eq((left == _WORK_CYCLES) & live[i]),
                lane.step.eq(Mux(live[i], step, 0)),
                lane.denormalise.eq((left == 2) & live[i]),
                lane.finish.eq((left == 1) & live[i]),
                lane.square_root.eq(self.op == FdivOp.FSQRT),
                lane.rm.eq(self.rm),
                lane.a.eq(self.a[i]),
                lane.b.eq(self.b[i]),
                self.result[i].eq(lane.result),
                self.flags[i].eq(lane.flags),
            ]
        return m
