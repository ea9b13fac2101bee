"""Random programs on all warps under every policy: the checks of sm_checks in every cycle, results against Python."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from metronome.hdl.config import Prediction
from metronome.sim.program.assembler import asm
from metronome.sim.program.assembler.asm import Program
from tests.hdl.lib.simulate import told
from tests.hdl.sm_checks import USUAL, check_front_end
from tests.hdl.sm_harness import Between, Run, finish, run_program, spawn
from tests.support.builds import TINY, named, on

#: x5 counts what must be executed; x6 what must not; x7 = the warp number; x8 = 0; x9 = number of warps.
COUNT, WRONG, WARP, ZERO, WARPS = 5, 6, 7, 8, 9
LANES = 20


class _Writer:
    """One random program; ``expected`` is the sum in COUNT for lane 0 of each warp."""

    def __init__(self, rng: random.Random, warps: int) -> None:
        self.rng = rng
        self.p = Program()
        self.warps = warps
        self.expected = [0] * warps
        self._labels = 0
        self._actions: list[Callable[[], None]] = [
            self._straight, self._straight, self._taken, self._not_taken, self._jump, self._indirect, self._split,
            self._barrier, self._loop, self._own_way, self._fence_i, self._back, self._fall_through,
        ]

    def _label(self) -> str:
        self._labels += 1
        return f"l{self._labels}"

    def _add(self, number: int, times: int = 1) -> None:
        self.p.add(*[asm.addi(COUNT, COUNT, 1)] * number)
        self.expected = [e + number * times for e in self.expected]

    def _wrong(self) -> None:
        self.p.add(*[asm.addi(WRONG, WRONG, 1)] * self.rng.randrange(1, 20))

    def _straight(self) -> None:
        self._add(self.rng.randrange(1, 20))

    def _taken(self) -> None:
        label = self._label()
        self.p.branch(self.rng.choice((asm.beq, asm.bge, asm.bgeu)), WARP, WARP, label)
        self._wrong()
        self.p.label(label)

    def _not_taken(self) -> None:
        label = self._label()
        self.p.branch(self.rng.choice((asm.bne, asm.blt, asm.bltu)), WARP, WARP, label)
        self._add(self.rng.randrange(1, 4))
        self.p.label(label)

    def _jump(self) -> None:
        label = self._label()
        self.p.jal(1, label)
        self._wrong()
        self.p.label(label)

    def _indirect(self) -> None:
        label = self._label()
        self.p.la(10, label)
        self.p.add(asm.jalr(1, 10, 0))
        self._wrong()
        self.p.label(label)

    def _split(self) -> None:
        """Lane 0 goes one way, lane 1 the other; both pass the same code, once each."""
        self.p.add(asm.split(11, LANES, negate=self.rng.random() < 0.5))
        self._add(self.rng.randrange(1, 4))
        self.p.add(asm.join(11))

    def _barrier(self) -> None:
        self.p.add(asm.bar(ZERO, WARPS))

    def _loop(self) -> None:
        label, times = self._label(), self.rng.randrange(1, 4)
        self.p.li(12, times)
        self.p.label(label)
        self._add(self.rng.randrange(1, 4), times)
        self.p.add(asm.addi(12, 12, -1))
        self.p.branch(asm.bne, 12, ZERO, label)

    def _back(self) -> None:
        """There with one jump and back with another."""
        back, over, end = self._label(), self._label(), self._label()
        self.p.jal(0, over)
        self._wrong()
        self.p.label(back)
        self._add(self.rng.randrange(1, 4))
        self.p.jal(1, end)
        self._wrong()
        self.p.label(over)
        self._add(self.rng.randrange(0, 3))
        self.p.jal(1, back)
        self._wrong()
        self.p.label(end)

    def _fall_through(self) -> None:
        """A backward branch that is not taken."""
        back, over = self._label(), self._label()
        self.p.jal(0, over)
        self.p.label(back)
        self._wrong()
        self.p.label(over)
        self._add(self.rng.randrange(0, 3))
        self.p.branch(self.rng.choice((asm.bne, asm.blt, asm.bltu)), WARP, WARP, back)

    def _own_way(self) -> None:
        """Warp 0 takes a branch, the others do not."""
        label, number = self._label(), self.rng.randrange(1, 8)
        self.p.branch(asm.beq, WARP, ZERO, label)
        self.p.add(*[asm.addi(COUNT, COUNT, 1)] * number)
        self.expected = [e + number * (w > 0) for w, e in enumerate(self.expected)]
        self.p.label(label)

    def _fence_i(self) -> None:
        if self.rng.random() < 0.3:
            self.p.add(asm.fence_i())

    def write(self) -> Program:
        p = self.p
        spawn(p, self.warps, "all")
        p.label("all")
        p.add(*asm.li(13, 3), asm.tmc(13), asm.csrr(LANES, 0xCC0), asm.csrr(WARP, 0xCC1))
        for register, value in ((COUNT, 0), (WRONG, 0), (ZERO, 0), (WARPS, self.warps)):
            p.li(register, value)
        for _ in range(10):
            self.rng.choice(self._actions)()
        finish(p)
        return p


def _check(run: Run, writer: _Writer) -> None:
    check_front_end(run)
    assert run.fault is None
    for warp, expected in enumerate(writer.expected):
        assert run.register(COUNT, warp) == {0: expected, 1: expected}, f"warp {warp}"
        assert run.register(WRONG, warp) == {0: 0, 1: 0}, f"warp {warp}: the wrong path was executed"


#: Those that the tests share, and a build of its own.
CONFIGS = [*named("TINY", "SMALL", "BASE"), *named("bare", marks=[pytest.mark.more]), pytest.param(
    replace(TINY, prediction=Prediction.NOT_TAKEN), id="TINY not_taken", marks=[on("TINY not_taken"), pytest.mark.long],
)]


@pytest.mark.parametrize("policy", USUAL)
@pytest.mark.parametrize("config", CONFIGS)
def test_random_program(config, policy):
    for seed in range(2):
        rng = random.Random(f"{policy} {config.warps} {seed}")
        slowest = rng.choice((1, 4, 30))
        writer = _Writer(rng, config.warps)
        program = writer.write()
        with told(f"seed '{policy} {config.warps} {seed}'"):
            run = run_program(config, program, policy=policy, latency=Between(rng, 1, slowest))
            _check(run, writer)
