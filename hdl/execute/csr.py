"""Control and status registers."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..isa.csrs import PERFORMANCE_CSRS, ZERO_CSRS, Csr
from ..isa.ops import CsrOp
from ..layouts.probe import StallReason, counters_layout

__all__ = ["CsrUnit"]

#: misa: MXL = 1 (32 bits), extensions I, M, F and X (the SIMT extension).
MISA = 1 << 30 | 1 << (ord("I") - 65) | 1 << (ord("M") - 65) | 1 << (ord("F") - 65) | 1 << (ord("X") - 65)

#: Number bits 11..10 of a read-only CSR (RISC-V privileged specification, section 2.1).
READ_ONLY = 0b11


class CsrUnit(wiring.Component):
    """All CSRs of isa.md.

    In stage X: ``value`` (the lane number added where ``add_lane``) and ``unknown``, combinational; the write takes
    effect at the end of the cycle. ``immediate`` is the decoder's: the number in 11..0, the rs1 field in 16..12;
    ``rs1`` is lane 0's. ``unknown``: the number does not exist, or it is read-only and the instruction writes it;
    then nothing changes. ``retired`` thread-instructions are added to minstret. ``start`` (launch) sets mscratch to
    ``argument`` and clears mcycle and minstret; fcsr and mregion are cleared by reset. ``region`` is bit 0 of
    mregion. ``frm``: rounding mode of ``warp``, as instructions before this cycle have left it. ``raised`` flags are
    ORed into fflags of ``raised_warp`` in a cycle with ``raise_valid``, which may not be one in which that warp writes
    them.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        super().__init__({
            "start": In(1),
            "argument": In(32),
            "valid": In(1),
            "op": In(5),
            "use_imm": In(1),
            "immediate": In(32),
            "rs1": In(32),
            "warp": In(config.warp_bits),
            "mask": In(config.threads),
            "active": In(config.warps),
            "retired": In(range(config.threads + 1)),
            "counters": In(counters_layout()),
            "value": Out(32),
            "add_lane": Out(1),
            "unknown": Out(1),
            "region": Out(1),
            "frm": Out(3),
            "raise_valid": In(1),
            "raised_warp": In(config.warp_bits),
            "raised": In(5),
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
        with m.Switch(number):
            for numbers, value in self._readable(fcsr, scratch, cycle, retired):
                with m.Case(*numbers):
                    m.d.comb += self.value.eq(value)
            with m.Default():
                m.d.comb += known.eq(0)
        m.d.comb += self.add_lane.eq((number == Csr.THREAD_ID) | (number == Csr.MHARTID))

        writes = (self.op == CsrOp.RW.value) | (field != 0)
        m.d.comb += self.unknown.eq(~known | ((number[10:] == READ_ONLY) & writes))
        operand = Mux(self.use_imm, field, self.rs1)
        written = Signal(32)
        with m.Switch(self.op):
            with m.Case(CsrOp.RS):
                m.d.comb += written.eq(self.value | operand)
            with m.Case(CsrOp.RC):
                m.d.comb += written.eq(self.value & ~operand)
            with m.Default():
                m.d.comb += written.eq(operand)
        m.d.comb += self.frm.eq(fcsr[self.warp][5:])
        for w, register in enumerate(fcsr):
            with m.If(self.raise_valid & (self.raised_warp == w)):
                m.d.sync += register[:5].eq(register[:5] | self.raised)
        with m.If(self.valid & ~self.unknown & writes):
            self._write(m, number, written, fcsr, scratch)
        with m.If(self.start):
            m.d.sync += scratch.eq(self.argument)
        return m

    def _time(self, m: Module) -> tuple[Signal, Signal]:
        """mcycle counts cycles since launch, minstret thread-instructions (isa.md)."""
        cycle, retired = Signal(64), Signal(64)
        m.d.sync += [cycle.eq(cycle + 1), retired.eq(retired + self.retired)]
        with m.If(self.start):
            m.d.sync += [cycle.eq(0), retired.eq(0)]
        return cycle, retired

    def _readable(
        self, fcsr: Array, scratch: Signal, cycle: Signal, retired: Signal,
    ) -> list[tuple[list[int], Value]]:
        """Every CSR that exists: its numbers and what it reads."""
        config = self._config
        mine = fcsr[self.warp]
        hart_base = config.core_id * config.harts
        rows: list[tuple[list[int], Value]] = [
            ([Csr.FFLAGS], mine[:5]),
            ([Csr.FRM], mine[5:]),
            ([Csr.FCSR], mine),
            ([Csr.MISA], Const(MISA, 32)),
            ([Csr.MSCRATCH], scratch),
            ([Csr.MCYCLE], cycle[:32]),
            ([Csr.MCYCLEH], cycle[32:]),
            ([Csr.MINSTRET], retired[:32]),
            ([Csr.MINSTRETH], retired[32:]),
            ([Csr.WARP_ID], self.warp),
            ([Csr.CORE_ID], Const(config.core_id, 32)),
            ([Csr.ACTIVE_WARPS], self.active),
            ([Csr.ACTIVE_THREADS], self.mask),
            ([Csr.MHARTID], hart_base + config.threads * self.warp),
            ([Csr.NUM_THREADS], Const(config.threads, 32)),
            ([Csr.NUM_WARPS], Const(config.warps, 32)),
            ([Csr.NUM_CORES], Const(config.cores, 32)),
            ([Csr.LOCAL_MEM_BASE], Const(config.memory_map.local, 32)),
            ([Csr.MREGION], self.region),
        ]
        for low, counter in self._region_counters():
            rows += [([low], counter[:32]), ([low + 0x80], counter[32:])]
        listed = {number for numbers, _ in rows for number in numbers}
        zeros = sorted(
            {int(number) for number in ZERO_CSRS | PERFORMANCE_CSRS}
            | {Csr.THREAD_ID, Csr.MVENDORID, Csr.MARCHID, Csr.MIMPID} - listed
        )
        rows.append(([number for number in zeros if number not in listed], Const(0, 32)))
        return rows

    def _region_counters(self) -> list[tuple[int, Value]]:
        """The region's counters with the number of their low halves (isa.md, 0xB03..)."""
        counters = self.counters
        rows = [
            (Csr.REGION_COMMITTED, counters.committed),
            (Csr.REGION_NOPS, counters.nops),
            (Csr.REGION_DISCREPANCIES, counters.discrepancies),
            (Csr.REGION_ERRORS, counters.errors),
            (Csr.REGION_ICACHE_MISSES, counters.icache_misses),
            (Csr.REGION_TAKEN_BRANCHES, counters.taken_branches),
            (Csr.REGION_LOADS, counters.loads),
            (Csr.REGION_LOAD_WAIT_CYCLES, counters.load_wait_cycles),
        ]
        rows += [
            (Csr.REGION_STALLS + reason - 1, counters.stalls[reason]) for reason in StallReason if reason != 0
        ]
        return [(int(number), counter) for number, counter in rows]

    def _write(self, m: Module, number: Value, written: Signal, fcsr: Array, scratch: Signal) -> None:
        """Numbers that are readable and not listed here ignore writes."""
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
