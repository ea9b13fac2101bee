"""Every instruction of the decode table on the RTL, in lock step with the golden model."""

import numpy as np
import pytest

from metronome.hdl.config import FaultCause
from metronome.hdl.isa.table import INSTRUCTIONS
from metronome.sim.run.runner import RunRequest, run_many
from tests.support.builds import TINY, on
from tests.system.instruction_programs import PER_ROUND, ROUNDS, make_program
from tests.system.rtl_programs import RawProgram, problems

SEED = 20261123
FAULTS = {"ecall": FaultCause.ENVIRONMENT_CALL, "ebreak": FaultCause.BREAKPOINT}


@pytest.fixture(scope="module")
def results():
    programs = [make_program(row, TINY, str(SEED)) for row in INSTRUCTIONS]
    requests = [
        RunRequest(launch=RawProgram(program.assemble()), policy="lrr", memory="random", latency=30, seed=number,
                   check=True, trace=True, max_cycles=200_000)
        for number, program in enumerate(programs)
    ]
    return dict(zip((row.mnemonic for row in INSTRUCTIONS), run_many(TINY, requests), strict=True))


@on("TINY")
@pytest.mark.slow
@pytest.mark.parametrize("row", INSTRUCTIONS, ids=lambda row: row.mnemonic)
def test_instruction(results, row):
    """It has been executed by every warp, and everything that it did is what the golden model did."""
    result = results[row.mnemonic]
    issue = result.events["issue"]
    words = issue["instruction"][issue["valid"] != 0].astype(np.int64)
    executed = int((words & row.mask == row.match).sum())
    if row.mnemonic in FAULTS:
        assert result.status == "fault" and not result.mismatches, f"seed {SEED}: {result.mismatches}"
        assert result.fault.cause is FAULTS[row.mnemonic]
        assert executed >= 1
        return
    assert not problems(result), f"seed {SEED}: {problems(result)}"
    # wspawn is warp 0's; csrrw and csrrwi leave the read-only registers out.
    share = {"wspawn": TINY.warps, "csrrw": 2, "csrrwi": 2}.get(row.mnemonic, 1)
    assert executed >= TINY.warps * ROUNDS * PER_ROUND // share, f"seed {SEED}: {executed}"
