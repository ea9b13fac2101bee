"""Export of the SM as plain synthesizable Verilog."""

from __future__ import annotations

from amaranth.back import verilog

from .config import SmConfig
from .lib.collector import collector_paused
from .lib.shared import SharedModules
from .sm import Sm

__all__ = ["TOP", "generate"]

#: The name of the top-level module.
TOP = "metronome_sm"


def generate(config: SmConfig) -> str:
    """The Verilog of the SM, module :data:`TOP`, with flat ports (``mem__req__valid``, ...).

    Clock ``clk`` and synchronous reset ``rst``. Takes some seconds at the PAPER size.
    """
    shared = SharedModules(prefix=TOP.removesuffix("_sm"))
    with collector_paused():
        text = verilog.convert(Sm(config), name=TOP, platform=shared, emit_src=False, strip_internal_attrs=True)
    return text + shared.text
