"""What is fetched around an instruction, on wrong paths, too."""

from __future__ import annotations

from collections.abc import Callable

from .costs import DEPTH
from .decoding import Decoded
from .loops import target_of

__all__ = ["fetched", "followed"]

#: What gives the instruction at a place, and tells whether one that is fetched is followed at decode.
_Look = Callable[[int], Decoded | None]
_Follows = Callable[[Decoded], bool]


def fetched(pc: int, look: _Look, follows: _Follows) -> set[int]:
    """Where is fetched while the instruction at ``pc`` is in its warp's buffer."""
    # A slot is a fetch, squashed or not, and there are d of them; twice as many are looked at.
    return _reached(pc, look, follows, 2 * DEPTH)


def followed(pc: int, look: _Look, follows: _Follows) -> set[int]:
    """The places whose words tell where that is: what is behind the last of the d slots is not fetched any more."""
    return _reached(pc, look, follows, DEPTH - 1)


def _reached(pc: int, look: _Look, follows: _Follows, steps: int) -> set[int]:
    decoded = look(pc)
    target = None if decoded is None else target_of(decoded, pc)
    places = {pc} if target is None else {pc, target}
    reached = set(places)
    for _ in range(steps):
        places = {following for place in places for following in _behind(place, look, follows)} - reached
        reached |= places
    return reached


def _behind(place: int, look: _Look, follows: _Follows) -> list[int]:
    """Where the fetch may go on behind that of a place."""
    decoded = look(place)
    target = None if decoded is None else target_of(decoded, place)
    following = place + 4 & 0xFFFF_FFFF
    return [following, target] if target is not None and decoded is not None and follows(decoded) else [following]
