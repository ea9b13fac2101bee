"""An SM or a GPU with an AXI4 master and an AXI4-Lite slave, for block designs."""

from __future__ import annotations

from typing import Any

from ..config import SmConfig
from ..gpu.config import GpuConfig, sm_config
from .axi import AxiMaster, require_axi
from .control import AxiLiteControl
from .register_table import ADDRESS_BITS
from .signatures import axi4_wires, axi_lite_wires
from .slots import slot_bits
from .top import CONSOLE_DEPTH, BusSm, Side, common_ports

__all__ = ["AxiSm"]


def _sides(data_bits: int, id_bits: int) -> tuple[Side, Side]:
    return (Side("m_axi_", axi4_wires(data_bits=data_bits, id_bits=id_bits), True),
            Side("s_axil_", axi_lite_wires(address_bits=ADDRESS_BITS), False))


class AxiSm(BusSm):
    """A top level in which every wire of a bus is a port of its own: ``m_axi_awid``, ``s_axil_awaddr``, ...

    Parameters: as for :class:`hdl.bus.axi.AxiMaster`, and ``console`` as for :class:`hdl.bus.top.BusSm`.
    """

    def __init__(self, config: SmConfig | GpuConfig, *, data_bits: int = 64, reads: int = 16, writes: int = 16,
                 console: int = CONSOLE_DEPTH) -> None:
        require_axi(data_bits, reads, writes)
        self._sizes = {"data_bits": data_bits, "reads": reads, "writes": writes}
        memory, host = _sides(data_bits, slot_bits(max(reads, writes)))
        super().__init__(config, {**common_ports(), **memory.ports(), **host.ports()}, memory, host, console)

    @classmethod
    def meanings(cls) -> dict[str, str]:
        """The meaning of each wire of the two buses, by its port."""
        return cls.meanings_of(_sides(64, 1))

    def bridges(self) -> tuple[Any, Any, Any, Any]:
        """AXI4 and AXI4-Lite."""
        tag_bits = self.config.mem_tag_bits
        master, control = AxiMaster(sm_config(self.config), **self._sizes, tag_bits=tag_bits), AxiLiteControl()
        return master, master.axi, control, control.axi
