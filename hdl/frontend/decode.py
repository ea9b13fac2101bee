"""The decoder, generated from the decode table."""

from collections.abc import Callable, Iterable

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from ..config import Prediction
from ..isa.csrs import FLOAT_CSRS, ORDER_CSRS
from ..isa.ops import OP_BITS, STORE_BIT, BranchOp, SystemOp, Unit
from ..isa.table import ImmFormat, Instruction, RegFile, instructions
from ..layouts.decoded import Decoded
from ..layouts.prediction import is_usually_taken
from ..lib.component import Component

__all__ = ["REGISTER_FIELDS", "Decoder", "jump_offset"]

#: The lowest bit of each register field of a word; each has 5 bits.
REGISTER_FIELDS = {"rd": 7, "rs1": 15, "rs2": 20, "rs3": 27}


class Decoder(Component):
    """Decodes an instruction word into a :class:`hdl.layouts.decoded.Decoded`; combinational, no state.

    - A word in no row of the table is unit SYSTEM, op ILLEGAL; with ``fetch_error`` (memory answered the fetch with
      an error; the word does not matter) it is unit SYSTEM, op FETCH_FAULT. All other fields are then 0.
    - A register number whose ``use_``/``writes_`` flag is clear is 0, and so is ``imm`` where there is no immediate,
      and ``rm`` where there is no rounding mode. Integer x0 has its flag clear: an unused source reads as 0.
    - With ``fpu``, ``info.drain`` is set for an access to fflags, frm or fcsr, whatever it does with it. If
      ``ordered``, it and ``info.fence`` are both set for an access to mregion, and for no other instruction;
      ``info.store`` too if it is a csrrwi that begins the region.
    - ``predicted`` (not with ``Prediction.NOT_TAKEN``): a ``jal``, or a branch that is statically predicted taken. Such
      a ``jal`` needs no resolution, so its ``info.control`` is clear.

    Rows exclude each other, so every output bit is an OR over the rows that set it: no priority chain.

    Parameters
    ----------
    prediction : Prediction
        Decides which instructions set ``predicted``.
    ordered : bool
        Whether an access to mregion waits for the load/store unit.
    fpu : bool
        Whether the instructions of F are in the table.
    """

    def __init__(self, *, prediction: Prediction = Prediction.NOT_TAKEN, ordered: bool = False, fpu: bool = True):
        self._follows = prediction is not Prediction.NOT_TAKEN
        self._ordered = ordered
        self._fpu, self._rows = fpu, instructions(fpu)
        super().__init__({
            "instruction": In(32),  # the word
            "fetch_error": In(1),  # memory answered its fetch with an error: the word does not matter
            "decoded": Out(Decoded),  # the decoded instruction
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Bit 1 is 1 in every row, so a word whose fetch failed is in no row, and sets no other field.
        word = Signal(32)
        m.d.comb += word.eq(Cat(Mux(self.fetch_error, 0, self.instruction[:2]), self.instruction[2:]))

        match = _match_rows(m, word, self._rows)

        def where(condition: Callable[[Instruction], object]) -> Value:
            """1 iff the word is a row for which the condition holds."""
            return _any(match[row.mnemonic] for row in self._rows if condition(row))

        def reads(numbers: Iterable[int]) -> Value:
            """1 iff the word is an access to one of these CSRs."""
            return where(lambda row: row.imm is ImmFormat.CSR) & _any(word[20:32] == each for each in sorted(numbers))

        known, jal, branch = Signal(), Signal(), Signal()
        out, info = self.decoded, self.decoded.info
        unit = _or_constants(where, len(info.unit.as_value()), lambda row: row.unit.value)
        op = _or_constants(where, OP_BITS, lambda row: row.op.value)
        m.d.comb += [
            known.eq(where(lambda row: True)),
            info.unit.as_value().eq(unit | Mux(known, 0, Unit.SYSTEM.value)),
            out.op.eq(op | Mux(self.fetch_error, SystemOp.FETCH_FAULT.value, SystemOp.ILLEGAL.value)),
            out.use_imm.eq(where(lambda row: row.use_imm)),
            out.use_pc.eq(where(lambda row: row.use_pc)),
            out.rm.eq(Mux(where(lambda row: row.rm), word[12:15], 0)),
            out.imm.eq(_immediate(where, word)),
            jal.eq(where(lambda row: row.op is BranchOp.JAL)),
            branch.eq(where(lambda row: row.imm is ImmFormat.B)),
            out.predicted.eq((jal | (branch & is_usually_taken(word))) if self._follows else 0),
            info.control.eq(where(lambda row: row.control and not (self._follows and row.op is BranchOp.JAL))),
            info.fence.eq(where(lambda row: row.fence) | (reads(ORDER_CSRS) if self._ordered else 0)),
            info.store.eq(
                where(lambda row: row.unit is Unit.LSU and row.op.value & STORE_BIT)
                | (match["csrrwi"] & reads(ORDER_CSRS) & word[15] if self._ordered else 0)
            ),
            info.drain.eq(reads((FLOAT_CSRS if self._fpu else set()) | (ORDER_CSRS if self._ordered else set()))),
        ]
        flags = {"rd": info.writes_rd, "rs1": info.use_rs1, "rs2": info.use_rs2, "rs3": info.use_rs3}
        for operand, low in REGISTER_FIELDS.items():
            flag = flags[operand]
            field = word[low:low + 5]
            is_int = where(_uses(operand, RegFile.INT))
            is_fp = where(_uses(operand, RegFile.FP))
            m.d.comb += [
                flag.eq(is_fp | (is_int & field.any())),
                info[operand].eq(Mux(flag, Cat(field, is_fp), 0)),
            ]
        return m


def jump_offset(word: Value) -> Value:
    """The 32-bit offset of a word known to be ``jal`` or a branch: available sooner than the whole immediate."""
    sign = word[31]
    return Cat(
        Const(0, 1),
        Mux(word[3], Cat(word[21:31], word[20], word[12:20]), Cat(word[8:12], word[25:31], word[7], sign.replicate(8))),
        sign.replicate(12),
    )


def _match_rows(m: Module, word: Value, rows: Iterable[Instruction]) -> dict[str, Value]:
    """One bit per row, by mnemonic. Each field of the word is compared with each of its values once, for all rows."""
    compared: dict[tuple[int, int, int], Signal] = {}
    match: dict[str, Value] = {}
    for row in rows:
        parts = []
        for low, high in ((0, 7), (7, 12), (12, 15), (15, 20), (20, 25), (25, 32)):
            used = [bit for bit in range(low, high) if row.mask >> bit & 1]
            if not used:
                continue
            first, last = used[0], used[-1] + 1
            if len(used) != last - first:
                raise ValueError(f"the mask of {row.mnemonic} must be contiguous in bits {high - 1}..{low}")
            value = row.match >> first & (1 << len(used)) - 1
            if (first, last, value) not in compared:
                compared[first, last, value] = Signal(name=f"word_{last - 1}_{first}_is_{value:x}")
                m.d.comb += compared[first, last, value].eq(word[first:last] == value)
            parts.append(compared[first, last, value])
        match[row.mnemonic] = Signal(name=f"is_{row.mnemonic.replace('.', '_')}")
        m.d.comb += match[row.mnemonic].eq(Cat(*parts).all())
    return match


def _uses(operand: str, registers: RegFile) -> Callable[[Instruction], bool]:
    """Whether an instruction has ``operand`` (rd, rs1, ..) in ``registers``."""
    return lambda row: getattr(row, operand) is registers


def _any(bits: Iterable[Value]) -> Value:
    """OR of any number of one-bit values; 0 for none."""
    return Cat(*bits).any()


def _or_constants(where: Callable, width: int, value: Callable[[Instruction], int]) -> Value:
    """The ``value`` of the row that matches, or 0 if none does."""
    return Cat(where(lambda row, bit=bit: value(row) >> bit & 1) for bit in range(width))


def _immediate(where: Callable, word: Value) -> Value:
    """The 32-bit immediate of the word (unprivileged manual, "Immediate Encoding Variants")."""
    sign = word[31]
    formats = {
        ImmFormat.I: Cat(word[20:31], sign.replicate(21)),
        ImmFormat.S: Cat(word[7:12], word[25:31], sign.replicate(21)),
        ImmFormat.B: Cat(Const(0, 1), word[8:12], word[25:31], word[7], sign.replicate(20)),
        ImmFormat.U: Cat(Const(0, 12), word[12:32]),
        ImmFormat.J: Cat(Const(0, 1), word[21:31], word[20], word[12:20], sign.replicate(12)),
        ImmFormat.CSR: Cat(word[20:32], word[15:20]),
        ImmFormat.NEGATE_RS2: word[20],
        ImmFormat.NEGATE_RD: word[7],
    }
    result: Value = Const(0, 32)
    for name, value in formats.items():
        result = result | Mux(where(lambda row, name=name: row.imm is name), value, 0)
    return result
