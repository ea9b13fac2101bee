"""The divider of RV32M."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..isa.ops import DivOp
from ..lib.component import Component
from ..lib.shared import share_lanes
from .lanes import unit_ports

__all__ = ["DivLane", "DivUnit"]

#: Cycles of one division after that of ``start``: one a quotient bit, one for the sign.
_WORK_CYCLES = 33


class DivLane(Component):
    """One lane: restoring division of magnitudes, one quotient bit per ``step``.

    ``start``, then 32 cycles with ``step``, then ``finish``: at most one of the three in a cycle. Registers keep their
    value in all other cycles and have no reset.
    """

    def __init__(self) -> None:
        super().__init__({
            "start": In(1),  # take `a` and `b`
            "step": In(1),  # one quotient bit; in 32 cycles after that of `start`
            "finish": In(1),  # write `result`; in one cycle after the last `step`
            "is_signed": In(1),  # the operands are two's complement; in the cycle of `start`
            "remainder": In(1),  # the remainder is wanted, not the quotient; in the cycles of `start` and `finish`
            "a": In(32),  # the dividend, in the cycle of `start`
            "b": In(32),  # the divisor, in the cycle of `start`
            "result": Out(32),  # from the cycle after `finish` until that after the next; from a register
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # The dividend leaves `quotient` at the top while quotient bits enter at the bottom.
        quotient = Signal(32, reset_less=True)
        rest = Signal(32, reset_less=True)
        # The negated magnitude of the divisor is `complement` + `carry`.
        complement = Signal(32, reset_less=True)
        carry = Signal(reset_less=True)
        negate = Signal(reset_less=True)
        result = Signal(32, reset_less=True)
        m.d.comb += self.result.eq(result)
        a_negative = self.is_signed & self.a[31]
        b_negative = self.is_signed & self.b[31]

        # The dividend at the start and the result at the end share one negation.
        value, negative, signed_value = Signal(32), Signal(), Signal(33)
        want_rest, want_quotient = self.finish & self.remainder, self.finish & ~self.remainder
        inverted = negative.replicate(32)
        m.d.comb += [
            negative.eq(Mux(self.start, a_negative, negate & self.finish)),
            value.eq((self.a & self.start.replicate(32)) | (quotient & want_quotient.replicate(32))
                     | (rest & want_rest.replicate(32))),
            signed_value.eq(Cat(negative, value ^ inverted) + negative),
        ]

        # `rest` never exceeds the leading bits of the dividend, so its top bit loses nothing.
        shifted = Cat(quotient[31], rest[:31])
        difference = Signal(34)
        # A divisor of 0 always fits: the quotient is all ones and the rest is the dividend, as RISC-V requires.
        # Overflow also comes out right: -2**31 / -1 is 2**31 / 1 as magnitudes.
        m.d.comb += difference.eq(Cat(carry, shifted) + Cat(carry, complement))
        fits = difference[33]

        with m.If(self.start):
            m.d.sync += [
                quotient.eq(signed_value[1:]),
                rest.eq(0),
                complement.eq(self.b ^ (~b_negative).replicate(32)),
                carry.eq(~b_negative),
                negate.eq(Mux(self.remainder, a_negative, (a_negative ^ b_negative) & (self.b != 0))),
            ]
        with m.Elif(self.step):
            m.d.sync += [
                quotient.eq(Cat(fits, quotient)),
                rest.eq(Mux(fits, difference[1:33], shifted)),
            ]
        with m.If(self.finish):
            m.d.sync += result.eq(signed_value[1:])
        return m


class DivUnit(Component):
    """:class:`hdl.isa.ops.DivOp` over the lanes; latency ``config.latency_div`` for all operands, not pipelined.

    Ports as in :func:`hdl.execute.lanes.unit_ports`, and ``busy``, which is 1 in the ``latency - 1`` cycles after that
    of ``valid``. ``valid`` may not be 1 in a cycle with ``busy``: operations arrive at least ``latency`` cycles apart
    (a new one at the earliest in the cycle of the previous result). Division by zero and overflow as in RISC-V, without
    a trap. ``result`` stays until that of the next operation. Reset abandons a division.
    """

    def __init__(self, config: SmConfig):
        self._config = config
        super().__init__({
            **unit_ports(config),
            "busy": Out(1),  # a division is in progress and has no result yet: `valid` must be 0
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        latency = self._config.latency_div
        # Cycles left until the result. A longer latency waits before the work, not after it.
        left = Signal(range(latency))
        want_remainder = Signal(reset_less=True)
        live = Signal(self._config.threads, reset_less=True)
        step = Signal()
        finish = Signal()
        op_remainder = Signal()
        m.d.comb += [
            self.busy.eq(left != 0),
            step.eq((left > 1) & (left <= _WORK_CYCLES)),
            finish.eq(left == 1),
            op_remainder.eq((self.op == DivOp.REM) | (self.op == DivOp.REMU)),
        ]
        with m.If(self.valid):
            m.d.sync += [
                left.eq(latency - 1),
                want_remainder.eq(op_remainder),
                live.eq(self.mask),
            ]
        with m.Elif(self.busy):
            m.d.sync += left.eq(left - 1)

        for i, lane in enumerate(share_lanes(m, platform, DivLane, self._config.threads)):
            m.d.comb += [
                lane.start.eq(self.valid & self.mask[i]),
                lane.step.eq(step & live[i]),
                lane.finish.eq(finish & live[i]),
                lane.is_signed.eq((self.op == DivOp.DIV) | (self.op == DivOp.REM)),
                lane.remainder.eq(Mux(self.valid, op_remainder, want_remainder)),
                lane.a.eq(self.a[i]),
                lane.b.eq(self.b[i]),
                self.result[i].eq(lane.result),
            ]
        return m
