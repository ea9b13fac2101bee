"""Sizes of the predictors of a warp that no field sets (docs/prediction.md)."""

__all__ = ["MOST_RUN", "NEAR_BITS", "RUN_WAYS", "TAG_BITS"]

#: The longest run of equal outcomes that is learned; it fits 6 bits with one value to spare for longer ones.
MOST_RUN = 62
#: Entries for runs in a set.
RUN_WAYS = 2
#: Bits of a branch's pc in the entry of its runs, above those that select the set.
TAG_BITS = 8
#: Bits of a predicted address, from bit 2 on: it lies in the same 256 KiB as the jump. Others are predicted wrongly.
NEAR_BITS = 16
