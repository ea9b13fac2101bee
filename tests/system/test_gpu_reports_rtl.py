"""Reports of faults, deadlocks and races on several SMs, on the RTL."""

from dataclasses import replace

import pytest

from metronome.hdl.config import FaultCause
from metronome.hdl.gpu.config import L2Kind
from metronome.sim.predict.gpu.predictor import predict_gpu
from metronome.sim.program.assembler import asm
from metronome.sim.program.compiler.options import Compiling
from metronome.sim.program.kernels import prepare_source
from metronome.sim.run.gpu.runner import run_gpu
from tests.support.builds import GPUS, SMALL_GPU, TINY
from tests.system.rtl_programs import RawProgram
from tests.system.test_gpu_rtl import CORE, COUNT, DATA, ID, PLACE, VALUE, passed, program, request


@pytest.mark.parametrize("gpu", GPUS)
def test_a_deadlock_names_the_sms(gpu):
    meet = [*asm.li(ID, 1 << 31), *asm.li(COUNT, gpu.sms), asm.bar(ID, COUNT)]
    words = [asm.csrr(CORE, 0xCC2), asm.beq(CORE, 0, 4 * len(meet) + 4), *meet]
    result = run_gpu(gpu, request(program(*words), gpu))
    assert result.status == "deadlock" and result.total_cycles < 20_000 and result.mismatches == []
    for number, warps in enumerate(result.sm_hang):
        assert warps[0].active == (number > 0)
        assert number == 0 or "between SMs" in warps[0].wait


@pytest.mark.parametrize("gpu", GPUS)
def test_a_fault_stops_all_sms(gpu):
    spin = [asm.addi(VALUE, VALUE, 1), asm.jal(0, -4)]
    last = gpu.sms - 1
    words = [asm.csrr(CORE, 0xCC2), *asm.li(ID, last), asm.bne(CORE, ID, 8), asm.lw(VALUE, 0, 0), *spin]
    result = run_gpu(gpu, request(program(*words), gpu))
    assert (result.status, result.fault_sm, result.mismatches) == ("fault", last, [])
    assert (result.fault.cause, result.fault.address, result.fault.warp) == (FaultCause.LOAD_ACCESS, 0, 0)
    assert result.total_cycles < 2000


@pytest.mark.parametrize("gpu", GPUS)
def test_a_fault_names_its_lanes(gpu):
    # In the last SM, lane 1 of warp 0 stores to a misaligned address.
    p = asm.Program()
    p.add(asm.addi(VALUE, 0, 3), asm.tmc(VALUE), asm.csrr(CORE, 0xCC2), *asm.li(ID, gpu.sms - 1))
    p.branch(asm.bne, CORE, ID, "end")
    p.add(*asm.li(PLACE, DATA), asm.csrr(VALUE, 0xCC0), asm.add(PLACE, PLACE, VALUE), asm.slli(VALUE, VALUE, 1))
    p.add(asm.add(PLACE, PLACE, VALUE), asm.sh(VALUE, 0, PLACE))
    p.label("end")
    p.add(asm.jal(0, 0))
    asked = request(RawProgram(p.assemble()), gpu)
    for check, lanes in ((True, False), (False, True)):
        result = run_gpu(gpu, replace(asked, check=check), lanes=lanes)
        assert (result.status, result.fault_sm, result.fault.address) == ("fault", gpu.sms - 1, DATA + 3)
        assert result.fault_lanes == [1] and result.checked == check


@pytest.mark.parametrize("gpu", GPUS)
def test_warps_that_wait_name_their_lanes(gpu):
    # Lane 1 of warp 0 jumps to itself in SM 0, and all lanes of it in the others.
    p = asm.Program()
    p.add(asm.csrr(CORE, 0xCC2), asm.addi(VALUE, 0, 3))
    p.branch(asm.bne, CORE, 0, "all")
    p.add(asm.addi(VALUE, 0, 2))
    p.label("all")
    p.add(asm.tmc(VALUE), asm.jal(0, 0))
    result = run_gpu(gpu, request(RawProgram(p.assemble()), gpu, check=False))
    assert result.status == "deadlock"
    assert [warps[0].lanes for warps in result.sm_hang] == ["lane 1"] + ["lanes 0-1"] * (gpu.sms - 1)


@pytest.mark.more
@pytest.mark.parametrize("gpu", [
    replace(SMALL_GPU, sm=replace(TINY, icache_bytes=0), l2=L2Kind.SHARED, l2_bytes=512, l2_ways=1, l2_requests=2)])
def test_a_deadlock_whose_fetches_miss_for_ever(gpu):
    # Each SM jumps to itself at the end of a line, and fetches the next one, too. All are in one set of the L2.
    p = asm.Program()
    p.add(asm.csrr(CORE, 0xCC2), asm.slli(CORE, CORE, 9))
    p.la(PLACE, "spin")
    p.add(asm.add(PLACE, PLACE, CORE), asm.jalr(0, PLACE, 0))
    p.add(*[asm.jal(0, 0)] * ((15 - p.here // 4) % 16))
    p.label("spin")
    p.add(*[asm.jal(0, 0)] * 200)
    asked = request(RawProgram(p.assemble()), gpu, check=False, max_cycles=100_000)
    result = run_gpu(gpu, asked)
    assert result.status == "deadlock" and result.l2["reads"] > 100
    predicted = predict_gpu(gpu, asked).result
    assert (predicted.status, predicted.total_cycles) == ("deadlock", result.total_cycles)


RACE = """
static volatile uint32_t shared, seen[4];
static void work(const void *unused)
{
    (void)unused;
    if (simt_warp_id() == 0 && simt_thread_id() == 0) {
        if (simt_core_id() == 0)
            shared = 5; /* the store */
        else
            seen[simt_core_id() & 3] = shared; /* the load */
    }
}
int main(void)
{
    const uint32_t n = 32;
    return spawn_threads(1, &n, 0, work, 0);
}
"""


@pytest.mark.parametrize("gpu", GPUS)
def test_a_race_between_sms_is_found(gpu, tmp_path):
    path = tmp_path / "program.c"
    path.write_text('#include "metronome.h"\n' + RACE)
    launch = prepare_source(path, None, gpu.sm_of(0), Compiling(several_sms=True))
    result = run_gpu(gpu, request(launch, gpu, memcheck=True))
    assert passed(result)
    races = [each for each in result.memcheck if not each.note]
    assert races and all(each.kind == "race" and each.size == 4 for each in races)
    lines = RACE.splitlines()
    for race in races:
        places = [launch.image.source_line(side.pc) for side in (race.side, race.other)]
        texts = {lines[int(place.rpartition(":")[2]) - 2].strip() for place in places}
        assert {race.side.warp, race.other.warp} == {0} and {race.side.lane, race.other.lane} == {0}
        assert 0 in (race.side.sm, race.other.sm) and race.side.sm != race.other.sm
        assert any("the store" in text for text in texts) and any("the load" in text for text in texts)
