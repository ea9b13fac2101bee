"""The decoder against words from an assembler, fields written out by hand, and a second decoder in plain Python."""

import random
from dataclasses import asdict, replace

import pytest
from amaranth.hdl import Module, Signal

from metronome.hdl.config import Prediction
from metronome.hdl.frontend.decode import Decoder, jump_offset
from metronome.hdl.isa import ops
from metronome.hdl.isa.table import INSTRUCTIONS
from tests.hdl.frontend.decode_reference import Expected, decode
from tests.hdl.lib.simulate import simulate

OPS = {"ALU": ops.AluOp, "BRANCH": ops.BranchOp, "MUL": ops.MulOp, "DIV": ops.DivOp, "LSU": ops.LsuOp,
       "CSR": ops.CsrOp, "SIMT": ops.SimtOp, "SYSTEM": ops.SystemOp, "FMA": ops.FmaOp, "FCVT": ops.FcvtOp,
       "FDIV": ops.FdivOp, "FMISC": ops.FmiscOp}

# Encoded by LLVM 22 (`python -m ziglang clang --target=riscv32-unknown-elf`); the SIMT instructions by the fields of
# `.insn r`.
_ASSEMBLY = {
    0xFEDCB2B7: "lui x5, 0xfedcb", 0x12345317: "auipc x6, 0x12345", 0x800000EF: "jal x1, .-1048576",
    0x0020006F: "jal x0, .+2", 0xFFC380E7: "jalr x1, -4(x7)", 0x80418063: "beq x3, x4, .-4096",
    0x7E419FE3: "bne x3, x4, .+4094", 0x00404463: "blt x0, x4, .+8", 0xFE01DFE3: "bge x3, x0, .-2",
    0x01EFE0E3: "bltu x31, x30, .+2048", 0x0020F863: "bgeu x1, x2, .+16", 0x80010083: "lb x1, -2048(x2)",
    0x7FF21183: "lh x3, 2047(x4)", 0x0042A003: "lw x0, 4(x5)", 0x00034283: "lbu x5, 0(x6)",
    0xFFF45383: "lhu x7, -1(x8)", 0x80950023: "sb x9, -2048(x10)", 0x7EB61FA3: "sh x11, 2047(x12)",
    0x0206A0A3: "sw x0, 33(x13)", 0xFFF10093: "addi x1, x2, -1", 0x00000013: "addi x0, x0, 0",
    0x7FF22193: "slti x3, x4, 2047", 0x80033293: "sltiu x5, x6, -2048", 0x55544393: "xori x7, x8, 0x555",
    0xAAA56493: "ori x9, x10, -1366", 0x00167593: "andi x11, x12, 1", 0x01F71693: "slli x13, x14, 31",
    0x00185793: "srli x15, x16, 1", 0x41595893: "srai x17, x18, 21", 0x015A09B3: "add x19, x20, x21",
    0x418B8B33: "sub x22, x23, x24", 0x01BD1CB3: "sll x25, x26, x27", 0x01EEAE33: "slt x28, x29, x30",
    0x0020BFB3: "sltu x31, x1, x2", 0x005241B3: "xor x3, x4, x5", 0x0083D333: "srl x6, x7, x8",
    0x40B554B3: "sra x9, x10, x11", 0x00E6E633: "or x12, x13, x14", 0x011877B3: "and x15, x16, x17",
    0x0FF0000F: "fence", 0x0310000F: "fence rw, w", 0x8330000F: "fence (tso)", 0x00000073: "ecall",
    0x00100073: "ebreak", 0x30200073: "mret", 0x0000100F: "fence.i", 0x340110F3: "csrrw x1, 0x340, x2",
    0xCC0021F3: "csrrs x3, 0xCC0, x0", 0x30023073: "csrrc x0, 0x300, x4", 0x7C00D2F3: "csrrwi x5, 0x7C0, 1",
    0x003FE373: "csrrsi x6, fcsr, 31", 0x00207073: "csrrci x0, frm, 0", 0x001423F3: "csrrs x7, fflags, x8",
    0x18049473: "csrrw x8, 0x180, x9", 0x023100B3: "mul x1, x2, x3", 0x02629233: "mulh x4, x5, x6",
    0x029423B3: "mulhsu x7, x8, x9", 0x02C5B533: "mulhu x10, x11, x12", 0x02F746B3: "div x13, x14, x15",
    0x0328D833: "divu x16, x17, x18", 0x035A69B3: "rem x19, x20, x21", 0x038BFB33: "remu x22, x23, x24",
    0x0E3150B3: "czero.eqz x1, x2, x3", 0x0E62F233: "czero.nez x4, x5, x6",
    0x0004800B: "tmc = 0x0b, 0, 0, x0, x9, x0", 0x00A4900B: "wspawn = 0x0b, 1, 0, x0, x9, x10",
    0x0006258B: "split = 0x0b, 2, 0, x11, x12, x0", 0x0017268B: "split = 0x0b, 2, 0, x13, x14, x1",
    0x0007B00B: "join = 0x0b, 3, 0, x0, x15, x0", 0x0118400B: "bar = 0x0b, 4, 0, x0, x16, x17",
    0x0139500B: "pred = 0x0b, 5, 0, x0, x18, x19", 0x015A508B: "pred = 0x0b, 5, 0, x1, x20, x21",
    0xFF812087: "flw f1, -8(x2)", 0x0001A627: "fsw f0, 12(x3)", 0x203100C3: "fmadd.s f1, f2, f3, f4, rne",
    0x407312C7: "fmsub.s f5, f6, f7, f8, rtz", 0x60B524CB: "fnmsub.s f9, f10, f11, f12, rdn",
    0x00F776CF: "fnmadd.s f13, f14, f15, f0, dyn", 0x0020B053: "fadd.s f0, f1, f2, rup",
    0x085241D3: "fsub.s f3, f4, f5, rmm", 0x1083F353: "fmul.s f6, f7, f8, dyn",
    0x18B504D3: "fdiv.s f9, f10, f11, rne", 0x58001653: "fsqrt.s f12, f0, rtz", 0x20F706D3: "fsgnj.s f13, f14, f15",
    0x21289853: "fsgnjn.s f16, f17, f18", 0x215A29D3: "fsgnjx.s f19, f20, f21", 0x298B8B53: "fmin.s f22, f23, f24",
    0x29BD1CD3: "fmax.s f25, f26, f27", 0xC00E10D3: "fcvt.w.s x1, f28, rtz", 0xC01EB153: "fcvt.wu.s x2, f29, rup",
    0xE00F01D3: "fmv.x.w x3, f30", 0xA00FA253: "feq.s x4, f31, f0", 0xA02092D3: "flt.s x5, f1, f2",
    0xA0418053: "fle.s x0, f3, f4", 0xE0029353: "fclass.s x6, f5", 0xD003F353: "fcvt.s.w f6, x7, dyn",
    0xD01003D3: "fcvt.s.wu f7, x0, rne", 0xF0048453: "fmv.w.x f8, x9",
}
ASSEMBLED = [(word, text.split()[0]) for word, text in _ASSEMBLY.items()]

# Fields written out by hand: every immediate format, x0 in each place, every kind of operand.
BY_HAND = {
    0xFEDCB2B7: Expected(unit="ALU", op="ADD", rd=5, writes_rd=1, use_imm=1, imm=0xFEDCB000),
    0x12345317: Expected(unit="ALU", op="ADD", rd=6, writes_rd=1, use_imm=1, use_pc=1, imm=0x12345000),
    0x800000EF: Expected(unit="BRANCH", op="JAL", rd=1, writes_rd=1, use_imm=1, use_pc=1, control=1, imm=0xFFF00000),
    0x0020006F: Expected(unit="BRANCH", op="JAL", use_imm=1, use_pc=1, control=1, imm=2),
    0xFFC380E7: Expected(unit="BRANCH", op="JALR", rd=1, writes_rd=1, rs1=7, use_rs1=1, use_imm=1, control=1,
                         imm=0xFFFFFFFC),
    0x80418063: Expected(unit="BRANCH", op="EQ", rs1=3, use_rs1=1, rs2=4, use_rs2=1, control=1, imm=0xFFFFF000),
    0x7E419FE3: Expected(unit="BRANCH", op="NE", rs1=3, use_rs1=1, rs2=4, use_rs2=1, control=1, imm=4094),
    0x00404463: Expected(unit="BRANCH", op="LT", rs2=4, use_rs2=1, control=1, imm=8),
    0xFE01DFE3: Expected(unit="BRANCH", op="GE", rs1=3, use_rs1=1, control=1, imm=0xFFFFFFFE),
    0x01EFE0E3: Expected(unit="BRANCH", op="LTU", rs1=31, use_rs1=1, rs2=30, use_rs2=1, control=1, imm=2048),
    0x80010083: Expected(unit="LSU", op="LB", rd=1, writes_rd=1, rs1=2, use_rs1=1, imm=0xFFFFF800),
    0x80950023: Expected(unit="LSU", op="SB", rs1=10, use_rs1=1, rs2=9, use_rs2=1, imm=0xFFFFF800),
    0x0206A0A3: Expected(unit="LSU", op="SW", rs1=13, use_rs1=1, imm=33),
    0x41595893: Expected(unit="ALU", op="SRA", rd=17, writes_rd=1, rs1=18, use_rs1=1, use_imm=1, imm=0x400 | 21),
    0x00000013: Expected(unit="ALU", op="ADD", use_imm=1),
    0x8330000F: Expected(unit="SYSTEM", op="FENCE", fence=1),
    0x0000100F: Expected(unit="SYSTEM", op="FENCE_I", fence=1, control=1),
    0x340110F3: Expected(unit="CSR", op="RW", rd=1, writes_rd=1, rs1=2, use_rs1=1, imm=0x2340),
    0x7C00D2F3: Expected(unit="CSR", op="RW", rd=5, writes_rd=1, use_imm=1, imm=0x17C0),
    0x003FE373: Expected(unit="CSR", op="RS", rd=6, writes_rd=1, use_imm=1, imm=0x1F003, drain=1),
    0x001423F3: Expected(unit="CSR", op="RS", rd=7, writes_rd=1, rs1=8, use_rs1=1, imm=0x8001, drain=1),
    0x0006258B: Expected(unit="SIMT", op="SPLIT", rd=11, writes_rd=1, rs1=12, use_rs1=1, control=1),
    0x0017268B: Expected(unit="SIMT", op="SPLIT", rd=13, writes_rd=1, rs1=14, use_rs1=1, control=1, imm=1),
    0x0139500B: Expected(unit="SIMT", op="PRED", rs1=18, use_rs1=1, rs2=19, use_rs2=1, control=1),
    0x015A508B: Expected(unit="SIMT", op="PRED", rs1=20, use_rs1=1, rs2=21, use_rs2=1, control=1, imm=1),
    0x00A4900B: Expected(unit="SIMT", op="WSPAWN", rs1=9, use_rs1=1, rs2=10, use_rs2=1, control=1),
    0xFF812087: Expected(unit="LSU", op="LW", rd=33, writes_rd=1, rs1=2, use_rs1=1, imm=0xFFFFFFF8),
    0x0001A627: Expected(unit="LSU", op="SW", rs1=3, use_rs1=1, rs2=32, use_rs2=1, imm=12),
    0x00F776CF: Expected(unit="FMA", op="FNMADD", rd=45, writes_rd=1, rs1=46, use_rs1=1, rs2=47, use_rs2=1, rs3=32,
                         use_rs3=1, rm=7),
    0xA0418053: Expected(unit="FMISC", op="FLE", rs1=35, use_rs1=1, rs2=36, use_rs2=1),
    0xD01003D3: Expected(unit="FCVT", op="S_WU", rd=39, writes_rd=1),
    0x00000000: Expected(unit="SYSTEM", op="ILLEGAL"),
    0xFFFFFFFF: Expected(unit="SYSTEM", op="ILLEGAL"),
    0x10500073: Expected(unit="SYSTEM", op="ILLEGAL"),  # wfi
}


def read_fields(decoded):
    """The value of a ``Decoded`` constant as an ``Expected``."""
    unit = ops.Unit(decoded.info.unit).name
    named = {"mnemonic", "unit", "op"}
    top = {"use_imm", "use_pc", "rm", "imm"}
    fields = {name: int(decoded[name] if name in top else decoded.info[name])
              for name in asdict(Expected()) if name not in named}
    return Expected(unit=unit, op=OPS[unit](decoded.op).name, **fields)


def check(words, *, expected, label, fetch_error=False):
    """Decodes each word and compares all fields but the mnemonic, which hardware does not have."""
    dut = Decoder()

    async def testbench(ctx):
        ctx.set(dut.fetch_error, fetch_error)
        for word in words:
            ctx.set(dut.instruction, word)
            await ctx.delay(1e-9)
            want = asdict(expected(word)) | {"mnemonic": None}
            got = asdict(read_fields(ctx.get(dut.decoded))) | {"mnemonic": None}
            differs = {name: (got[name], want[name]) for name in want if got[name] != want[name]}
            assert not differs, f"{label}: {word:#010x}: (decoded, expected) differ in {differs}"

    simulate(dut, testbench)


def test_assembled_words_cover_the_table():
    assert {mnemonic for _, mnemonic in ASSEMBLED} == {row.mnemonic for row in INSTRUCTIONS}


@pytest.mark.parametrize(("word", "mnemonic"), ASSEMBLED)
def test_table_agrees_with_the_assembler(word, mnemonic):
    assert [row.mnemonic for row in INSTRUCTIONS if word & row.mask == row.match] == [mnemonic]
    assert decode(word).mnemonic == mnemonic


def test_fields_by_hand():
    check(BY_HAND, expected=BY_HAND.__getitem__, label="by hand")


@pytest.mark.more
def test_assembled_words_and_their_mutations():
    """Every instruction, and every word one bit away from it."""
    words = [word ^ flip for word, _ in ASSEMBLED for flip in (0, *(1 << bit for bit in range(32)))]
    check(words, expected=decode, label="mutation")


@pytest.mark.more
def test_random_words():
    """Uniform words, and words whose opcode, funct7 and register fields are likely ones."""
    seed = 77
    rng = random.Random(seed)
    opcodes = sorted({word & 0x7F for word, _ in ASSEMBLED})
    uppers = sorted({word >> 20 for word, _ in ASSEMBLED})
    words = [rng.getrandbits(32) for _ in range(200)]
    for _ in range(2000):
        word = rng.getrandbits(32) & ~0x7F | rng.choice(opcodes)
        if rng.random() < 0.7:
            word = word & 0x000F_FFFF | rng.choice(uppers) << 20
        if rng.random() < 0.2:
            word &= ~rng.choice((0xF80, 0xF8000, 0x1F00000))
        words.append(word)
    check(words, expected=decode, label=f"seed {seed}")


def test_fetch_error():
    words = [0, 0xFFFFFFFF, *(word for word, _ in ASSEMBLED)]
    check(words, fetch_error=True, label="fetch error", expected=lambda word: Expected(unit="SYSTEM", op="FETCH_FAULT"))


def test_prediction():
    """btfn follows jal and branches as predicted, and changes nothing else; their offset is known sooner than imm."""
    dut = Decoder(prediction=Prediction.BTFN)
    plain = Decoder()
    offset = Signal(32)
    m = Module()
    m.submodules.dut, m.submodules.plain = dut, plain
    m.d.comb += [offset.eq(jump_offset(dut.instruction))]

    async def testbench(ctx):
        hinted = {word & ~1: expected for word, expected in BY_HAND.items() if word & 0x7F == 0x63}
        assert len(hinted) == 5
        for word, expected in sorted((BY_HAND | hinted).items()):
            jal, branch, name = word & 0x7F == 0x6F, word & 0x7E == 0x62, hex(word)
            for decoder in (dut, plain):
                ctx.set(decoder.instruction, word)
            await ctx.delay(1e-9)
            got, want = ctx.get(dut.decoded), ctx.get(plain.decoded)
            assert got.predicted == (jal or (branch and word >> 31 == word & 1)) and not want.predicted, name
            assert got.info.control == (want.info.control and not jal), name
            if jal or branch:
                assert ctx.get(offset) == expected.imm, name
            fields = [field for field, _ in got.shape() if field not in ("info", "predicted")]
            assert [got[field] for field in fields] == [want[field] for field in fields], name

    simulate(m, testbench)


def test_a_write_of_mregion_waits_with_ordered_channels():
    cases = [
        (0x7C00D2F3, 1, 1),  # csrrwi t0, mregion, 1
        (0x7C005073, 1, 0),  # csrwi mregion, 0
        (0x7C029073, 1, 0),  # csrw mregion, t0
        (0x7C00E073, 1, 0),  # csrsi mregion, 1
        (0x7C1290F3, 0, 0),  # csrrw ra, morder, t0
        (0x00129073, 0, 0),  # csrw fflags, t0
    ]
    dut, plain = Decoder(ordered=True), Decoder()
    m = Module()
    m.submodules.dut, m.submodules.plain = dut, plain

    async def testbench(ctx):
        for word, waits, begins in cases:
            for decoder in (dut, plain):
                ctx.set(decoder.instruction, word)
            await ctx.delay(1e-9)
            got, want = ctx.get(dut.decoded.info), ctx.get(plain.decoded.info)
            assert (got.drain & got.fence, got.store) == (waits, begins), hex(word)
            assert not want.fence and not want.store, hex(word)
            assert got.drain == (want.drain or waits), hex(word)

    simulate(m, testbench)


@pytest.mark.more
def test_without_fpu_the_instructions_of_f_are_illegal_and_the_others_as_usual():
    """Every instruction, with the accesses to fcsr, which no longer wait."""
    dut, plain = Decoder(fpu=False), Decoder()
    m = Module()
    m.submodules.dut, m.submodules.plain = dut, plain
    of_fpu = {row.mnemonic for row in INSTRUCTIONS if row.fp}
    fcsr = 0x00129073  # csrw fflags, t0

    async def testbench(ctx):
        for word, mnemonic in (*ASSEMBLED, (fcsr, "csrrw")):
            for decoder in (dut, plain):
                ctx.set(decoder.instruction, word)
            await ctx.delay(1e-9)
            got, want = read_fields(ctx.get(dut.decoded)), read_fields(ctx.get(plain.decoded))
            if mnemonic in of_fpu:
                want = Expected(unit="SYSTEM", op="ILLEGAL")
            elif ctx.get(plain.decoded.info.drain):
                assert not ctx.get(dut.decoded.info.drain)
                want = replace(want, drain=got.drain)
            assert got == want, f"{mnemonic}: {word:#010x}"

    simulate(m, testbench)
