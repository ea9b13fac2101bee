"""Names, classes and parameters of the memory models; the classes are not imported, so that commands start fast."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["DRAM_MODELS", "MEMORY_MODELS", "SEPARATING_MODELS", "Entry", "models_with"]

_DRAM = ("timing", "ratio", "mapping", "observer")


class Entry(NamedTuple):
    """A model: its module below ``sim.machine.memory``, its class, and the keywords of the class's constructor.

    A keyword is one of those that :func:`sim.machine.memory.registry.create_model` has values for.
    """

    module: str
    kind: str
    keywords: tuple[str, ...]


MEMORY_MODELS = {
    "fixed": Entry("fixed", "FixedMemory", ("latency",)),
    "dram": Entry("dram.model", "DramMemory", (*_DRAM, "queue_depth")),
    "tdm": Entry("tdm", "TdmMemory", (*_DRAM, "outstanding", "sms")),
    "random": Entry("random", "RandomMemory", ("latency", "seed")),
}


def models_with(keyword: str) -> tuple[str, ...]:
    """Return the names of the models that take ``keyword``."""
    return tuple(name for name, entry in MEMORY_MODELS.items() if keyword in entry.keywords)


#: The models of a DRAM, which use a timing and a clock instead of a latency and a seed.
DRAM_MODELS = models_with("timing")
#: The models that answer each SM behind the interconnect tdm as if it were alone (docs/gpu.md, "Separation").
SEPARATING_MODELS = ("fixed", "tdm")
