"""Requests and answers, and all that can happen to them."""

import pytest

from metronome.hdl.board.protocol import Space
from metronome.sim.fpga.board.link import BoardError, BoardRefused, Link, NoAnswer
from tests.sim.fpga.board.fake_board import PLACES, FakeBoard, crc


class Troubles:
    """Spoils the first so many answers."""

    def __init__(self, count, spoil):
        self.left, self.spoil = count, spoil

    def __call__(self, content):
        self.left -= 1
        return self.spoil(content) if self.left >= 0 else content


TROUBLES = {
    "lost": lambda content: b"", "cut": lambda content: content[:-1],
    "flipped": lambda content: content[:-1] + bytes([content[-1] ^ 1]),
    "noise": lambda content: b"\x00" + content,
    "repeat": lambda content: b"\x15\x00" + crc(b"\x15\x00"),
}


def spoiled(name, count):
    board = FakeBoard()
    board.line = Troubles(count, TROUBLES[name])
    return board, Link(board)


def test_words_of_every_space():
    board = FakeBoard()
    link = Link(board)
    words = [3 * place for place in range(600)]
    link.write(Space.MEMORY, 0x10000, words)
    assert link.read(Space.MEMORY, 0x10000, 600) == words
    assert [count for _, count, _ in board.requests] == [0, 0, 88] * 2, "256 words a frame, written as 0"
    link.write(Space.REGISTERS, PLACES["argument"], [5])
    assert link.read(Space.REGISTERS, PLACES["argument"], 1) == [5]
    link.clear(0x10000, 2048)
    assert link.read(Space.MEMORY, 0x10000, 600) == [0] * 512 + words[512:]


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("count", [1, 2])
def test_what_does_no_harm_is_asked_again(trouble, count):
    board, link = spoiled(trouble, count)
    link.write(Space.MEMORY, 0x10000, [7])
    board.line = Troubles(count, TROUBLES[trouble])
    assert link.read(Space.MEMORY, 0x10000, 1) == [7]
    assert len(board.requests) == 2 * (count + 1)


@pytest.mark.parametrize(("trouble", "problem"), [
    ("lost", "the fake: no answer from the board after 0.1 s: check that it is connected"), ("cut", ("the board "
                                                                                                    "stopped in the "
                                                                                                    "middle")),
    ("flipped", "the board's answer is damaged"), ("noise", "the answer is not from a board"),
    ("repeat", "the board receives damaged data"),
])
def test_three_times_is_enough(trouble, problem):
    board, link = spoiled(trouble, 99)
    with pytest.raises(BoardError, match=problem):
        link.read(Space.MEMORY, 0x10000, 1)
    assert len(board.requests) == 3


@pytest.mark.parametrize("trouble", ["lost", "cut", "flipped", "noise"])
def test_a_register_is_never_written_twice_unless_the_board_says_that_nothing_was_done(trouble):
    """A second start could run the program again, on what the first has made of its inputs."""
    board, link = spoiled(trouble, 1)
    with pytest.raises(BoardError):
        link.write(Space.REGISTERS, PLACES["control"], [1])
    assert len(board.requests) == 1
    board, link = spoiled("repeat", 1)
    link.write(Space.REGISTERS, PLACES["control"], [1])
    assert len(board.requests) == 2


def test_silence_has_a_kind_of_its_own():
    with pytest.raises(NoAnswer):
        spoiled("lost", 99)[1].read(Space.INFO, 0, 1)


def test_what_is_not_there_is_told():
    with pytest.raises(BoardError, match="the fake: the board has no such memory or register"):
        Link(FakeBoard()).read(Space.MEMORY, 0x7000_0000, 1)


def test_what_the_board_has_understood_and_refuses_is_not_asked_again():
    board = FakeBoard()
    with pytest.raises(BoardRefused, match="the fake: the board has no such memory or register"):
        Link(board).read(Space.REGISTERS, 0xFFC, 1)
    assert len(board.requests) == 1
