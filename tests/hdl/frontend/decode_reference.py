"""A second decoder in plain Python, written from the RISC-V manual's formats and isa.md, not from the table."""

from dataclasses import dataclass

__all__ = ["Expected", "decode"]


@dataclass
class Expected:
    """The fields of ``Decoded``, with names of enum members for unit and op."""

    mnemonic: str = "illegal"
    unit: str = "SYSTEM"
    op: str = "ILLEGAL"
    rd: int = 0
    rs1: int = 0
    rs2: int = 0
    rs3: int = 0
    use_rs1: int = 0
    use_rs2: int = 0
    use_rs3: int = 0
    writes_rd: int = 0
    control: int = 0
    drain: int = 0
    fence: int = 0
    use_imm: int = 0
    use_pc: int = 0
    rm: int = 0
    imm: int = 0


def bits(word: int, high: int, low: int) -> int:
    return word >> low & (1 << (high - low + 1)) - 1


def sign_extend(value: int, width: int) -> int:
    return (value - (1 << width) if value >> (width - 1) else value) & 0xFFFF_FFFF


def set_registers(out: Expected, word: int, spec: str) -> None:
    """``spec`` lists operands: ``d`` ``1`` ``2`` integer, ``D`` ``A`` ``B`` ``C`` floating point rd, rs1, rs2, rs3."""
    fields = {"d": bits(word, 11, 7), "1": bits(word, 19, 15), "2": bits(word, 24, 20), "3": bits(word, 31, 27)}
    for letter in spec:
        is_float = letter in "DABC"
        which = {"D": "d", "A": "1", "B": "2", "C": "3"}.get(letter, letter)
        number = fields[which]
        if number == 0 and not is_float:
            continue
        if is_float:
            number += 32
        if which == "d":
            out.rd, out.writes_rd = number, 1
        else:
            setattr(out, f"rs{which}", number)
            setattr(out, f"use_rs{which}", 1)


def imm_i(word: int) -> int:
    return sign_extend(bits(word, 31, 20), 12)


def imm_s(word: int) -> int:
    return sign_extend(bits(word, 31, 25) << 5 | bits(word, 11, 7), 12)


def imm_b(word: int) -> int:
    return sign_extend(
        bits(word, 31, 31) << 12 | bits(word, 7, 7) << 11 | bits(word, 30, 25) << 5 | bits(word, 11, 8) << 1, 13)


def imm_j(word: int) -> int:
    return sign_extend(
        bits(word, 31, 31) << 20 | bits(word, 19, 12) << 12 | bits(word, 20, 20) << 11 | bits(word, 30, 21) << 1, 21)


def op_imm(word: int, funct3: int, funct7: int) -> Expected | None:
    if (funct3 == 1 and funct7 != 0) or (funct3 == 5 and funct7 not in (0, 0b0100000)):
        return None
    shift_right = ("srai", "SRA") if funct7 else ("srli", "SRL")
    name, op = [("addi", "ADD"), ("slli", "SLL"), ("slti", "SLT"), ("sltiu", "SLTU"), ("xori", "XOR"), shift_right,
                ("ori", "OR"), ("andi", "AND")][funct3]
    out = Expected(name, "ALU", op, use_imm=1, imm=imm_i(word))
    set_registers(out, word, "d1")
    return out


def op(word: int, funct3: int, funct7: int) -> Expected | None:
    if funct7 == 0:
        name = ["add", "sll", "slt", "sltu", "xor", "srl", "or", "and"][funct3]
    elif funct7 == 0b0100000:
        name = {0: "sub", 5: "sra"}.get(funct3)
    elif funct7 == 1:
        name = ["mul", "mulh", "mulhsu", "mulhu", "div", "divu", "rem", "remu"][funct3]
    elif funct7 == 0b0000111:
        name = {5: "czero.eqz", 7: "czero.nez"}.get(funct3)
    else:
        name = None
    if name is None:
        return None
    unit = "ALU" if funct7 != 1 else "MUL" if funct3 < 4 else "DIV"
    out = Expected(name, unit, name.upper().replace(".", "_"))
    set_registers(out, word, "d12")
    return out


def system(word: int, funct3: int) -> Expected | None:
    if funct3 == 0:
        name = {0x0000_0073: "ecall", 0x0010_0073: "ebreak", 0x3020_0073: "mret"}.get(word)
        return Expected(name, "SYSTEM", name.upper()) if name else None
    if funct3 == 4:
        return None
    immediate = funct3 >= 5
    number = bits(word, 31, 20)
    name = {1: "csrrw", 2: "csrrs", 3: "csrrc"}[funct3 & 3]
    out = Expected(name + "i" * immediate, "CSR", name[3:].upper(), use_imm=int(immediate),
                   imm=number | bits(word, 19, 15) << 12, drain=int(1 <= number <= 3))
    set_registers(out, word, "d" if immediate else "d1")
    return out


def simt(word: int, funct3: int, funct7: int) -> Expected | None:
    if funct7 != 0 or funct3 > 5:
        return None
    name = ["tmc", "wspawn", "split", "join", "bar", "pred"][funct3]
    registers = {"wspawn": "12", "bar": "12", "pred": "12", "split": "d1"}.get(name, "1")
    negate = {"split": bits(word, 20, 20), "pred": bits(word, 7, 7)}.get(name, 0)
    out = Expected(name, "SIMT", name.upper(), control=1, imm=negate)
    set_registers(out, word, registers)
    return out


def op_fp(word: int, funct3: int, funct7: int) -> Expected | None:
    rs2 = bits(word, 24, 20)
    if funct7 & 3:  # not single precision
        return None
    rounded = True
    arithmetic = {0: "fadd", 1: "fsub", 2: "fmul", 3: "fdiv"}
    funct5 = funct7 >> 2
    if funct5 in arithmetic:
        name, registers = arithmetic[funct5], "DAB"
    elif funct5 == 0b01011 and rs2 == 0:
        name, registers = "fsqrt", "DA"
    elif funct5 == 0b11000 and rs2 < 2:
        name, registers = ("fcvt.w", "fcvt.wu")[rs2], "dA"
    elif funct5 == 0b11010 and rs2 < 2:
        name, registers = ("fcvt.s.w", "fcvt.s.wu")[rs2], "D1"
    else:
        rounded = False
        name, registers = {
            (0b00100, 0): ("fsgnj", "DAB"), (0b00100, 1): ("fsgnjn", "DAB"), (0b00100, 2): ("fsgnjx", "DAB"),
            (0b00101, 0): ("fmin", "DAB"), (0b00101, 1): ("fmax", "DAB"),
            (0b10100, 0): ("fle", "dAB"), (0b10100, 1): ("flt", "dAB"), (0b10100, 2): ("feq", "dAB"),
            (0b11100, 0): ("fmv.x.w", "dA"), (0b11100, 1): ("fclass", "dA"), (0b11110, 0): ("fmv.w.x", "D1"),
        }.get((funct5, funct3), ("", ""))
        if not name or (funct5 in (0b11100, 0b11110) and rs2 != 0):
            return None
    full = name if name.startswith(("fmv", "fcvt.s")) else name + ".s"
    unit = {"fdiv": "FDIV", "fsqrt": "FDIV", "fadd": "FMA", "fsub": "FMA", "fmul": "FMA"}.get(
        name, "FCVT" if name.startswith("fcvt") else "FMISC")
    operation = (full if name.startswith(("fmv", "fcvt")) else name).removeprefix("fcvt.")
    out = Expected(full, unit, operation.upper().replace(".", "_"), rm=funct3 if rounded else 0)
    set_registers(out, word, registers)
    return out


def branch(word: int, funct3: int) -> Expected | None:
    name = {0: "beq", 1: "bne", 4: "blt", 5: "bge", 6: "bltu", 7: "bgeu"}.get(funct3)
    if name is None:
        return None
    out = Expected(name, "BRANCH", name[1:].upper(), control=1, imm=imm_b(word))
    set_registers(out, word, "12")
    return out


def memory(word: int, opcode: int, funct3: int) -> Expected | None:
    if opcode in (0b0000111, 0b0100111):
        names, registers = {2: "flw" if opcode == 0b0000111 else "fsw"}, "D1" if opcode == 0b0000111 else "1B"
    elif opcode == 0b0000011:
        names, registers = {0: "lb", 1: "lh", 2: "lw", 4: "lbu", 5: "lhu"}, "d1"
    else:
        names, registers = {0: "sb", 1: "sh", 2: "sw"}, "12"
    name = names.get(funct3)
    if name is None:
        return None
    out = Expected(name, "LSU", name.removeprefix("f").upper(), imm=imm_s(word) if name in "fsw sb sh" else imm_i(word))
    set_registers(out, word, registers)
    return out


def fused(word: int, opcode: int, funct3: int) -> Expected | None:
    if bits(word, 26, 25) != 0:
        return None
    name = {0b1000011: "fmadd", 0b1000111: "fmsub", 0b1001011: "fnmsub", 0b1001111: "fnmadd"}[opcode]
    out = Expected(name + ".s", "FMA", name.upper(), rm=funct3)
    set_registers(out, word, "DABC")
    return out


def upper_or_jump(word: int, opcode: int, funct3: int) -> Expected | None:
    if opcode == 0b0110111:
        out = Expected("lui", "ALU", "ADD", use_imm=1, imm=word & 0xFFFF_F000)
    elif opcode == 0b0010111:
        out = Expected("auipc", "ALU", "ADD", use_imm=1, use_pc=1, imm=word & 0xFFFF_F000)
    elif opcode == 0b1101111:
        out = Expected("jal", "BRANCH", "JAL", use_imm=1, use_pc=1, control=1, imm=imm_j(word))
    elif funct3 == 0:
        out = Expected("jalr", "BRANCH", "JALR", use_imm=1, control=1, imm=imm_i(word))
    else:
        return None
    set_registers(out, word, "d1" if out.mnemonic == "jalr" else "d")
    return out


def fence(word: int, funct3: int) -> Expected | None:
    if funct3 == 0:
        return Expected("fence", "SYSTEM", "FENCE", fence=1)
    return Expected("fence.i", "SYSTEM", "FENCE_I", fence=1, control=1) if funct3 == 1 else None


def decode(word: int, *, fetch_error: bool = False) -> Expected:
    """What the decoder shall make of ``word``."""
    if fetch_error:
        return Expected("fetch fault", "SYSTEM", "FETCH_FAULT")
    opcode, funct3, funct7 = bits(word, 6, 0), bits(word, 14, 12), bits(word, 31, 25)
    formats = {
        0b0000011: lambda: memory(word, opcode, funct3), 0b0001011: lambda: simt(word, funct3, funct7),
        0b0001111: lambda: fence(word, funct3), 0b0010011: lambda: op_imm(word, funct3, funct7),
        0b0010111: lambda: upper_or_jump(word, opcode, funct3), 0b0100011: lambda: memory(word, opcode, funct3),
        0b0110011: lambda: op(word, funct3, funct7), 0b0110111: lambda: upper_or_jump(word, opcode, funct3),
        0b1100010: lambda: branch(word, funct3),  # with a hint
        0b1100011: lambda: branch(word, funct3), 0b1100111: lambda: upper_or_jump(word, opcode, funct3),
        0b1101111: lambda: upper_or_jump(word, opcode, funct3), 0b1110011: lambda: system(word, funct3),
        0b1010011: lambda: op_fp(word, funct3, funct7),
    }
    formats |= dict.fromkeys((0b0000111, 0b0100111), lambda: memory(word, opcode, funct3))
    formats |= dict.fromkeys((0b1000011, 0b1000111, 0b1001011, 0b1001111), lambda: fused(word, opcode, funct3))
    return formats.get(opcode, Expected)() or Expected()
