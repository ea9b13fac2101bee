"""Hints for the static prediction: what a hinted branch is, and which branches a profile gives one."""

import dataclasses
import struct

import numpy as np
import pytest

from metronome.hdl.config import Prediction
from metronome.hdl.isa.table import INSTRUCTIONS, ImmFormat
from metronome.hdl.presets import BASE, TINY
from metronome.sim.analysis.code.decoding import decode as decode_for_analysis
from metronome.sim.machine.golden import EndStatus, Iss
from metronome.sim.machine.golden.decode import decode
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.predict.model.code import CodeTable
from metronome.sim.predict.model.records import CODE
from metronome.sim.program import kernels
from metronome.sim.program.assembler.disassembly import registers_of, unit_of
from metronome.sim.program.compiler.options import Compiling
from metronome.sim.program.elf import load_elf
from metronome.sim.program.hints import _NOT_IN_MODEL, outcomes, with_hints
from metronome.sim.program.kernels import load_into
from metronome.sim.run.memcheck.plan import plan_of
from tests.support.programs import launched, prepared

BRANCHES = [row for row in INSTRUCTIONS if row.imm is ImmFormat.B]
#: A loop of 5 turns, in it two forward branches; a branch that is never taken; a loop of 2 turns.
SOURCE = """\
.globl main
main:
    li t0, 5
again:
    addi t1, t0, -3
    beqz t1, third
    j on
third:
    nop
on:
    bnez t0, usual
    nop
usual:
    addi t0, t0, -1
    bnez t0, again
    bnez zero, never
    li t0, 2
twice:
    addi t0, t0, -1
    bnez t0, twice
    beqz zero, next
next:
    li a0, 0
    ret
never:
    li a0, 1
    ret
"""


@pytest.fixture(scope="module")
def launch(tmp_path_factory):
    path = tmp_path_factory.mktemp("hints") / "branches.S"
    path.write_text(SOURCE)
    return kernels.prepare_source(path, config=TINY)


def place(launch, name):
    return launch.image.symbols[name][0]


def word_at(image, pc):
    segment = next(each for each in image.segments if each.address <= pc < each.end)
    return struct.unpack_from("<I", segment.data, pc - segment.address)[0]


def words_of(image):
    return {
        segment.address + 4 * at: word for segment in image.segments
        for at, (word,) in enumerate(struct.iter_unpack("<I", segment.data[: len(segment.data) // 4 * 4]))
    }


@pytest.mark.parametrize("row", BRANCHES, ids=lambda row: row.mnemonic)
@pytest.mark.parametrize("backward", [0, 1])
def test_all_that_reads_instructions_knows_a_hinted_branch(row, backward):
    """Only its static prediction is another: memory check, analysis, predictor, disassembly."""
    word = row.match | 1 | 11 << 15 | 12 << 20 | backward << 31 | 6 << 8
    hinted = word & ~1
    plans = [dataclasses.replace(plan_of(decode(each)), word=0) for each in (word, hinted)]
    assert plans[0] == plans[1] and plans[0].read
    assert decode(hinted).name == decode(word).name == row.mnemonic
    assert registers_of(hinted) == registers_of(word) and unit_of(hinted) is unit_of(word)
    for prediction in Prediction:
        config = dataclasses.replace(BASE, prediction=prediction)
        table, follows = CodeTable(config), prediction is not Prediction.NOT_TAKEN
        plain, other = (dict(zip(CODE.names, table.decode(each), strict=True)) for each in (word, hinted))
        assert plain.pop("predicted") == (follows and backward) and other.pop("predicted") == (follows and not backward)
        assert plain.pop("word") == word and other.pop("word") == hinted and plain == other
        assert table.jumps(hinted) == (prediction is Prediction.PRIVATE or (follows and not backward))
        analysed = [decode_for_analysis(each) for each in (word, hinted)]
        assert [each.row for each in analysed] == [row, row]


def test_outcomes_are_counted(launch):
    """Warp 0 executes all of it; the profile knows each branch, but not the one to the next instruction."""
    counted = outcomes(launch, TINY)
    main = place(launch, "main")
    own = {pc - main: counts for pc, counts in counted.items() if main <= pc < main + 4 * len(SOURCE.splitlines())}
    # li; addi, beqz, j, nop; bnez, nop; addi, bnez; bnez; li, addi, bnez; beqz to the next instruction.
    assert own == {8: (4, 1), 20: (0, 5), 32: (1, 4), 36: (1, 0), 48: (1, 1)}


def test_mostly_wrong_branches_get_hints(launch):
    """A forward branch that is mostly taken, and a backward one that is as often not: that costs no redirect."""
    image = with_hints(launch, TINY)
    main = place(launch, "main")
    before, after = words_of(launch.image), words_of(image)
    changed = {pc for pc in before if before[pc] != after[pc]}
    assert {pc - main for pc in changed if main <= pc < main + 80} == {20, 48}
    assert all(before[pc] & 0x7F == 0x63 and after[pc] == before[pc] & ~1 for pc in changed)
    assert image.symbols == launch.image.symbols and load_elf(image.path, TINY.memory_map).segments == image.segments
    ends = [launched(dataclasses.replace(launch, image=each), TINY) for each in (launch.image, image)]
    assert [each.run(10_000).status for each in ends] == [EndStatus.ENDED] * 2
    assert ends[0].memory.read(0x88, 4) == ends[1].memory.read(0x88, 4) == bytes(4)


def test_hints_of_a_hinted_program_are_the_same(launch):
    image = with_hints(launch, TINY)
    again = with_hints(dataclasses.replace(launch, image=image), TINY)
    assert again.segments == image.segments


def test_a_kernel_is_profiled_with_other_inputs_and_passes():
    plain = kernels.prepare("psort", "int32", 16, 1, TINY)
    hinted = kernels.prepare("psort", "int32", 16, 1, TINY, Compiling(hints=True))
    assert hinted.buffers == plain.buffers and hinted.arguments == plain.arguments
    other = kernels.prepare("psort", "int32", 16, 2, TINY)
    assert other.buffers != plain.buffers and hinted.image.segments == with_hints(other, TINY).segments
    before, after = words_of(plain.image), words_of(hinted.image)
    changed = {pc for pc in before if before[pc] != after[pc]}
    assert changed and all(before[pc] & ~1 == after[pc] for pc in changed)
    # The profile's majority, counted again with these inputs, is mostly the same.
    iss = launched(hinted, TINY)
    assert iss.run(1 << 24).status is EndStatus.ENDED and hinted.check(iss.memory) == []
    wrong = [0, 0]
    for pc, (fell, taken) in outcomes(plain, TINY).items():
        for which, words in enumerate((before, after)):
            wrong[which] += fell if words[pc] >> 31 == words[pc] & 1 else taken
    assert wrong[1] < wrong[0]


def test_two_programs_with_the_same_code_have_files_of_their_own(tmp_path):
    """Else one would replace the other in the cache while it is read."""
    paths = []
    for name in ("first", "second"):
        (tmp_path / f"{name}.S").write_text(SOURCE)
        how = Compiling(("-g0",), hints=True)
        paths.append(kernels.prepare_source(tmp_path / f"{name}.S", config=TINY, compiling=how))
    assert len({each.image.path.parent for each in paths}) == 2
    assert all(each.image.path.exists() for each in paths)


def test_a_program_that_depends_on_its_inputs_is_its_own(tmp_path, monkeypatch):
    """An OpenCL kernel whose options depend on the seed: hints change no other word than branches."""
    plain = kernels.prepare("psort", "int32", 16, 1, TINY)
    original = kernels.prepare

    def prepare(name, dtype, size, seed, *rest, **named):
        launch = original(name, dtype, size, seed, *rest, **named)
        if seed == 2:
            changed = dataclasses.replace(launch.image, content=launch.image.content + b" ")
            launch = dataclasses.replace(launch, image=changed)
        return launch

    monkeypatch.setattr(kernels, "prepare", prepare)
    own = original("psort", "int32", 16, 1, TINY, Compiling(hints=True))
    assert own.image.segments == with_hints(plain, TINY).segments

    def refuses(name, dtype, size, seed, *rest, **named):
        if seed == 2:
            raise kernels.KernelError("only 1 data set")
        return original(name, dtype, size, seed, *rest, **named)

    monkeypatch.setattr(kernels, "prepare", refuses)
    assert original("psort", "int32", 16, 1, TINY, Compiling(hints=True)).image.segments == own.image.segments


def test_the_machine_of_a_profile_is_that_of_the_golden_model(launch):
    """The key of a profile has each field that the model reads, and no other machine makes another one."""
    read = set()

    class Watched:
        def __init__(self, config):
            self._config = config

        def __getattr__(self, name):
            read.add(name)
            return getattr(self._config, name)

    memory = SparseMemory(TINY.memory_map)
    load_into(launch, memory)
    iss = Iss(Watched(TINY), memory)
    iss.launch(launch.entry, launch.argument_address)
    assert iss.run(1 << 20).status is EndStatus.ENDED
    own = {field.name for field in dataclasses.fields(TINY)}
    assert {"warps", "threads"} <= read and not [name for name in read & own if _NOT_IN_MODEL.fullmatch(name)]


def test_a_program_that_faults_or_waits_has_the_hints_of_what_it_did(tmp_path):
    loop = "int main(void) { for (volatile int i = 9; i;) i = i - 1; *(volatile int *)1 = 0; }"
    launch = prepared(tmp_path, loop, TINY)
    assert np.sum(list(outcomes(launch, TINY).values())) > 9
    assert with_hints(launch, TINY).entry == launch.entry
