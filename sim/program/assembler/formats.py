"""Instruction formats in which :mod:`.asm` encodes its words (unprivileged specification, chapter 2.2)."""

from __future__ import annotations

__all__ = ["branch_offset", "encode_b", "encode_i", "encode_r", "encode_s", "encode_u", "field", "signed"]


def field(value: int, bits: int, name: str) -> int:
    """Check and return an unsigned field; ``ValueError`` if it is out of range."""
    if not 0 <= value < 1 << bits:
        raise ValueError(f"{name} must be between 0 and {(1 << bits) - 1}, not {value!r}")
    return value


def signed(value: int, bits: int, name: str) -> int:
    """Check and return a two's complement field; ``ValueError`` if it is out of range."""
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError(f"{name} must be between {-(1 << bits - 1)} and {(1 << bits - 1) - 1}, not {value!r}")
    return value & (1 << bits) - 1


def encode_r(opcode: int, funct3: int, funct7: int, rd: int, rs1: int, rs2: int) -> int:
    """An R-type word of any fields."""
    return (
        field(opcode, 7, "opcode") | field(rd, 5, "rd") << 7 | field(funct3, 3, "funct3") << 12
        | field(rs1, 5, "rs1") << 15 | field(rs2, 5, "rs2") << 20 | field(funct7, 7, "funct7") << 25
    )


def encode_i(opcode: int, funct3: int, rd: int, rs1: int, imm: int) -> int:
    """An I-type word; ``imm`` is signed, 12 bits."""
    imm = signed(imm, 12, "imm")
    return encode_r(opcode, funct3, imm >> 5, rd, rs1, imm & 31)


def encode_s(opcode: int, funct3: int, rs1: int, rs2: int, imm: int) -> int:
    """An S-type word; ``imm`` is signed, 12 bits."""
    imm = signed(imm, 12, "imm")
    return encode_r(opcode, funct3, imm >> 5, imm & 31, rs1, rs2)


def encode_b(funct3: int, rs1: int, rs2: int, offset: int) -> int:
    """A conditional branch; ``offset`` is signed, 13 bits, even."""
    if offset % 2:
        raise ValueError(f"offset must be even, not {offset!r}")
    bits = signed(offset, 13, "offset")
    high = bits >> 12 << 6 | bits >> 5 & 0x3F
    low = bits & 0x1E | bits >> 11 & 1
    return encode_r(0x63, funct3, high, low, rs1, rs2)


def branch_offset(word: int) -> int:
    """The offset of a conditional branch, in bytes."""
    value = (word >> 7 & 1) << 11 | (word >> 25 & 0x3F) << 5 | (word >> 8 & 0xF) << 1
    return value - (word >> 31 << 12)


def encode_u(opcode: int, rd: int, imm: int) -> int:
    """A U-type word; ``imm`` is the upper 20 bits, unsigned."""
    return field(imm, 20, "imm") << 12 | field(rd, 5, "rd") << 7 | opcode
