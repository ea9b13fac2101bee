"""Machines without FPU and without research counters, on the RTL in lock step, and against the prediction."""

from dataclasses import replace

import pytest

from metronome.hdl.config import FaultCause
from metronome.hdl.isa.table import INSTRUCTIONS
from metronome.sim.program.assembler import asm
from metronome.sim.program.kernels import prepare
from metronome.sim.run.runner import RunRequest, run_many
from tests.support.builds import TINY, on
from tests.system.prediction import differences
from tests.system.rtl_programs import ARGUMENTS, RawProgram, problems

CONFIG = replace(TINY, fpu=False, research_counters=False)
FLOAT = [row for row in INSTRUCTIONS if row.fp]
FCSR = (1, 2, 3)
KERNELS = ("vecadd", "psum", "diverge", "sgemm", "psort", "transpose")

pytestmark = [pytest.mark.more, pytest.mark.slow, on("without FPU")]


def before_and_after(word: int) -> RawProgram:
    """A store, the word, and a store that must not happen."""
    p = asm.Program()
    p.add(*asm.li(5, ARGUMENTS), asm.sw(5, 0, 5), asm.fence(), word, asm.sw(5, 4, 5), asm.tmc(0))
    return RawProgram(p.assemble())


def reads_csrs() -> RawProgram:
    """Stores misa, and counters of the region, of which there is none."""
    p = asm.Program()
    p.add(asm.csrrwi(0, 0x7C0, 1), *asm.li(5, ARGUMENTS))
    for place, number in enumerate((0x301, 0xB03, 0xB83, 0xB09, 0xB0B, 0xB1F)):
        p.add(asm.csrr(6, number), asm.sw(6, 4 * place, 5))
    p.add(asm.csrrwi(0, 0x7C0, 0), asm.tmc(0))
    return RawProgram(p.assemble())


@pytest.fixture(scope="module")
def results():
    words = {row.mnemonic: row.match | 5 << 15 for row in FLOAT}
    words |= {f"csrr {number}": asm.csrr(6, number) for number in FCSR}
    launches = {name: before_and_after(word) for name, word in words.items()}
    launches["csrs"] = reads_csrs()
    launches |= {name: prepare(name, "int32", config=CONFIG) for name in KERNELS}
    requests = [RunRequest(launch=launch, policy="lrr", memory="fixed", latency=20, check=True, trace=True,
                           max_cycles=200_000) for launch in launches.values()]
    return dict(zip(launches, zip(requests, run_many(CONFIG, requests), strict=True), strict=True))


@pytest.mark.parametrize("name", [row.mnemonic for row in FLOAT])
def test_an_instruction_of_f_is_illegal(results, name):
    _, result = results[name]
    assert not result.mismatches
    assert (result.status, result.fault.cause) == ("fault", FaultCause.ILLEGAL_INSTRUCTION)
    row = next(row for row in FLOAT if row.mnemonic == name)
    assert result.fault.address == row.match | 5 << 15
    assert (result.memory.read_word(ARGUMENTS), result.memory.read_word(ARGUMENTS + 4)) == (ARGUMENTS, 0)


@pytest.mark.parametrize("number", FCSR)
def test_fcsr_does_not_exist(results, number):
    _, result = results[f"csrr {number}"]
    assert not result.mismatches
    assert (result.fault.cause, result.fault.address) == (FaultCause.UNKNOWN_CSR, number)


def test_misa_lacks_f_and_absent_counters_read_0(results):
    _, result = results["csrs"]
    assert not problems(result)
    words = [result.memory.read_word(ARGUMENTS + 4 * place) for place in range(6)]
    assert words == [1 << 30 | sum(1 << ord(extension) - ord("A") for extension in "IMX"), 0, 0, 0, 0, 0]


@pytest.mark.parametrize("name", KERNELS)
def test_integer_kernels_run_in_their_usual_cycles(results, name):
    """Neither changes a cycle of a program that needs neither, so the prediction is exact as always."""
    request, result = results[name]
    assert not problems(result)
    assert request.launch.check(result.memory) == []
    assert differences(CONFIG, request, result) == []
    # The counter begins in the cycle after the launch (docs/counters.md), a result in that of the launch.
    assert result.counters["total_cycles"] == result.total_cycles - 1
    assert {value for counter, value in result.counters.items() if counter != "total_cycles"} == {None}


@pytest.mark.parametrize("name", ["sgemm", "csrs", "fadd.s", "csrr 1"])
def test_the_prediction_faults_and_reads_alike(results, name):
    request, result = results[name]
    assert differences(CONFIG, request, result) == []
