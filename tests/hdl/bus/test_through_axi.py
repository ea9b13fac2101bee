"""Random programs on an SM behind the AXI bridge, in lock step with the golden model, on every model of memory."""

import random

import pytest

from metronome.sim.machine.memory.registry import MemoryOptions
from metronome.sim.run.runner import RunRequest, run_many
from metronome.tb.formal.patched import patched
from tests.hdl.bus.through_axi import text_of
from tests.sim.machine.golden.iss_programs import RandomProgram
from tests.support.builds import LEAST, TINY, on
from tests.system.memory_programs import MemoryProgram
from tests.system.rtl_programs import RawProgram, problems

SEED = 20261124
ADVERSARIAL = MemoryOptions(adversarial=True)
MEMORIES = [("fixed", 1, MemoryOptions()), ("fixed", 20, MemoryOptions()), ("random", 8, MemoryOptions()),
            ("random", 60, MemoryOptions()), ("dram", 1, MemoryOptions()), ("random", 3, ADVERSARIAL)]
pytestmark = [pytest.mark.long, on("through axi")]


def wrong(config, text, count, seed):
    """What is wrong with each of ``count`` programs, half of them hard on memory."""
    requests = []
    for number in range(count):
        rng = random.Random(f"{seed}/{number}")
        kind = (MemoryProgram, MemoryProgram, RandomProgram)[number % 3]
        memory, latency, options = rng.choice(MEMORIES)
        requests.append(RunRequest(
            launch=RawProgram(kind(rng, config, blocks=rng.randrange(3, 9)).program.assemble()),
            policy=rng.choice(config.policies), memory=memory, latency=latency, memory_options=options, seed=number,
            check=True, max_cycles=500_000,
        ))
    results = run_many(config, requests, verilog=text)
    return [f"program {number}: {text}" for number, result in enumerate(results) for text in problems(result)[:1]]


@pytest.mark.parametrize(("config", "sizes"), [
    (TINY, {"data_bits": 64}), (TINY, {"data_bits": 32, "slots": 2}), (LEAST, {"data_bits": 512, "slots": 4}),
], ids=["64", "32, 2 places", "512, least"])
def test_random_programs(config, sizes):
    assert wrong(config, text_of(config, **sizes), 200, SEED) == []


BUGS = {
    "a write is done when it was accepted": (
        "metronome.hdl.bus.axi_writes:AxiWrites.elaborate",
        "slots.done.eq(self.b_valid), slots.done_slot.eq(self.b_slot), slots.done_error.eq(self.b_error),",
        "slots.done.eq(moves & w.payload.last), slots.done_slot.eq(aw.payload.slot), slots.done_error.eq(0),",
    ),
    "beats of two reads are counted together": (
        "metronome.hdl.bus.axi_reads:AxiReads._collect", "before.addr.eq(self.r_slot),", "before.addr.eq(0),",
    ),
}


@pytest.mark.parametrize("name", BUGS)
def test_bug_is_found(name):
    """By the results: the programs race on a few lines, and the golden model knows each value."""
    with patched(name, *BUGS[name]):
        text = text_of(TINY)
    assert wrong(TINY, text, 20, SEED)
