"""Litmus programs between SMs: a few accesses on each of several warps, again and again with other delays."""

import random
from dataclasses import dataclass

from metronome.hdl.gpu.config import GpuConfig
from metronome.sim.program.assembler import asm
from metronome.sim.run.gpu.runner import run_many_gpu
from metronome.sim.run.runner import RunRequest

#: Rounds of one program: each has places of its own.
ROUNDS = 100
#: Where the places of round 0 are, in bytes between rounds and between places: a line each.
PLACES, ROUND, LINE = 0x0010_0000, 256, 64
#: The delays of each role, a word a round, and what its loads have found, four words a round.
DELAYS, RESULTS, ROLE = 0x0020_0000, 0x0030_0000, 0x1_0000
#: The barrier between SMs.
OUTSIDE = 1 << 31
CORE, SELF, COUNT, PLACE, DELAY, RESULT, LEFT, SCRATCH, ONE, BARRIER, SMS = range(5, 16)
#: Registers of loads.
FOUND = range(20, 24)


@dataclass(frozen=True)
class Shape:
    """Roles by (SM, warp): stores ("x", 1), loads "x", fences "F", barriers between SMs "B"; and what must not be seen.

    ``forbidden``: the values of all loads, in the order of the roles and then of the program.
    """

    roles: dict[tuple[int, int], tuple]
    forbidden: frozenset[tuple[int, ...]] = frozenset()
    #: Programs of a short test: more for outcomes that are rare.
    programs: int = 4

    @property
    def loads(self):
        return [sum(isinstance(part, str) and part in "xyz" for part in role) for role in self.roles.values()]


def _place(name):
    return LINE * "xyz".index(name)


def _body(p, role):
    found = iter(FOUND)
    for part in role:
        if part == "F":
            p.add(asm.fence())
        elif part == "B":
            p.add(asm.bar(BARRIER, SMS))
        elif isinstance(part, tuple):
            p.add(asm.addi(SCRATCH, 0, part[1]), asm.sw(SCRATCH, _place(part[0]), PLACE))
        else:
            p.add(asm.lw(next(found), _place(part), PLACE))


def litmus(shape, config: GpuConfig, rng) -> "LitmusProgram":
    """The program; a delay's lowest bit says whether the places are in the cache before."""
    p = asm.Program()
    warps = 1 + max(warp for _, warp in shape.roles)
    p.li(SCRATCH, warps)
    p.la(SELF, "all")
    p.add(asm.wspawn(SCRATCH, SELF))
    p.label("all")
    p.add(asm.csrr(CORE, 0xCC2), asm.csrr(SELF, 0xCC1), asm.slli(CORE, CORE, 4), asm.or_(SELF, SELF, CORE))
    p.li(PLACE, PLACES)
    p.li(LEFT, ROUNDS)
    p.li(BARRIER, OUTSIDE)
    p.li(SMS, config.sms)
    for number, (sm, warp) in enumerate(shape.roles):
        p.li(SCRATCH, sm << 4 | warp)
        p.branch(asm.beq, SELF, SCRATCH, f"role{number}")
    # Warps without a role come to the barriers only.
    p.label("idle")
    p.add(asm.bar(BARRIER, SMS))
    for _ in range(max(part.count("B") for part in shape.roles.values())):
        p.add(asm.bar(BARRIER, SMS))
    p.add(asm.addi(LEFT, LEFT, -1))
    p.branch(asm.bne, LEFT, 0, "idle")
    p.add(asm.tmc(0))
    for number, role in enumerate(shape.roles.values()):
        p.label(f"role{number}")
        p.li(DELAY, DELAYS + ROLE * number)
        p.li(RESULT, RESULTS + ROLE * number)
        p.label(f"round{number}")
        p.add(asm.lw(COUNT, 0, DELAY), asm.bar(BARRIER, SMS), asm.andi(SCRATCH, COUNT, 1))
        p.branch(asm.beq, SCRATCH, 0, f"cold{number}")
        p.add(*(asm.lw(register, LINE * k, PLACE) for k, register in enumerate(FOUND[:3])))
        p.add(*(asm.add(SCRATCH, register, 0) for register in FOUND[:3]))
        p.label(f"cold{number}")
        p.add(asm.addi(COUNT, COUNT, -2))
        p.branch(asm.bge, COUNT, 0, f"cold{number}")
        _body(p, role)
        p.add(*(asm.sw(register, 4 * k, RESULT) for k, register in enumerate(FOUND[: shape.loads[number]])))
        p.add(asm.addi(PLACE, PLACE, ROUND), asm.addi(DELAY, DELAY, 4), asm.addi(RESULT, RESULT, 16))
        p.add(asm.addi(LEFT, LEFT, -1))
        p.branch(asm.bne, LEFT, 0, f"round{number}")
        p.add(asm.tmc(0))
    longest = rng.choice((4, 12, 40))
    delays = {
        DELAYS + ROLE * number + 4 * place: rng.randrange(2 * longest)
        for number in range(len(shape.roles)) for place in range(ROUNDS)
    }
    return LitmusProgram(p.assemble(), delays)


class LitmusProgram:
    """As the runner wants it."""

    entry, argument_address = 0x8000_0000, 0x0001_0000

    def __init__(self, image, words):
        self._image, self._words = image, words

    def load_into(self, memory):
        memory.write(self.entry, self._image)
        for address, word in self._words.items():
            memory.write(address, word.to_bytes(4, "little"))


def outcomes(shape, memory):
    """What the loads of each round have found."""
    return [
        tuple(memory.read_word(RESULTS + ROLE * number + 16 * place + 4 * k)
              for number, count in enumerate(shape.loads) for k in range(count))
        for place in range(ROUNDS)
    ]


def observe(shape, config, programs, seed, *, check, memories):
    """Every outcome of so many programs of a shape, with how often it was seen; fails if a run does."""
    rng = random.Random(f"{seed}")
    requests = [
        RunRequest(launch=litmus(shape, config, rng), policy=rng.choice(config.sm.policies), check=check,
                   max_cycles=1_000_000, seed=number, **rng.choice(memories))
        for number in range(programs)
    ]
    counts = {}
    for result in run_many_gpu(config, requests):
        assert result.status == "ended", [result.status, *result.mismatches, *map(str, result.sm_hang)]
        for outcome in outcomes(shape, result.memory):
            counts[outcome] = counts.get(outcome, 0) + 1
    return counts
