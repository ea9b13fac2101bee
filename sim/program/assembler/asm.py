"""A small assembler in Python: one function for each instruction, and :class:`Program` for labels.

Every function returns the 32-bit instruction word. Registers are numbers 0..31 (``x`` or ``f`` by the instruction);
immediates are Python integers in the range of the instruction, offsets of branches and jumps in bytes from the
instruction itself. Numbers out of range raise ``ValueError``. Written from the RISC-V unprivileged specification
(20191213, chapter 24; Zicond 1.0) and isa.md, independently of ``hdl``, so that it can test ``hdl``, and vice versa.
"""

from __future__ import annotations

from collections.abc import Callable

from .formats import encode_b, encode_i, encode_r, encode_s, encode_u, field, signed

ABI_NAMES = (
    "zero ra sp gp tp t0 t1 t2 s0 s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 t3 t4 t5 t6".split()
)
#: Register number of each ABI name of an integer register.
REGISTERS = {name: number for number, name in enumerate(ABI_NAMES)}
#: The dynamic rounding mode (that of ``frm``), the default of every instruction with one.
DYN = 7


def _r(opcode: int, funct3: int, funct7: int) -> Callable[[int, int, int], int]:
    def encode(rd: int, rs1: int, rs2: int) -> int:
        return encode_r(opcode, funct3, funct7, rd, rs1, rs2)

    return encode


def _i(opcode: int, funct3: int) -> Callable[[int, int, int], int]:
    def encode(rd: int, rs1: int, imm: int) -> int:
        return encode_i(opcode, funct3, rd, rs1, imm)

    return encode


def _shift(funct3: int, funct7: int) -> Callable[[int, int, int], int]:
    def encode(rd: int, rs1: int, shamt: int) -> int:
        return encode_r(0x13, funct3, funct7, rd, rs1, field(shamt, 5, "shamt"))

    return encode


def _load(opcode: int, funct3: int) -> Callable[[int, int, int], int]:
    def encode(rd: int, imm: int, rs1: int) -> int:
        return encode_i(opcode, funct3, rd, rs1, imm)

    return encode


def _store(opcode: int, funct3: int) -> Callable[[int, int, int], int]:
    def encode(rs2: int, imm: int, rs1: int) -> int:
        return encode_s(opcode, funct3, rs1, rs2, imm)

    return encode


def _branch(funct3: int) -> Callable[[int, int, int], int]:
    def encode(rs1: int, rs2: int, offset: int) -> int:
        return encode_b(funct3, rs1, rs2, offset)

    return encode


def lui(rd: int, imm: int) -> int:
    """``imm`` is the upper 20 bits, 0..0xFFFFF."""
    return encode_u(0x37, rd, imm)


def auipc(rd: int, imm: int) -> int:
    """``imm`` is the upper 20 bits, 0..0xFFFFF."""
    return encode_u(0x17, rd, imm)


def jal(rd: int, offset: int) -> int:
    """``offset`` is signed, 21 bits, even."""
    if offset % 2:
        raise ValueError(f"offset must be even, not {offset!r}")
    bits = signed(offset, 21, "offset")
    return encode_u(0x6F, rd, (bits >> 20) << 19 | (bits >> 1 & 0x3FF) << 9 | (bits >> 11 & 1) << 8 | bits >> 12 & 0xFF)


# (rd, rs1, imm)
jalr = _i(0x67, 0)
addi, slti, sltiu, xori, ori, andi = (_i(0x13, funct3) for funct3 in (0, 2, 3, 4, 6, 7))
# (rd, rs1, shamt)
slli, srli, srai = _shift(1, 0), _shift(5, 0), _shift(5, 0x20)
# (rs1, rs2, offset)
beq, bne, blt, bge, bltu, bgeu = (_branch(funct3) for funct3 in (0, 1, 4, 5, 6, 7))


def hinted(branch: Callable[[int, int, int], int]) -> Callable[[int, int, int], int]:
    """The same branch with a hint (isa.md, "Hints"): ``hinted(bne)(5, 0, -8)``."""
    return lambda rs1, rs2, offset: branch(rs1, rs2, offset) & ~1

# (rd, imm, rs1), as in "lw rd, imm(rs1)"
lb, lh, lw, lbu, lhu = (_load(0x03, funct3) for funct3 in (0, 1, 2, 4, 5))
flw = _load(0x07, 2)
# (rs2, imm, rs1), as in "sw rs2, imm(rs1)"
sb, sh, sw = (_store(0x23, funct3) for funct3 in (0, 1, 2))
fsw = _store(0x27, 2)
# (rd, rs1, rs2)
add, sll, slt, sltu, xor, srl, or_, and_ = (_r(0x33, funct3, 0) for funct3 in range(8))
sub, sra = _r(0x33, 0, 0x20), _r(0x33, 5, 0x20)
mul, mulh, mulhsu, mulhu, div, divu, rem, remu = (_r(0x33, funct3, 1) for funct3 in range(8))
czero_eqz, czero_nez = _r(0x33, 5, 7), _r(0x33, 7, 7)
fsgnj_s, fsgnjn_s, fsgnjx_s = (_r(0x53, funct3, 0x10) for funct3 in range(3))
fmin_s, fmax_s = _r(0x53, 0, 0x14), _r(0x53, 1, 0x14)
fle_s, flt_s, feq_s = (_r(0x53, funct3, 0x50) for funct3 in range(3))


def fence() -> int:
    """``fence iorw, iorw``."""
    return 0x0FF0000F


def fence_i() -> int:
    """``fence.i``."""
    return 0x0000100F


def ecall() -> int:
    """``ecall``."""
    return 0x00000073


def ebreak() -> int:
    """``ebreak``."""
    return 0x00100073


def mret() -> int:
    """``mret``."""
    return 0x30200073


def nop() -> int:
    """``addi x0, x0, 0``."""
    return 0x00000013


# Zicsr: (rd, csr, rs1) and (rd, csr, zimm).


def _csr(funct3: int) -> Callable[[int, int, int], int]:
    def encode(rd: int, csr: int, source: int) -> int:
        return encode_u(0x73, rd, 0) | funct3 << 12 | field(source, 5, "source") << 15 | field(csr, 12, "csr") << 20

    return encode


csrrw, csrrs, csrrc, csrrwi, csrrsi, csrrci = (_csr(funct3) for funct3 in (1, 2, 3, 5, 6, 7))


def csrr(rd: int, csr: int) -> int:
    """Read a CSR."""
    return csrrs(rd, csr, 0)


def csrw(csr: int, rs1: int) -> int:
    """Write a CSR."""
    return csrrw(0, csr, rs1)


# Floating point with a rounding mode, the last argument (0..7, see DYN).


def _fp(funct7: int) -> Callable[..., int]:
    def encode(rd: int, rs1: int, rs2: int, rm: int = DYN) -> int:
        return encode_r(0x53, rm, funct7, rd, rs1, rs2)

    return encode


def _fp_unary(funct7: int, rs2: int) -> Callable[..., int]:
    def encode(rd: int, rs1: int, rm: int = DYN) -> int:
        return encode_r(0x53, rm, funct7, rd, rs1, rs2)

    return encode


def _fp_move(funct7: int, funct3: int) -> Callable[[int, int], int]:
    def encode(rd: int, rs1: int) -> int:
        return encode_r(0x53, funct3, funct7, rd, rs1, 0)

    return encode


def _fma(opcode: int) -> Callable[..., int]:
    def encode(rd: int, rs1: int, rs2: int, rs3: int, rm: int = DYN) -> int:
        return encode_r(opcode, rm, field(rs3, 5, "rs3") << 2, rd, rs1, rs2)

    return encode


fadd_s, fsub_s, fmul_s, fdiv_s = (_fp(funct7) for funct7 in (0x00, 0x04, 0x08, 0x0C))
fmadd_s, fmsub_s, fnmsub_s, fnmadd_s = (_fma(opcode) for opcode in (0x43, 0x47, 0x4B, 0x4F))
fsqrt_s = _fp_unary(0x2C, 0)
fcvt_w_s, fcvt_wu_s = _fp_unary(0x60, 0), _fp_unary(0x60, 1)
fcvt_s_w, fcvt_s_wu = _fp_unary(0x68, 0), _fp_unary(0x68, 1)
fmv_x_w, fclass_s, fmv_w_x = _fp_move(0x70, 0), _fp_move(0x70, 1), _fp_move(0x78, 0)


# The SIMT extension (isa.md): custom-0, R-type, funct7 = 0.


def tmc(rs1: int) -> int:
    """Thread mask := rs1 of the leader."""
    return encode_r(0x0B, 0, 0, 0, rs1, 0)


def wspawn(rs1: int, rs2: int) -> int:
    """Activate warps 0..rs1-1 but this one, at the pc in rs2."""
    return encode_r(0x0B, 1, 0, 0, rs1, rs2)


def split(rd: int, rs1: int, negate: bool = False) -> int:
    """Split the active lanes by bit 0 of rs1; rd := the divergence-stack pointer before."""
    return encode_r(0x0B, 2, 0, rd, rs1, int(negate))


def join(rs1: int) -> int:
    """End of one side of the split that returned rs1."""
    return encode_r(0x0B, 3, 0, 0, rs1, 0)


def bar(rs1: int, rs2: int) -> int:
    """Wait at barrier rs1 until rs2 warps have arrived."""
    return encode_r(0x0B, 4, 0, 0, rs1, rs2)


def pred(rs1: int, rs2: int, negate: bool = False) -> int:
    """Keep the lanes with bit 0 of rs1; none left: thread mask := rs2."""
    return encode_r(0x0B, 5, 0, int(negate), rs1, rs2)


class Program:
    """Instruction words with labels, placed at ``base``.

    ``add`` takes finished words; ``branch``, ``jal`` and ``la`` take a label, defined before or after. ``here`` is the
    address of the next word. ``assemble`` gives the little-endian image.
    """

    def __init__(self, base: int = 0x8000_0000) -> None:
        self.base = base
        self._words: list[int | Callable[[int], int]] = []
        self._labels: dict[str, int] = {}

    @property
    def here(self) -> int:
        """The address of the next word."""
        return self.base + 4 * len(self._words)

    def add(self, *words: int) -> None:
        """Append instruction (or data) words."""
        for word in words:
            self._words.append(field(word, 32, "word"))

    def label(self, name: str) -> None:
        """Define ``name`` as the address of the next word."""
        if name in self._labels:
            raise ValueError(f"label must be defined once, not again: {name!r}")
        self._labels[name] = self.here

    def address(self, name: str) -> int:
        """The address of a label.

        Raises
        ------
        ValueError
            If it is not defined yet.
        """
        if name not in self._labels:
            raise ValueError(f"label must be defined, not {name!r}")
        return self._labels[name]

    def branch(self, op: Callable[[int, int, int], int], rs1: int, rs2: int, label: str) -> None:
        """Add a conditional branch to a label: ``p.branch(bne, 5, 0, "loop")``."""
        self._words.append(lambda pc: op(rs1, rs2, self.address(label) - pc))

    def jal(self, rd: int, label: str) -> None:
        """Add a jal to a label."""
        self._words.append(lambda pc: jal(rd, self.address(label) - pc))

    def li(self, rd: int, value: int) -> None:
        """rd := a 32-bit constant (signed or unsigned); one or two instructions."""
        self.add(*li(rd, value))

    def la(self, rd: int, label: str) -> None:
        """rd := the address of a label; always two instructions (lui, addi)."""
        self._words.append(lambda pc: lui(rd, _upper(self.address(label))))
        self._words.append(lambda pc: addi(rd, rd, _lower(self.address(label))))

    def words(self) -> list[int]:
        """The words, every label resolved."""
        return [
            word if isinstance(word, int) else word(self.base + 4 * index) for index, word in enumerate(self._words)
        ]

    def assemble(self) -> bytes:
        """The image, little-endian, first word at ``base``."""
        return b"".join(word.to_bytes(4, "little") for word in self.words())


def _lower(value: int) -> int:
    """The low 12 bits as addi adds them: signed."""
    return ((value & 0xFFF) ^ 0x800) - 0x800


def _upper(value: int) -> int:
    """The upper 20 bits that lui needs so that adding :func:`_lower` gives ``value``."""
    return (value - _lower(value)) >> 12 & 0xFFFFF


def li(rd: int, value: int) -> list[int]:
    """The one or two words that load a 32-bit constant (signed or unsigned)."""
    if not -(1 << 31) <= value < 1 << 32:
        raise ValueError(f"value must fit 32 bits, not {value!r}")
    if _upper(value) == 0:
        return [addi(rd, 0, _lower(value))]
    words = [lui(rd, _upper(value))]
    if _lower(value):
        words.append(addi(rd, rd, _lower(value)))
    return words
