"""Exactly d = 4 NOPs for each redirect, none otherwise, and nobody selected before the resolution (design.md 3)."""

from collections.abc import Callable

import pytest

from metronome.hdl.config import SmConfig
from metronome.sim.program.assembler import asm
from metronome.sim.program.assembler.asm import Program
from tests.hdl.sm_checks import checked_run
from tests.hdl.sm_harness import Run, finish
from tests.support.builds import BARE, FPGA, TINY, named, on

pytestmark = on("TINY")
Emit = Callable[[Program], None]
#: A warp can be selected this many cycles after a branch or SIMT instruction without a redirect, in both pipelines.
ONWARD = 4
both_pipelines = pytest.mark.parametrize("config", [*named("TINY"), *named("fpga", marks=[pytest.mark.more])])


def _taken(op: Callable[[int, int, int], int], a: int, b: int) -> Emit:
    def emit(p: Program) -> None:
        p.branch(op, a, b, "target")

    return emit


def _jal(p: Program) -> None:
    p.jal(1, "target")


def _jalr(p: Program) -> None:
    p.add(asm.jalr(1, 7, 0))


#: x5 = -1, x6 = 1, x7 = the target.
TAKEN: dict[str, Emit] = {
    "beq": _taken(asm.beq, 5, 5), "bne": _taken(asm.bne, 5, 6), "blt": _taken(asm.blt, 5, 6),
    "bge": _taken(asm.bge, 6, 5), "bltu": _taken(asm.bltu, 6, 5), "bgeu": _taken(asm.bgeu, 5, 6),
    "jal": _jal, "jalr": _jalr,
}
NOT_TAKEN: dict[str, Emit] = {
    "beq": _taken(asm.beq, 5, 6), "bne": _taken(asm.bne, 5, 5), "blt": _taken(asm.blt, 6, 5),
    "bge": _taken(asm.bge, 5, 6), "bltu": _taken(asm.bltu, 5, 6), "bgeu": _taken(asm.bgeu, 6, 5),
}


def _run(emit: Emit, latency: int = 5, config: SmConfig = TINY) -> tuple[Run, int, int]:
    """The run, the pc of the emitted instruction and that of "target", three words behind it in the same line."""
    p = Program()
    p.add(*asm.li(5, -1), *asm.li(6, 1))
    p.la(7, "target")
    at = p.here
    emit(p)
    p.add(asm.addi(9, 9, 1), asm.addi(9, 9, 1))
    p.label("target")
    p.add(asm.addi(8, 0, 1))
    finish(p)
    assert p.here - p.base <= 64
    run = checked_run(config, p, latency=latency)
    return run, at, p.address("target")


@pytest.mark.parametrize(("name", "config"), [
    # With btfn a jal is followed at decode.
    *(pytest.param(name, BARE, marks=[on("bare"), pytest.mark.more]) if name == "jal" else (name, TINY)
      for name in TAKEN),
    *(pytest.param(name, FPGA, marks=[on("fpga"), pytest.mark.more], id=f"{name} fpga")
      for name in TAKEN if name != "jal"),
])
def test_taken_costs_four_nops(name, config):
    run, at, target = _run(TAKEN[name], config=config)
    t, r = run.issued_at(at), config.resolve_latency
    assert run.nops_before(target) == 4
    assert [pc for _, pc in run.issues(0)][4:6] == [at, target]
    # Nothing else is in the way: the NOPs follow one another from the first cycle after the resolution.
    assert [s for s in run.selections(0) if s[0] > t][:5] == [
        (t + r + 1, None), (t + r + 2, None), (t + r + 3, None), (t + r + 4, None), (t + r + 5, target),
    ]


@both_pipelines
@pytest.mark.parametrize("name", NOT_TAKEN)
def test_not_taken_costs_no_nop(name, config):
    run, at, _ = _run(NOT_TAKEN[name], config=config)
    t = run.issued_at(at)
    assert run.issued_at(at + 4) == t + ONWARD
    assert run.nops_before(at + 4) == 0


@both_pipelines
def test_fence_i_costs_four_nops_and_fetches_its_line_again(config):
    run, at, _ = _run(lambda p: p.add(asm.fence_i()), config=config)
    t = run.issued_at(at)
    # The first fetch after the redirect misses: the instruction cache is empty again. d NOPs and that miss's own.
    assert len([m for m in run.misses(0) if m > t]) == 1
    assert run.nops_before(at + 4) == 4 + 1
    assert next(s[0] for s in run.selections(0) if s[0] > t) == t + config.resolve_latency + 1


def _both_sides(config: SmConfig) -> tuple[Run, int, int]:
    p = Program()
    p.add(*asm.li(5, 3), asm.tmc(5), asm.csrr(6, 0xCC0))
    at = p.here
    p.add(asm.split(7, 6), asm.addi(8, 8, 1))
    join = p.here
    p.add(asm.join(7), asm.addi(9, 9, 1))
    run = checked_run(config, p)
    return run, at, join


@both_pipelines
def test_join_that_redirects_costs_four_nops_and_the_second_none(config):
    run, at, join = _both_sides(config)
    r = config.resolve_latency
    first, second = (cycle for cycle, pc in run.issues(0) if pc == join)
    after = [(cycle, pc) for cycle, pc in run.selections(0) if cycle > first]
    assert after[:5] == [(first + r + 1 + i, None) for i in range(4)] + [(first + r + 5, at + 4)]
    assert [pc for cycle, pc in after if first + r + 5 <= cycle <= second] == [at + 4, join]
    assert next(s for s in after if s[0] > second) == (second + ONWARD, join + 4)


@both_pipelines
def test_split_costs_no_nop(config):
    run, at, _ = _both_sides(config)
    t = run.issued_at(at)
    assert next(s for s in run.selections(0) if s[0] > t) == (t + ONWARD, at + 4)


@both_pipelines
@pytest.mark.parametrize("name", ["tmc", "bar", "wspawn", "pred", "join"])
def test_simt_instruction_without_redirect_costs_no_nop(name, config):
    """bar with count 1, wspawn alone with n = 1, join of a split that did not diverge; x6 = 1, x10 = 0."""
    word = {"tmc": asm.tmc(6), "bar": asm.bar(6, 6), "wspawn": asm.wspawn(6, 7), "pred": asm.pred(6, 6),
            "join": asm.join(10)}[name]
    p = Program()
    p.add(*asm.li(6, 1), *asm.li(7, 0), *asm.li(10, 0))
    at = p.here
    p.add(word, asm.addi(8, 8, 1))
    run = checked_run(config, p)
    # wspawn is decided in the cycle after X, and its release is registered.
    later = config.issue_latency - 1 if name == "wspawn" else 0
    assert run.nops_before(at + 4) == 0
    assert run.issued_at(at + 4) == run.issued_at(at) + ONWARD + later


def test_wrong_path_changes_nothing():
    run, _, _ = _run(TAKEN["beq"])
    assert run.writes(9) == []
    assert run.register(8) == {0: 1}


@on("bare")
@pytest.mark.more
@pytest.mark.parametrize("latency", [1, 9])
def test_redirect_into_a_line_that_is_not_there(latency):
    """d NOPs of the redirect and one of the miss; the wrong path's own miss is squashed or costs nothing more."""
    p = Program()
    p.add(*[asm.nop()] * 13)
    at = p.here
    p.jal(0, "far")
    p.add(*[asm.nop()] * 40)
    p.label("far")
    p.add(asm.addi(8, 8, 1))
    run = checked_run(BARE, p, latency=latency)
    t = run.issued_at(at)
    # The fetch of the line behind the jump missed before the jump issued (the fetch runs four instructions ahead).
    assert len([m for m in run.misses(0) if m <= t]) == 2
    assert len([m for m in run.misses(0) if m > t]) == 1
    assert run.nops_before(p.address("far")) == 4 + 1
