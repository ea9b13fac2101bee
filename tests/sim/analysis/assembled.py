"""Programs of a few instructions, their bounds and their runs: for what a compiler does not write."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from metronome.hdl.config import SmConfig
from metronome.hdl.presets import TINY
from metronome.sim.analysis.bound.assumptions import UserStatements
from metronome.sim.analysis.bound.bound import Bound, longest_time
from metronome.sim.analysis.code.inputs import Inputs
from metronome.sim.analysis.code.refusals import RefusedError
from metronome.sim.predict.predictor import predict
from metronome.sim.program.assembler.asm import Program, addi, beq, bne, jal, lw, nop, tmc, wspawn
from metronome.sim.program.elf import ElfImage, Segment
from metronome.sim.program.kernels import Launch
from metronome.sim.run.types import RunRequest
from tests.sim.analysis.programs import machine
from tests.sim.registers import T0, T1, T2, T3, T6

START, INPUTS, DATA = 0x8000_0000, 0x0010_0000, 0x0020_0000
ZEROS, ONES = bytes(64), b"\1\0\0\0" * 16


def words(*values: int) -> bytes:
    return b"".join((value & 0xFFFF_FFFF).to_bytes(4, "little") for value in values)


class Assembled(Program):
    """``depends``: it begins with a branch on an input, so its time is not exact."""

    def __init__(self, *, depends: bool = True) -> None:
        super().__init__()
        if depends:
            self.choice()

    def constants(self, values: dict[int, int]) -> None:
        """By register."""
        for register, value in values.items():
            self.li(register, value)

    def mask(self, lanes: int) -> None:
        """Only these lanes go on."""
        self.li(T2, lanes)
        self.add(tmc(T2))

    def read_input(self, *behind: int) -> None:
        """The first word of the inputs in T1."""
        self.li(T0, INPUTS)
        self.add(lw(T1, 0, T0), *behind)

    def choice(self) -> None:
        """A branch that is taken if the first word of the inputs is 0; it makes no difference but of time."""
        self.read_input()
        self.unless(beq, T1, 0, nop())

    def unless(self, taken: Callable[[int, int, int], int], a: int, b: int, *words: int) -> None:
        """What a branch skips."""
        self.add(taken(a, b, 4 + 4 * len(words)), *words)

    def either(
        self, taken: Callable[[int, int, int], int], a: int, b: int, words: list[int], others: list[int]
    ) -> None:
        """What a branch skips, and what it leads to instead."""
        self.unless(taken, a, b, *words, jal(0, 4 + 4 * len(others)))
        self.add(*others)

    def align(self, offset: int = 0) -> None:
        """Go on so far in a line."""
        while self.here % 64 != offset:
            self.add(nop())

    def loop(self, register: int, *body: int) -> None:
        """As many turns as the register holds."""
        self.add(*body, addi(register, register, -1), bne(register, 0, -4 - 4 * len(body)))

    def turns(self, count: int, *body: int) -> None:
        """A loop."""
        self.li(T6, count)
        self.loop(T6, *body)

    def warps(self, count: int, name: str) -> None:
        """Start others, which begin at a label."""
        self.li(T2, count)
        self.la(T3, name)
        self.add(wspawn(T2, T3))


def one(policy: str = "lrr", prediction: str = "btfn", preset: SmConfig = TINY, **changes: Any) -> SmConfig:
    return dataclasses.replace(machine(preset, policy, prediction), **changes)


def launch_of(config: SmConfig, program: Program | bytes, inputs: bytes = ZEROS, data: int = 4096) -> Launch:
    """A program ends with the last of its words, if that does not say so itself."""
    if isinstance(program, Program) and program.words()[-1] != tmc(0):
        program.add(tmc(0))
    code = program if isinstance(program, bytes) else program.assemble() + bytes(256)
    segments = Segment(DATA, bytes(data), data), Segment(START, code, len(code))
    image = ElfImage(path=Path("assembled"), entry=START, segments=segments)
    return Launch(name="assembled", image=image, memory_map=config.memory_map, loads={"inputs": (INPUTS, inputs)})


def asked(config: SmConfig, launch: Launch, memory: str = "fixed", latency: int = 20, **more: Any) -> RunRequest:
    return RunRequest(launch=launch, policy=config.policies[0], memory=memory, latency=latency, **more)


def bound_of(config: SmConfig, launch: Launch, memory: str = "fixed", latency: int = 20, **stated: Any) -> Bound:
    return longest_time(config, asked(config, launch, memory, latency), launch, UserStatements(**stated))


def runs_of(
    config: SmConfig, launch: Launch, inputs: Sequence[bytes], memory: str = "fixed", latency: int = 20
) -> list[int]:
    """How long each run takes; all come to their end."""
    results = [
        predict(config, asked(config, Inputs(launch).filled({"inputs": each}), memory, latency)).result
        for each in inputs
    ]
    assert {each.status for each in results} == {"ended"}
    return [each.total_cycles for each in results]


def holds(
    config: SmConfig, program: Program | Launch, inputs: Sequence[bytes] = (ZEROS, ONES), *, latency: int = 20
) -> tuple[Bound, int]:
    """No run with any of ``inputs`` is longer than any bound that is to hold; the bound and the longest run."""
    launch = program if isinstance(program, Launch) else launch_of(config, program, inputs[0])
    bound = bound_of(config, launch, latency=latency)
    runs = runs_of(config, launch, inputs, latency=latency)
    if bound.exact:
        assert set(runs) == {bound.cycles}
    for each in bound.composed:
        assert not each.holds or max(runs) <= each.cycles, each.method
    return bound, max(runs)


def refused(config: SmConfig, program: Program, reason: str) -> None:
    """It has no bound, for a reason at some instruction."""
    with pytest.raises(RefusedError, match=reason) as found:
        bound_of(config, launch_of(config, program))
    assert found.value.pc
