"""Words fetched around an instruction, including those on wrong paths."""

from __future__ import annotations

from collections.abc import Callable

from .costs import DEPTH
from .decoding import Decoded
from .loops import target_of

__all__ = ["fetched", "followed"]

#: Return the instruction at an address, and whether the front end follows an instruction at decode.
_Look = Callable[[int], Decoded | None]
_Follows = Callable[[Decoded], bool]


def fetched(pc: int, look: _Look, follows: _Follows) -> set[int]:
    """Return the addresses fetched while the instruction at ``pc`` is in its warp's buffer."""
    # Each of the d slots is a fetch, squashed or not. Twice as many are assumed.
    return _reached(pc, look, follows, 2 * DEPTH)


def followed(pc: int, look: _Look, follows: _Follows) -> set[int]:
    """Return the addresses whose words determine later fetches: those of all but the last of the d slots."""
    return _reached(pc, look, follows, DEPTH - 1)


def _reached(pc: int, look: _Look, follows: _Follows, steps: int) -> set[int]:
    decoded = look(pc)
    target = None if decoded is None else target_of(decoded, pc)
    places = {pc} if target is None else {pc, target}
    reached = set(places)
    for _ in range(steps):
        places = {following for place in places for following in _after(place, look, follows)} - reached
        reached |= places
    return reached


def _after(place: int, look: _Look, follows: _Follows) -> list[int]:
    """Return the addresses that may be fetched after an address."""
    decoded = look(place)
    target = None if decoded is None else target_of(decoded, place)
    following = place + 4 & 0xFFFF_FFFF
    return [following, target] if target is not None and decoded is not None and follows(decoded) else [following]
