"""The measured instruction classes, each with dependent and independent instructions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...program.assembler import asm
from .bench import ADDRESS, FRESH, HIT, LOCAL, LOCAL_LANE, ONE, RESULTS, STORED

__all__ = ["CLASSES", "COUNTS", "LONGER", "UNITS", "InstructionClass"]

#: Lengths of the measured sequences (Fermi study, section 5 and appendix A: 1 to 8).
COUNTS = range(1, 9)
#: The lengths in curves, whose slope is taken between the last two. The read of the counter after a sequence may wait
#: for the writeback port, and it waits equally long after all sequences that are longer than a latency.
LONGER = (*COUNTS, 16)
#: mstatus: it ignores writes, so they do not affect other warps.
_MSTATUS = 0x300
_LINE = 64
_FIRST = RESULTS[0]


@dataclass(frozen=True, kw_only=True)
class InstructionClass:
    """``name``, a description, and the words of the i-th instruction of a sequence.

    ``dependent``: an instruction that needs the result of the one before it; None if there is none. ``setup``: words
    before the sequence. ``latency``: a unit computes the class, so its latency follows from the distances.
    """

    name: str
    about: str
    independent: Callable[[int], int]
    dependent: Callable[[int], int] | None = None
    setup: tuple[int, ...] = ()
    latency: bool = False

    def words(self, count: int, *, dependent: bool) -> list[int]:
        """Return a sequence of ``count`` instructions.

        Raises
        ------
        ValueError
            If the instructions cannot depend on each other.
        """
        make = self.dependent if dependent else self.independent
        if make is None:
            raise ValueError(f"{self.name} has no dependent form")
        return [make(i) for i in range(count)]

    @property
    def forms(self) -> tuple[bool, ...]:
        """The available values of ``dependent``."""
        return (False,) if self.dependent is None else (False, True)


def _register(i: int) -> int:
    return RESULTS[i % len(RESULTS)]


def _unit(
    name: str, about: str, independent: Callable[[int], int], dependent: Callable[[int], int]
) -> InstructionClass:
    return InstructionClass(name=name, about=about, independent=independent, dependent=dependent, latency=True)


#: The classes of the computing units, named as in ``latency_...`` in the configuration.
UNITS = (
    _unit("alu", "add", lambda i: asm.add(_register(i), ONE, ONE), lambda i: asm.add(_FIRST, _FIRST, ONE)),
    _unit("mul", "mul", lambda i: asm.mul(_register(i), ONE, ONE), lambda i: asm.mul(_FIRST, _FIRST, ONE)),
    _unit("div", "div", lambda i: asm.div(_register(i), ONE, ONE), lambda i: asm.div(_FIRST, _FIRST, ONE)),
    _unit(
        "csr", "csrrw", lambda i: asm.csrrw(_register(i), _MSTATUS, ONE), lambda i: asm.csrrw(_FIRST, _MSTATUS, _FIRST)
    ),
    _unit("fma", "fmadd.s", lambda i: asm.fmadd_s(_register(i), 5, 6, 6), lambda i: asm.fmadd_s(_FIRST, _FIRST, 5, 6)),
    # Back and forth: each conversion needs the result of the other.
    _unit(
        "fcvt", "fcvt.w.s, fcvt.s.w", lambda i: asm.fcvt_w_s(_register(i), 5),
        lambda i: asm.fcvt_s_w(_FIRST, _FIRST) if i % 2 else asm.fcvt_w_s(_FIRST, _FIRST),
    ),
    _unit("fdiv", "fdiv.s", lambda i: asm.fdiv_s(_register(i), 5, 6), lambda i: asm.fdiv_s(_FIRST, _FIRST, 5)),
    _unit("fmisc", "fsgnj.s", lambda i: asm.fsgnj_s(_register(i), 5, 6), lambda i: asm.fsgnj_s(_FIRST, _FIRST, 5)),
)

_OTHERS = (
    # Fermi study, figures 17 to 20: a multiply-add, and an addition that needs its result.
    InstructionClass(
        name="mad_add", about="fmadd.s, fadd.s", independent=lambda i: asm.fmadd_s(_register(i), 5, 6, 6),
        dependent=lambda i: asm.fadd_s(_FIRST, _FIRST, 5) if i % 2 else asm.fmadd_s(_FIRST, _FIRST, 5, 6),
    ),
    InstructionClass(
        name="local_load", about="lw from local memory", independent=lambda i: asm.lw(_register(i), 0, LOCAL_LANE),
        dependent=lambda i: asm.lw(ADDRESS, 0, ADDRESS),
        setup=(asm.sw(LOCAL, 0, LOCAL), asm.addi(ADDRESS, LOCAL, 0)),
    ),
    InstructionClass(name="local_store", about="sw to local memory", independent=lambda i: asm.sw(ONE, 0, LOCAL_LANE)),
    InstructionClass(
        name="load_hit", about="lw, a line in the cache", independent=lambda i: asm.lw(_register(i), 0, HIT),
        dependent=lambda i: asm.lw(ADDRESS, 0, ADDRESS), setup=(asm.addi(ADDRESS, HIT, 0),),
    ),
    InstructionClass(
        name="load_miss", about="lw, a new line each", independent=lambda i: asm.lw(_register(i), _LINE * i, ADDRESS),
        dependent=lambda i: asm.lw(ADDRESS, 0, ADDRESS),
        setup=(asm.addi(ADDRESS, FRESH, 0), asm.addi(FRESH, FRESH, _LINE * LONGER[-1])),
    ),
    InstructionClass(name="store", about="sw, all to one line", independent=lambda i: asm.sw(ONE, 0, STORED)),
    InstructionClass(
        name="store_line", about="sw, a new line each", independent=lambda i: asm.sw(ONE, _LINE * i, ADDRESS),
        setup=(asm.addi(ADDRESS, FRESH, 0), asm.addi(FRESH, FRESH, _LINE * LONGER[-1])),
    ),
)
CLASSES = {each.name: each for each in (*UNITS, *_OTHERS)}
