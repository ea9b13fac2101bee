"""The host's registers: the table from which the hardware, its pages and its tests are derived."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from ..config import FaultCause, SmConfig
from ..gpu.config import GpuConfig, sm_config
from ..layouts.counters import COUNTER_BITS, built_counters

__all__ = ["ADDRESS_BITS", "COUNTERS_OFFSET", "IDENTITY", "MAP_VERSION", "Access", "Register", "constants",
           "register_table"]

#: Bits of a register's byte address: the map takes 1 KiB.
ADDRESS_BITS = 10
#: The value of ``identity``: "MTRN".
IDENTITY = 0x4D54524E
#: The value of ``version``: raised whenever a register is added, or changes its place or its meaning.
MAP_VERSION = 2
#: The low half of the first counter.
COUNTERS_OFFSET = 0x100


class Access(enum.StrEnum):
    """The accesses that a register allows the host."""

    READ = "ro"
    WRITE = "rw"
    #: Reads as 0; writing a 1 to a bit does something once.
    STROBE = "wo"
    #: Writing a 1 to a bit clears it.
    CLEAR = "w1c"


@dataclass(frozen=True)
class Register:
    """A register of 32 bits; those above ``bits`` read as 0."""

    name: str  # in lower case, as the hardware calls it
    offset: int  # [bytes] from the start of the map
    bits: int  # that mean something, from the lowest on
    access: Access  # the accesses that the host may make
    about: str  # its meaning or effect


def _configuration(config: SmConfig) -> int:
    return config.warps | config.threads << 8 | len(config.policies) << 16 | len(config.fetch_policies) << 24


def constants(config: SmConfig | GpuConfig, *, console: int = 0) -> dict[str, int]:
    """The registers whose values never change; ``console``: characters that the queue holds."""
    config = sm_config(config)
    return {
        "identity": IDENTITY,
        "version": MAP_VERSION,
        "configuration": _configuration(config),
        "core": config.core_id | config.cores << 16,
        "console_size": console,
    }


def register_table(config: SmConfig | GpuConfig) -> tuple[Register, ...]:
    """All registers, in address order. A GPU of several SMs has all of an SM, and those of :func:`_of_gpu`."""
    more = _of_gpu(config) if isinstance(config, GpuConfig) else ()
    config = sm_config(config)
    cause, high = max(FaultCause).bit_length(), COUNTER_BITS - 32
    fixed = (
        Register("identity", 0x00, 32, Access.READ, f"{IDENTITY:#010x}, the characters MTRN"),
        Register("version", 0x04, 32, Access.READ, f"of this map: {MAP_VERSION}"),
        Register("configuration", 0x08, 32, Access.READ, "warps [7:0], threads [15:8], policies [23:16], and fetch "
                 "policies [31:24] of the build"),
        Register("core", 0x0C, 32, Access.READ, "core_id [15:0] and cores [31:16] of the build"),
        Register("control", 0x10, 2, Access.STROBE, "bit 0: reset the SM and start a run, unless a run is in "
                                                    "progress; bit 1: reset the SM in any case, and start a run only "
                                                    "with bit 0; both wait for the bus"),
        Register("status", 0x14, 4, Access.READ, "bit 0: a run is in progress, or about to start; bit 1: a fault has "
                                                 "stopped it; bit 2: a reset is in progress; bit 3: a run has ended "
                                                 "since the last reset"),
        Register("start_address", 0x18, 32, Access.WRITE, "start address of a run; initially the start address of "
                                                          "the build"),
        Register("argument", 0x1C, 32, Access.WRITE, "value of mscratch at the start"),
        Register("policy", 0x20, _bits(len(config.policies)), Access.WRITE,
                 "issue policy, by its place in the build; must not change during a run"),
        Register("fetch_policy", 0x24, _bits(len(config.fetch_policies)), Access.WRITE, "fetch policy, in the same "
                                                                                        "way"),
        Register("interrupt_enable", 0x28, 1, Access.WRITE, "bit 0: interrupt at the end of a run"),
        Register("interrupt", 0x2C, 1, Access.CLEAR, "bit 0: a run has ended, normally or by a fault"),
        Register("fault_cause", 0x30, cause, Access.READ, "cause of the fault that stopped the SM "
                                                          "(hdl.config.FaultCause)"),
        Register("fault_warp", 0x34, config.warp_bits, Access.READ, "warp of the fault"),
        Register("fault_pc", 0x38, 32, Access.READ, "address of the faulting instruction"),
        Register("fault_address", 0x3C, 32, Access.READ, "address of the faulting access"),
        Register("exit_code", 0x40, 32, Access.READ, "value that the run stored at the address of the exit code, "
                                                     "else 0"),
        Register("console_state", 0x44, 32, Access.READ, "characters that wait in the console [15:0]; bit 31: one was "
                                                         "lost, because the queue was full"),
        # A bus of 64 bits that reads both words of a pair takes no character by mistake: the other word is a constant.
        Register("console", 0x48, 32, Access.READ, "reading it takes the oldest character: bit 31: there is one; its "
                                                   "code [7:0]; its console address minus the first one [13:8]"),
        Register("console_size", 0x4C, 16, Access.READ, "characters that the queue holds; 0: there is no queue"),
    )
    counters = [
        Register(f"{name}_{half}", COUNTERS_OFFSET + 8 * number + 4 * upper, high if upper else 32, Access.READ,
                 "bits 47 to 32, captured when any low half was last read" if upper else f"counter {name}, low half")
        for name, number in built_counters(research=config.research_counters).items()
        for upper, half in enumerate(("low", "high"))
    ]
    return (*fixed, *more, *counters)


def _of_gpu(config: GpuConfig) -> tuple[Register, ...]:
    """The registers that only a GPU of several SMs has."""
    return (
        Register("fault_sm", 0x50, config.number_bits, Access.READ, "SM of the fault; of several the lowest number"),
        Register("counter_sm", 0x54, config.number_bits, Access.WRITE, "SM whose counters are read; initially 0"),
    )


def _bits(choices: int) -> int:
    """Bits of a strap; at least 1, so that the register is always there."""
    return max(1, (choices - 1).bit_length())
