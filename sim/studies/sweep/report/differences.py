"""Differences between the papers and our results, with known and measured causes."""

from __future__ import annotations

from collections.abc import Sequence

from .model import Section
from .papers import papers

__all__ = ["differences"]


def differences(paper: str, computed: Sequence[str]) -> Section:
    """The section of a paper; ``computed`` are statements about these results."""
    table = papers()[paper]
    measured = [f"{each['text']} Measured with: {each['source']}." for each in table.get("measured", [])]
    return Section(f"{paper}-differences", f"Differences from {table['short']}, and their causes", [
        "The machine and the programs are not those of the paper, so the numbers need not agree:",
        [*(each["text"] for each in table["differences"]), *computed],
        *(["Measured causes:", measured] if measured else
          ["No cause of a difference has been measured yet."]),
    ])
