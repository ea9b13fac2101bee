"""The whole board in simulation: kernels go through its serial line, by the very program that talks to a real one."""

import contextlib
import dataclasses
import json
import re

import pytest

from metronome.hdl.board import ulx3s
from metronome.hdl.board.regions import Regions
from metronome.hdl.config import FaultCause
from metronome.hdl.presets import PIPELINES, ULX3S
from metronome.scripts.cli import main
from metronome.sim.fpga.board.design import SIMULATED_BAUD, design_of
from metronome.sim.fpga.board.host import Board
from metronome.sim.fpga.board.link import BoardError, Link
from metronome.sim.fpga.board.simulation import launched, simulated, simulation
from metronome.sim.program.kernels import prepare
from metronome.sim.run.types import RunRequest
from tests.support.programs import prepared

#: One simulation for all; it is built by the first.
#: `make test` has the parts of the board: tests/hdl/board.
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("board")]

#: The machine of `metronome board` without options.
CONFIG = ULX3S.for_chip(**PIPELINES["fpga"])
DESIGN = design_of(CONFIG, baud=SIMULATED_BAUD)


@pytest.fixture(scope="module")
def board():
    with contextlib.closing(Board(Link(simulated(DESIGN)), CONFIG)) as found:
        yield found


def ran(board, launch, policy="lrr", **options):
    lines = []
    result = board.run(RunRequest(launch=launch, policy=policy, **options), on_console=lines.append)
    return result, lines


@pytest.mark.parametrize(("kernel", "dtype", "policy"), [
    ("vecadd", "int32", "lrr"), ("psort", "int32", "gtlrr"), ("vecadd", "float32", "gtlo"), ("psum", "int32", "lrr"),
])
def test_a_kernel_gives_its_result(board, kernel, dtype, policy):
    launch = prepare(kernel, dtype, config=CONFIG)
    result, _ = ran(board, launch, policy)
    assert (result.status, result.exit_code, launch.check(result.memory)) == ("ended", 0, [])
    counters = result.counters
    assert 0 < counters["cycles"] < counters["total_cycles"] == result.total_cycles
    shares = counters["committed"] + counters["nops"] + sum(counters["stalls"].values())
    assert counters["cycles"] - 2 <= shares <= counters["cycles"]


def test_the_same_run_takes_the_same_cycles(board):
    launch = prepare("vecadd", config=CONFIG)
    assert ran(board, launch)[0].counters == ran(board, launch)[0].counters


def test_what_a_program_prints_and_returns_comes_back(board, tmp_path):
    """More than waits for the host on the chip: nothing is lost."""
    launch = prepared(tmp_path, """
        #include <stdio.h>
        int main(void) { for (int i = 0; i < 60; i++) printf("line %d of many\\n", i); return 3; }
    """, CONFIG)
    result, lines = ran(board, launch)
    assert lines == [f"line {number} of many\n" for number in range(60)]
    assert (result.status, result.exit_code) == ("ended", 3)


def test_an_access_where_there_is_no_memory_is_a_fault(board, tmp_path):
    result, _ = ran(board, prepared(tmp_path, "int main(void) { return *(volatile int *)0x20000000; }", CONFIG))
    assert result.status == "fault"
    assert (result.fault.cause, result.fault.address) == (FaultCause.LOAD_ACCESS, 0x20000000)
    assert ran(board, prepare("vecadd", config=CONFIG))[0].status == "ended", "the next run is as ever"


def test_a_program_that_does_not_end_is_stopped(board, tmp_path):
    result, _ = ran(board, prepared(tmp_path, "int main(void) { for (;;) ; }", CONFIG), max_cycles=20000)
    assert result.status == "hang" and result.total_cycles > 20000
    assert ran(board, prepare("vecadd", config=CONFIG))[0].status == "ended"


def test_another_baud_rate_is_told(board):
    executable = simulation(ulx3s.TOP, {"board.v": ulx3s.generate(
        CONFIG, DESIGN.regions, divisor=DESIGN.divisor, patience=DESIGN.patience)}, lambda step: None)
    transport = launched(executable, dataclasses.replace(DESIGN, divisor=13), 0, "the simulated board")
    transport.patience = 1.0
    with contextlib.closing(transport), pytest.raises(BoardError, match=r"(check the|this) baud rate|not from a board"):
        Board(Link(transport), CONFIG)


def test_memory_that_is_mixed_up_is_seen(monkeypatch):
    """A planted bug: all regions are the same piece of memory, so that buffers lie where the program does."""
    monkeypatch.setattr(Regions, "places", lambda self: [(part, 0) for part in self.parts])
    with contextlib.closing(Board(Link(simulated(DESIGN)), CONFIG)) as wrong:
        launch = prepare("vecadd", config=CONFIG)
        result, _ = ran(wrong, launch, max_cycles=20000)
        assert result.status != "ended" or launch.check(result.memory)


def test_the_command_line_runs_a_kernel(tmp_path, capsys):
    file = tmp_path / "result.json"
    assert main(["board", "vecadd", "--port", "rtl", "--size", "9", "--json", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "vecadd on ULX3S in simulation (2 warps x 2 threads)" in shown
    rate = f"{ulx3s.CLOCK_HZ / 1e6:g} MHz"
    assert re.search(r"result +passed", shown) and re.search(rf"total cycles +\d+, 0\.\d+ ms at {rate}", shown)
    document = json.loads(file.read_text())
    assert (document["passed"], document["status"], document["simulated"]) == (True, "ended", True)
    assert document["config"]["size"] == 9
