"""Strict decoding, against the hardware's table, an independent reading of the same text."""

import random

import pytest

from metronome.hdl.isa.table import INSTRUCTIONS, RegFile
from metronome.sim.machine.golden.decode import decode
from metronome.sim.program.assembler import asm
from tests.sim.machine.golden.iss_harness import load

OPCODES = sorted({row.match & 0x7F for row in INSTRUCTIONS})


def hardware(word):
    rows = [row for row in INSTRUCTIONS if word & row.mask == row.match]
    assert len(rows) <= 1
    if rows and rows[0].rm and word >> 12 & 7 in (5, 6):
        return None
    return rows[0] if rows else None



def words(rng):
    """All opcodes with all funct3 and many funct7, rs2 and rd fields; the rows' own words with one bit flipped."""
    for opcode in range(128):
        for funct3 in range(8):
            yield opcode | funct3 << 12
            for _ in range(40 if opcode in OPCODES else 1):
                yield opcode | funct3 << 12 | rng.getrandbits(32) & ~0x707F
    for funct7 in range(128):
        for funct3 in range(8):
            for rs2 in (0, 1, 2, 31):
                for opcode in (0x13, 0x33, 0x53, 0x0B):
                    yield opcode | funct3 << 12 | funct7 << 25 | rs2 << 20 | rng.getrandbits(10) << 7 & 0xF8F80
    for row in INSTRUCTIONS:
        word = row.match | rng.getrandbits(32) & ~row.mask
        yield word
        yield from (word ^ 1 << bit for bit in range(32))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_decoding_agrees_with_the_hardware_table(seed):
    rng = random.Random(seed)
    legal = 0
    for word in words(rng):
        row, decoded = hardware(word), decode(word)
        where = f"seed {seed}, word {word:#010x}: hardware {row and row.mnemonic}, iss {decoded.name}"
        assert (row is None) == (decoded.name == "illegal"), where
        if row is None:
            continue
        legal += 1
        assert decoded.name == row.mnemonic, where
        number = word >> 7 & 31
        rd = None if row.rd is None else number + 32 * (row.rd is RegFile.FP) or None
        assert decoded.rd == rd, where
    assert legal > 5000


def test_an_illegal_word_faults_when_it_executes():
    iss = load([asm.beq(0, 0, 8), 0, asm.addi(1, 0, 1)])
    assert iss.step(0).fault is None and iss.step(0).fault is None
