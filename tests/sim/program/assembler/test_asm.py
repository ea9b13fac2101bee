"""sim.program.assembler.asm against the cross compiler's own assembler, and its labels."""

import subprocess
import sys

import pytest
from elftools.elf.elffile import ELFFile

from metronome.sim.program.assembler import asm

#: Assembler text and the call that must give the same word; checked against clang below.
CASES = [
    ("lui x5, 0xfffff", asm.lui(5, 0xFFFFF)), ("auipc x31, 0x12345", asm.auipc(31, 0x12345)),
    ("jalr x1, -2048(x2)", asm.jalr(1, 2, -2048)), ("addi x1, x2, -1", asm.addi(1, 2, -1)),
    ("slti x1, x2, 2047", asm.slti(1, 2, 2047)), ("sltiu x1, x2, 5", asm.sltiu(1, 2, 5)),
    ("xori x1, x2, 5", asm.xori(1, 2, 5)), ("ori x1, x2, 5", asm.ori(1, 2, 5)), ("andi x1, x2, 5", asm.andi(1, 2, 5)),
    ("slli x1, x2, 31", asm.slli(1, 2, 31)), ("srli x1, x2, 17", asm.srli(1, 2, 17)),
    ("srai x1, x2, 17", asm.srai(1, 2, 17)), ("fence", asm.fence()), ("fence.i", asm.fence_i()), ("ecall", asm.ecall()),
    ("ebreak", asm.ebreak()), ("mret", asm.mret()), ("nop", asm.nop()), ("csrrw x1, 0x340, x2", asm.csrrw(1, 0x340, 2)),
    ("csrrs x1, 0xcc0, x2", asm.csrrs(1, 0xCC0, 2)), ("csrrc x1, 0x340, x2", asm.csrrc(1, 0x340, 2)),
    ("csrrwi x1, 0x340, 31", asm.csrrwi(1, 0x340, 31)), ("csrrsi x1, 0x340, 1", asm.csrrsi(1, 0x340, 1)),
    ("csrrci x1, 0x340, 1", asm.csrrci(1, 0x340, 1)), ("csrr x7, 0xcc0", asm.csrr(7, 0xCC0)),
    ("csrw 0x340, x7", asm.csrw(0x340, 7)), ("fsqrt.s f1, f2, rtz", asm.fsqrt_s(1, 2, 1)),
    ("fcvt.w.s x1, f2, rdn", asm.fcvt_w_s(1, 2, 2)), ("fcvt.wu.s x1, f2, rup", asm.fcvt_wu_s(1, 2, 3)),
    ("fcvt.s.w f1, x2, rmm", asm.fcvt_s_w(1, 2, 4)), ("fcvt.s.wu f1, x2", asm.fcvt_s_wu(1, 2)),
    ("fmv.x.w x1, f2", asm.fmv_x_w(1, 2)), ("fmv.w.x f1, x2", asm.fmv_w_x(1, 2)),
    ("fclass.s x1, f2", asm.fclass_s(1, 2)), (".insn r 0x0b, 0, 0, x0, x3, x0", asm.tmc(3)),
    (".insn r 0x0b, 1, 0, x0, x3, x4", asm.wspawn(3, 4)), (".insn r 0x0b, 2, 0, x5, x3, x0", asm.split(5, 3)),
    (".insn r 0x0b, 2, 0, x5, x3, x1", asm.split(5, 3, negate=True)), (".insn r 0x0b, 3, 0, x0, x3, x0", asm.join(3)),
    (".insn r 0x0b, 4, 0, x0, x3, x4", asm.bar(3, 4)), (".insn r 0x0b, 5, 0, x0, x3, x4", asm.pred(3, 4)),
    (".insn r 0x0b, 5, 0, x1, x3, x4", asm.pred(3, 4, negate=True)),
]
R_TYPE = "add sub sll slt sltu xor srl sra or and mul mulh mulhsu mulhu div divu rem remu czero.eqz czero.nez"
CASES += [
    (f"{name} x1, x22, x31", getattr(asm, {"or": "or_", "and": "and_"}.get(name, name.replace(".", "_")))(1, 22, 31))
    for name in R_TYPE.split()
]
CASES += [
    (f"{name} f1, f22, f31", getattr(asm, name.replace(".", "_"))(1, 22, 31))
    for name in "fsgnj.s fsgnjn.s fsgnjx.s fmin.s fmax.s fadd.s fsub.s fmul.s fdiv.s".split()
]
CASES += [
    (f"{name} x1, f22, f31", getattr(asm, name.replace(".", "_"))(1, 22, 31)) for name in ("feq.s", "flt.s", "fle.s")
]
CASES += [
    (f"{name} f1, f22, f31, f9, rdn", getattr(asm, name.replace(".", "_"))(1, 22, 31, 9, 2))
    for name in ("fmadd.s", "fmsub.s", "fnmsub.s", "fnmadd.s")
]
CASES += [(f"{name} x9, -2048(x30)", getattr(asm, name)(9, -2048, 30)) for name in "lb lh lw lbu lhu sb sh sw".split()]
CASES += [(f"{name} f9, 2047(x30)", getattr(asm, name)(9, 2047, 30)) for name in ("flw", "fsw")]
CASES += [
    (f"{name} x9, x30, .{offset:+}", getattr(asm, name)(9, 30, offset))
    for name in "beq bne blt bge bltu bgeu".split()
    for offset in (-4096, 2730, 1364, 4094)
]
CASES += [(f"jal x1, .{offset:+}", asm.jal(1, offset)) for offset in (-(1 << 20), (1 << 20) - 2, 0xAAAAA, 0x55554)]


@pytest.mark.slow
def test_every_word_equals_clangs(tmp_path):
    """Each line is given to the cross compiler's assembler; the text section of the object holds the same words."""
    source, obj = tmp_path / "words.s", tmp_path / "words.o"
    lines = [".option norvc", ".option norelax", *(text for text, _ in CASES)]
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    clang = [sys.executable, "-m", "ziglang", "clang", "--target=riscv32-unknown-elf"]
    subprocess.run([*clang, "-march=rv32imf_zicond_zicsr_zifencei", "-c", source, "-o", obj], check=True)
    with obj.open("rb") as file:
        words = ELFFile(file).get_section_by_name(".text").data()
    assert len(words) == 4 * len(CASES)
    got = [int.from_bytes(words[4 * i : 4 * i + 4], "little") for i in range(len(CASES))]
    wrong = [(text, hex(word), hex(theirs)) for (text, word), theirs in zip(CASES, got, strict=True) if word != theirs]
    assert not wrong


@pytest.mark.parametrize("value", [0, 1, -1, 2047, 2048, -2048, -2049, 0x12345FFF, 0x80000000, 0xFFFFF800])
def test_li_reaches_the_value(value):
    total = 0
    for word in asm.li(5, value):
        if word & 0x7F == 0x37:
            total = word & 0xFFFFF000
        else:
            assert word & 0xFFFFF == asm.addi(5, 5 * (len(asm.li(5, value)) - 1), 0) & 0xFFFFF
            total += (word >> 20 ^ 0x800) - 0x800
    assert total & 0xFFFFFFFF == value & 0xFFFFFFFF


def test_labels_forward_and_backward():
    program = asm.Program(0x1000)
    program.label("top")
    program.branch(asm.beq, 1, 2, "end")
    program.jal(0, "top")
    program.la(5, "end")
    program.label("end")
    assert program.here == program.address("end") == 0x1010
    assert program.words() == [asm.beq(1, 2, 16), asm.jal(0, -4), asm.lui(5, 1), asm.addi(5, 5, 0x10)]
    assert program.assemble()[:4] == asm.beq(1, 2, 16).to_bytes(4, "little")


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: asm.addi(1, 2, 2048), "imm must be between -2048 and 2047, not 2048"),
        (lambda: asm.add(32, 0, 0), "rd must be between 0 and 31, not 32"),
        (lambda: asm.slli(1, 1, 32), "shamt must be between 0 and 31, not 32"),
        (lambda: asm.beq(1, 1, 3), "offset must be even, not 3"),
        (lambda: asm.beq(1, 1, 4096), "offset must be between -4096 and 4095, not 4096"),
        (lambda: asm.jal(1, 1), "offset must be even, not 1"),
        (lambda: asm.lui(1, 1 << 20), "imm must be between 0 and 1048575, not 1048576"),
        (lambda: asm.li(1, 1 << 32), "value must fit 32 bits, not 4294967296"),
        (lambda: asm.Program().address("x"), "label must be defined, not 'x'"),
    ],
)
def test_bad_operands_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
