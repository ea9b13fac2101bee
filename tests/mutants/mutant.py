"""What a mutant is: see :mod:`tests.mutants`."""

from dataclasses import dataclass

__all__ = ["Mutant"]


@dataclass(frozen=True)
class Mutant:
    """``old`` becomes ``new`` in ``method`` ("module:Class.method"); each of the tests ``found_by`` has to fail."""

    name: str
    method: str
    old: str
    new: str
    found_by: tuple[str, ...]
