"""The host's program, with a board in Python: the handshake, loading, and how a run can end."""

import dataclasses

import pytest

from metronome.hdl.config import FaultCause
from metronome.sim.fpga.board.host import Board
from metronome.sim.fpga.board.link import BoardError, Link
from metronome.sim.program.kernels import prepare
from metronome.sim.run.types import RunRequest
from tests.sim.fpga.board.fake_board import CONFIG, PLACES, FakeBoard


def request(size=16, **options):
    return RunRequest(launch=prepare("vecadd", size=size, config=CONFIG), policy="gtlrr", **options)


def computes(board, launch, wrong=0):
    """A run that does in Python what vecadd does, but for ``wrong`` in the last element."""
    (a, x), (b, y), (c, _) = (launch.buffers[name] for name in "abc")

    def run():
        for place in range(0, len(x), 4):
            board.memory[c + place] = (board.memory[a + place] + board.memory[b + place]) & 0xFFFF_FFFF
        board.memory[c + len(y) - 4] ^= wrong

    return run


@pytest.mark.parametrize(("place", "value", "problem"), [
    (0, 2, "the board uses version 2 of the protocol, but this program uses version 1"),
    (2, 0, "the board's machine differs from the one requested: give the machine options"),
    (3, 99, "uses version 1 of the protocol"), (5, 96, "reports memory that is not possible"),
])
def test_another_board_is_refused(place, value, problem):
    board = FakeBoard()
    board.info[place] = value
    with pytest.raises(BoardError, match=problem):
        Board(Link(board), CONFIG)


def test_another_machine_is_refused():
    with pytest.raises(BoardError, match="differs from the one requested"):
        Board(Link(FakeBoard()), dataclasses.replace(CONFIG, latency_fma=5))


def test_other_registers_are_refused():
    board = FakeBoard()
    board.registers[PLACES["version"]] = 7
    with pytest.raises(BoardError, match="version 7, and not of 0x4d54524e, version 2"):
        Board(Link(board), CONFIG)


@pytest.mark.parametrize("wrong", [0, 1])
def test_a_result_is_read_from_the_board_and_checked(wrong):
    board, asked = FakeBoard(), request()
    board.runs = computes(board, asked.launch, wrong)
    board.memory = {0x10000 + 4 * place: 0xDEAD for place in range(16384)}  # what was there before
    board.registers[PLACES["total_cycles_low"]] = 123
    board.registers[PLACES["stalls_load_low"]], board.registers[PLACES["stalls_load_high"]] = 5, 1
    result = Board(Link(board), CONFIG).run(asked)
    assert (result.status, result.exit_code, result.total_cycles) == ("ended", 0, 123)
    assert result.counters["stalls"]["load"] == 5 + (1 << 32)
    assert len(asked.launch.check(result.memory)) == (1 if wrong else 0)
    assert board.registers[PLACES["policy"]] == CONFIG.policies.index("gtlrr")
    assert board.registers[PLACES["start_address"]] == asked.launch.entry
    assert board.memory[0x10000 + 65532] == 0, "memory is cleared before"


def test_a_fault_is_told():
    board = FakeBoard()
    board.registers |= {PLACES["status"]: 0b1010, PLACES["fault_cause"]: 5, PLACES["fault_warp"]: 1,
                        PLACES["fault_pc"]: 0x80000010, PLACES["fault_address"]: 0x20000000}
    board.runs = lambda: None
    result = Board(Link(board), CONFIG).run(request())
    assert result.status == "fault"
    assert dataclasses.astuple(result.fault) == (FaultCause.LOAD_ACCESS, 1, 0x80000010, 0x20000000)


def test_a_program_that_does_not_end_is_stopped():
    board = FakeBoard()

    def start():
        board.registers[PLACES["status"]] = 1
        board.registers[PLACES["total_cycles_low"]] = 5000

    board.runs = start
    result = Board(Link(board), CONFIG).run(request(max_cycles=4999))
    assert (result.status, result.total_cycles) == ("hang", 5000)
    assert board.registers[PLACES["control"]] == 2, "it is reset"


def test_what_is_printed_comes_line_by_line():
    board, lines = FakeBoard(), []
    text = [(0, b"one\ntwo"), (1, b"three\n")]
    board.runs = lambda: board.console.extend(1 << 31 | slot << 8 | byte for slot, part in text for byte in part)
    result = Board(Link(board), CONFIG).run(request(), on_console=lines.append)
    assert lines == ["one\n", "three\n", "two\n"]
    assert result.console == "one\nthree\ntwo\n"


def test_a_kernel_that_does_not_fit_is_refused_before_anything_is_written():
    board = FakeBoard()
    host = Board(Link(board), CONFIG)
    with pytest.raises(BoardError, match=r"vecadd does not fit: it has \d+ bytes at 0x0001\w+, and the board has"):
        host.run(request(size=20000))
    assert not any(code & 4 for code, _, _ in board.requests)


def test_stacks_are_read_where_they_are():
    board = FakeBoard()
    host = Board(Link(board), CONFIG)
    memory = host.run(request()).memory
    # Two lanes: the words of lane 0 are every other one of the warp's 16 KiB.
    first = CONFIG.interleaved_stacks.start
    board.memory[first + 4 * 2] = 77
    assert memory.read(first + 4, 4) == (77).to_bytes(4, "little")
