"""The cells that a bitstream is made of, in simulation: kernels go through their serial line."""

import contextlib

import pytest

from metronome.hdl.presets import PIPELINES, ULX3S
from metronome.sim.fpga.board.design import BoardDesign
from metronome.sim.fpga.board.host import Board
from metronome.sim.fpga.board.link import Link
from metronome.sim.fpga.board.simulation import simulated
from metronome.sim.program.kernels import prepare
from metronome.sim.run.types import RunRequest

#: Synthesis takes five minutes, the compiler of the simulation ten, a kernel two.
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("synth")]

#: The machine of `metronome board` without options.
CONFIG = ULX3S.for_chip(**PIPELINES["fpga"])


def opened(*, netlist: bool):
    """The design of `metronome board --output`, its baud rate too: its cells, or its source."""
    return contextlib.closing(Board(Link(simulated(BoardDesign.usual(CONFIG), netlist=netlist)), CONFIG))


@pytest.fixture(scope="module")
def board():
    with opened(netlist=True) as found:
        yield found


@pytest.mark.parametrize("kernel", ["vecadd", "psort"])
def test_a_kernel_gives_its_result(board, kernel):
    launch = prepare(kernel, config=CONFIG)
    result = board.run(RunRequest(launch=launch, policy="lrr"))
    assert (result.status, result.exit_code, launch.check(result.memory)) == ("ended", 0, [])
    with opened(netlist=False) as source:
        assert result.counters == source.run(RunRequest(launch=launch, policy="lrr")).counters
