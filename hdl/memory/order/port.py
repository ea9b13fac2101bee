"""The list's reads and the L1's lines on one port to memory."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ...layouts.memory import memory_port_signature
from ...lib.component import Component
from ..arbiter import share_port

__all__ = ["ListPort"]


class ListPort(Component):
    """Merges the two sources; combinational, one request and one answer a cycle. The L1 goes first, but an offer stays.

    The list is thus read when the L1 requests nothing, which happens in the end: without the list no access is looked
    up. Reset: nothing is held.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        super().__init__({
            #: The lines of loads and stores.
            "l1": In(memory_port_signature(config, tag_bits=config.l1_tag_bits)),
            #: The lines of the list; reads only.
            "reader": In(memory_port_signature(config, tag_bits=config.l1_tag_bits)),
            #: The unit's port. A tag is the source (0 L1, 1 list) above the source's own tag.
            "mem": Out(memory_port_signature(config, tag_bits=config.lsu_tag_bits)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        share_port(m, self.mem, first=self.l1, second=self.reader, writer=self.l1)
        return m
