"""The configuration of a GPU."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from ..config import SmConfig
from ..config_checks import require
from ..config_names import Channels

__all__ = ["MOST_SMS", "GpuConfig", "Interconnect", "sm_config"]

#: The most SMs of a GPU.
MOST_SMS = 16


class Interconnect(enum.StrEnum):
    """Which SM may send a request to memory."""

    ROUND_ROBIN = "round_robin"
    FIXED_PRIORITY = "fixed_priority"
    TDM = "tdm"


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

    def __post_init__(self) -> None:
        require(self.sms in (2, 4, 8, MOST_SMS), "sms", "2, 4, 8 or 16", self.sms)
        require(
            isinstance(self.interconnect, Interconnect), "interconnect", ", ".join(Interconnect), self.interconnect,
        )
        require(1 <= self.slot_cycles <= 64, "slot_cycles", "between 1 and 64", self.slot_cycles)
        require(self.sm.cores == 1, "cores", "1 in a GPU, which counts its SMs itself", self.sm.cores)
        require(self.sm.channels is Channels.NONE, "channels", "none in a GPU", str(self.sm.channels))
        self.sm_of(0)  # the stacks of all SMs must have room

    def sm_of(self, number: int) -> SmConfig:
        """The configuration of an SM of the GPU."""
        return replace(self.sm, cores=self.sms, core_id=number)

    @property
    def number_bits(self) -> int:
        """Bits of the number of an SM."""
        return (self.sms - 1).bit_length()

    @property
    def mem_tag_bits(self) -> int:
        """Bits of a tag at the memory port: the number of the SM above the SM's own tag."""
        return self.sm.mem_tag_bits + self.number_bits


def sm_config(machine: SmConfig | GpuConfig) -> SmConfig:
    """The configuration of an SM itself, or of SM 0 of a GPU."""
    return machine.sm_of(0) if isinstance(machine, GpuConfig) else machine
