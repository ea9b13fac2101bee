"""Check the options of a memory model as a user writes them, and convert them for the model."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from ..settings import ConfigError, one_of
from .dram.mapping import BANK_HASHES
from .dram.timing import TIMINGS
from .names import DRAM_MODELS, models_with
from .registry import MemoryOptions

__all__ = ["MAX_LATENCY", "memory_latency", "memory_options"]

#: In cycles; far above any real memory, and far below the capacity of the simulation's mailbox.
MAX_LATENCY = 1_000_000
_USUAL_LATENCY = 20
#: The smallest and largest number of memory clocks in a cycle of the SM.
_CLOCKS = (Fraction(1, 64), Fraction(64))


def memory_latency(memory: str, latency: int | None, label: Callable[[str], str] = str) -> int:
    """Return the latency in cycles, or the usual one if ``latency`` is None; dram and tdm ignore the result.

    Raises
    ------
    ConfigError
        If the latency is out of range, or is given for a memory that has its own timing.
    """
    if latency is None:
        return _USUAL_LATENCY
    if memory in DRAM_MODELS:
        place = f"{label('memory')} {' and '.join(models_with('latency'))}"
        raise ConfigError(f"{label('latency')} is for {place}, not for {memory}, which has its own timing")
    if not 1 <= latency <= MAX_LATENCY:
        limit = "at least 1" if latency < 1 else f"at most {MAX_LATENCY}"
        raise ConfigError(f"{label('latency')} must be {limit}, not {latency}")
    return latency


def memory_options(
    memory: str, *, timing: str | None = None, memory_clock: str | None = None, bank_hash: str | None = None,
    label: Callable[[str], str] = str,
) -> MemoryOptions:
    """Return the options of the model ``memory`` from the user's values.

    ``label`` converts ``timing``, ``memory_clock`` and ``bank_hash`` to the names that the user knows.

    Raises
    ------
    ConfigError
        If a value is invalid, or the model does not have the option.
    """
    values: dict[str, Any] = {}
    for name, text in (("timing", timing), ("memory_clock", memory_clock), ("bank_hash", bank_hash)):
        if text is not None and memory not in DRAM_MODELS:
            place = f"{label('memory')} {' and '.join(DRAM_MODELS)}"
            raise ConfigError(f"{label(name)} is for {place}, not for {memory}")
    if timing is not None:
        values["timing"] = one_of(label("timing"), timing, TIMINGS)
    if memory_clock is not None:
        values["clock"] = _ratio(label("memory_clock"), memory_clock)
    if bank_hash is not None:
        values["bank_hash"] = one_of(label("bank_hash"), bank_hash, BANK_HASHES)
    return MemoryOptions(**values)


def _ratio(what: str, text: str) -> Fraction:
    first, last = _CLOCKS
    try:
        # Other forms that Fraction accepts are excluded: 1e999999999 would take forever.
        ratio = Fraction(text if re.fullmatch(r"[0-9]{1,9}([/.][0-9]{1,9})?", text, re.ASCII) else "")
    except (ValueError, ZeroDivisionError):
        raise ConfigError(f"{what} must be a ratio such as 2, 3/2 or 1.5, not {text!r}") from None
    if not first <= ratio <= last:
        raise ConfigError(f"{what} must be between {first} and {last}, not {text}")
    return ratio
