"""What is predicted is what the hardware does: every issue, counter and statistic, cycle by cycle."""

import random

import pytest

from metronome.sim.machine.memory.registry import MemoryOptions
from metronome.sim.predict.predictor import predict
from metronome.sim.program.assembler import asm
from metronome.sim.program.kernels import kernels, prepare
from metronome.sim.run.runner import RunRequest, run, run_many
from tests.sim.machine.golden.iss_programs import RandomProgram
from tests.support.builds import BARE, BASE, FPGA, LEAST, MID, SMALL, TINY, UNCACHED, on
from tests.support.tiers import more_but, some_more
from tests.system.fetch_programs import FetchProgram
from tests.system.jump_programs import JumpProgram
from tests.system.memory_programs import MemoryProgram
from tests.system.prediction import differences
from tests.system.rtl_programs import RawProgram, run_cleared
from tests.system.test_deadlock_rtl import STUCK, by_warp
from tests.system.test_random_simt_rtl import TIGHT

SEED = 20261124
ADVERSARIAL = MemoryOptions(adversarial=True)
MEMORIES = [
    ("fixed", 1, MemoryOptions()), ("fixed", 20, MemoryOptions()), ("fixed", 100, MemoryOptions()),
    ("random", 8, MemoryOptions()), ("random", 60, MemoryOptions()), ("dram", 1, MemoryOptions()),
    ("tdm", 1, MemoryOptions()), ("random", 3, ADVERSARIAL), ("random", 500, ADVERSARIAL),
]
BUILDS = {
    "TINY": TINY, "SMALL": SMALL, "BASE": BASE, "bare": BARE, "uncached": UNCACHED, "least": LEAST, "tight": TIGHT,
    "MID": MID, "fpga": FPGA,
}
SIZES = {"TINY": (11, 3), "BASE": (37, 6), "MID": (133, 9)}
MATRICES = {"sgemm", "transpose", "conv3", "sfilter", "sgemm_group", "hotspot", "hotspot3d",
            "conv_rows", "conv_columns", "gaussian", "nw", "srad"}


def kernel_requests(config, preset, rng, each):
    """Every kernel of every type, ``each`` times, with a policy and a memory model of its own."""
    for kernel in kernels():
        size = SIZES[preset][kernel.name in MATRICES]
        for dtype in kernel.types:
            for _ in range(each):
                memory, latency, options = rng.choice(MEMORIES)
                yield kernel.name, RunRequest(
                    launch=prepare(kernel.name, dtype, size, 1, config), policy=rng.choice(config.policies),
                    memory=memory, latency=latency, memory_options=options, seed=rng.randrange(5), trace=True,
                    check=True,
                )


def check_kernels(preset, config, seed, each):
    named = list(kernel_requests(config, preset, random.Random(f"{seed}/{preset}"), each))
    bad = []
    run_many(config, [request for _, request in named], on_result=lambda at, result: bad.extend(
        f"{named[at][0]}, {named[at][1].policy}, {named[at][1].memory}: {line}"
        for line in [*result.mismatches, *differences(config, named[at][1], result)][:1]
    ))
    assert not bad, f"seed {seed}: {len(bad)} of {len(named)}\n" + "\n".join(bad[:5])


def program_requests(name, count, seed):
    """Random programs, those that are hard on memory and the others in turn, each with a policy and a memory model."""
    config = BUILDS[name]
    for number in range(count):
        rng = random.Random(f"{seed}/{name}/{number}")
        program = (MemoryProgram, RandomProgram)[number % 2](rng, config, blocks=rng.randrange(3, 9)).program
        memory, latency, options = rng.choice(MEMORIES)
        yield RunRequest(
            launch=RawProgram(program.assemble()), policy=rng.choice(config.policies), memory=memory, latency=latency,
            memory_options=options, seed=number, max_cycles=300_000, trace=True, check=True,
        )


def fetch_requests(name, count, seed):
    """The same of programs that are hard on the fetch, while memory is quick."""
    config = BUILDS[name]
    for number in range(count):
        rng = random.Random(f"{seed}/{name}/fetch/{number}")
        yield RunRequest(
            launch=RawProgram(FetchProgram(rng, config, rng.randrange(8, 24)).program.assemble()),
            policy=rng.choice(config.policies), memory=rng.choice(("fixed", "random")), latency=rng.randrange(1, 9),
            seed=number, max_cycles=300_000, trace=True,
        )


def jump_requests(name, count, seed):
    """The same of programs of calls, loops and indirect jumps."""
    config = BUILDS[name]
    for number in range(count):
        rng = random.Random(f"{seed}/{name}/jumps/{number}")
        memory, latency, options = rng.choice(MEMORIES)
        yield RunRequest(
            launch=RawProgram(JumpProgram(rng, config, rng.randrange(3, 12)).program.assemble()),
            policy=rng.choice(config.policies), memory=memory, latency=latency, memory_options=options, seed=number,
            max_cycles=300_000, trace=True, check=True,
        )


def check_programs(name, requests, seed):
    """Cycle by cycle as predicted, and in lock step where that is asked for."""
    config, bad, ways = BUILDS[name], [], set()

    def take(number, result):
        ways.add(result.status)
        bad.extend(f"program {number}, {requests[number].policy}, {requests[number].memory}: {line}" for line in [
            *result.mismatches, *result.assertions, *differences(config, requests[number], result)][:1])

    run_cleared(config, requests, take)
    assert not bad, f"seed {seed}: {len(bad)} of {len(requests)}\n" + "\n".join(bad[:5])
    assert "ended" in ways


@on("TINY")
@pytest.mark.slow
def test_kernels_are_predicted():
    check_kernels("TINY", TINY, SEED, each=1)


@pytest.mark.parametrize(("name", "count"), [
    pytest.param("TINY", 16, marks=on("TINY")), pytest.param("SMALL", 40, marks=on("SMALL")),
    pytest.param("uncached", 16, marks=on("uncached")),
    pytest.param("fpga", 60, marks=[on("fpga"), pytest.mark.more]),
])
@pytest.mark.slow
def test_random_programs_are_predicted(name, count):
    check_programs(name, list(program_requests(name, count, SEED)), SEED)


@pytest.mark.slow
@on("uncached")
def test_jumps_are_predicted():
    check_programs("uncached", list(jump_requests("uncached", 40, SEED)), SEED)


@pytest.mark.more
@on("SMALL")
def test_misses_of_instructions_are_predicted():
    """Four warps, one MSHR and an I-cache of four lines."""
    check_programs("SMALL", list(fetch_requests("SMALL", 46, SEED)), SEED)


@on("SMALL")
@pytest.mark.parametrize("name", more_but(list(STUCK), {"one barrier less", "a jump to itself and a barrier"}))
def test_a_deadlock_is_predicted(name):
    request = RunRequest(launch=by_warp(*STUCK[name][0]), policy="lrr", max_cycles=20_000, trace=True)
    result = run(SMALL, request)
    assert result.status == "deadlock"
    assert differences(SMALL, request, result) == []


def counting():
    """A program that stores what mcycle, minstret and the counters say, and so many turns of a loop."""
    p = asm.Program()
    p.add(*asm.li(5, TINY.memory_map.user), asm.csrrwi(0, 0x7C0, 1))
    for place, number in enumerate((0xB00, 0xB02, 0xB03, 0xB04, 0xB07, 0xB09, 0xB0C, 0xB12, 0xB80)):
        p.add(asm.lw(6, 0, 5), asm.csrr(6, number), asm.sw(6, 4 * place, 5), asm.csrr(7, number))
    p.add(asm.andi(7, 7, 31))
    p.label("loop")
    p.add(asm.addi(7, 7, -1))
    p.branch(asm.bge, 7, 0, "loop")
    p.add(asm.csrrwi(0, 0x7C0, 0), asm.tmc(0))
    return RawProgram(p.assemble())


def check_all(requests):
    """Programs that read no register before they write it, on TINY."""
    for request, result in zip(requests, run_many(TINY, requests), strict=True):
        assert differences(TINY, request, result) == [], request


@on("TINY")
@pytest.mark.slow
def test_what_counters_read_is_predicted():
    check_all([RunRequest(launch=counting(), policy="gtlo", memory=memory, trace=True)
               for memory in ("fixed", "random")])


def overtaken(hits):
    """A load that misses, and so many behind it that hit, before anybody needs what it loads."""
    p = asm.Program()
    p.add(*asm.li(5, TINY.memory_map.user), *asm.li(7, hits))
    p.add(asm.csrrwi(0, 0x7C0, 1), asm.lw(6, 0, 5), asm.add(6, 6, 6), asm.lw(6, 1024, 5))
    p.label("loop")
    p.add(asm.lw(8, 0, 5), asm.addi(7, 7, -1))
    p.branch(asm.bne, 7, 0, "loop")
    p.add(asm.add(6, 6, 6), asm.csrrwi(0, 0x7C0, 0), asm.tmc(0))
    return RawProgram(p.assemble())


@on("TINY")
@pytest.mark.slow
def test_a_load_that_is_overtaken_often_is_predicted():
    # The model numbers the loads that are under way, and there are fewer numbers than loads during a long miss.
    check_all([RunRequest(launch=overtaken(hits), policy="lrr", latency=3000, trace=True)
               for hits in (126, 127, 128, 300)])


@on("TINY")
@pytest.mark.slow
@pytest.mark.parametrize("cycles", some_more([100, 1, 1000], 1))
def test_the_cycle_limit_is_predicted(cycles):
    request = RunRequest(launch=prepare("psort", None, 8, 1, TINY), policy="lrr", max_cycles=cycles, trace=True)
    result = run(TINY, request)
    assert result.status == "hang"
    assert differences(TINY, request, result) == []


FAULTS = {
    "illegal": [0], "ecall": [0x73], "misaligned load": [asm.addi(5, 5, 2), asm.lw(6, 0, 5), *[asm.addi(7, 7, 1)] * 8],
    "refused load": [asm.lw(6, 0, 0), asm.add(7, 6, 6)], "refused store": [asm.sw(6, 0, 0), *[asm.addi(7, 7, 1)] * 90],
    "refused behind": [asm.sw(6, 0, 0), asm.lw(6, 0, 0), 0], "csr": [asm.csrr(6, 0x123)],
    "misaligned jump": [asm.jalr(0, 5, 2)],
}


@on("TINY")
@pytest.mark.slow
@pytest.mark.parametrize("name", more_but(FAULTS, {"illegal", "refused behind", "misaligned load"}))
def test_a_fault_is_predicted(name):
    p = asm.Program()
    p.li(5, TINY.memory_map.user)
    p.add(asm.lw(8, 0, 5), *FAULTS[name], *[asm.addi(9, 9, 1)] * 40, asm.tmc(0))
    request = RunRequest(launch=RawProgram(p.assemble()), policy="lrr", trace=True)
    result = run(TINY, request)
    assert result.status == "fault"
    assert differences(TINY, request, result) == []


def stored_over(config, before, store, data):
    """A word after a branch is stored to. All warps then fetch it, and none executes it."""
    def build(nops):
        p = asm.Program(config.memory_map.start)
        p.la(5, "word")
        p.li(6, data)
        p.add(store(6, 0, 5), asm.lw(7, 0, 5), asm.add(7, 7, 7), *asm.li(7, config.warps))
        p.la(8, "all")
        p.add(asm.wspawn(7, 8))
        p.label("all")
        p.add(*[asm.nop()] * nops)
        p.branch(asm.beq, 0, 0, "behind")
        p.label("word")
        p.add(before)
        p.label("behind")
        p.add(*[asm.nop()] * 10, asm.tmc(0))
        return p
    nops = next(nops for nops in range(16) if build(nops).address("word") % 64 == 0)
    return RawProgram(build(nops).assemble() + bytes(4096))


@on("BASE")
@pytest.mark.slow
def test_a_jump_that_is_stored_to_and_fetched_is_predicted():
    jump, back = asm.jal(0, 2048), asm.beq(0, 0, -64)
    cases = [(before, asm.sw, data) for before in (0, jump, back) for data in (0, jump, back)]
    # Parts of words: the jump is there only before, only after, both times or never.
    cases += [(before, store, data) for store, mask in ((asm.sb, 0xFF), (asm.sh, 0xFFFF)) for word in (jump, back)
              for before in (word, word & ~mask) for data in (0, word & mask)]
    requests = [RunRequest(launch=stored_over(BASE, *case), policy="lrr", trace=True, memory="dram") for case in cases]
    for case, request, result in zip(cases, requests, run_many(BASE, requests), strict=True):
        assert differences(BASE, request, result) == [], case
    # Somewhere the front end has followed the jump, and somewhere there was none.
    assert len({predict(BASE, request).result.total_cycles for request in requests}) > 1


@pytest.mark.long
@pytest.mark.parametrize("preset", [pytest.param(name, marks=on(name)) for name in SIZES])
def test_more_kernels_are_predicted(preset):
    check_kernels(preset, BUILDS[preset], SEED + 1, each=11)


@pytest.mark.long
@pytest.mark.parametrize("name", [pytest.param(name, marks=on(name)) for name in BUILDS])
def test_more_random_programs_are_predicted(name):
    check_programs(name, list(program_requests(name, 100, SEED + 1)), SEED + 1)
