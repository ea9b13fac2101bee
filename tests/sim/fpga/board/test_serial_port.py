"""A serial port: pyserial at one end of a pseudo-terminal, a board in Python at the other."""

import os
import pty
import threading

import pytest

from metronome.hdl.board.protocol import Space
from metronome.sim.fpga.board.link import BoardError, Link, NoAnswer
from metronome.sim.fpga.board.serial_port import SerialTransport
from tests.sim.fpga.board.fake_board import FakeBoard


@pytest.fixture
def line():
    """The name of a port, and the file descriptor of what is behind it."""
    ours, theirs = pty.openpty()
    yield os.ttyname(theirs), ours
    for descriptor in (ours, theirs):
        os.close(descriptor)


def serve(descriptor, board, frames):
    """Answer so many frames of 9 bytes."""
    for _ in range(frames):
        frame = b""
        while len(frame) < 9:
            frame += os.read(descriptor, 9 - len(frame))
        board.write(frame)
        os.write(descriptor, board.read(1 << 16, 0))


def test_words_over_a_port(line):
    name, descriptor = line
    board = FakeBoard()
    thread = threading.Thread(target=serve, args=(descriptor, board, 2), daemon=True)
    link = Link(SerialTransport(name, 115200))
    thread.start()
    assert link.read(Space.INFO, 0, 2) == [1, 25_000_000]
    assert link.read(Space.MEMORY, 0x10000, 256) == [0] * 256
    thread.join()
    link.close()


def test_a_port_with_nothing_behind_it_is_told(line, monkeypatch):
    monkeypatch.setattr("metronome.sim.fpga.board.serial_port._DELAY_SECONDS", 0.05)
    link = Link(SerialTransport(line[0], 115200))
    with pytest.raises(NoAnswer, match=r"no answer from the board after 0.1 s"):
        link.read(Space.INFO, 0, 1)
    link.close()


def test_a_port_that_is_not_there_is_told():
    with pytest.raises(BoardError, match=r"^/dev/none: cannot be opened: No such file or directory$"):
        SerialTransport("/dev/none", 115200)


def test_a_file_is_no_port(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BoardError, match="cannot be opened: "):
        SerialTransport(str(tmp_path / "file"), 115200)


def test_a_port_in_use_is_told(line):
    first = SerialTransport(line[0], 115200)
    with pytest.raises(BoardError, match="cannot be opened: "):
        SerialTransport(line[0], 115200)
    first.close()


def test_without_pyserial_it_is_said_what_to_do(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "serial", None)
    with pytest.raises(BoardError, match="serial ports need the Python package pyserial: pip"):
        SerialTransport("/dev/none", 115200)
