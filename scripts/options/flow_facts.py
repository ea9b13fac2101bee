"""The option ``--flow-facts FILE``, and the METRONOME_LOOP_BOUND annotations in the program."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ..process.errors import UsageError
from ..process.progress import Report
from .common import input_file

if TYPE_CHECKING:
    from metronome.sim.analysis.paths.facts import Facts, Rule
    from metronome.sim.program.elf import ElfImage

__all__ = ["facts_of"]


def _print(text: str) -> None:
    print(f"metronome: {text}", file=sys.stderr)


def facts_of(image: ElfImage, file: str | None, tell: Report = _print) -> Facts:
    """Return the flow facts of a program. ``tell``: called with each part of the file that is ignored, to print it.

    Raises
    ------
    UsageError
        If the file cannot be used.
    """
    from metronome.sim.analysis.paths.facts import FactError, Facts, marks_of
    from metronome.sim.analysis.paths.ffx import read_ffx

    rules: list[Rule] = []
    if file is not None:
        try:
            rules, ignored = read_ffx(input_file("--flow-facts", file), image)
        except FactError as error:
            raise UsageError(f"--flow-facts {error}") from None
        for each in ignored:
            tell(each)

    def lines(pc: int) -> list[str]:
        line = image.source_line(pc)
        return [] if line is None else [line]

    return Facts(marks_of(image), rules, lines)
