"""The divergence macros against the optimizer: random programs must not depend on how many lanes run together."""

import random
from dataclasses import replace

import numpy as np
import pytest

from metronome.hdl.presets import BASE, PAPER, TINY
from tests.riscv_kernels.iss_runs import RESULTS, run_program
from tests.riscv_kernels.random_simt import random_program
from tests.support.tiers import more_then_long

ALONE = replace(TINY, warps=1, threads=1)
THREADS = 50
SEEDS = range(1, 13)


@pytest.mark.more
@pytest.mark.parametrize("seed", more_then_long(SEEDS, 1, 4))
def test_random_control_flow(seed, tmp_path, monkeypatch):
    """One lane at a time and unoptimized is what C says; every other machine and level must agree.

    (Unoptimized code is for one lane only: there, even c ? a : b of integers is a branch.)
    """
    monkeypatch.setenv("METRONOME_CACHE", str(tmp_path.parent / "cache"))  # one for all seeds: the library is in it
    rng = random.Random(seed)
    source = tmp_path / f"random{seed}.c"
    source.write_text(random_program(rng))
    arguments = (THREADS, rng.getrandbits(32))
    expected = run_program(source, ALONE, arguments, ("-O0", "-w")).words(RESULTS, 8 * THREADS)
    diverged = 0
    for config, level in ((ALONE, "-O2"), (TINY, "-O2"), (BASE, "-O3"), (PAPER, "-O2"), (BASE, "-Os")):
        run = run_program(source, config, arguments, (level, "-w"))
        got = run.words(RESULTS, 8 * THREADS)
        wrong = np.flatnonzero(got != expected)
        assert not len(wrong), f"seed {seed} {level} {config.warps}x{config.threads}: words {wrong[:8].tolist()}"
        diverged += int(run.iss.stack.pointer.sum())
    assert diverged == 0, f"seed {seed}: a split was left without its join"


def test_the_random_programs_diverge():
    """Else the test above shows nothing."""
    texts = [random_program(random.Random(seed)) for seed in SEEDS]
    assert sum("SIMT_IF" in text and "SIMT_WHILE" in text for text in texts) > len(texts) // 2


def test_a_divergent_branch_outside_the_macros_is_a_fault(tmp_path):
    """The model does see it when a branch is not split: the tests above can fail."""
    source = tmp_path / "plain.c"
    text = random_program(random.Random(1))
    source.write_text(text.replace("    own[0] = a;", "    if (a & 1) own[6] = own[5] + own[4];\n    own[0] = a;"))
    with pytest.raises(AssertionError, match=r"faulted at .*plain\.c:\d+: .*DIVERGENT_BRANCH"):
        run_program(source, BASE, (THREADS, 0), ("-w",))
