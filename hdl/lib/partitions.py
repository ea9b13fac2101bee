"""Warps of partitions: warp w of the SM is warp w // partitions of partition w % partitions."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Value

__all__ = ["global_warp", "interleaved", "named", "owned"]


def named(name: str, partition: int) -> str:
    """The name of a port or record of a partition: ``front`` of the first, ``front_1`` of the second."""
    return name if partition == 0 else f"{name}_{partition}"


def owned(mask: Value, partition: int, partitions: int) -> Value:
    """The bits of one partition's warps in ``mask``, which has a bit for each warp of the SM."""
    return mask if partitions == 1 else Cat(Value.cast(mask)[partition::partitions])


def interleaved(masks: list[Value]) -> Value:
    """A mask of all warps from those of the partitions."""
    if len(masks) == 1:
        return masks[0]
    return Cat(mask[w] for w in range(len(masks[0])) for mask in masks)


def global_warp(warp: Value, partition: int, *, partitions: int, warps: int) -> Value:
    """The number in the SM of a partition's warp. ``warps``: those of the SM."""
    if partitions == 1:
        return warp
    bits = (partitions - 1).bit_length()
    # A partition of one warp still has a bit for its number.
    return Cat(Const(partition, bits), warp)[:(warps - 1).bit_length()]
