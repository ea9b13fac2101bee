"""Channels: kernels and racing random programs in lock step, and every cycle predicted."""

import random
from dataclasses import replace

import pytest

from metronome.hdl.config import Channels
from metronome.hdl.memory.channels import PASSES
from metronome.sim.machine.memory.registry import MemoryOptions
from metronome.sim.program.assembler import asm
from metronome.sim.program.kernels import kernels, prepare
from metronome.sim.run.runner import RunRequest, run
from tests.sim.machine.golden.iss_programs import RandomProgram
from tests.support.builds import BASE, CHANNELS, LEAST, TINY, UNCACHED, on
from tests.system.memory_programs import MemoryProgram
from tests.system.prediction import differences
from tests.system.rtl_programs import problems
from tests.system.scheme_builds import MATRIX_KERNELS
from tests.system.test_deadlock_rtl import FIRST, FOUR, bar, by_warp
from tests.system.test_memory_programs_rtl import ADVERSARIAL, MEMORIES, asked

SEED = 20261124
#: The adversarial ones once more: with channels it is the pauses of memory that fill them.
HARD = [*MEMORIES, ("random", 500, ADVERSARIAL, 4), ("random", 3, ADVERSARIAL, 4), ("random", 100, MemoryOptions(), 4)]


def free(config, depth):
    return replace(config, channels=Channels.FREE, channel_depth=depth)


def check_programs(config, count, seed, kinds=(MemoryProgram,)):
    """``count`` programs in lock step, of the kinds in turn, each predicted too."""
    requests = asked(config, count, f"{seed}/{config.channel_depth}", HARD, kinds, trace=True)
    check(config, requests, seed)


def check(config, requests, seed):
    """Each in a process of its own: some read registers that nobody has written."""
    bad = []
    for number, request in enumerate(requests):
        result = run(config, request)
        texts = [*problems(result), *differences(config, request, result)]
        bad += [f"program {number} on {request.memory}, {request.latency}: {text}" for text in texts[:1]]
    assert not bad, f"seed {seed}: {len(bad)} of {len(requests)}\n" + "\n".join(bad[:5])


def check_kernels(config, size, side, seed, names=None):
    """Every kernel (of ``names``) in every type: lock step, and the prediction."""
    rng = random.Random(f"{seed}/{config.warps}")
    launches = [
        prepare(kernel.name, dtype, side if kernel.name in MATRIX_KERNELS else size, 1, config)
        for kernel in kernels() if names is None or kernel.name in names for dtype in kernel.types
    ]
    requests = []
    for launch in launches:
        memory, latency, options, _ = rng.choice(HARD)
        requests.append(RunRequest(
            launch=launch, policy=rng.choice(config.policies), memory=memory, latency=latency, memory_options=options,
            seed=rng.randrange(9), check=True, trace=True,
        ))
    check(config, requests, seed)


# A build of a minute for one option: `make test` has the unit (tests/hdl/memory/test_channels.py) and its proofs.
@on("channels")
@pytest.mark.long
def test_random_memory_programs():
    check_programs(CHANNELS, 8, SEED)


@on("channels")
@pytest.mark.long
def test_kernels():
    check_kernels(CHANNELS, 11, 3, SEED, ("psort", "sgemm", "psum", "diverge"))


@on("channels")
@pytest.mark.long
def test_more_kernels():
    check_kernels(CHANNELS, 11, 3, SEED)


@on("channels")
@pytest.mark.long
def test_one_that_waits_is_passed_so_often_and_no_more():
    """Warp 0 loads beside its own store, and so waits for memory; the others could go on in the cache for longer."""
    user, latency = CHANNELS.memory_map.user, 3000
    # Twice, with a barrier in between: the first time brings code and data into the caches.
    begin = [asm.lui(8, user >> 12), asm.addi(11, 0, 1), asm.addi(12, 0, 1)]
    again = [asm.beq(11, 0, 6 * 4), asm.addi(11, 0, 0), asm.addi(12, 0, 80), asm.addi(8, 8, 64), bar(FIRST, FOUR)]
    alone = [asm.sw(9, 256, 8), asm.lw(10, 260, 8), asm.add(10, 10, 10)]
    hits = [*[asm.lw(10, 0, 13)] * 4, asm.addi(12, 12, -1)]
    hits.append(asm.bne(12, 0, -4 * len(hits)))
    waits = [*begin, *alone, *again, asm.jal(0, -4 * len([*alone, *again]))]
    goes_on = [*begin, asm.lui(13, user >> 12), *hits, *again, asm.jal(0, -4 * len([*hits, *again]))]
    request = RunRequest(
        launch=by_warp(waits, goes_on, goes_on, goes_on, config=CHANNELS), policy="lrr", memory="fixed",
        latency=latency, check=True, trace=True,
    )
    result = run(CHANNELS, request)
    assert not problems(result)
    assert differences(CHANNELS, request, result) == []
    lookup, cycle = result.events["lookup"], result.events["cycle"]
    mine = (lookup["access"] == 1) & (lookup["warp"] == 0)
    others = (lookup["access"] == 1) & (lookup["warp"] != 0)
    store = cycle[mine & (lookup["store"] == 1)][-1]
    load = cycle[mine & (lookup["store"] == 0)][-1]
    assert load - store > latency
    passed = others & (cycle > store) & (cycle < load)
    assert PASSES <= passed.sum() <= PASSES + 1 + CHANNELS.warps
    assert cycle[passed].max() < load - latency / 2


@pytest.mark.long
@pytest.mark.parametrize("depth", range(1, 11))
@pytest.mark.parametrize("name", ["TINY", "least"])
def test_no_depth_deadlocks(name, depth):
    check_programs(free({"TINY": TINY, "least": LEAST}[name], depth), 50, SEED + 1, (MemoryProgram, RandomProgram))


@pytest.mark.long
@pytest.mark.parametrize("name", ["BASE", "uncached"])
def test_more_random_memory_programs(name):
    config = free({"BASE": BASE, "uncached": UNCACHED}[name], 10)
    check_programs(config, 150, SEED + 2)


@pytest.mark.long
def test_kernels_of_more_warps():
    check_kernels(free(BASE, 10), 37, 6, SEED)
