"""The memory models by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from .dram.mapping import DEFAULT_HASH, DEFAULT_MAPPING, AddressMapping
from .dram.timing import DDR4_2400R, QUEUE_DEPTH, TIMINGS

if TYPE_CHECKING:
    from .dram.device import Command
    from .model import Console, MemoryModel
    from .store import SparseMemory

__all__ = ["DRAM_MODELS", "MEMORY_MODELS", "MemoryOptions", "create_model"]

#: The models of a DRAM: a timing and a clock count for them, a latency and a seed do not.
DRAM_MODELS = ("dram", "tdm")
MEMORY_MODELS = ("fixed", *DRAM_MODELS, "random")


@dataclass(frozen=True, kw_only=True)
class MemoryOptions:
    """What only some models have; the others do not look at it.

    Attributes
    ----------
    timing
        dram, tdm: a name of :data:`sim.machine.memory.dram.timing.TIMINGS`.
    clock
        dram, tdm: memory clocks a cycle of the SM, 1/64 to 64.
    mapping
        dram, tdm: the order of the address bits (:class:`sim.machine.memory.dram.mapping.AddressMapping`).
    bank_hash
        dram, tdm: "xor" spreads the rows over the banks, "none" does not (the same class).
    queue_depth
        dram: requests in the controller; the port is not ready when it is full.
    adversarial
        random: :class:`sim.machine.memory.adversarial.AdversarialMemory`, for tests.
    error_probability
        random: of an injected error, with ``adversarial`` only.
    commands
        dram, tdm: keep every command (:attr:`sim.run.types.RunResult.memory_commands`).
    """

    timing: str = DDR4_2400R.name
    clock: Fraction = Fraction(1)
    mapping: str = DEFAULT_MAPPING
    bank_hash: str = DEFAULT_HASH
    queue_depth: int = QUEUE_DEPTH
    adversarial: bool = False
    error_probability: float = 0.0
    commands: bool = False

    def __post_init__(self) -> None:
        if self.timing not in TIMINGS:
            raise ValueError(f"timing must be one of {', '.join(TIMINGS)}, not {self.timing!r}")
        if not Fraction(1, 64) <= self.clock <= 64:
            raise ValueError(f"clock must be between 1/64 and 64, not {self.clock}")
        if self.queue_depth < 1:
            raise ValueError(f"queue_depth must be at least 1, not {self.queue_depth!r}")
        if not 0 <= self.error_probability <= 1:
            raise ValueError(f"error_probability must be between 0 and 1, not {self.error_probability!r}")
        if self.error_probability and not self.adversarial:
            raise ValueError("error_probability needs adversarial")
        AddressMapping(self.mapping, self.bank_hash)


def create_model(
    name: str, memory: SparseMemory, console: Console | None, *, latency: int, seed: int,
    options: MemoryOptions | None = None, tags: int = 64, observer: Callable[[Command], None] | None = None,
) -> MemoryModel:
    """The model ``name`` over ``memory``.

    ``latency`` is in cycles, at least 1: of every request for ``fixed``, the largest for ``random``; ``seed`` counts
    for ``random`` only. ``tags``: as many requests as can be under way at once, for the bound that ``tdm`` states.
    ``observer`` sees the commands of ``dram`` and ``tdm``.

    Raises
    ------
    ValueError
        For an unknown name, a latency below 1, or options that the model refuses.
    """
    if name not in MEMORY_MODELS:
        raise ValueError(f"memory must be one of {', '.join(MEMORY_MODELS)}, not {name!r}")
    options = MemoryOptions() if options is None else options
    # Late: a command that only names a memory does without numpy.
    if name == "fixed":
        from .fixed import FixedMemory

        return FixedMemory(memory, console, latency=latency)
    if name == "random" and not options.adversarial:
        from .random import RandomMemory

        return RandomMemory(memory, console, latency=latency, seed=seed)
    if name == "random":
        from .adversarial import AdversarialMemory

        return AdversarialMemory(
            memory, console, latency=latency, seed=seed, error_probability=options.error_probability
        )
    timing = TIMINGS[options.timing]
    if name == "tdm":
        from .tdm import TdmMemory

        return TdmMemory(
            memory, console, timing=timing, ratio=options.clock, mapping=options.mapping, bank_hash=options.bank_hash,
            outstanding=tags, observer=observer,
        )
    from .dram.model import DramMemory

    return DramMemory(
        memory, console, timing=timing, ratio=options.clock, mapping=options.mapping, bank_hash=options.bank_hash,
        queue_depth=options.queue_depth, observer=observer,
    )
