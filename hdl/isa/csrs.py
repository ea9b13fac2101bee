"""The CSR numbers of isa.md ("CSRs"). A number that is not listed does not exist: an access to it is a fault."""

from __future__ import annotations

import enum

__all__ = ["FLOAT_CSRS", "ORDER_CSRS", "PERFORMANCE_CSRS", "ZERO_CSRS", "Csr", "PolicyParameter"]


class Csr(enum.IntEnum):
    """CSR numbers by their names in the RISC-V manual, in Vortex or, for the last group, in isa.md."""

    FFLAGS = 0x001
    FRM = 0x002
    FCSR = 0x003

    SATP = 0x180
    MSTATUS = 0x300
    MISA = 0x301
    MEDELEG = 0x302
    MIDELEG = 0x303
    MIE = 0x304
    MTVEC = 0x305
    MSCRATCH = 0x340
    MEPC = 0x341
    MCAUSE = 0x342
    PMPCFG0 = 0x3A0
    PMPADDR0 = 0x3B0
    MNSTATUS = 0x744

    MCYCLE = 0xB00
    MCYCLEH = 0xB80
    MINSTRET = 0xB02
    MINSTRETH = 0xB82

    THREAD_ID = 0xCC0
    WARP_ID = 0xCC1
    CORE_ID = 0xCC2
    ACTIVE_WARPS = 0xCC3
    ACTIVE_THREADS = 0xCC4

    MVENDORID = 0xF11
    MARCHID = 0xF12
    MIMPID = 0xF13
    MHARTID = 0xF14

    NUM_THREADS = 0xFC0
    NUM_WARPS = 0xFC1
    NUM_CORES = 0xFC2
    LOCAL_MEM_BASE = 0xFC3

    MREGION = 0x7C0
    MORDER = 0x7C1
    MPOLICY = 0x7C2


class PolicyParameter(enum.IntEnum):
    """The parameter that a write of mpolicy changes, by its bits 31 to 24; other numbers change nothing."""

    GROUP_WARPS = 1  # two_level: the size of a group
    LOCALITY_BASE = 2  # ccws: the least score
    LOCALITY_THROTTLE = 3  # ccws: how much a loss of locality counts
    SLOT = 4  # variable_rate and variable_rate_strict: whose the slot is that bits 23 to 16 name
    FRAME = 5  # both: the slots of a frame


#: An access waits until the warp's older instructions have completed.
FLOAT_CSRS: frozenset[int] = frozenset({Csr.FFLAGS, Csr.FRM, Csr.FCSR})

#: With ordered channels: an access waits until nothing is in the load/store unit.
ORDER_CSRS: frozenset[int] = frozenset({Csr.MREGION})

#: Writes are ignored, reads give 0.
ZERO_CSRS: frozenset[int] = frozenset({
    Csr.SATP, Csr.MSTATUS, Csr.MEDELEG, Csr.MIDELEG, Csr.MIE, Csr.MTVEC, Csr.MEPC, Csr.MCAUSE,
    Csr.PMPCFG0, Csr.PMPADDR0, Csr.MNSTATUS,
})

#: Vortex's counter window, low and high halves: its exit code reads every number of it, so the unused ones read 0.
#: Which of our counters has which number: :data:`hdl.layouts.counters.COUNTERS`.
PERFORMANCE_CSRS: frozenset[int] = frozenset(range(0xB00, 0xB20)) | frozenset(range(0xB80, 0xBA0))
