"""The cycles of each SM at a memory port with slots (docs/gpu.md, "Separation")."""

from __future__ import annotations

from typing import NamedTuple

from metronome.hdl.gpu.config import GpuConfig, Interconnect, L2Kind

__all__ = ["ResponseSlots", "SmSlots"]


class SmSlots(NamedTuple):
    """The rule of the slots: cycle c of the port belongs to SM (c - 1) / ``slot_cycles`` modulo ``sms``.

    Cycle 0 is the one in which ``start`` is high. The interconnect offers an SM's request in cycles of that SM.
    """

    sms: int
    slot_cycles: int
    #: Bits of an SM's own tag: the number of the SM is above them.
    tag_bits: int

    @classmethod
    def of(cls, gpu: GpuConfig) -> SmSlots | None:
        """The slots of a GPU; None without ``tdm``, and with a shared L2, whose requests are of no SM."""
        if gpu.interconnect is not Interconnect.TDM or gpu.l2 is L2Kind.SHARED:
            return None
        return cls(gpu.sms, gpu.slot_cycles, gpu.sm.mem_tag_bits)

    @property
    def round(self) -> int:
        """Cycles after which the slots repeat."""
        return self.sms * self.slot_cycles

    def sm_of(self, tag: int) -> int:
        """The SM whose request has this tag at the port."""
        return tag >> self.tag_bits

    def first(self, sm: int, cycle: int) -> int:
        """The first cycle of the SM from ``cycle`` on."""
        begin, place = sm * self.slot_cycles, (cycle - 1) % self.round
        if place >= begin + self.slot_cycles:
            place -= self.round
        return cycle + max(0, begin - place)


class ResponseSlots:
    """Gives each response a cycle of its SM: the first one that no other response has."""

    def __init__(self, slots: SmSlots) -> None:
        self.slots = slots
        self._taken: list[set[int]] = [set() for _ in range(slots.sms)]

    def take(self, sm: int, now: int, due: int) -> int:
        """Return the cycle of a response of ``sm`` that can be presented from ``due`` on; its request is of ``now``."""
        taken = self._taken[sm] = {cycle for cycle in self._taken[sm] if cycle > now}
        cycle = self.slots.first(sm, due)
        while cycle in taken:
            cycle = self.slots.first(sm, cycle + 1)
        taken.add(cycle)
        return cycle
