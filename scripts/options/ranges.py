"""The option ``--range NAME=LOW..HIGH``: the range of values that a program's input may take."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..process.errors import UsageError

if TYPE_CHECKING:
    from metronome.sim.analysis.code.inputs import Range
    from metronome.sim.program.kernels import Launch

__all__ = ["ranges_of"]

_NUMBER = r"[-+]?(?:0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)"
_RANGE = re.compile(
    rf"(?P<name>[^=\[\]]+)(?:\[(?P<first>\d+)(?:\.\.(?P<last>\d+))?\])?=(?P<low>{_NUMBER})\.\.(?P<high>{_NUMBER})"
)


def ranges_of(launch: Launch, texts: list[str]) -> list[Range]:
    """Return every --range of a command line, with the numbers of ``launch`` to which it applies.

    Raises
    ------
    UsageError
        For a malformed text, and for a range that does not fit the program.
    """
    from metronome.sim.analysis.code.inputs import RangeError, require_apart

    try:
        ranges = [_range(launch, text) for text in texts]
        require_apart(ranges)
    except RangeError as error:
        raise UsageError(f"--range: {error}") from None
    return ranges


def _range(launch: Launch, text: str) -> Range:
    from metronome.sim.analysis.code.inputs import RangeError
    from metronome.sim.analysis.code.naming import range_of

    match = _RANGE.fullmatch(text)
    if match is None:
        raise UsageError(f"--range {text}: write NAME=LOW..HIGH, NAME[3]=LOW..HIGH or NAME[0..7]=LOW..HIGH")
    words = None
    if match["first"] is not None:
        words = int(match["first"]), int(match["last"] or match["first"])
    try:
        return range_of(launch, text, match["name"], words, (match["low"], match["high"]))
    except RangeError as error:
        raise UsageError(f"--range {text}: {error}") from None
