"""The configuration of a GPU."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from ..config import SmConfig
from ..config_checks import is_power_of_two, require
from ..config_names import Channels

__all__ = ["BLOCK_BITS", "MOST_SMS", "NO_BLOCK", "Dispatch", "GpuConfig", "Interconnect", "L2Kind", "sm_config"]

#: The most SMs of a GPU.
MOST_SMS = 16


class Interconnect(enum.StrEnum):
    """Which SM may send a request to memory."""

    ROUND_ROBIN = "round_robin"
    FIXED_PRIORITY = "fixed_priority"
    TDM = "tdm"


class L2Kind(enum.StrEnum):
    """The cache between the SMs and memory."""

    NONE = "none"
    SHARED = "shared"
    DIVIDED = "divided"


#: Bits of a block's number, and the answer of the dispatch unit if no block is left.
BLOCK_BITS = 32
NO_BLOCK = (1 << BLOCK_BITS) - 1


class Dispatch(enum.StrEnum):
    """Which SM gets a block of a launch."""

    NONE = "none"
    STATIC = "static"
    DYNAMIC = "dynamic"


@dataclass(frozen=True, kw_only=True)
class GpuConfig:
    """Sizes of a GPU: several equal SMs, and the way in which they share the memory port.

    Raises
    ------
    ValueError
        At construction, naming the field, the allowed values and the value given.
    """

    #: Each SM. Its ``cores`` and ``core_id`` follow from the GPU: they keep their defaults here.
    sm: SmConfig
    #: Number of SMs: 2, 4, 8 or 16.
    sms: int
    #: Which SM may send a request. round_robin: the next one in turn that has a request. fixed_priority: the one with
    #: the lowest number that has a request. tdm: each SM in its slot, used or not.
    interconnect: Interconnect = Interconnect.ROUND_ROBIN
    #: With tdm: cycles of a slot, 1 to 64.
    slot_cycles: int = 1
    #: The L2. shared: one for all SMs, between the interconnect and memory. divided: each SM has a part of the ways and
    #: requests of its own, between it and the interconnect.
    l2: L2Kind = L2Kind.NONE
    #: Bytes of lines in all of the L2: a power of two, 512 to 4 MiB.
    l2_bytes: int = 128 * 1024
    #: Its ways: 1, 2, 4, 8 or 16; at least one for each SM if divided.
    l2_ways: int = 8
    #: Requests of the L2 that wait for memory, and reads that wait with them for the same line (MSHRs): 2 to 64; if
    #: divided a multiple of the SMs, at least two for each.
    l2_requests: int = 32
    #: The unit that hands out the blocks of a launch. none: there is none, and programs divide them. static: block i
    #: goes to SM i modulo ``sms``. dynamic: the next block goes to the SM that asks first.
    dispatch: Dispatch = Dispatch.NONE

    def __post_init__(self) -> None:
        require(self.sms in (2, 4, 8, MOST_SMS), "sms", "2, 4, 8 or 16", self.sms)
        require(
            isinstance(self.interconnect, Interconnect), "interconnect", ", ".join(Interconnect), self.interconnect,
        )
        require(1 <= self.slot_cycles <= 64, "slot_cycles", "between 1 and 64", self.slot_cycles)
        require(self.sm.cores == 1, "cores", "1 in a GPU, which counts its SMs itself", self.sm.cores)
        require(self.sm.channels is Channels.NONE, "channels", "none in a GPU", str(self.sm.channels))
        self.sm_of(0)  # the stacks of all SMs must have room
        self._require_l2()
        self._require_dispatch()

    def _require_l2(self) -> None:
        """Require an L2 that can be built; its sizes must be possible for some SM without one, too."""
        require(isinstance(self.l2, L2Kind), "l2", ", ".join(L2Kind), self.l2)
        require(is_power_of_two(self.l2_bytes) and 512 <= self.l2_bytes <= 1 << 22, "l2_bytes",
                "a power of two from 512 to 4194304", self.l2_bytes)
        require(self.l2_ways in (1, 2, 4, 8, 16), "l2_ways", "1, 2, 4, 8 or 16", self.l2_ways)
        sets = f"such that l2_bytes ({self.l2_bytes}) are two sets or more"
        require(self.l2_sets >= 2, "l2_ways", sets, self.l2_ways)
        most = 64 if self.l2 is L2Kind.NONE else min(64, 1 << self.mem_tag_bits)
        require(2 <= self.l2_requests <= most, "l2_requests", f"between 2 and {most}", self.l2_requests)
        if self.l2 is L2Kind.DIVIDED:
            of_sms = f"of sms ({self.sms}) with l2=divided"
            require(self.l2_ways % self.sms == 0, "l2_ways", f"a multiple {of_sms}", self.l2_ways)
            require(self.l2_requests % self.sms == 0 and self.l2_requests >= 2 * self.sms, "l2_requests",
                    f"a multiple {of_sms}, and two or more for each", self.l2_requests)

    def _require_dispatch(self) -> None:
        """Require a line for the unit that hands out blocks, if there is one."""
        require(isinstance(self.dispatch, Dispatch), "dispatch", ", ".join(Dispatch), self.dispatch)
        if self.dispatch is Dispatch.NONE:
            return
        places, line = self.sm.memory_map, self.sm.line_bytes
        taken = max(places.console + places.console_bytes, places.counter_dump + 1, places.exit_code + 4, places.first)
        least = (taken - 1) // line * line + 2 * line
        require(places.user >= least, "memory_map.user",
                f"{least:#x} or more with dispatch={self.dispatch}, whose line is below it", f"{places.user:#x}")

    def sm_of(self, number: int) -> SmConfig:
        """The configuration of an SM of the GPU."""
        return replace(self.sm, cores=self.sms, core_id=number)

    @property
    def configs(self) -> tuple[SmConfig, ...]:
        """The configuration of each SM."""
        return tuple(self.sm_of(number) for number in range(self.sms))

    @property
    def number_bits(self) -> int:
        """Bits of the number of an SM."""
        return (self.sms - 1).bit_length()

    @property
    def response_queues(self) -> bool:
        """Whether each SM has a queue for its responses. Without them, a response that waits holds up all others."""
        return self.interconnect is not Interconnect.FIXED_PRIORITY

    @property
    def mem_tag_bits(self) -> int:
        """Bits of a tag at the memory port: the number of the SM above the SM's own tag."""
        return self.sm.mem_tag_bits + self.number_bits

    @property
    def dispatch_address(self) -> int:
        """The line of the unit that hands out blocks: the last one that is not cached."""
        return self.sm.memory_map.user - self.sm.line_bytes

    @property
    def l2_parts(self) -> int:
        """Number of caches that the L2 consists of: 0 without one, and one for each SM if divided."""
        return {L2Kind.NONE: 0, L2Kind.SHARED: 1, L2Kind.DIVIDED: self.sms}[self.l2]

    @property
    def l2_sets(self) -> int:
        """Sets of the L2, and of each of its parts."""
        return self.l2_bytes // self.sm.line_bytes // self.l2_ways

    @property
    def part_ways(self) -> int:
        """Ways of each part of the L2."""
        return self.l2_ways // max(1, self.l2_parts)

    @property
    def part_requests(self) -> int:
        """Requests of each part of the L2 that wait for memory."""
        return self.l2_requests // max(1, self.l2_parts)


def sm_config(machine: SmConfig | GpuConfig) -> SmConfig:
    """The configuration of an SM itself, or of SM 0 of a GPU."""
    return machine.sm_of(0) if isinstance(machine, GpuConfig) else machine
