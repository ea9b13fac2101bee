"""Options of the memory models, and creation of a model by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from .dram.mapping import DEFAULT_HASH, DEFAULT_MAPPING, AddressMapping
from .dram.timing import DDR4_2400R, QUEUE_DEPTH, TIMINGS
from .names import MEMORY_MODELS, Entry

if TYPE_CHECKING:
    from .dram.device import Command
    from .model import Console, MemoryModel
    from .sm_slots import SmSlots
    from .store import SparseMemory

__all__ = ["MemoryOptions", "create_model"]

#: The model for ``random`` with the option ``adversarial``.
_ADVERSARIAL = Entry("adversarial", "AdversarialMemory", ("latency", "seed", "error_probability"))


@dataclass(frozen=True, kw_only=True)
class MemoryOptions:
    """Options that only some models have; the others ignore them.

    Attributes
    ----------
    timing
        dram, tdm: a name of :data:`sim.machine.memory.dram.timing.TIMINGS`.
    clock
        dram, tdm: memory clocks in a cycle of the SM, 1/64 to 64.
    mapping
        dram, tdm: the order of the address bits (:class:`sim.machine.memory.dram.mapping.AddressMapping`).
    bank_hash
        dram, tdm: "xor" spreads the rows over the banks, "none" does not (the same class).
    queue_depth
        dram: requests in the controller; the port is not ready when it is full.
    adversarial
        random: use :class:`sim.machine.memory.adversarial.AdversarialMemory`, for tests.
    error_probability
        random: the probability of an injected error, only with ``adversarial``.
    commands
        dram, tdm: record every command (:attr:`sim.run.types.RunResult.memory_commands`).
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
    sms: SmSlots | None = None,
) -> MemoryModel:
    """Create the model ``name`` over ``memory``.

    ``latency``, in cycles and at least 1, is that of every request for ``fixed``, and the largest for ``random``.
    ``seed`` is used only by ``random``. ``tags``: the most requests in flight at once, for the bound that ``tdm``
    reports. ``observer`` sees the commands of ``dram`` and ``tdm``. ``sms``: the slots of the SMs of a GPU. ``tdm``
    then serves each SM in slots of its own; the other models ignore them.

    Raises
    ------
    ValueError
        If the name is unknown, the latency is below 1, or the model rejects the options.
    """
    if name not in MEMORY_MODELS:
        raise ValueError(f"memory must be one of {', '.join(MEMORY_MODELS)}, not {name!r}")
    options = MemoryOptions() if options is None else options
    entry = _ADVERSARIAL if name == "random" and options.adversarial else MEMORY_MODELS[name]
    values = vars(options) | {
        "latency": latency, "seed": seed, "timing": TIMINGS[options.timing], "ratio": options.clock,
        "mapping": AddressMapping(options.mapping, options.bank_hash),
        "outstanding": tags, "observer": observer, "sms": sms,
    }
    if unknown := [keyword for keyword in entry.keywords if keyword not in values]:
        raise ValueError(f"sim/machine/memory/names.py: no value is called {unknown[0]!r}: the keywords of {name} must "
                         f"be among {', '.join(values)}")
    kind: Any = getattr(importlib.import_module(f".{entry.module}", __package__), entry.kind)
    model: MemoryModel = kind(memory, console, **{keyword: values[keyword] for keyword in entry.keywords})
    return model
