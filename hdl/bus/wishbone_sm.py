"""An SM or a GPU with a Wishbone master and a Wishbone slave, for block designs."""

from __future__ import annotations

from typing import Any

from ..config import SmConfig
from ..gpu.config import GpuConfig, sm_config
from .register_table import ADDRESS_BITS
from .signatures import wishbone_wires
from .top import CONSOLE_DEPTH, BusSm, Side, common_ports
from .wishbone import WishboneControl, WishboneMaster, wishbone_address_bits

__all__ = ["WishboneSm"]


def _sides(data_bits: int) -> tuple[Side, Side]:
    memory = wishbone_wires(data_bits=data_bits, address_bits=wishbone_address_bits(data_bits))
    return (Side("m_wb_", memory, True),
            Side("s_wb_", wishbone_wires(data_bits=32, address_bits=ADDRESS_BITS - 2), False))


class WishboneSm(BusSm):
    """A top level in which every wire of a bus is a port of its own: ``m_wb_cyc``, ``s_wb_adr``, ...

    Parameters: as for :class:`hdl.bus.wishbone.WishboneMaster`, and ``console`` as for :class:`hdl.bus.top.BusSm`.
    """

    def __init__(self, config: SmConfig | GpuConfig, *, data_bits: int = 32, console: int = CONSOLE_DEPTH) -> None:
        self._data_bits = data_bits
        memory, host = _sides(data_bits)
        super().__init__(config, {**common_ports(), **memory.ports(), **host.ports()}, memory, host, console)

    @classmethod
    def meanings(cls) -> dict[str, str]:
        """The meaning of each wire of the two buses, by its port."""
        return cls.meanings_of(_sides(32))

    def bridges(self) -> tuple[Any, Any, Any, Any]:
        """Wishbone on both sides."""
        config, bits, tag_bits = sm_config(self.config), self._data_bits, self.config.mem_tag_bits
        master, control = WishboneMaster(config, data_bits=bits, tag_bits=tag_bits), WishboneControl()
        return master, master.bus, control, control.bus
