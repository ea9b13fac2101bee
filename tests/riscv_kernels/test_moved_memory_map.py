"""Programs find stacks, console, exit code and their own start on a machine with another memory map."""

import dataclasses

import pytest

from metronome.hdl.config import MemoryMap
from metronome.hdl.presets import TINY
from metronome.sim.machine.golden import EndStatus
from metronome.sim.program.kernels import prepare, prepare_source
from tests.riscv_kernels.iss_runs import run_launch
from tests.support.tiers import some_more

SOURCE = """
#include "metronome.h"

static volatile uint32_t places[64];

static void thread(const void *unused)
{
    volatile uint32_t here = 1;
    (void)unused;
    places[simt_hart_id()] = (uint32_t)&here;
}

int main(void)
{
    const uint32_t harts = simt_num_warps() * simt_num_threads();
    spawn_threads(1, &harts, 0, thread, 0);
    console_putchar('M');
    return 0x55;
}
"""

#: Nothing is where it usually is; some places need more than an offset of 12 bits.
MAPS = {
    "far": MemoryMap(
        start=0x4000_0000, console=0x2_0040, exit_code=0x2_0088, user=0x4_0000, local=0x6000_0000,
        stack_top=0x5000_0000, stack_bytes_per_hart=4096, first=0x1_0000, end=0x7000_0000,
    ),
    "near": MemoryMap(
        console=0xC0, console_bytes=8, exit_code=0x110, stack_top=0xFFF0_0000, stack_bytes_per_hart=16384
    ),
    "usual": MemoryMap(),
}


@pytest.fixture(params=some_more(MAPS, 1))
def config(request):
    return dataclasses.replace(TINY, memory_map=MAPS[request.param])


@pytest.mark.slow
def test_places(tmp_path, config):
    source = tmp_path / "places.c"
    source.write_text(SOURCE)
    launch = prepare_source(source, config=config)
    run = run_launch(launch, config)
    assert run.end.status is EndStatus.ENDED
    places = config.memory_map
    assert launch.entry == places.start
    assert run.word(places.exit_code) == 0x55
    assert run.memory.read(places.console, 1) == b"M"
    address, _ = launch.image.symbols["places"]
    size = places.stack_bytes_per_hart
    for hart, place in enumerate(run.words(address, config.harts).tolist()):
        assert places.stack_top - size * (hart + 1) <= place < places.stack_top - size * hart


def test_a_kernel_of_ours(config):
    launch = prepare("psum", size=21, config=config)
    run = run_launch(launch, config)
    assert run.end.status is EndStatus.ENDED
    assert launch.check(run.memory) == []
    assert all(address >= config.memory_map.user for address, _ in launch.buffers.values())
