"""Words fetched around an instruction, including those on wrong paths."""

from __future__ import annotations

from collections.abc import Callable, Collection

from metronome.hdl.prediction_sizes import NEAR_BITS

from .costs import DEPTH
from .decoding import Decoded
from .loops import target_of

__all__ = ["NEAR", "fetched", "followed", "nearby"]

#: The bits of an address that predictors of indirect jumps keep.
NEAR = (4 << NEAR_BITS) - 1
#: Return the instruction at an address, and whether the front end follows an instruction at decode.
_Look = Callable[[int], Decoded | None]
_Follows = Callable[[Decoded], bool]


def nearby(target: int, pc: int) -> int:
    """Return the address that is predicted for an indirect jump at ``pc``, if ``target`` was kept."""
    return target & NEAR | pc & ~NEAR & 0xFFFF_FFFF


def fetched(pc: int, look: _Look, follows: _Follows, kept: Collection[int] = ()) -> set[int]:
    """Return the addresses fetched while the instruction at ``pc`` is in its warp's buffer.

    ``kept``: the addresses that may be kept for the prediction of an indirect jump.
    """
    # Each of the d slots is a fetch, squashed or not. Twice as many are assumed.
    return _reached(pc, look, follows, kept, 2 * DEPTH)


def followed(pc: int, look: _Look, follows: _Follows, kept: Collection[int] = ()) -> set[int]:
    """Return the addresses whose words determine later fetches: those of all but the last of the d slots."""
    return _reached(pc, look, follows, kept, DEPTH - 1)


def _reached(pc: int, look: _Look, follows: _Follows, kept: Collection[int], steps: int) -> set[int]:
    decoded = look(pc)
    target = None if decoded is None else target_of(decoded, pc)
    places = {pc} if target is None else {pc, target}
    reached = set(places)
    for _ in range(steps):
        places = {following for place in places for following in _after(place, look, follows, kept)} - reached
        reached |= places
    return reached


def _after(place: int, look: _Look, follows: _Follows, kept: Collection[int]) -> list[int]:
    """Return the addresses that may be fetched after an address."""
    decoded = look(place)
    following = place + 4 & 0xFFFF_FFFF
    if decoded is None or not follows(decoded):
        return [following]
    target = target_of(decoded, place)
    return [following, *(nearby(each, place) for each in kept)] if target is None else [following, target]
