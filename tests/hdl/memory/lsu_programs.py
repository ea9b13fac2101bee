"""Programs and surroundings for the load/store unit's bench: random, crowded, with overlapping stores."""

import itertools
import random
from collections.abc import Iterator

from metronome.hdl.config import SmConfig
from metronome.hdl.isa.ops import LsuOp
from tests.hdl.memory.lsu_reference import Access
from tests.hdl.memory.lsu_traffic import Traffic

LOADS = (LsuOp.LB, LsuOp.LH, LsuOp.LW, LsuOp.LBU, LsuOp.LHU)
STORES = (LsuOp.SB, LsuOp.SH, LsuOp.SW)
USER = 0x1_0000
LOCAL = 0xFFFF_0000


#: No cache; one of four sets of two lines; one of two sets of one line with hardly anything besides.
CACHES = {
    "uncached": {"dcache_bytes": 0, "store_buffer": 4},
    "cached": {"dcache_bytes": 512, "dcache_ways": 2, "dcache_mshrs": 4, "store_buffer": 4},
    "tight": {"dcache_bytes": 128, "dcache_ways": 1, "dcache_mshrs": 2, "store_buffer": 2},
    "single": {"dcache_bytes": 512, "dcache_ways": 4, "dcache_mshrs": 1, "store_buffer": 1},
}


def small(threads: int, warps: int = 4, cache: str = "uncached", **changes: object) -> SmConfig:
    return SmConfig(threads=threads, warps=warps, local_bytes=1024, load_parts=4, **CACHES[cache], **changes)


def random_access(rng: random.Random, config: SmConfig) -> Access:
    """An access to few lines and few local words, so that bytes overlap; sometimes coalesced, sometimes scattered."""
    op = rng.choice(LOADS + STORES)
    size = 1 << (op.value & 3)
    pattern = rng.random()
    address = []
    for lane in range(config.threads):
        if pattern < 0.3:
            place = USER + 64 * rng.randrange(4) * (pattern < 0.1) + lane * size
        elif pattern < 0.5:
            place = LOCAL + rng.randrange(16 * config.threads)
        elif pattern < 0.8:
            place = USER + rng.randrange(6 * 64)
        elif pattern < 0.9:
            place = rng.choice((USER + rng.randrange(12 * 64), 64 + rng.randrange(3 * 64)))
        else:
            place = rng.choice((LOCAL, USER)) + rng.randrange(rng.choice((8, 160)))
        address.append(place // size * size)
    if size > 1 and rng.random() < 0.03:
        address[rng.randrange(config.threads)] += rng.randrange(1, size)
    return Access(
        warp=rng.randrange(config.warps), op=op, address=address, mask=rng.randrange(1, 1 << config.threads),
        rd=rng.randrange(64), writes_rd=rng.random() < 0.9, data=[rng.getrandbits(32) for _ in address],
        offset=rng.randrange(-2048, 2048), pc=4 * rng.getrandbits(30), cancel=rng.random() < 0.05,
    )


def random_program(rng: random.Random, config: SmConfig, length: int) -> list[Access]:
    return [random_access(rng, config) for _ in range(length)]


def crowded_program(rng: random.Random, config: SmConfig) -> list[Access]:
    """A few words and half-words in two or three lines, shortly after power-up: everything meets everything."""
    lines, program = rng.choice((2, 3)), []
    for number in range(rng.randrange(4, 14)):
        op = rng.choice((LsuOp.LW, LsuOp.LW, LsuOp.LHU, LsuOp.SW, LsuOp.SH))
        size = 1 << (op.value & 3)
        places = [64 * rng.randrange(lines) + rng.randrange(12) // size * size for _ in range(config.threads)]
        program.append(Access(
            warp=number % config.warps, op=op, rd=number, mask=rng.randrange(1, 1 << config.threads),
            address=[USER + place for place in places],
            data=[rng.getrandbits(32) for _ in range(config.threads)],
        ))
    return program


def arrivals() -> Iterator[tuple[list[Access], Traffic]]:
    """For one lane: a load's line arrives in every cycle around a store to it, and around loads of stored bytes.

    Those the write buffer answers; little is written back meanwhile.
    """
    def word(op: LsuOp, place: int, rd: int = 0) -> Access:
        return Access(warp=rd % 4, op=op, address=[place], mask=1, rd=rd, data=[0x1234_5678 + place])

    for latency, gap in itertools.product((1, 3), range(6)):
        waits = [word(LsuOp.LW, LOCAL, rd) for rd in range(20, 20 + gap)]
        later = [word(LsuOp.LW, LOCAL, rd) for rd in range(40, 50)]
        yield [word(LsuOp.LW, USER), *waits, word(LsuOp.SW, USER + 4), *later, word(LsuOp.LW, USER + 4, 1)], Traffic(
            latency=lambda rng, write, latency=latency: latency)
    for latency in range(3, 12):
        stores = [word(LsuOp.SW, USER + 128), word(LsuOp.SW, USER + 64)]
        yield [word(LsuOp.LW, USER), *stores, *(word(LsuOp.LW, USER + 64, rd) for rd in (1, 2, 3))], Traffic(
            latency=lambda rng, write, latency=latency: 40 if write else latency, wb_ready=0.1)


def crowded_traffic(rng: random.Random) -> Traffic:
    longest = rng.choice((1, 4, 12))
    return Traffic(latency=lambda rng, write: rng.randint(1, longest), wb_ready=rng.choice((0.2, 0.6, 1.0)),
                   request_ready=rng.choice((0.6, 1.0)), reorder=True)


def overlapping_stores(rng: random.Random, config: SmConfig, length: int) -> list[Access]:
    """Stores of all lanes into eight bytes, each followed by a load of them."""
    program = []
    for number in range(length):
        op, base = rng.choice(STORES), rng.choice((LOCAL, USER))
        size = 1 << (op.value & 3)
        lanes, everyone = range(config.threads), (1 << config.threads) - 1
        program += [
            Access(warp=0, op=op, address=[base + rng.randrange(8 // size) * size for _ in lanes], mask=everyone,
                   data=[rng.getrandbits(32) for _ in lanes]),
            Access(warp=1, op=LsuOp.LW, rd=number % 64, mask=everyone,
                   address=[base + 4 * (lane % 2) for lane in lanes]),
        ]
    return program


def random_traffic(rng: random.Random) -> Traffic:
    longest = rng.choice((1, 3, 30))
    return Traffic(
        latency=lambda rng, write: rng.randint(1, longest), take=rng.choice((0.3, 1.0)),
        request_ready=rng.choice((0.3, 0.8, 1.0)), response=rng.choice((0.4, 1.0)), wb_ready=rng.choice((0.3, 1.0)),
        reorder=True,
    )
