"""The counters in every front end: what software reads from their CSRs, and what the run reports."""

import itertools

import pytest

from metronome.hdl.config import Coordination
from metronome.sim.program.assembler import asm
from metronome.sim.program.assembler.asm import Program
from metronome.sim.run.runner import RunRequest, run_many
from tests.hdl.sm_harness import USER, finish, spawn
from tests.support.builds import on
from tests.system.rtl_programs import RawProgram, problems
from tests.system.scheme_builds import BASELINE, SWAS, VORTEX, build_of, group_of

MREGION = 0x7C0
#: isa.md, from 0xB03 on; the cycles without an issue follow, by reason.
COUNTERS = ("committed", "nops", "discrepancies", "errors", "icache_misses", "taken_branches", "loads",
            "load_wait_cycles")
REASONS = ("load", "data", "unit", "writeback", "drain", "icache", "control", "barrier", "buffer", "idle", "policy")


def counting(warps):
    """All warps run a loop with loads and branches; warp 0 then closes the region and writes down all counters."""
    p = Program()
    p.add(asm.csrrwi(0, MREGION, 1))
    spawn(p, warps, "all")
    p.label("all")
    p.add(*asm.li(5, USER), *asm.li(9, 20), asm.csrr(8, 0xCC1))
    p.label("loop")
    p.add(asm.lw(7, 512, 5), asm.addi(9, 9, -1), asm.addi(10, 10, 1), asm.addi(11, 11, 1), asm.addi(12, 7, 1))
    p.branch(asm.bne, 9, 0, "loop")
    p.add(*asm.li(13, 0), *asm.li(14, warps), asm.bar(13, 14))
    p.branch(asm.beq, 8, 0, "report")
    finish(p)
    p.label("report")
    p.add(asm.csrrwi(0, MREGION, 0))
    for number in range(len(COUNTERS) + len(REASONS)):
        p.add(asm.csrr(15, 0xB03 + number), asm.sw(15, 8 * number, 5))
        p.add(asm.csrr(16, 0xB83 + number), asm.sw(16, 8 * number + 4, 5))
    finish(p)
    return RawProgram(p.assemble())


@pytest.mark.parametrize(("preset", "scheme", "prediction"), [
    pytest.param(*build, id=build[1], marks=[on(group_of(*build)), *[pytest.mark.more] * (build == VORTEX)])
    for build in (SWAS, BASELINE, VORTEX)
])
def test_software_reads_what_the_run_reports(preset, scheme, prediction):
    config, pairs = build_of(preset, scheme, prediction)
    requests = [
        RunRequest(launch=counting(config.warps), policy=issue, fetch_policy=fetch, latency=latency, check=True)
        for (fetch, issue), latency in itertools.product(pairs, (5, 20)[:1 if scheme is Coordination.SWAS else 2])
    ]
    seen = dict.fromkeys((*COUNTERS, *REASONS), 0)
    for request, result in zip(requests, run_many(config, requests), strict=True):
        what = f"{request.fetch_policy}-{request.policy}, latency {request.latency}"
        assert not problems(result), f"{what}: {problems(result)}"
        counted = {**{name: result.counters[name] for name in COUNTERS}, **result.counters["stalls"]}
        read = [int.from_bytes(result.memory.read(USER + 8 * number, 8), "little") for number in range(len(seen))]
        assert dict(zip(seen, read, strict=True)) == {name: counted[name] for name in seen}, what
        cycles = counted["committed"] + counted["nops"] + sum(counted[reason] for reason in REASONS)
        assert cycles == result.counters["cycles"], what
        for name in seen:
            seen[name] += counted[name]
    oracles = ("nops", "policy") if scheme is Coordination.SWAS else ("discrepancies", "errors", "buffer")
    for name in ("committed", "icache_misses", "taken_branches", "loads", "load_wait_cycles", "load", *oracles):
        assert seen[name] > 0, f"{name} never counted"
