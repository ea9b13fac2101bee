"""Random programs in ordinary C do on a warp what they do on a host, whatever branches the pass takes for divergent."""

import random
import re

import pytest

from metronome.hdl.presets import BASE, MID, TINY
from tests.riscv_kernels.plain_programs import random_plain_program
from tests.riscv_kernels.plain_runs import check_program, everything_divergent, launch_of, values_in_memory
from tests.support.tiers import some_more

#: From `python -m tests.riscv_kernels.measure_divergence 1 3000`, which takes all of them.
SEEDS = range(1, 9)


@pytest.fixture(autouse=True)
def fresh_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("METRONOME_CACHE", str(tmp_path / "cache"))


@pytest.mark.more
@pytest.mark.parametrize("seed", some_more(SEEDS, 1))
def test_random_programs(seed, tmp_path):
    level = ("-O1", "-O2", "-Os")[seed % 3]
    assert check_program(seed, tmp_path, (level,), (TINY, BASE, MID)) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", some_more(SEEDS[:4], 1))
def test_with_every_branch_divergent(seed, tmp_path):
    with everything_divergent():
        assert check_program(seed, tmp_path, ("-O2",), (MID,)) == []


@pytest.mark.more
@pytest.mark.parametrize("seed", some_more(SEEDS[4:], 1))
def test_with_what_is_added_in_memory(seed, tmp_path):
    with values_in_memory():
        assert check_program(seed, tmp_path, ("-O2",), (MID,)) == []


def test_the_random_programs_have_it_all():
    """Else the tests above show little."""
    texts = [random_plain_program(random.Random(seed)) for seed in range(1, 41)]
    for word in ("goto", "switch", "break;", "continue;", "return", "&&", "while", "do {", r"f\d\("):
        assert sum(bool(re.search(word.replace("(", r"(") if word[0] == "f" else re.escape(word), text))
                   for text in texts) > 10, word


@pytest.mark.more
def test_a_wrong_word_is_found(tmp_path, monkeypatch):
    """A lane that does not wait at a join goes another way: the comparison sees it."""
    monkeypatch.setattr("metronome.sim.program.divergence.splits._JOIN", "nop # {0}")
    assert any(check_program(seed, tmp_path, ("-O2",), (MID,)) for seed in SEEDS[:3])
    assert launch_of(tmp_path / "plain1.c", "-O2", 0).image.symbols
