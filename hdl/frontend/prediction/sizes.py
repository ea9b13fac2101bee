"""Sizes of the predictors of a warp."""

__all__ = ["MOST_RUN", "RUN_WAYS", "TAG_BITS"]

#: The longest run of equal outcomes that is learned; it fits 6 bits with one value to spare for longer ones.
MOST_RUN = 62
#: Entries for runs in a set.
RUN_WAYS = 2
#: Bits of a branch's pc in the entry of its runs, above those that select the set.
TAG_BITS = 8
