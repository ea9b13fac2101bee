"""Random programs that change the parameters of the policies while they run."""

import random
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from metronome.hdl.config import SmConfig
from metronome.hdl.isa.csrs import Csr, PolicyParameter
from metronome.hdl.policies.variable_rate import slots_of
from metronome.sim.program.assembler import asm
from metronome.sim.run.runner import RunRequest
from tests.sim.machine.golden.iss_programs import FREE, SCRATCH, RandomProgram
from tests.support.builds import TINY
from tests.system.memory_programs import MemoryProgram
from tests.system.rtl_programs import RawProgram

__all__ = ["CHANGING", "POLICIES_THAT_CHANGE", "ChangingMemoryProgram", "ChangingProgram", "requests", "word"]

POLICIES_THAT_CHANGE = ("two_level", "variable_rate", "variable_rate_strict", "ccws")
#: A data cache of four lines, so that locality is lost; scores that stay for a while; a warp with one slot.
CHANGING = replace(
    TINY, warps=4, policies=POLICIES_THAT_CHANGE, policy_csr=True, rates=(3, 2, 1, 2), dcache_bytes=256, dcache_ways=2,
    victim_tags=4, locality_throttle=64, locality_base=30,
)


def word(parameter: int, value: int, slot: int = 0) -> int:
    """What a program writes to mpolicy."""
    return parameter << 24 | slot << 16 | value


class _Changing:
    """Beside the instructions of the other class: writes of mpolicy, now and then from what registers hold.

    ``reads``: some of them read it, too. ``safe``: every warp keeps a slot, so that nobody starves under
    ``variable_rate_strict``.
    """

    rng: random.Random
    program: asm.Program

    def __init__(self, rng: random.Random, config: SmConfig, *, reads: bool, safe: bool, **how: Any) -> None:
        self._config, self._reads, self._safe = config, reads, safe
        self._share = rng.choice((0.05, 0.2))
        self._owners = slots_of(config.slot_rates)
        super().__init__(rng, config, **how)

    def _straight(self) -> None:
        if self.rng.random() >= self._share:
            super()._straight()  # type: ignore[misc]  # that of the program
            return
        p, rng = self.program, self.rng
        rd = rng.choice(FREE) if self._reads and rng.random() < 0.5 else 0
        if self._reads and not self._safe and rng.random() < 0.2:
            p.add(rng.choice((asm.csrrs, asm.csrrc))(rd, Csr.MPOLICY, rng.choice(FREE)))
        elif self._reads and rng.random() < 0.2:
            p.add(asm.csrr(rd, Csr.MPOLICY))
        else:
            # What lane 0 has there: if it is not active, what it had before.
            p.add(*asm.li(SCRATCH, self._word()), asm.csrrw(rd, Csr.MPOLICY, SCRATCH))

    def _word(self) -> int:
        """Mostly what can be; else the next value, or no parameter."""
        rng, config = self.rng, self._config
        parameter = rng.choice([*PolicyParameter, *PolicyParameter, *PolicyParameter, 0, 6, 255])
        first = {self._owners.index(warp) for warp in self._owners}
        slots = [slot for slot in range(len(self._owners)) if not self._safe or slot not in first]
        most = {
            PolicyParameter.GROUP_WARPS: config.warps, PolicyParameter.LOCALITY_BASE: config.locality_base,
            PolicyParameter.LOCALITY_THROTTLE: config.locality_throttle, PolicyParameter.SLOT: config.warps - 1,
            PolicyParameter.FRAME: len(self._owners),
        }.get(parameter, 9)
        least = max(first) + 1 if self._safe and parameter == PolicyParameter.FRAME else 0
        value = rng.choice([*(rng.randint(least, most) for _ in range(4)), most, most + 1])
        return word(parameter, value, rng.choice([*slots, *slots, len(self._owners)]))


class ChangingProgram(_Changing, RandomProgram):
    """Computes."""


class ChangingMemoryProgram(_Changing, MemoryProgram):
    """Loads and stores."""


def requests(config: SmConfig, seed: int, numbers: Iterable[int]) -> list[RunRequest]:
    """Random programs under each policy in turn; few of them may starve a warp."""
    found = []
    for number in numbers:
        rng = random.Random(f"{seed}/{number}")
        kind = (ChangingMemoryProgram, ChangingProgram)[number % 2]
        reads, safe = rng.random() < 0.4, rng.random() < 0.9
        program = kind(rng, config, reads=reads, safe=safe, blocks=rng.randrange(3, 9)).program
        found.append(RunRequest(
            launch=RawProgram(program.assemble()), policy=POLICIES_THAT_CHANGE[number // 2 % 4], seed=number,
            memory=rng.choice(("fixed", "dram", "random", "tdm")), max_cycles=60_000, trace=True, check=True,
        ))
    return found
