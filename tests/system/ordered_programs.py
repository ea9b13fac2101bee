"""Random programs whose accesses are the same in every run: each hart stores its own words."""

import random
from pathlib import Path

from metronome.hdl.config import SmConfig
from metronome.sim.analysis.access_order.analyzer import analyze
from metronome.sim.analysis.access_order.ordered import ordered_machine, with_order
from metronome.sim.analysis.access_order.records import Listing
from metronome.sim.program.elf import ElfImage, Segment
from metronome.sim.program.kernels import Launch
from metronome.sim.program.region_stub import with_region
from metronome.sim.run.types import RunRequest
from tests.sim.machine.golden.iss_programs import FREE, RandomProgram

__all__ = ["OwnWords", "launch_of", "listed", "ordered"]


class OwnWords(RandomProgram):
    """Half of its instructions load and store the hart's own words, which lie in up to 64 lines a warp."""

    def __init__(self, rng: random.Random, config: SmConfig, blocks: int = 8) -> None:
        self._spread = rng.choice([0, 2, 4, 6])
        super().__init__(rng, config, blocks=blocks)

    def _prologue(self, config: SmConfig) -> None:
        self.slot_bits = min(10, self.slot_bits + self._spread)
        super()._prologue(config)

    def _straight(self) -> None:
        if self.rng.random() < 0.5:
            super()._straight()
        else:
            self._memory(self.rng.choice([*FREE, 0]), self.rng.choice(FREE))


def ordered(config: SmConfig, depth: int) -> SmConfig:
    """The same machine with ordered channels, and no policy that they exclude."""
    policies = tuple(policy for policy in config.policies if policy not in ("prr", "ccws"))
    return ordered_machine(config, channel_depth=depth, policies=policies)


def launch_of(program: RandomProgram, config: SmConfig) -> Launch:
    """All of it is the measured region."""
    data = program.program.assemble()
    base = program.program.base
    image = ElfImage(
        path=Path("random.elf"), entry=base, segments=(Segment(base, data, len(data)),), functions=(), symbols={},
    )
    plain = Launch(name="random.elf", image=image, memory_map=config.memory_map)
    return with_region(plain, "whole", config)


def listed(config: SmConfig, launch: Launch) -> tuple[Launch, Listing]:
    """With its list of accesses."""
    listing = analyze(config, RunRequest(launch=launch, policy=config.policies[0]), launch)
    return with_order(launch, listing, config), listing
