"""Named values of configuration fields, the causes of faults, and the names of what each partition has."""

from __future__ import annotations

import enum

from .described import DescribedEnum

__all__ = ["Channels", "Coordination", "FaultCause", "Prediction", "Turns", "Units", "named"]


def named(name: str, partition: int) -> str:
    """The name of a port or record of a partition: ``front`` of the first, ``front_1`` of the second."""
    return name if partition == 0 else f"{name}_{partition}"


class FaultCause(DescribedEnum):
    """Why the SM stopped. Numbers below 16 are RISC-V's own ``mcause`` codes (privileged spec, table 14)."""

    FETCH_MISALIGNED = 0, "a jump to an address that is not a multiple of 4"
    FETCH_ACCESS = 1, "memory answered a fetch with an error"
    ILLEGAL_INSTRUCTION = 2, "a word that is not an instruction of the ISA"
    BREAKPOINT = 3, "ebreak"
    LOAD_MISALIGNED = 4, "a load from an address that is not a multiple of its size"
    LOAD_ACCESS = 5, "memory answered a load with an error"
    STORE_MISALIGNED = 6, "a store to an address that is not a multiple of its size"
    STORE_ACCESS = 7, "memory answered a store with an error"
    ENVIRONMENT_CALL = 11, "ecall"
    DIVERGENT_BRANCH = 24, "the lanes of a warp disagree on a branch"
    STACK_OVERFLOW = 25, "a split, and the divergence stack is full"
    STACK_UNDERFLOW = 26, "a join to an entry that is not on the divergence stack"
    UNKNOWN_CSR = 27, "an access to a CSR that does not exist, or a write to a read-only one"
    UNEXPECTED_ACCESS = 28, "a load or store that is not the next one of its warp in the list of morder"
    MISSING_ACCESS = 29, "the next load or store in the list of morder never arrives"


class Coordination(enum.StrEnum):
    """How fetch and issue are coordinated (design.md section 3)."""

    #: One scheduler for fetch and issue; interruptions of the instruction flow become NOPs (Crouzet 2024, section IV).
    SWAS = "swas"
    #: Two schedulers; wrong-path instructions are dropped (Crouzet 2024, section V-B).
    BASELINE = "baseline"
    #: As baseline, but a warp fetches one instruction at a time and does not go past control flow.
    VORTEX = "vortex"


class Prediction(enum.StrEnum):
    """Branch prediction of the front end (design.md section 3)."""

    #: Fetch continues at pc + 4 (Crouzet 2024).
    NOT_TAKEN = "not_taken"
    #: Backward taken, forward not taken: a backward branch, and every ``jal``, redirects the fetch at decode.
    BTFN = "btfn"
    #: As btfn, corrected by what the warp itself has executed since its start (prediction.md).
    PRIVATE = "private"


class Channels(enum.StrEnum):
    """The queues between the coalescer and the data cache (memory.md, "Channels")."""

    #: Nothing: accesses are looked up in the order of issue.
    NONE = "none"
    #: One queue per warp: an access that waits holds back its own warp.
    FREE = "free"
    #: One queue per warp: accesses are looked up in the order of a list in memory (memory.md, "Order from a list").
    ORDERED = "ordered"


class Units(enum.StrEnum):
    """The arithmetic units of a machine with several schedulers (design.md, "Several schedulers")."""

    #: Each partition has units and a writeback port of its own.
    SLICES = "slices"
    #: The partitions issue into one set of units.
    SHARED = "shared"


class Turns(enum.StrEnum):
    """Which partition may use what all share, in each cycle (design.md, "Turns")."""

    #: Each in turn, in fixed cycles.
    ALTERNATE = "alternate"
    #: Of those that wait, the one whose last chance was longest ago.
    OLDER = "older"
