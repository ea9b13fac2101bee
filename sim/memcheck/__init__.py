"""The memory checker (docs/memcheck.md): what a program's accesses may not do, found in lock step."""

from .areas import Area, Declared, declared
from .checker import MemCheck
from .finding import Finding, Side

__all__ = ["Area", "Declared", "Finding", "MemCheck", "Side", "declared"]
