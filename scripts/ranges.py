"""The option ``--range NAME=LOW..HIGH``: between which bounds inputs of a program may vary."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .errors import UsageError

if TYPE_CHECKING:
    from metronome.sim.analysis.inputs import Range
    from metronome.sim.kernel import Launch

__all__ = ["ranges_of"]

_NUMBER = r"[-+]?(?:0[xX][0-9a-fA-F]+|\d+\.\d+(?:[eE][-+]?\d+)?|\d+)"
_RANGE = re.compile(
    rf"(?P<name>[^=\[\]]+)(?:\[(?P<first>\d+)(?:\.\.(?P<last>\d+))?\])?=(?P<low>{_NUMBER})\.\.(?P<high>{_NUMBER})"
)


def ranges_of(launch: Launch, texts: list[str]) -> list[Range]:
    """Every --range of a command line, with the words of ``launch`` that it is of.

    Raises
    ------
    UsageError
        For a text of another form, and for one that does not fit the program.
    """
    from metronome.sim.analysis.inputs import RangeError, require_apart

    try:
        ranges = [_range(launch, text) for text in texts]
        require_apart(ranges)
    except RangeError as error:
        raise UsageError(f"--range: {error}") from None
    return ranges


def _range(launch: Launch, text: str) -> Range:
    from metronome.sim.analysis.inputs import RangeError, resolve

    match = _RANGE.fullmatch(text)
    if match is None:
        raise UsageError(f"--range {text}: write NAME=LOW..HIGH, NAME[3]=LOW..HIGH or NAME[0..7]=LOW..HIGH")
    real = any("." in match[end] for end in ("low", "high"))
    low, high = (float(match[end]) if real else int(match[end], 0) for end in ("low", "high"))
    if low > high:
        raise UsageError(f"--range {text}: {match['low']} is more than {match['high']}")
    if real:
        if not all(abs(each) <= 3.4e38 for each in (low, high)):
            raise UsageError(f"--range {text}: both numbers must be finite float32")
    elif not (0 <= low <= high < 1 << 32 or -(1 << 31) <= low <= high < 1 << 31):
        raise UsageError(f"--range {text}: both numbers must be 32-bit integers, both with a sign or both without")
    words = None
    if match["first"] is not None:
        words = int(match["first"]), int(match["last"] or match["first"])
    try:
        return resolve(launch, text, match["name"], words, (low, high), real=real)
    except RangeError as error:
        raise UsageError(f"--range {text}: {error}") from None
