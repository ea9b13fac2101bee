"""Control and status registers."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..isa.csrs import PERFORMANCE_CSRS, ZERO_CSRS, Csr
from ..isa.ops import CsrOp
from ..layouts.control import change_layout
from ..layouts.counters import COUNTER_BITS, COUNTERS, counter_places
from ..layouts.execute import order_layout
from ..lib.component import Component
from ..lib.partitions import named

__all__ = ["CsrUnit"]


def misa(config: SmConfig) -> int:
    """The value of misa: MXL = 1 (32 bits), extensions I, M, F if there is an FPU, and X (the SIMT extension)."""
    return 1 << 30 | sum(1 << (ord(extension) - 65) for extension in ("IMFX" if config.fpu else "IMX"))


#: Number bits 11..10 of a read-only CSR (RISC-V privileged specification, section 2.1).
READ_ONLY = 0b11

#: From the number of the low half of a counter to that of its high half.
_HIGH = 0x80


class CsrUnit(Component):
    """All CSRs of isa.md; without FPU those of fcsr do not exist, without research counters theirs read 0.

    An access is made in stage X: its read is combinational, its write takes effect at the end of the cycle. One access
    a cycle. An access to an unknown CSR changes nothing. A launch clears mcycle and minstret; fcsr, mregion, morder,
    mpolicy and mscratch are 0 after reset.
    """

    def __init__(self, config: SmConfig, *, core_port: bool = False) -> None:
        self._config, self._core_port = config, core_port
        optional: dict[str, wiring.Member] = {}
        if core_port:
            optional["core_id"] = In(range(config.cores))  # the number of the core; constant
        if config.ordered:
            optional["order"] = Out(order_layout())  # in X: mregion begins or ends a list of accesses
        if config.policy_csr:
            optional["change"] = Out(change_layout())  # registers: the value written to mpolicy one cycle ago, or 0
        if config.schedulers > 1:
            optional["modes"] = Out(data.ArrayLayout(3, config.warps))  # registers: the rounding mode of each warp
        raising = {
            #: In W: flags are ORed into fflags of ``raised_warp``; not in a cycle in which that warp writes them.
            "raise_valid": In(1),
            "raised_warp": In(config.warp_bits),  # in W: the warp that raises the flags
            "raised": In(5),  # in W: the flags raised
        }
        super().__init__({
            **optional,
            "start": In(1),  # launch, one cycle
            "argument": In(32),  # with ``start``: the value of mscratch
            "valid": In(1),  # in X: a CSR is accessed; otherwise nothing is written
            "op": In(5),  # in X: a CsrOp
            "use_imm": In(1),  # in X: the operand is the rs1 field of ``immediate``, not ``rs1``
            "immediate": In(32),  # in X: the decoder's: the number in 11..0, the rs1 field in 16..12
            "rs1": In(32),  # in X: rs1 of lane 0
            "warp": In(config.warp_bits),  # in X: the warp of the access
            "mask": In(config.threads),  # in X: its thread mask
            "active": In(config.warps),  # warps that run
            #: Thread-instructions that are added to minstret in this cycle.
            "retired": In(range(config.threads * config.schedulers + 1)),
            "cancelled": In(1),  # with ``retired``: they are not, because they fault
            "counter_index": Out(range(len(counter_places()))),  # in X: the counter that is read, if a counter is read
            "counter_value": In(COUNTER_BITS),  # in X: its value, from the observer
            "value": Out(32),  # in X: the value read
            "add_lane": Out(1),  # in X: each lane adds its number to ``value``
            #: In X: the number does not exist, or it is read-only and the instruction writes it.
            "unknown": Out(1),
            "region": Out(1),  # a register: bit 0 of mregion, the counters run
            "frm": Out(3),  # in X: the rounding mode of ``warp``, as instructions before this cycle have left it
            **{named(name, p): port for p in range(config.schedulers) for name, port in raising.items()},
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        number = self.immediate[:12]
        field = self.immediate[12:17]
        fcsr = Array(Signal(8, name=f"fcsr_{w}") for w in range(self._config.warps))
        scratch = Signal(32)
        known = Signal()
        m.d.comb += known.eq(1)
        cycle, retired = self._time(m)
        self._list = Signal(32)
        self._policy = Signal(change_layout())
        with m.Switch(number):
            for numbers, value in self._readable(fcsr, scratch, cycle, retired):
                with m.Case(*numbers):
                    m.d.comb += self.value.eq(value)
            with m.Default():
                m.d.comb += known.eq(0)
        # The low bits of a counter's CSR number are its place (:func:`counter_places`).
        m.d.comb += self.counter_index.eq(number)
        m.d.comb += self.add_lane.eq((number == Csr.THREAD_ID) | (number == Csr.MHARTID))

        writes = (self.op == CsrOp.RW.value) | (field != 0)
        m.d.comb += self.unknown.eq(~known | ((number[10:] == READ_ONLY) & writes))
        operand = Mux(self.use_imm, field, self.rs1)
        # The value of a CSR that can be written, not ``value``: counters come late.
        before, written = Signal(32), Signal(32)
        with m.Switch(number):
            for numbers, value in self._writable(fcsr, scratch):
                with m.Case(*numbers):
                    m.d.comb += before.eq(value)
        with m.Switch(self.op):
            with m.Case(CsrOp.RS):
                m.d.comb += written.eq(before | operand)
            with m.Case(CsrOp.RC):
                m.d.comb += written.eq(before & ~operand)
            with m.Default():
                m.d.comb += written.eq(operand)
        m.d.comb += self.frm.eq(fcsr[self.warp][5:])
        if self._config.schedulers > 1:
            m.d.comb += [mode.eq(register[5:]) for mode, register in zip(self.modes, fcsr, strict=True)]
        for w, register in enumerate(fcsr):
            partition = w % self._config.schedulers
            valid, warp, raised = (getattr(self, named(f"raise{end}", partition)) for end in ("_valid", "d_warp", "d"))
            with m.If(valid & (warp == w)):
                m.d.sync += register[:5].eq(register[:5] | raised)
        with m.If(self.valid & ~self.unknown & writes):
            self._write(m, number, written, fcsr, scratch)
            if self._config.ordered:
                self._order(m, number, written)
        if self._config.policy_csr:
            self._change(m, self.valid & ~self.unknown & writes & (number == Csr.MPOLICY), written)
        with m.If(self.start):
            m.d.sync += scratch.eq(self.argument)
        return m

    def _time(self, m: Module) -> tuple[Signal, Signal]:
        """mcycle counts cycles since launch, minstret thread-instructions (isa.md)."""
        cycle, counted, retired = Signal(64), Signal(64), Signal(64)
        # Whether an instruction faults is known late: its count is added in the next cycle, and included in reads.
        recent, cancelled = Signal.like(self.retired), Signal()
        m.d.comb += retired.eq(counted + Mux(cancelled, 0, recent))
        m.d.sync += [
            cycle.eq(cycle + 1), recent.eq(self.retired), cancelled.eq(self.cancelled), counted.eq(retired),
        ]
        with m.If(self.start):
            m.d.sync += [cycle.eq(0), recent.eq(0), counted.eq(0)]
        return cycle, retired

    def _readable(
        self, fcsr: Array, scratch: Signal, cycle: Signal, retired: Signal,
    ) -> list[tuple[list[int], Value]]:
        """Every CSR that exists: its numbers and the value that it reads as."""
        config = self._config
        core: Value = self.core_id if self._core_port else Const(config.core_id, 32)
        hart_base: Value | int = core * config.harts if self._core_port else config.core_id * config.harts
        rows: list[tuple[list[int], Value]] = [
            *self._writable(fcsr, scratch),
            ([Csr.MISA], Const(misa(config), 32)),
            ([Csr.MCYCLE], cycle[:32]),
            ([Csr.MCYCLEH], cycle[32:]),
            ([Csr.MINSTRET], retired[:32]),
            ([Csr.MINSTRETH], retired[32:]),
            ([Csr.WARP_ID], self.warp),
            ([Csr.CORE_ID], core),
            ([Csr.ACTIVE_WARPS], self.active),
            ([Csr.ACTIVE_THREADS], self.mask),
            ([Csr.MHARTID], hart_base + config.threads * self.warp),
            ([Csr.NUM_THREADS], Const(config.threads, 32)),
            ([Csr.NUM_WARPS], Const(config.warps, 32)),
            ([Csr.NUM_CORES], Const(config.cores, 32)),
            ([Csr.LOCAL_MEM_BASE], Const(config.memory_map.local, 32)),
        ]
        lows = [low for counter in COUNTERS for low, _ in counter.numbers()] if config.research_counters else []
        rows += [(lows, self.counter_value[:32]), ([low + _HIGH for low in lows], self.counter_value[32:])]
        listed = {number for numbers, _ in rows for number in numbers}
        zeros = sorted(
            {int(number) for number in ZERO_CSRS | PERFORMANCE_CSRS}
            | {Csr.THREAD_ID, Csr.MVENDORID, Csr.MARCHID, Csr.MIMPID, Csr.MORDER, Csr.MPOLICY} - listed
        )
        rows.append(([number for number in zeros if number not in listed], Const(0, 32)))
        return rows

    def _writable(self, fcsr: Array, scratch: Signal) -> list[tuple[list[int], Value]]:
        """Every CSR that keeps what is written: its numbers and its value."""
        mine = fcsr[self.warp]
        rows: list[tuple[list[int], Value]] = [([Csr.MSCRATCH], scratch), ([Csr.MREGION], self.region)]
        if self._config.fpu:
            rows += [([Csr.FFLAGS], mine[:5]), ([Csr.FRM], mine[5:]), ([Csr.FCSR], mine)]
        if self._config.ordered:
            rows.append(([Csr.MORDER], self._list))
        if self._config.policy_csr:
            rows.append(([Csr.MPOLICY], self._policy.as_value()))
        return rows

    def _write(self, m: Module, number: Value, written: Signal, fcsr: Array, scratch: Signal) -> None:
        """Write a CSR; readable numbers that are not listed here ignore writes."""
        mine = fcsr[self.warp]
        with m.Switch(number):
            with m.Case(Csr.FFLAGS):
                m.d.sync += mine.eq(Cat(written[:5], mine[5:]))
            with m.Case(Csr.FRM):
                m.d.sync += mine.eq(Cat(mine[:5], written[:3]))
            with m.Case(Csr.FCSR):
                m.d.sync += mine.eq(written)
            with m.Case(Csr.MSCRATCH):
                m.d.sync += scratch.eq(written)
            with m.Case(Csr.MREGION):
                m.d.sync += self.region.eq(written[0])

    def _order(self, m: Module, number: Value, written: Signal) -> None:
        """Apply the list of morder in the measured region only; the region's end clears morder."""
        with m.If(number == Csr.MORDER):
            m.d.sync += self._list.eq(written)
        with m.If((number == Csr.MREGION) & written[0] & ~self.region):
            m.d.comb += self.order.start.eq(self._list.any())
        with m.If((number == Csr.MREGION) & ~written[0]):
            m.d.sync += self._list.eq(0)
            m.d.comb += self.order.stop.eq(1)
        m.d.comb += self.order.address.eq(self._list)

    def _change(self, m: Module, writes: Value, written: Signal) -> None:
        """Report a write of mpolicy to the policies one cycle later: the written value comes late in its cycle."""
        told = Signal()
        m.d.sync += told.eq(writes)
        with m.If(writes):
            m.d.sync += self._policy.as_value().eq(written)
        m.d.comb += self.change.as_value().eq(Mux(told, self._policy.as_value(), 0))
