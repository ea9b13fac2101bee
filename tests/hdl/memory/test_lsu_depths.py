"""How much the load/store unit takes before it must wait: by count, and when it goes on."""

import pytest

from metronome.hdl.config import SmConfig
from metronome.hdl.isa.ops import LsuOp
from metronome.hdl.layouts.probe import LookupWait
from metronome.hdl.memory.lsu import QUEUE_DEPTH
from tests.hdl.memory.lsu_harness import LsuBench
from tests.hdl.memory.lsu_reference import Access
from tests.hdl.memory.lsu_traffic import Traffic
from tests.support.tiers import some_more

pytestmark = pytest.mark.slow

LINE = 0x1_0000 // 64
#: Far enough that everything is full before memory answers.
FAR = 40

#: Places for parts, MSHRs, entries of the write buffer; 0 MSHRs: no cache.
SIZES = [(8, 3, 2), (2, 5, 1), (4, 0, 3)]


def config_of(size: tuple[int, int, int]) -> SmConfig:
    parts, mshrs, entries = size
    return SmConfig(
        threads=1, warps=2, local_bytes=1024, load_parts=parts, store_buffer=entries,
        dcache_bytes=512 if mshrs else 0, dcache_ways=2, dcache_mshrs=mshrs or 1,
    )


def access(number: int, line: int, op: LsuOp = LsuOp.LW) -> Access:
    address = [64 * line + 4 * (number % 16)]
    return Access(warp=number % 2, op=op, rd=number // 2, address=address, mask=1, data=[number])


def run(size: tuple[int, int, int], program: list[Access]) -> LsuBench:
    bench = LsuBench(config_of(size), traffic=Traffic(latency=lambda rng, write: FAR))
    bench.run(program)
    return bench


def before_the_answer(bench: LsuBench) -> tuple[int, int]:
    """Instructions taken by the unit, and line accesses that were through the lookup, when memory answered first."""
    done = [cycle for cycle, event in bench.lookups if event.access and cycle < bench.answers[0]]
    return sum(cycle < bench.answers[0] for cycle in bench.takes.values()), len(done)


def waits(bench: LsuBench) -> set[LookupWait]:
    """The reasons why an access was held until memory answered."""
    return {LookupWait(event.wait) for cycle, event in bench.lookups if event.wait and cycle < bench.answers[0]}


@pytest.mark.parametrize("size", some_more(SIZES, 1), ids=str)
def test_lines_that_loads_wait_for(size: tuple[int, int, int]) -> None:
    """As many as there are MSHRs, or places for parts; one more access waits, and the queue holds eight."""
    parts, mshrs, _ = size
    bench = run(size, [access(number, LINE + number) for number in range(20)])
    most = min(parts, mshrs or parts)
    assert before_the_answer(bench) == (most + 1 + QUEUE_DEPTH, most)
    # Of both a part has its place again one cycle after the answer, a register two.
    short_of_parts = parts == most
    assert waits(bench) == {LookupWait.PARTS if short_of_parts else LookupWait.MSHR}
    first = bench.answers[0]
    assert bench.requests[most] == first + 3 if mshrs == most or not mshrs else bench.requests[most] == first + 2


@pytest.mark.parametrize("size", some_more(SIZES[:2], 1), ids=str)
def test_parts_that_wait_for_one_line(size: tuple[int, int, int]) -> None:
    parts, _, _ = size
    bench = run(size, [access(number, LINE) for number in range(20)])
    assert before_the_answer(bench) == (parts + 1 + QUEUE_DEPTH, parts)
    assert waits(bench) == {LookupWait.PARTS}
    assert bench.requests[0] < bench.answers[0] and len(bench.requests) == 1


@pytest.mark.more
def test_joins_while_all_registers_are_taken() -> None:
    """One load a cycle joins the requests that are under way; the first of another line waits for a register."""
    lines = [0, 1, 2, 0, 1, 2, 2, 3, 0]
    bench = run(SIZES[0], [access(number, LINE + line) for number, line in enumerate(lines)])
    assert before_the_answer(bench)[1] == 7
    first = bench.lookups[0][0]
    done = [cycle for cycle, event in bench.lookups if event.access]
    assert done[:7] == list(range(first, first + 7))
    assert waits(bench) == {LookupWait.MSHR}


@pytest.mark.parametrize("size", some_more(SIZES, 1), ids=str)
def test_lines_with_stores(size: tuple[int, int, int]) -> None:
    entries = size[2]
    bench = run(size, [access(number, LINE + number, LsuOp.SW) for number in range(20)])
    assert before_the_answer(bench) == (entries + 1 + QUEUE_DEPTH, entries)
    assert waits(bench) == {LookupWait.BUFFER}
    # Completed in r, free and taken in r+1, at memory in r+3.
    assert bench.requests[entries] == bench.answers[0] + 3


def test_stores_of_one_line_take_two_entries() -> None:
    """The first is sent at once; the others join the second, which waits for it: no limit but the two."""
    bench = run(SIZES[0], [access(number, LINE, LsuOp.SW) for number in range(30)])
    assert before_the_answer(bench) == (30, 30)
    assert len(bench.requests) == 2 and not waits(bench)


@pytest.mark.more
def test_one_entry_is_no_room_for_a_line_that_was_sent() -> None:
    bench = run((2, 5, 1), [access(number, LINE, LsuOp.SW) for number in range(6)])
    # In the write buffer in c, chosen in c+1: the stores of c and of no other cycle before it are one write.
    assert bench.requests[1] == bench.answers[0] + 3
    assert waits(bench) == {LookupWait.BUFFER}


def test_local_accesses_in_the_queue() -> None:
    """Behind accesses that wait, loads of local memory fill the queue; they are made when the lookup has the last."""
    program = [access(number, LINE + number) for number in range(5)]
    local = SmConfig().memory_map.local
    program += [Access(warp=1, op=LsuOp.LW, rd=20 + number, address=[local], mask=1) for number in range(12)]
    bench = run((2, 5, 1), program)
    taken, done = before_the_answer(bench)
    assert (taken, done) == (3 + QUEUE_DEPTH, 2)
    held = [cycle for cycle, event in bench.lookups if event.access][3] + 1
    assert held > bench.answers[1]
    # The fifth load is in the lookup, so the first local one is at the head of the queue.
    assert min(cycle for cycle, _, rd, _, _ in bench.wb if rd >= 20) == held + 2
