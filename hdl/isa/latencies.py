"""Latency of the units (design.md section 4)."""

from __future__ import annotations

from ..config import SmConfig
from .ops import Unit

__all__ = ["unit_latencies"]


def unit_latencies(config: SmConfig) -> dict[Unit, int]:
    """Cycles from stage X to the writeback, for each unit that writes in a fixed cycle and so reserves its slot.

    If partitions have fixed turns in one rounder, conversions and divisions may take longer than configured
    (:attr:`hdl.config.SmConfig.partition`).
    """
    config = config.partition
    return {
        Unit.ALU: config.latency_alu, Unit.BRANCH: config.latency_alu, Unit.MUL: config.latency_mul,
        Unit.DIV: config.latency_div, Unit.CSR: config.latency_csr, Unit.SIMT: config.latency_simt,
        Unit.FMA: config.latency_fma, Unit.FCVT: config.latency_fcvt, Unit.FDIV: config.latency_fdiv,
        Unit.FMISC: config.latency_fmisc,
    }
