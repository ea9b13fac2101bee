"""Random programs on an SM beside neighbours that hurt: ``python -m tests.sim.analysis.bound.hunt_sms``.

SM 0 runs a program of :mod:`.hunt`, and each other SM a storm of stores, misses or fetches. No run of an SM may be
longer than its bound. With other neighbours, SM 0 has the same bound, and with tdm it issues the same in the same
cycles. The runs are predictions. Everything comes from the seed; a contradiction is printed, and the exit status is 1.
"""

import argparse
import random
import sys

import numpy as np

from metronome.hdl.gpu.config import GpuConfig, Interconnect, L2Kind
from metronome.hdl.isa.csrs import Csr
from metronome.sim.analysis.bound.bound import Bound
from metronome.sim.analysis.bound.gpu import longest_time_of_gpu
from metronome.sim.analysis.code.inputs import Inputs
from metronome.sim.analysis.code.refusals import RefusedError
from metronome.sim.predict.gpu.predictor import GpuPrediction, predict_gpu
from metronome.sim.program.assembler import asm
from tests.sim.analysis.assembled import START, Assembled, asked, launch_of
from tests.sim.analysis.bound.hunt import Case, Written, count
from tests.system.separation_programs import CORE, COUNT, KINDS, OFFSET, SELF, VALUE, storm

#: Bytes from the code of one SM to that of the next.
_APART = 1 << 15
#: Kinds of storms with more code than an I-cache holds: a bound needs them to run on one warp.
_LONG = ("fetches", "all")


class GpuCase:
    """The case of a seed, with its neighbours and with others."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        rng = random.Random(f"neighbours/{seed}")
        self.sms, self.slot_cycles = rng.choice((2, 2, 4)), rng.choice((1, 1, 2, 5))
        self.interconnect = rng.choice((Interconnect.ROUND_ROBIN, Interconnect.TDM))
        self.neighbours = [tuple(rng.choice(KINDS) for _ in range(self.sms - 1)) for _ in range(2)]
        self.rounds = rng.choice((10, 40))
        self.divided = rng.random() < 0.5
        self.l2 = {"l2_bytes": 64 * self.sms * rng.choice((4, 16, 64)), "l2_ways": self.sms * rng.choice((1, 2)),
                   "l2_requests": self.sms * rng.choice((2, 3, 4))} if self.divided else {}

    def beside(self, neighbours: tuple[str, ...]) -> tuple[GpuConfig, Case]:
        """The machine, and the program with these neighbours."""
        case = _Beside(self.seed, neighbours, self.rounds)
        return GpuConfig(
            sm=case.config, sms=self.sms, interconnect=self.interconnect, slot_cycles=self.slot_cycles,
            l2=L2Kind.DIVIDED if self.divided else L2Kind.NONE, **self.l2,
        ), case

    def __str__(self) -> str:
        """The machine in short."""
        gpu, case = self.beside(self.neighbours[0])
        beside = ", ".join(self.neighbours[0])
        return f"{gpu.sms} SMs, {gpu.interconnect}, L2 {self.l2}, slots of {gpu.slot_cycles}, beside {beside}: {case}"


class _Beside(Case):
    def __init__(self, seed: int, neighbours: tuple[str, ...], rounds: int) -> None:
        self._neighbours, self._rounds = neighbours, rounds
        super().__init__(seed)

    def _program(self, rng: random.Random) -> Assembled:
        written = Written(rng, self.config, self._part, fences=rng.random() < 0.15)
        storms = random.Random("storms")
        for number, kind in enumerate(self._neighbours, 1):
            # SM 0 fetches the same words behind its end, and behind the jumps that it does not take.
            written.add(*[asm.nop()] * ((START + number * _APART - written.here) // 4))
            written.label(f"SM {number}")
            written.add(*[asm.nop()] * 64)
            if kind not in (*_LONG, "nothing"):
                written.li(COUNT, self.config.warps)
                written.la(SELF, f"all {number}")
                written.add(asm.wspawn(COUNT, SELF))
                written.label(f"all {number}")
                written.li(VALUE, -1)
                written.add(asm.tmc(VALUE))
            written.add(asm.csrr(SELF, Csr.MHARTID), asm.slli(OFFSET, SELF, 6))
            if kind != "nothing":
                storm(written, f"SM {number}", kind, self._rounds, storms)
            written.add(asm.tmc(0))
        return written

    def _part(self, written: Assembled) -> None:
        """Each SM goes to its own program."""
        written.add(asm.csrr(CORE, Csr.CORE_ID))
        for number in range(1, len(self._neighbours) + 1):
            written.li(VALUE, number)
            written.branch(asm.bne, CORE, VALUE, f"not {number}")
            written.jal(0, f"SM {number}")
            written.label(f"not {number}")
        written.add(asm.addi(VALUE, 0, 0), asm.addi(CORE, 0, 0))


def bounded(gpu: GpuConfig, case: Case) -> tuple[Bound, list[GpuPrediction]]:
    """The bound of a program, and a run with each of its inputs; LookupError if one is longer."""
    launch = launch_of(case.config, case.program, case.inputs[0], data=8192)
    request = asked(case.config, launch, case.memory, case.latency)
    bound = longest_time_of_gpu(gpu, request, launch)
    runs = [
        predict_gpu(gpu, asked(case.config, Inputs(launch).filled({"inputs": each}), case.memory, case.latency))
        for each in case.inputs
    ]
    for run in runs:
        if run.result.status != "ended":
            raise LookupError(f"a run ends as {run.result.status}")
        if run.result.total_cycles > bound.cycles or (bound.exact and run.result.total_cycles != bound.cycles):
            raise LookupError(f"bound {bound.cycles}, run {run.result.total_cycles}")
        for number, most in enumerate(bound.sms):
            if run.issued[number]["cycle"][-1] > most:
                raise LookupError(f"SM {number}: bound {most}, its last issue in {run.issued[number]['cycle'][-1]}")
    return bound, runs


def check(case: GpuCase) -> tuple[str, int, float]:
    """The verdict, the runs, and the ratio of SM 0's bound to its longest run; LookupError if one is wrong."""
    try:
        bound, runs = bounded(*case.beside(case.neighbours[0]))
    except RefusedError as error:
        return f"refused: {str(error).splitlines()[0][:60]}", 0, 0
    other, others = bounded(*case.beside(case.neighbours[1]))
    if bound.sms and other.sms and bound.sms[0] != other.sms[0]:
        raise LookupError(f"with other neighbours, the bound of SM 0 is {other.sms[0]} and not {bound.sms[0]}")
    for run, second in zip(runs, others, strict=True):
        separate = case.interconnect is Interconnect.TDM
        if separate and not np.array_equal(run.issued[0], second.issued[0]):
            raise LookupError("with other neighbours, SM 0 issues other instructions, or in other cycles")
    longest = max(int(run.issued[0]["cycle"][-1]) for run in runs)
    ratio = bound.sms[0] / longest if bound.sms else 0
    return "exact" if bound.exact else "bound", 2 * len(runs), ratio


def main() -> int:
    """Check programs; 1 if a run is above its bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    options = parser.parse_args()

    def one(seed: int) -> tuple[str, int, float]:
        case = GpuCase(seed)
        try:
            return check(case)
        except LookupError as error:
            raise LookupError(f"{case}: {error}") from None

    return count(options.seed, options.count, one)


if __name__ == "__main__":
    sys.exit(main())
