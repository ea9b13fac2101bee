"""The listing of Huangfu 2017, section III-D, extended for this machine (docs/analyze.md, "The listing")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from metronome.hdl.config import LINE_BYTES, SmConfig

from .records import NO_BLOCK, Access, Grid, Listing

__all__ = ["text_of"]

_ONE = (1, 1, 1)


def _list(values: Iterable[object]) -> str:
    """Format a list as in the paper."""
    return f"[ {' , '.join(map(str, values))} ]"


def _instances(accesses: Sequence[Access]) -> str:
    """Format a warp's accesses at one pc: the addresses of each one's lines, then L or S; "None" without accesses."""
    if not accesses:
        return "None"
    times = [_list(line * LINE_BYTES for line in each.lines) for each in accesses]
    return _list([*times, "S" if accesses[0].store else "L"])


def _warp(name: str, accesses: Sequence[Access], pcs: Sequence[int]) -> Iterator[str]:
    by_pc: dict[int, list[Access]] = {pc: [] for pc in pcs}
    for each in accesses:
        by_pc[each.pc].append(each)
    yield f"{name} {_list(map(len, by_pc.values()))}"
    yield f"{name} {_list(map(_instances, by_pc.values()))}"


def text_of(listing: Listing, config: SmConfig) -> Iterator[str]:
    """Yield the lines of the listing. Without work-groups, the machine ``config`` is the block."""
    pcs = list(listing.pcs)
    yield f"-num_pcs {len(pcs)}"
    yield f"-pc_addrs {_list(pcs)}"
    for grid in listing.grids or [Grid(_ONE, (config.warps * config.threads, 1, 1))]:
        yield f"-grid {_list(grid.grid)}"
        yield f"-block {_list(grid.block)}"
    in_groups = any(each.place.block for each in listing.accesses)
    # Accesses outside blocks come first, because a warp makes them before it runs a block.
    def of_block(access: Access) -> tuple[bool, int, tuple[int, int, int]]:
        return access.place.block is not None, access.place.group, access.place.block or NO_BLOCK

    for (inside, _, block), accesses in groupby(sorted(listing.accesses, key=of_block), key=of_block):
        yield f"Block {_list(block)}" if inside or not in_groups else "Block None"
        members = sorted(accesses, key=lambda each: (each.place.member, each.key))
        for member, own in groupby(members, key=lambda each: each.place.member):
            yield from _warp(f"Warp{member}", list(own), pcs)
