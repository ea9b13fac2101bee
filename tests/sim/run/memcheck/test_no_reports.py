"""Programs without a defect are not reported: every kernel, and random programs with barriers and divergence."""

import itertools
import random
from pathlib import Path

import pytest

from metronome.sim.program.assembler import asm
from metronome.sim.program.elf import ElfImage, Segment
from metronome.sim.program.kernels import Launch, kernels, prepare
from tests.sim.machine.golden.iss_programs import OTHER, OWN, OWN_LOCAL, RandomProgram
from tests.sim.run.memcheck.stepping import step
from tests.support.builds import BASE, TINY
from tests.support.tiers import slow_then_more, some_slow

#: With the first type of each, and then with the second.
KERNELS = [(kernel.name, kernel.types[place]) for place in (0, 1) for kernel in kernels() if place < len(kernel.types)]
USUAL = len(kernels())


class WrittenProgram(RandomProgram):
    """A random program that writes its own memory before anything else.

    ``gap``: leave its last local word out; ``apart``: leave the barriers out.
    """

    gap = apart = False

    def _prologue(self, config):
        super()._prologue(config)
        p = self.program
        p.add(*(asm.sw(0, place, OWN) for place in range(0, 1 << self.slot_bits, 4)))
        end = (1 << self.local_bits) - 4 * self.gap
        p.add(*(asm.sw(0, place, OWN_LOCAL) for place in range(0, end, 4)))
        if self.gap:
            p.add(asm.lw(8, end, OWN_LOCAL))

    def _exchange(self, config):
        if not self.apart:
            super()._exchange(config)
        else:
            self.program.add(asm.sw(8, 0, OWN), asm.lw(8, 0, OTHER))


def launch_of(program, config):
    """A program with the random slots of its harts as a buffer."""
    words = program.program.assemble()
    start, user = config.memory_map.start, config.memory_map.user
    image = ElfImage(path=Path("random.bin"), entry=start, segments=(Segment(start, words, len(words)),))
    slots = config.harts << program.slot_bits
    return Launch(name="random", image=image, memory_map=config.memory_map, buffers={"slots": (user, bytes(slots))})


def random_launch(config, number, kind=WrittenProgram):
    rng = random.Random(f"memcheck/{config.warps}/{number}")
    return launch_of(kind(rng, config, blocks=rng.randrange(3, 10), floats=rng.random() < 0.5), config)


@pytest.mark.parametrize("config", [
    pytest.param(TINY, id="TINY"), pytest.param(BASE, id="BASE", marks=pytest.mark.long),
])
@pytest.mark.parametrize("kernel", slow_then_more(KERNELS, 4, 8), ids="-".join)
def test_no_report_on_a_kernel(kernel, config):
    name, dtype = kernel
    launch = prepare(name, dtype, min(12, max(launch_sizes(name))), 3, config)
    findings, iss = step(launch, config)
    assert not findings, findings
    assert launch.check(iss.memory) == []


def launch_sizes(name):
    (info,) = [kernel for kernel in kernels() if kernel.name == name]
    return (info.default_size, 1)


@pytest.mark.parametrize("number", some_slow(range(6), 2))
def test_no_report_on_a_random_program(number):
    findings, _ = step(random_launch(TINY, number), TINY, seed=number)
    assert not findings, findings


@pytest.mark.long
def test_no_report_on_two_hundred_random_programs():
    for number, config in itertools.product(range(100), (TINY, BASE)):
        findings, _ = step(random_launch(config, 1000 + number), config, seed=number)
        assert not findings, f"program {1000 + number} of {config.warps} warps: {findings}"


def test_a_random_program_with_a_gap_is_reported():
    findings, _ = step(random_launch(TINY, 0, type("Gap", (WrittenProgram,), {"gap": True})), TINY)
    assert findings[0].kind == "unwritten", findings


def test_random_programs_without_barriers_are_reported():
    kind = type("Apart", (WrittenProgram,), {"apart": True})
    found = [step(random_launch(BASE, number, kind), BASE)[0] for number in range(8)]
    assert {finding.kind for findings in found for finding in findings} == {"race"}
