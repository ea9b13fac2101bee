"""The load/store unit: random programs against sequential execution, and exact cycle counts."""

from __future__ import annotations

import random

import pytest
from lsu_harness import Access, LsuBench, Traffic

from hdl.config import SmConfig
from hdl.isa.ops import LsuOp

LOADS = (LsuOp.LB, LsuOp.LH, LsuOp.LW, LsuOp.LBU, LsuOp.LHU)
STORES = (LsuOp.SB, LsuOp.SH, LsuOp.SW)


def small(threads: int, warps: int = 4, **changes: object) -> SmConfig:
    return SmConfig(threads=threads, warps=warps, local_bytes=1024, lsu_tags=4, **changes)


def random_access(rng: random.Random, config: SmConfig) -> Access:
    """An access to few lines and few local words, so that bytes overlap; sometimes coalesced, sometimes scattered."""
    op = rng.choice(LOADS + STORES)
    size = 1 << (op.value & 3)
    local = config.memory_map.local
    pattern = rng.random()
    address = []
    for lane in range(config.threads):
        if pattern < 0.3:
            place = 0x1_0000 + 64 * rng.randrange(4) * (pattern < 0.1) + lane * size
        elif pattern < 0.5:
            place = local + rng.randrange(16 * config.threads)
        elif pattern < 0.8:
            place = 0x1_0000 + rng.randrange(6 * 64)
        else:
            place = rng.choice((local, 0x1_0000)) + rng.randrange(160)
        address.append(place // size * size)
    return Access(
        warp=rng.randrange(config.warps), op=op, address=address, mask=rng.randrange(1, 1 << config.threads),
        rd=rng.randrange(64), writes_rd=rng.random() < 0.9, data=[rng.getrandbits(32) for _ in address],
        offset=rng.randrange(-2048, 2048), pc=4 * rng.getrandbits(30), cancel=rng.random() < 0.05,
    )


def random_traffic(rng: random.Random) -> Traffic:
    longest = rng.choice((1, 3, 30))
    return Traffic(
        latency=lambda rng, write: rng.randint(1, longest), take=rng.choice((0.3, 1.0)),
        request_ready=rng.choice((0.3, 0.8, 1.0)), response=rng.choice((0.4, 1.0)), wb_ready=rng.choice((0.3, 1.0)),
        reorder=True,
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_random_program_equals_sequential_execution(threads: int, seed: int) -> None:
    rng = random.Random(100 * threads + seed)
    config = small(threads)
    bench = LsuBench(config, seed=seed, traffic=random_traffic(rng))
    bench.run([random_access(rng, config) for _ in range(150)])
