"""The modules that a submission may import. The rest of Metronome contains the solution."""

from __future__ import annotations

__all__ = ["ALLOWED", "BASE", "forbidden"]

#: The module with the base class of a policy.
BASE = "metronome.sim.machine.policies.base"
#: Modules of the standard library that neither open files nor start programs.
LIBRARY = (
    "__future__", "abc", "bisect", "collections", "collections.abc", "copy", "dataclasses", "decimal", "enum",
    "fractions", "functools", "heapq", "itertools", "math", "operator", "random", "types", "typing",
)
ALLOWED = frozenset((*LIBRARY, BASE))


def forbidden(name: str, parts: tuple[str, ...] = ()) -> str | None:
    """Return the error for ``import name``, or ``from name import parts``; None if it is allowed."""
    if name in ALLOWED or (parts and all(f"{name}.{part}" in ALLOWED for part in parts)):
        return None
    if name.split(".")[0] == BASE.split(".")[0]:
        return f"it imports {name}: of Metronome it may import {BASE} only"
    return f"it imports {name}: it may import {', '.join(LIBRARY[1:])}, and {BASE}"
