"""Partitions of an SM with several schedulers: warp w is warp w // schedulers of partition w % schedulers."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Mux, Value

from ..config import SmConfig
from ..config_names import named

__all__ = ["chosen", "global_warp", "interleaved", "named", "owned"]


def owned(config: SmConfig, mask: Value, partition: int) -> Value:
    """The bits of one partition's warps in ``mask``, which has a bit for each warp of the SM."""
    return mask if config.schedulers == 1 else Cat(Value.cast(mask)[partition::config.schedulers])


def interleaved(masks: Sequence[Value]) -> Value:
    """A mask of all warps from those of the partitions."""
    if len(masks) == 1:
        return masks[0]
    return Cat(mask[w] for w in range(len(masks[0])) for mask in masks)


def global_warp(config: SmConfig, warp: Value, partition: int) -> Value:
    """The number in the SM of a partition's warp."""
    if config.schedulers == 1:
        return warp
    bits = (config.schedulers - 1).bit_length()
    # A partition of one warp still has a bit for its number.
    return Cat(Const(partition, bits), warp)[:config.warp_bits]


def chosen(valid: Sequence[Value], values: Sequence[Value]) -> Value:
    """The value of the first partition that is ``valid``; that of the last one if none is."""
    result = values[-1]
    for condition, value in reversed(list(zip(valid[:-1], values[:-1], strict=True))):
        result = Mux(condition, value, result)
    return result
