"""The conversions between RV32F and 32-bit integers."""

from itertools import pairwise

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ...isa.ops import FcvtOp
from ...lib.component import Component
from ...lib.shared import share
from .formats import BIAS, Flags, Float32, Rounding
from .ports import fpu_ports
from .round import rounds_away

__all__ = ["FcvtLane", "FcvtUnit"]

#: Places of a significand, and of the fraction behind an integer's lowest bit.
_SIGNIFICAND = 24
#: Registers before the result's: operand, prepared, shifted, rounded.
_REGISTERS = 4


class _Control(data.Struct):
    """What to do: travels along with the rest (apart, so that no record is wider than 64 bits)."""

    from_integer: 1
    #: The integer has no sign.
    is_unsigned: 1
    rm: Rounding


class _Prepared(data.Struct):
    """``magnitude`` of an integer, to be normalised; of a number, the significand to be shifted left by ``distance``.

    The number is then ``magnitude`` / 2**24. ``large``: it is 2**32 or more, or a NaN, which counts as positive.
    """

    magnitude: 32
    distance: 6
    sign: 1
    large: 1


class _Shifted(data.Struct):
    """The same after the shift; ``zeros`` are the leading zeros of an integer."""

    places: unsigned(32 + _SIGNIFICAND)
    zeros: 5
    sign: 1
    large: 1


class _Rounded(data.Struct):
    """``magnitude`` is an integer, or exponent and fraction of a number."""

    magnitude: 33
    sign: 1
    large: 1
    inexact: 1


class _Converted(data.Struct):
    """Result and flags."""

    word: 32
    invalid: 1
    inexact: 1


class FcvtLane(Component):
    """One lane of ``stages`` registers: operand, prepared, shifted, rounded, result (any number of times).

    Each register keeps its value in a cycle in which its enable is 0. The result of what is enabled in cycle c, and
    advanced by bit k in c+1+k, is there in c + ``stages``; there may be one in every cycle. Only ``flags`` has a reset.
    """

    def __init__(self, *, stages: int):
        self._stages = stages
        super().__init__({
            "enable": In(1),  # take an operation
            "advance": In(stages - 1),  # bit k: register k after the first takes its value in this cycle
            "op": In(FcvtOp),  # an FcvtOp, in the cycle of `enable`, as `rm` and `a`
            "rm": In(Rounding),  # rounding mode
            "a": In(32),  # the integer or the encoding
            "result": Out(32),  # from the cycle after the highest bit of `advance`, until the next; from a register
            "flags": Out(Flags),  # those of that result; 0 after a cycle in which the last register did not advance
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        operand = Signal(32, reset_less=True)
        control: list[data.View] = [Signal(_Control, name="control0", reset_less=True)]
        with m.If(self.enable):
            m.d.sync += [
                operand.eq(self.a),
                control[0].from_integer.eq((self.op == FcvtOp.S_W) | (self.op == FcvtOp.S_WU)),
                control[0].is_unsigned.eq((self.op == FcvtOp.WU_S) | (self.op == FcvtOp.S_WU)),
                control[0].rm.eq(self.rm),
            ]
        for k in range(_REGISTERS - 1):
            control.append(_register(m, self.advance[k], control[k], f"control{k + 1}"))
        prepared = _register(m, self.advance[0], _prepare(m, control[0], operand), "prepared_register")
        shifted = _register(m, self.advance[1], _shift(m, control[1], prepared), "shifted_register")
        rounded = _register(m, self.advance[2], _round(m, control[2], shifted), "rounded_register")
        converted: data.View = Signal(_Converted)
        m.d.comb += converted.eq(Mux(control[3].from_integer, _number(rounded), _integer(m, control[3], rounded)))
        for k in range(_REGISTERS - 1, self._stages - 2):
            converted = _register(m, self.advance[k], converted, f"converted{k}")

        result = Signal(32, reset_less=True)
        flags = Signal(Flags)
        with m.If(self.advance[-1]):
            m.d.sync += result.eq(converted.word)
        m.d.sync += [
            flags.invalid.eq(self.advance[-1] & converted.invalid),
            flags.inexact.eq(self.advance[-1] & converted.inexact),
        ]
        m.d.comb += [self.result.eq(result), self.flags.eq(flags)]
        return m


def _prepare(m: Module, control: data.View, operand: Value) -> data.View:
    """First step: the magnitude of an integer; significand and distance of a number."""
    prepared = Signal(_Prepared)
    number = data.View(Float32, operand)
    with m.If(control.from_integer):
        negative = operand[31] & ~control.is_unsigned
        m.d.comb += [
            prepared.sign.eq(negative),
            prepared.magnitude.eq(Mux(negative, -operand, operand)),
        ]
    with m.Else():
        nan = number.exponent.all() & (number.fraction != 0)
        m.d.comb += [
            prepared.sign.eq(number.sign & ~nan),
            prepared.large.eq(number.exponent >= BIAS + 32),
            prepared.distance.eq(number.exponent - (BIAS - 1)),
            prepared.magnitude.eq(Cat(number.fraction, Const(1, 1))),
        ]
        with m.If(number.exponent < BIAS - 1):
            # Below 1/2 it only counts whether the number is 0: it becomes 0 or 2**-24.
            m.d.comb += [prepared.distance.eq(0), prepared.magnitude.eq(operand[:31] != 0)]
    return prepared


def _shift(m: Module, control: data.View, prepared: data.View) -> data.View:
    """Second step, one shifter for both: an integer goes left as far as its leading zeros allow."""
    shifted = Signal(_Shifted)
    places = Signal(len(shifted.places), name="places32")
    m.d.comb += places.eq(
        Mux(prepared.distance[5], Cat(Const(0, 32), prepared.magnitude[:_SIGNIFICAND]), prepared.magnitude))
    for k in reversed(range(5)):
        step = 1 << k
        before, places = places, Signal(len(places), name=f"places{step}")
        go = Signal(name=f"go{step}")
        m.d.comb += [
            go.eq(Mux(control.from_integer, before[32 - step:32] == 0, prepared.distance[k])),
            places.eq(Mux(go, before << step, before)),
            shifted.zeros[k].eq(go),
        ]
    m.d.comb += [
        shifted.places.eq(places),
        shifted.sign.eq(prepared.sign),
        shifted.large.eq(prepared.large),
    ]
    return shifted


def _round(m: Module, control: data.View, shifted: data.View) -> data.View:
    """Third step, one incrementer for both. A carry out of a number's fraction goes into its exponent."""
    rounded = Signal(_Rounded)
    places = shifted.places
    kept = Signal(32)
    guard = Signal()
    sticky = Signal()
    with m.If(control.from_integer):
        # Of 0, the only integer without a leading one here, the exponent is 0.
        exponent = Mux(places[31], BIAS + 31 - shifted.zeros, 0)
        m.d.comb += [
            kept.eq(Cat(places[8:31], exponent[:8])),
            guard.eq(places[7]),
            sticky.eq(places[:7].any()),
        ]
    with m.Else():
        m.d.comb += [
            kept.eq(places[_SIGNIFICAND:]),
            guard.eq(places[_SIGNIFICAND - 1]),
            sticky.eq(places[:_SIGNIFICAND - 1].any()),
        ]
    m.d.comb += [
        rounded.magnitude.eq(
            kept + rounds_away(control.rm, sign=shifted.sign, odd=kept[0], guard=guard, sticky=sticky)),
        rounded.sign.eq(shifted.sign),
        rounded.large.eq(shifted.large),
        rounded.inexact.eq(guard | sticky),
    ]
    return rounded


def _integer(m: Module, control: data.View, rounded: data.View) -> data.View:
    """Last step to an integer: its sign, or what RISC-V writes in place of one that does not fit."""
    converted = Signal(_Converted, name="integer")
    magnitude, sign = rounded.magnitude, rounded.sign
    beyond = Signal()
    with m.If(control.is_unsigned):
        m.d.comb += beyond.eq(Mux(sign, magnitude != 0, magnitude[32]))
    with m.Else():
        m.d.comb += beyond.eq(magnitude[32] | (magnitude[31] & ~(sign & (magnitude[:31] == 0))))
    invalid = rounded.large | beyond
    limit = Mux(control.is_unsigned, Mux(sign, 0, 0xFFFF_FFFF), Mux(sign, 0x8000_0000, 0x7FFF_FFFF))
    m.d.comb += [
        converted.invalid.eq(invalid),
        converted.inexact.eq(rounded.inexact & ~invalid),
        converted.word.eq(Mux(invalid, limit, Mux(sign, -magnitude, magnitude))),
    ]
    return converted


def _number(rounded: data.View) -> Value:
    """Last step to a number."""
    return Cat(rounded.magnitude[:31], rounded.sign, Const(0, 1), rounded.inexact)


def _register(m: Module, enable: Value, value: data.View, name: str) -> data.View:
    """``value`` as it was at the end of the last cycle with ``enable``."""
    register = Signal(value.shape(), name=name, reset_less=True)
    with m.If(enable):
        m.d.sync += register.eq(value)
    return register


class FcvtUnit(Component):
    """:class:`hdl.isa.ops.FcvtOp` over the lanes; latency ``config.latency_fcvt``, a new operation in every cycle.

    Ports as in :func:`hdl.execute.fpu.ports.fpu_ports`. Reset empties the pipeline.
    """

    def __init__(self, config: SmConfig):
        self._config = config
        super().__init__(fpu_ports(config))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        stages = self._config.latency_fcvt
        # Element k belongs to the operation that has passed k + 1 registers; its mask is 0 if there is none.
        masks = [Signal(self._config.threads, name=f"mask{k}") for k in range(stages - 1)]
        for before, after in pairwise([Mux(self.valid, self.mask, 0), *masks]):
            m.d.sync += after.eq(before)
        for i in range(self._config.threads):
            lane = share(m, platform, f"lane{i}", FcvtLane, stages=stages)
            m.d.comb += [
                lane.enable.eq(self.valid & self.mask[i]),
                lane.advance.eq(Cat(mask[i] for mask in masks)),
                lane.op.eq(self.op),
                lane.rm.eq(self.rm),
                lane.a.eq(self.a[i]),
                self.result[i].eq(lane.result),
                self.flags[i].eq(lane.flags),
            ]
        return m
