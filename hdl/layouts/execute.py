"""The records of the back end: operands on their way to a unit, results on their way to the registers, faults."""

from __future__ import annotations

from amaranth.lib import data

from ..config import SmConfig
from .decoded import BufferEntry
from .prediction import prediction_layout

__all__ = ["fault_layout", "lsu_request_layout", "operands_layout", "order_layout", "writeback_layout"]


def fault_layout(config: SmConfig) -> data.StructLayout:
    """A fault."""
    return data.StructLayout({
        "cause": 5,  # the cause, a value of :class:`hdl.config.FaultCause`
        "warp": config.warp_bits,  # the warp that faulted
        "pc": 32,  # the address of the faulting instruction
        "address": 32,  # of the access, fetch, jump or ebreak; else the illegal instruction, the CSR number, or 0
    })


def order_layout() -> data.StructLayout:
    """The order of accesses, in one cycle: a list of them begins at ``address``, or ends."""
    return data.StructLayout({"start": 1, "stop": 1, "address": 32})


def lsu_request_layout(config: SmConfig) -> data.StructLayout:
    """One load or store of a warp as it leaves operand read (stage X).

    ``op`` is a :class:`hdl.isa.ops.LsuOp`; lane i accesses ``base[i] + offset``; ``data`` is the store data.
    """
    return data.StructLayout({
        "warp": config.warp_bits,
        "pc": 32,
        "op": 4,
        "rd": 6,
        "writes_rd": 1,
        "mask": config.threads,
        "base": data.ArrayLayout(32, config.threads),
        "offset": 32,
        "data": data.ArrayLayout(32, config.threads),
    })


def writeback_layout(config: SmConfig) -> data.StructLayout:
    """Lane values for one destination register. ``last`` is clear while more lanes of the same load are to come."""
    return data.StructLayout({
        "warp": config.warp_bits,
        "rd": 6,
        "mask": config.threads,
        "last": 1,
        "data": data.ArrayLayout(32, config.threads),
    })


def operands_layout(config: SmConfig) -> data.StructLayout:
    """An instruction in stage X, ``issue_latency`` cycles after its selection. ``valid`` is clear for NOPs.

    Unused sources are 0, except ``rs3``, which is then undefined.
    """
    lanes = data.ArrayLayout(32, config.threads)
    return data.StructLayout({
        "valid": 1,
        "warp": config.warp_bits,
        "mask": config.threads,
        "entry": BufferEntry,
        **({"prediction": prediction_layout()} if config.learns else {}),
        "rs1": lanes,
        "rs2": lanes,
        "rs3": lanes,
    })
