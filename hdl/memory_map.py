"""The addresses that software relies on, and which of them the units can be built for."""

from __future__ import annotations

from dataclasses import dataclass, fields

from .config_checks import is_power_of_two, kind_of, require
from .described import setting

__all__ = ["DEFAULT_MAP", "MemoryMap", "require_map", "require_stacks"]


@dataclass(frozen=True, kw_only=True)
class MemoryMap:
    """The addresses that software relies on (isa.md, "Memory map and launch"). All are byte addresses."""

    start: int = setting(0x8000_0000, "start address of warp 0, for which programs are linked", unit="address")
    console: int = setting(0x0000_0040, "a byte stored from here on is a printed character", unit="address")
    console_bytes: int = setting(64, "number of console addresses: one for each slot", unit="bytes")
    counter_dump: int = setting(0x0000_0080, "Vortex's runtime writes its counters here", unit="address")
    exit_code: int = setting(0x0000_0088, "the program stores its exit code here: 0 is success", unit="address")
    user: int = setting(0x0001_0000, "first address of the host's buffers; nothing below it is cached", unit="address")
    local: int = setting(0xFFFF_0000, "the scratchpad, at a multiple of its size", unit="address")
    stack_top: int = setting(0xFFFF_0000, "one past the stacks, which lie below it, one for each hart", unit="address")
    stack_bytes_per_hart: int = setting(8192, "size of a stack; a hart is one lane of one warp", unit="bytes")
    first: int = setting(0x0000_0040, "the first byte that answers without an error", unit="address")
    end: int = setting(0xFFFF_0000, "one past the last byte that does", unit="address")


#: The addresses of Vortex.
DEFAULT_MAP = MemoryMap()


def require_map(places: MemoryMap, *, line_bytes: int, local_bytes: int) -> None:
    """Require every address to be valid and to lie where the units expect it."""
    for field in fields(places):
        value, name = getattr(places, field.name), f"memory_map.{field.name}"
        require(type(value) is int, name, kind_of(int), value)
        require(0 <= value <= 1 << 32, name, "between 0 and 0x100000000", value)
    require(places.start % 4 == 0, "memory_map.start", "a multiple of 4", places.start)
    require(places.user % line_bytes == 0, "memory_map.user", "a multiple of line_bytes", places.user)
    require(places.local % local_bytes == 0, "memory_map.local", "a multiple of local_bytes", places.local)
    require(places.first < places.end, "memory_map.first", "below memory_map.end", places.first)
    room = line_bytes - places.console % line_bytes
    require(
        1 <= places.console_bytes <= room,
        "memory_map.console_bytes", f"between 1 and {room}, within the console's line", places.console_bytes,
    )


def require_stacks(places: MemoryMap, stacks: range, *, line_bytes: int, threads: int, local_bytes: int) -> None:
    """Require a map in which ``stacks`` can be interleaved: whole lines, in cached memory and apart from the rest."""
    each, row = places.stack_bytes_per_hart, max(line_bytes, 4 * threads)
    require(
        is_power_of_two(each) and each >= line_bytes,
        "memory_map.stack_bytes_per_hart", "a power of two of at least a line with interleave_stacks", each,
    )
    require(
        stacks.stop % row == 0, "memory_map.stack_top", f"a multiple of {row} with interleave_stacks", stacks.stop
    )
    require(
        places.user <= stacks.start and stacks.stop <= places.end, "memory_map.stack_top",
        f"such that {len(stacks)} bytes below it lie in [user, end) with interleave_stacks", stacks.stop,
    )
    for name, first, size in (("start", places.start, 1), ("local", places.local, local_bytes)):
        require(
            first + size <= stacks.start or stacks.stop <= first,
            f"memory_map.{name}", "outside the stacks with interleave_stacks", first,
        )
