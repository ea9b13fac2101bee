"""The memory checker (docs/memcheck.md): finds a program's forbidden memory accesses in lock step."""

from .areas import Area, DeclaredAreas, declared
from .checker import MemCheck
from .finding import Finding, Side
from .leftovers import Leftover, results
from .several import GpuMemCheck, SmMemCheck

__all__ = [
    "Area", "DeclaredAreas", "Finding", "GpuMemCheck", "Leftover", "MemCheck", "Side", "SmMemCheck", "declared",
    "results",
]
