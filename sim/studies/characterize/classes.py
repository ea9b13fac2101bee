"""The classes of instructions that are measured: for each, one that needs the one before it, and one that does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...program.assembler import asm
from .bench import ADDRESS, FRESH, HIT, LOCAL, LOCAL_LANE, ONE, RESULTS, STORED

__all__ = ["CLASSES", "COUNTS", "LONGER", "UNITS", "InstructionClass"]

#: How many instructions are measured in a row (Fermi study, section 5 and appendix A: 1 to 8).
COUNTS = range(1, 9)
#: The same in curves, whose slope is from the last but one to the last: the read of the counter behind a row may wait
#: for the writeback port, and does so alike behind all rows that are longer than a latency.
LONGER = (*COUNTS, 16)
#: mstatus: writes are ignored, so that no other warp sees them.
_MSTATUS = 0x300
_LINE = 64
_FIRST = RESULTS[0]


@dataclass(frozen=True, kw_only=True)
class InstructionClass:
    """``name``, what it is in words, and the words of the i-th of a row of instructions.

    ``dependent``: one that needs the result of the one before it; None where nothing can. ``setup`` comes before.
    ``latency``: the class is computed by a unit, so a latency can be told from its distances.
    """

    name: str
    about: str
    independent: Callable[[int], int]
    dependent: Callable[[int], int] | None = None
    setup: tuple[int, ...] = ()
    latency: bool = False

    def words(self, count: int, *, dependent: bool) -> list[int]:
        """``count`` of them in a row.

        Raises
        ------
        ValueError
            If they cannot depend on each other.
        """
        make = self.dependent if dependent else self.independent
        if make is None:
            raise ValueError(f"{self.name} has no dependent form")
        return [make(i) for i in range(count)]

    @property
    def forms(self) -> tuple[bool, ...]:
        """Whether dependent, of all that there are."""
        return (False,) if self.dependent is None else (False, True)


def _register(i: int) -> int:
    return RESULTS[i % len(RESULTS)]


def _unit(
    name: str, about: str, independent: Callable[[int], int], dependent: Callable[[int], int]
) -> InstructionClass:
    return InstructionClass(name=name, about=about, independent=independent, dependent=dependent, latency=True)


#: Those of the computing units; their names are those of ``latency_...`` in the configuration.
UNITS = (
    _unit("alu", "add", lambda i: asm.add(_register(i), ONE, ONE), lambda i: asm.add(_FIRST, _FIRST, ONE)),
    _unit("mul", "mul", lambda i: asm.mul(_register(i), ONE, ONE), lambda i: asm.mul(_FIRST, _FIRST, ONE)),
    _unit("div", "div", lambda i: asm.div(_register(i), ONE, ONE), lambda i: asm.div(_FIRST, _FIRST, ONE)),
    _unit(
        "csr", "csrrw", lambda i: asm.csrrw(_register(i), _MSTATUS, ONE), lambda i: asm.csrrw(_FIRST, _MSTATUS, _FIRST)
    ),
    _unit("fma", "fmadd.s", lambda i: asm.fmadd_s(_register(i), 5, 6, 6), lambda i: asm.fmadd_s(_FIRST, _FIRST, 5, 6)),
    # To and fro: either needs the other's result.
    _unit(
        "fcvt", "fcvt.w.s, fcvt.s.w", lambda i: asm.fcvt_w_s(_register(i), 5),
        lambda i: asm.fcvt_s_w(_FIRST, _FIRST) if i % 2 else asm.fcvt_w_s(_FIRST, _FIRST),
    ),
    _unit("fdiv", "fdiv.s", lambda i: asm.fdiv_s(_register(i), 5, 6), lambda i: asm.fdiv_s(_FIRST, _FIRST, 5)),
    _unit("fmisc", "fsgnj.s", lambda i: asm.fsgnj_s(_register(i), 5, 6), lambda i: asm.fsgnj_s(_FIRST, _FIRST, 5)),
)

_OTHERS = (
    # Fermi study, figures 17 to 20: a multiply-add, and an addition that needs it.
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
