"""Table 7 of the Fermi study, cycles per instruction (CPI) by type, for this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .classes import CLASSES
from .measure import Curve

__all__ = ["TYPES", "Type", "table_7"]


class Type(NamedTuple):
    """A type of instruction in the study: its name there, its CPI on Fermi, and how it is measured here.

    ``classes``: the classes of instructions of that type; ``dependent``: each needs the result of the one before.
    """

    name: str
    about: str
    fermi: str
    classes: Sequence[str]
    dependent: bool = False


#: In the study's order. It does not say whether its loads depend on each other; here each needs the one before.
TYPES = (
    Type("Reg", "arithmetic, independent", "6", ("alu", "fma")),
    Type("Reg RaW", "arithmetic, dependent", "18", ("alu", "fma"), dependent=True),
    Type("LDS", "load from local memory", "26", ("local_load",), dependent=True),
    Type("STS", "store to local memory", "30", ("local_store",)),
    Type("LD.E", "load from global memory", "350 - 500", ("load_miss",), dependent=True),
    Type("ST.E", "store to global memory", "34", ("store",)),
)


def table_7(curves: Sequence[Curve]) -> list[dict[str, Any]]:
    """Return a row for each type and class: the cycles that one more instruction takes, with one warp."""
    slopes = {(each.name, each.dependent): each.slope for each in curves if each.warps == 1}
    return [
        {
            "type": each.name, "about": each.about, "class": name, "instructions": CLASSES[name].about,
            "dependent": each.dependent, "measured": slopes[name, each.dependent], "fermi": each.fermi,
        }
        for each in TYPES for name in each.classes if (name, each.dependent) in slopes
    ]
