"""Random programs whose time depends on inputs, against their bounds: ``python -m tests.sim.analysis.bound.hunt``.

Each has loops, branches on inputs, diverging lanes, loads (of a constant place, one a lane, one that inputs choose),
stores, divisions, floating point, fences and barriers, on several warps, and runs with many inputs. Machine, policy,
memory and program come from the seed. A run above its bound is printed, and the exit status is 1.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from metronome.hdl.config import Prediction, SmConfig
from metronome.hdl.isa.csrs import Csr
from metronome.hdl.presets import BASE, PIPELINES, TINY
from metronome.sim.analysis.code.refusals import RefusedError
from metronome.sim.program.assembler import asm
from tests.sim.analysis.assembled import DATA, INPUTS, Assembled, bound_of, launch_of, one, runs_of

POLICIES = ("lrr", "gtlrr", "gtlo", "srr", "prr", "two_level", "variable_rate")
#: Changes of a machine; several may come together.
CHANGES: tuple[dict[str, int], ...] = (
    {"dcache_bytes": 0}, {"dcache_bytes": 256, "dcache_ways": 2}, {"dcache_bytes": 128, "dcache_ways": 1},
    {"dcache_mshrs": 1}, {"dcache_mshrs": 2}, {"store_buffer": 1}, {"store_buffer": 2}, {"load_parts": 4},
    {"icache_mshrs": 1}, {"latency_mul": 2}, {"latency_fma": 5}, {"latency_div": 40}, {"latency_fdiv": 18},
)
_WARP, _OWN, _SHARED, _IN, _LANE, _SPLIT = 8, 10, 11, 12, 9, 13
_WORK = (5, 6, 7, 14, 15, 16, 17, 28, 29, 30)
_COUNTERS = (18, 19, 20)
_FLOATS = tuple(range(1, 7))
_WORDS = 16


def predictors(rng: random.Random) -> dict[str, Any]:
    """Sizes of the predictors of a warp, and a pipeline in which a redirect takes longer than its absence."""
    sizes = {
        "return_stack": rng.choice((0, 1, 2, 4)), "jump_targets": rng.choice((0, 1, 2, 4)),
        "branch_runs": rng.choice((0, 2, 2, 4, 4, 8)), "two_bit": rng.choice((0, 0, 0, 1, 4)),
    }
    return sizes | (rng.choice(tuple(PIPELINES.values())) if rng.random() < 0.4 else {})


class Case:
    """One machine with one program: ``seed`` says all of it, but the numbers of ``schedulers``, one of which it has.

    ``prediction`` may replace its own.
    """

    def __init__(self, seed: int, prediction: str | None = None, schedulers: Sequence[int] = (1,)) -> None:
        self.rng = rng = random.Random(f"hunt/{seed}")
        self.policy, self.memory = rng.choice(POLICIES), rng.choice(("fixed", "fixed", "tdm"))
        changes: dict[str, int] = {}
        for each in rng.sample(CHANGES, rng.choice((0, 0, 1, 2, 3))):
            changes |= each
        preset = rng.choice((TINY, TINY, BASE))
        self.latency = rng.choice((1, 5, 20, 20, 60))
        own = rng.choice(("btfn", "not_taken"))
        prediction = prediction or own
        if prediction == "private":
            changes |= predictors(random.Random(f"predictors/{seed}"))
        if schedulers != (1,):
            other = random.Random(f"schedulers/{seed}")
            changes["schedulers"] = other.choice(schedulers)
            changes["warps"] = changes["schedulers"] * other.choice((1, 2, 2, 4))
        self.config: SmConfig = one(self.policy, prediction, preset, **changes)
        self.program = self._program(rng)
        self.inputs = [bytes(4 * _WORDS), b"\1\0\0\0" * _WORDS, *(
            b"".join(rng.choice((0, 1, 2, 3, rng.randrange(16))).to_bytes(4, "little") for _ in range(_WORDS))
            for _ in range(10)
        )]

    def _program(self, rng: random.Random) -> Assembled:
        return Written(rng, self.config)

    def __str__(self) -> str:
        """The machine in short."""
        fields = ("schedulers", "warps", "threads", "dcache_bytes", "dcache_mshrs", "store_buffer", "load_parts",
                  "icache_mshrs")
        said = ", ".join(f"{name}={getattr(self.config, name)}" for name in fields)
        return f"{self.policy} {self.config.prediction} {self.memory} {self.latency} {said}"


class Written(Assembled):
    """The program: all warps execute the same statements, in phases with a barrier between.

    ``first``: adds what goes before it. ``fences``: it may have some.
    """

    def __init__(
        self, rng: random.Random, config: SmConfig, first: Callable[[Assembled], None] = lambda program: None, *,
        fences: bool = True,
    ) -> None:
        super().__init__(depends=False)
        first(self)
        self._fences = fences
        self._rng, self._config, self._made = rng, config, 0
        self._warps = rng.randint(1, config.warps)
        if self._warps > 1:
            self.warps(self._warps, "work")
        self.label("work")
        self.li(_WORK[0], (1 << config.threads) - 1 if rng.random() < 0.8 else 1)
        self.add(asm.tmc(_WORK[0]), asm.csrr(_WARP, Csr.WARP_ID), asm.csrr(_LANE, Csr.THREAD_ID))
        self.li(_SHARED, DATA)
        self.li(_IN, INPUTS)
        self.add(asm.slli(_OWN, _WARP, 9), asm.addi(_OWN, _OWN, 1024), asm.add(_OWN, _OWN, _SHARED),
                 asm.slli(_LANE, _LANE, 2), asm.add(_OWN, _OWN, _LANE))
        for register in _WORK:
            self.li(register, rng.randrange(1, 9))
        for register in _FLOATS:
            self.add(asm.fcvt_s_w(register, rng.choice(_WORK), 0))
        for phase in range(rng.randint(1, 3)):
            if phase and self._warps > 1 and rng.random() < 0.6:
                self.li(_WORK[0], phase)
                self.li(_WORK[1], self._warps)
                self.add(asm.bar(_WORK[0], _WORK[1]))
            self.body(rng.randint(3, 9), depth=0, free=True)
        self.li(_WORK[0], 0)
        self.add(asm.tmc(_WORK[0]))

    def name(self) -> str:
        self._made += 1
        return f"place {self._made}"

    def body(self, count: int, *, depth: int, free: bool) -> None:
        """``free``: all lanes of the warp are as at its start."""
        for _ in range(count):
            self._statement(depth, free)

    def _statement(self, depth: int, free: bool) -> None:
        rng = self._rng
        kinds = [self._compute] * 4 + [self._load] * 4 + [self._store] * 2 + [self._divide, self._float, self._fence]
        if depth < 3:
            nested = [self._loop, self._branch, self._branch, self._split]
            if free and rng.random() < 0.45:
                rng.choice(nested)(depth)
                return
        rng.choice(kinds)()

    def _compute(self) -> None:
        rd, a, b = (self._rng.choice(_WORK) for _ in range(3))
        self.add(self._rng.choice((asm.add, asm.xor, asm.mul, asm.mul, asm.or_))(rd, a, b))

    def _divide(self) -> None:
        rd, a, b = (self._rng.choice(_WORK) for _ in range(3))
        self.add(self._rng.choice((asm.div, asm.remu))(rd, a, b))

    def _float(self) -> None:
        rd, a, b = (self._rng.choice(_FLOATS) for _ in range(3))
        self.add(self._rng.choice((asm.fadd_s, asm.fmul_s, asm.fdiv_s))(rd, a, b, 0))

    def _fence(self) -> None:
        if self._fences:
            self.add(asm.fence())

    def _input(self, register: int, mask: int) -> None:
        """A word of the inputs, of which some bits count."""
        self.add(asm.lw(register, 4 * self._rng.randrange(_WORDS), _IN), asm.andi(register, register, mask))

    def _load(self) -> None:
        rng, rd, at = self._rng, self._rng.choice(_WORK), self._rng.choice(_WORK)
        kind = rng.randrange(5)
        if kind == 0:
            self.add(asm.lw(rd, 64 * rng.randrange(8), _SHARED))
        elif kind == 1:
            self.add(asm.lw(rd, 64 * rng.randrange(6), _OWN))
        elif kind == 2:
            # A line a lane.
            self.add(asm.slli(at, _LANE, 4), asm.add(at, at, _SHARED), asm.lw(rd, 64 * rng.randrange(4), at))
        elif kind == 3:
            self._input(at, rng.choice((3, 7)))
            self.add(asm.slli(at, at, 6), asm.add(at, at, _SHARED), asm.lw(rd, 0, at))
        else:
            self.add(asm.flw(rng.choice(_FLOATS), 64 * rng.randrange(8), _SHARED))
        if rng.random() < 0.4:
            self.add(asm.add(rng.choice(_WORK), rd, rd))

    def _store(self) -> None:
        rng = self._rng
        self.add(asm.sw(rng.choice(_WORK), 64 * rng.randrange(6), _OWN))

    def _loop(self, depth: int) -> None:
        counter, name = _COUNTERS[depth], self.name()
        if self._rng.random() < 0.4:
            self._input(counter, 3)
            self.add(asm.addi(counter, counter, 1))
        else:
            # Where a loop goes round often, what is constant counts less.
            self.li(counter, self._rng.randint(1, 5) if depth else self._rng.choice((2, 5, 40)))
        self.label(name)
        self.body(self._rng.randint(1, 4), depth=depth + 1, free=True)
        self.add(asm.addi(counter, counter, -1))
        self.branch(asm.bne, counter, 0, name)

    def _branch(self, depth: int) -> None:
        """A branch that all lanes take alike; perhaps with a jump on the other side."""
        at, other, end = self._rng.choice(_WORK), self.name(), self.name()
        self._input(at, self._rng.choice((1, 1, 2, 3)))
        self.branch(self._rng.choice((asm.beq, asm.bne)), at, 0, other)
        self.body(self._rng.randint(0, 3), depth=depth + 1, free=True)
        if self._rng.random() < 0.5:
            self.jal(0, end)
            self.label(other)
            self.body(self._rng.randint(0, 3), depth=depth + 1, free=True)
            self.label(end)
        else:
            self.label(other)

    def _split(self, depth: int) -> None:
        """Lanes part by a word of theirs that the inputs say."""
        at, stack, other, end = 31, _SPLIT, self.name(), self.name()
        self.add(asm.andi(at, _LANE, 12), asm.add(at, at, _IN), asm.lw(at, 4 * self._rng.randrange(8), at),
                 asm.andi(at, at, 1), asm.split(stack, at))
        self.branch(asm.beq, at, 0, other)
        self.body(self._rng.randint(0, 3), depth=3, free=False)
        self.jal(0, end)
        self.label(other)
        self.body(self._rng.randint(0, 3), depth=3, free=False)
        self.label(end)
        self.add(asm.join(stack))


def check(case: Case) -> tuple[str, int, int]:
    """What the analysis says ("bound", "exact", or why not), the bound, the longest run; LookupError if above."""
    launch = launch_of(case.config, case.program, case.inputs[0], data=8192)
    try:
        bound = bound_of(case.config, launch, case.memory, case.latency)
    except RefusedError as error:
        return f"refused: {str(error).splitlines()[0][:60]}", 0, 0
    longest = max(runs := runs_of(case.config, launch, case.inputs, case.memory, case.latency))
    if bound.exact and set(runs) != {bound.cycles}:
        raise LookupError(f"exact {bound.cycles}, runs {min(runs)} to {longest}")
    for each in bound.composed:
        if each.holds and longest > each.cycles:
            raise LookupError(f"{each.method}: bound {each.cycles}, run {longest}")
    return "exact" if bound.exact else "bound", bound.cycles, longest


def count(first: int, seeds: int, one: Callable[[int], tuple[str, int, float]]) -> int:
    """Check the programs of ``seeds`` seeds, and print the counts; 1 if a run is above its bound.

    ``one`` returns what the analysis says of a seed's program, the runs, and the ratio of a bound to the longest run;
    LookupError if that one is above.
    """
    said: Counter[str] = Counter()
    wrong = runs = 0
    least = 9.9
    for seed in range(first, first + seeds):
        try:
            what, made, ratio = one(seed)
        except LookupError as error:
            wrong += 1
            print(f"seed {seed}, {error}", flush=True)
            continue
        said[what] += 1
        if what == "bound":
            runs += made
            least = min(least, ratio)
    print(f"seeds {first} on: {dict(said)}; {runs} runs, least ratio {least:.3f}, {wrong} above")
    return 1 if wrong else 0


def main() -> int:
    """Check programs; 1 if a run is above its bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--prediction", choices=[each.value for each in Prediction])
    parser.add_argument("--schedulers", type=int, nargs="+", default=[1], help="each machine has one of these numbers")
    options = parser.parse_args()

    def one(seed: int) -> tuple[str, int, float]:
        case = Case(seed, options.prediction, tuple(options.schedulers))
        try:
            what, bound, longest = check(case)
        except LookupError as error:
            raise LookupError(f"{case}: {error}") from None
        return what, len(case.inputs), bound / longest if what == "bound" else 0

    return count(options.seed, options.count, one)


if __name__ == "__main__":
    sys.exit(main())
