"""Text of instruction words: read back, and assembled by our assembler, which was written from the manual."""

import random
import re

import pytest

from metronome.hdl.isa.csrs import Csr
from metronome.hdl.isa.table import INSTRUCTIONS, ImmFormat
from metronome.sim.program.assembler import asm
from metronome.sim.program.assembler.disassembly import disassemble, register_name

PC = 0x8000_1000
NUMBERS = {register_name(number): number % 32 for number in range(64)}
MODES = ("rne", "rtz", "rdn", "rup", "rmm")
NAMES = {"or": "or_", "and": "and_"}


def operand(text):
    """The values of one operand as sim.program.assembler.asm takes them."""
    if text in NUMBERS:
        return [NUMBERS[text]]
    if text in MODES:
        return [MODES.index(text)]
    inside = re.fullmatch(r"(-?\d+)\((\w+)\)", text)
    if inside:
        return [int(inside[1]), NUMBERS[inside[2]]]
    return [Csr[text.upper()] if text.isidentifier() else int(text, 0)]


def assembled(text):
    name, _, rest = text.partition(" ")
    negate = name.endswith(".n")
    hinted = name.endswith(".hint")
    values = [value for each in rest.split(", ") if each for value in operand(each)]
    name = name.removesuffix(".n").removesuffix(".hint").replace(".", "_")
    if name in ("beq", "bne", "blt", "bge", "bltu", "bgeu", "jal"):
        values[-1] = (values[-1] - PC + (1 << 31)) % (1 << 32) - (1 << 31)
    if name == "jalr":
        values = [values[0], values[2], values[1]]
    function = getattr(asm, NAMES.get(name, name))
    if hinted:
        function = asm.hinted(function)
    return function(*values, **({"negate": True} if negate else {}))


@pytest.mark.parametrize("row", INSTRUCTIONS, ids=lambda row: row.mnemonic)
def test_the_text_is_the_word(row):
    rng = random.Random(row.mnemonic)
    for _ in range(60):
        word = rng.getrandbits(32) & ~row.mask | row.match
        if row.rm:
            word = word & ~0x7000 | rng.choice([*range(5), 7]) << 12
        text = disassemble(word, PC)
        hint = ".hint" if row.imm is ImmFormat.B and not word & 1 else ""
        assert text.partition(" ")[0].removesuffix(".n") == row.mnemonic + hint
        # What the instruction does not use is not in its text.
        again = disassemble(assembled(text), PC)
        assert again == text, f"seed {row.mnemonic}: {word:#010x}"


@pytest.mark.parametrize(("word", "text"), [
    (0x00000013, "addi zero, zero, 0"), (0xFC102573, "csrrs a0, num_warps, zero"), (0x00B5100B, "wspawn a0, a1"),
    (0xFE0508E3, "beq a0, zero, 0x80000ff0"), (0x0000006F, "jal zero, 0x80001000"), (0x80000537, "lui a0, 0x80000"),
    (0xFFC12083, "lw ra, -4(sp)"), (0xFE112E23, "sw ra, -4(sp)"), (0x00008067, "jalr zero, 0(ra)"),
    (0x40455513, "srai a0, a0, 4"), (0x7C20D073, "csrrwi zero, mpolicy, 1"), (0x7C30D073, "csrrwi zero, 0x7c3, 1"),
    (0x10A5F553, "fmul.s fa0, fa1, fa0"),
    (0xC0059553, "fcvt.w.s a0, fa1, rtz"), (0, ".word 0x00000000"), (0x10A5D553, ".word 0x10a5d553"),
    (0x0015A50B, "split.n a0, a1"), (0xFE0508E2, "beq.hint a0, zero, 0x80000ff0"),
])
def test_known_words(word, text):
    """As the manual encodes them (and llvm-objdump -M no-aliases shows them, but for what is ours)."""
    assert disassemble(word, PC) == text
