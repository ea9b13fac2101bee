"""Instructions by the latency of their unit, for the tests of latency and readiness (design.md section 4)."""

from metronome.sim.program.assembler import asm

#: Cycles from a selection to the write of its result: the unit's latency and 2 (design.md section 4, defaults).
OVERHEAD = 2
ALU, MUL, DIV, CSR = 1, 4, 34, 1
FMA, FCVT, FDIV, FMISC = 4, 5, 16, 2
#: The first floating-point register, as the probe numbers it.
F = 32

#: rd, rs1, rs2 -> word, and the latency.
PRODUCERS = {
    "add": (asm.add, ALU), "sra": (asm.sra, ALU), "sltu": (asm.sltu, ALU), "czero": (asm.czero_eqz, ALU),
    "lui": (lambda rd, *_: asm.lui(rd, 7), ALU), "auipc": (lambda rd, *_: asm.auipc(rd, 7), ALU),
    "mul": (asm.mul, MUL), "mulhsu": (asm.mulhsu, MUL), "div": (asm.div, DIV), "remu": (asm.remu, DIV),
    "csrr": (lambda rd, *_: asm.csrr(rd, 0xCC0), CSR), "csrrw": (lambda rd, rs1, _: asm.csrrw(rd, 0x340, rs1), CSR),
}
#: The same for the FPU: f8 or x8 of f5 and f6; whether rd is an integer register.
FLOAT_PRODUCERS = {
    "fadd": (asm.fadd_s, FMA, False), "fsub": (asm.fsub_s, FMA, False), "fmul": (asm.fmul_s, FMA, False),
    "fmadd": (lambda rd, a, b: asm.fmadd_s(rd, a, b, a), FMA, False),
    "fnmsub": (lambda rd, a, b: asm.fnmsub_s(rd, b, a, b), FMA, False),
    "fcvt.w": (lambda rd, a, b: asm.fcvt_w_s(rd, a), FCVT, True),
    "fcvt.wu": (lambda rd, a, b: asm.fcvt_wu_s(rd, b), FCVT, True),
    "fcvt.s": (lambda rd, a, b: asm.fcvt_s_w(rd, a), FCVT, False),
    "fdiv": (asm.fdiv_s, FDIV, False), "fsqrt": (lambda rd, a, b: asm.fsqrt_s(rd, a), FDIV, False),
    "fmin": (asm.fmin_s, FMISC, False), "fsgnjx": (asm.fsgnjx_s, FMISC, False),
    "flt": (asm.flt_s, FMISC, True), "feq": (asm.feq_s, FMISC, True),
    "fclass": (lambda rd, a, b: asm.fclass_s(rd, b), FMISC, True),
    "fmv.x": (lambda rd, a, b: asm.fmv_x_w(rd, a), FMISC, True),
    "fmv.f": (lambda rd, a, b: asm.fmv_w_x(rd, a), FMISC, False),
}
