"""Probes for one warp alone: distances between instructions, writeback slots, control flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...program.assembler import asm
from .bench import ADDRESS, BODY, COUNT, ONE, RESULTS, SCRATCH, Piece
from .classes import CLASSES, COUNTS, UNITS, InstructionClass

__all__ = ["EMPTY", "SLOTS", "Cycles", "barrier", "control", "distances", "one", "row", "runs", "slots"]

#: Name of a piece -> cycles in each warp.
Cycles = Mapping[str, tuple[int, ...]]
#: The piece with nothing between the two reads of the counter.
EMPTY = Piece(name="empty", body=())
#: Numbers of instructions without a destination between a producer and its competitor for the writeback port.
SLOTS = range(10)
#: Instructions before a piece of control flow, so that fetch runs ahead as it does in straight-line code.
_LEAD = [asm.nop()] * 8


def runs(each: InstructionClass, counts: Sequence[int], *, dependent: bool, guard: bool = True) -> list[Piece]:
    """Sequences of 1, 2, ... instructions of a class, one piece each, named ``alu dependent 3``."""
    form = "dependent" if dependent else "independent"
    return [
        Piece(
            name=f"{each.name} {form} {count}", body=each.words(count, dependent=dependent), setup=each.setup,
            guard=guard,
        )
        for count in counts
    ]


def row(cycles: Cycles, name: str, counts: Sequence[int], *, dependent: bool) -> list[tuple[int, ...]]:
    """The measurements of :func:`runs`: for each count, the cycles in each warp."""
    form = "dependent" if dependent else "independent"
    return [cycles[f"{name} {form} {count}"] for count in counts]


def one(cycles: Cycles, name: str) -> int:
    """The cycles of a piece in the one warp, less those of the empty piece."""
    return cycles[name][0] - cycles[EMPTY.name][0]


def distances() -> list[Piece]:
    """Sequences of 1 to 8 instructions of each class, in each form."""
    pieces = [EMPTY]
    for each in CLASSES.values():
        for dependent in each.forms:
            pieces += runs(each, COUNTS, dependent=dependent)
    return pieces


def slots() -> list[Piece]:
    """A producer, 0 to 9 instructions without a destination, and the read of the counter.

    The writeback port takes one result per cycle, so the read waits if both would write in the same cycle.
    """
    return [
        Piece(name=f"{unit.name} slot {gap}", body=[unit.independent(0), *[asm.nop()] * gap], guard=False)
        for unit in UNITS for gap in SLOTS
    ]


@dataclass(frozen=True)
class _Flow:
    """Control flow: its words, including other instructions between them, and the words that set it up."""

    words: Sequence[int]
    setup: Sequence[int] = ()


def _flows() -> dict[str, _Flow]:
    lanes = tuple(asm.li(SCRATCH, -1))
    return {
        "branch not taken": _Flow([asm.beq(ONE, 0, 8)]),
        "branch forward taken": _Flow([asm.bne(ONE, 0, 8), asm.nop()]),
        # Forward to eight instructions and out of them; the same, with a branch back to the exit jump after them.
        "there": _Flow([asm.jalr(0, BODY, 40), *[asm.nop()] * 9, asm.jalr(0, BODY, 80), asm.nop()]),
        "there and back": _Flow([asm.jalr(0, BODY, 40), asm.jalr(0, BODY, 76), *[asm.nop()] * 8, asm.bne(ONE, 0, -36)]),
        "jal": _Flow([asm.jal(0, 8), asm.nop()]),
        "jalr": _Flow([asm.jalr(0, BODY, 40), asm.nop()]),
        "tmc": _Flow([asm.tmc(SCRATCH)], lanes),
        "split": _Flow([asm.split(ADDRESS, 0)]),
        "split, join": _Flow([asm.split(ADDRESS, 0), asm.join(ADDRESS)]),
        "pred": _Flow([asm.pred(ONE, SCRATCH)], lanes),
        "bar": _Flow([asm.bar(0, ONE)]),
        "wspawn": _Flow([asm.wspawn(ONE, BODY)]),
        "fence": _Flow([asm.fence()]),
        "fcsr": _Flow([asm.csrr(RESULTS[0], 0x003)]),
    }


def control() -> list[Piece]:
    """Each kind of control flow in one warp, after the instructions of ``lead``, which is also measured alone."""
    pieces = [Piece(name="lead", body=_LEAD)]
    return pieces + [Piece(name=name, body=[*_LEAD, *flow.words], setup=flow.setup) for name, flow in _flows().items()]


def barrier() -> Piece:
    """A barrier of all participating warps."""
    return Piece(name="barrier", body=[asm.bar(0, COUNT)], guard=False)
