"""The memory models by name."""

from __future__ import annotations

from .fixed import FixedMemory
from .model import Console, MemoryModel
from .random import RandomMemory
from .store import SparseMemory

__all__ = ["MEMORY_MODELS", "create_model"]

MEMORY_MODELS = ("fixed", "random")


def create_model(name: str, memory: SparseMemory, console: Console | None, *, latency: int, seed: int) -> MemoryModel:
    """The model ``name`` over ``memory``.

    ``latency`` is in cycles, at least 1: of every request for ``fixed``, the largest for ``random``; ``seed`` counts
    for ``random`` only.

    Raises
    ------
    ValueError
        For an unknown name or a latency below 1.
    """
    if name == "fixed":
        return FixedMemory(memory, console, latency=latency)
    if name == "random":
        return RandomMemory(memory, console, latency=latency, seed=seed)
    raise ValueError(f"memory must be one of {', '.join(MEMORY_MODELS)}, not {name!r}")
