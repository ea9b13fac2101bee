"""A LiteX SoC around an exported SM, as Verilog: python soc.py EXPORT IMAGE --output FOLDER (README.md one folder up).

The SM is a bus master for its memory, and a bus slave with its registers. A small state machine takes the place of a
CPU: it starts the SM through these registers, waits for the interrupt, and reads the results and the program's
buffers. The RAMs start with the contents of the image.
"""

import argparse
import contextlib
import importlib
import json
import sys
from pathlib import Path
from typing import Any

from litex.build.generic_platform import GenericPlatform, Pins
from litex.gen import LiteXModule
from litex.soc.integration.soc_core import SoCMini
from litex.soc.interconnect import axi
from migen import FSM, ClockDomain, If, NextState, NextValue, Signal

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cocotb"))
from line_port import LINE_BYTES, Image

#: Memory regions for the image's data, program and stacks: name, origin, bytes.
RAMS = (("data", 0, 0x2_0000), ("program", 0x8000_0000, 0x1_0000), ("stacks", 0xFFFE_0000, 0x1_0000))
REGISTERS = 0x9000_0000
#: The bus of the SoC for each of an export, and its width in bits: that of the SM's memory bus.
BUSES = {"axi": ("axi-lite", 64), "wishbone": ("wishbone", 32)}
#: The registers that the host reads at the end, before the buffers.
RESULTS = ("status", "exit_code", "total_cycles_low", "committed_low")
START = 1

PINS = [
    ("sys_clk", 0, Pins(1)), ("sys_rst", 0, Pins(1)), ("done", 0, Pins(1)),
    ("read_valid", 0, Pins(1)), ("read_address", 0, Pins(32)), ("read_data", 0, Pins(32)),
]


class Platform(GenericPlatform):
    """No board: the ports of the module are the pins."""

    def __init__(self) -> None:
        super().__init__("", PINS, name="soc")

    def build(self, *_: Any, **__: Any) -> None:
        """Nothing to build."""


class Host(LiteXModule):
    """Writes ``writes``, waits for ``irq``, reads ``reads``: each word is at the pins while ``read_valid`` is 1."""

    def __init__(self, writes: list[tuple[int, int]], reads: list[int], irq: Signal) -> None:
        self.bus = bus = axi.AXILiteInterface(data_width=32)
        self.done, self.read_valid, self.read_address = Signal(), Signal(), Signal(32)
        self.fsm = fsm = FSM(reset_state="WRITE_0")
        for place, (address, value) in enumerate(writes):
            # Address and data are sent together: each is held until it is taken.
            address_taken, data_taken = Signal(), Signal()
            fsm.act(
                f"WRITE_{place}",
                bus.aw.valid.eq(~address_taken), bus.aw.addr.eq(address),
                bus.w.valid.eq(~data_taken), bus.w.data.eq(value), bus.w.strb.eq(0xF), bus.b.ready.eq(1),
                If(bus.aw.ready & bus.aw.valid, NextValue(address_taken, 1)),
                If(bus.w.ready & bus.w.valid, NextValue(data_taken, 1)),
                If(bus.b.valid, NextState(f"WRITE_{place + 1}" if place + 1 < len(writes) else "WAIT")),
            )
        fsm.act("WAIT", If(irq, NextState("READ_0")))
        for place, address in enumerate(reads):
            asked = Signal()
            fsm.act(
                f"READ_{place}",
                bus.ar.valid.eq(~asked), bus.ar.addr.eq(address), bus.r.ready.eq(1),
                self.read_valid.eq(bus.r.valid), self.read_address.eq(address),
                If(bus.ar.ready & bus.ar.valid, NextValue(asked, 1)),
                If(bus.r.valid, NextState(f"READ_{place + 1}" if place + 1 < len(reads) else "DONE")),
            )
        fsm.act("DONE", self.done.eq(1))


class Soc(SoCMini):
    """RAMs with the image, the SM by the LiteX module of its export, and the host."""

    mem_map = SoCMini.mem_map | {"csr": 0xA000_0000}

    def __init__(self, module: Any, bus: str, image: Image) -> None:
        platform = Platform()
        standard, bits = BUSES[bus]
        self.cd_sys = ClockDomain()
        self.comb += [self.cd_sys.clk.eq(platform.request("sys_clk")), self.cd_sys.rst.eq(platform.request("sys_rst"))]
        super().__init__(platform, int(50e6), bus_standard=standard, bus_data_width=bits)
        for name, origin, size in RAMS:
            self.add_ram(name, origin, size, contents=contents(image, origin, size, bits // 8))
        self.metronome = module.Metronome(platform)
        self.metronome.add_to(self, origin=REGISTERS)
        writes = {
            "start_address": image.facts["entry"][0], "argument": image.facts["argument"][0], "interrupt_enable": 1,
            "control": START,
        }
        self.host = Host(
            [(REGISTERS + module.REGISTERS[name], value) for name, value in writes.items()],
            [*(REGISTERS + module.REGISTERS[name] for name in RESULTS), *image_buffers(image)], self.metronome.irq,
        )
        self.bus.add_master("host", self.host.bus)
        outputs = {
            "done": self.host.done, "read_valid": self.host.read_valid, "read_address": self.host.read_address,
            "read_data": self.host.bus.r.data,
        }
        self.comb += [platform.request(name).eq(value) for name, value in outputs.items()]


def image_buffers(image: Image) -> list[int]:
    """Return the addresses of the words of all buffers."""
    return [word for first, size in image.buffers.values() for word in range(first, first + size, 4)]


def contents(image: Image, origin: int, size: int, word: int) -> list[int]:
    """Return the words of ``word`` bytes of a RAM, up to the last line that the image defines."""
    lines = [line for line in image.lines if origin <= line * LINE_BYTES < origin + size]
    end = max(lines, default=origin // LINE_BYTES - 1) + 1
    data = b"".join(bytes(image.lines.get(line, bytes(LINE_BYTES))) for line in range(origin // LINE_BYTES, end))
    return [int.from_bytes(data[place : place + word], "little") for place in range(0, len(data), word)] or [0]


def main() -> int:
    """Write the SoC and return the exit status."""
    parser = argparse.ArgumentParser(description="Write a LiteX SoC around an exported SM.")
    parser.add_argument("export", type=Path, help="the folder that metronome verilog --bus wrote")
    parser.add_argument("image", type=Path, help="a file that metronome build --image wrote")
    parser.add_argument("--output", type=Path, default=Path("litex_soc"), help="the folder; litex_soc")
    asked = parser.parse_args()
    about = json.loads((asked.export / "metronome_sm.json").read_text())
    if about["bus"] not in BUSES:
        parser.error(f"{asked.export} has no bus: write it with metronome verilog --bus axi or --bus wishbone")
    sys.path.insert(0, str(asked.export))
    module = importlib.import_module("metronome_sm_litex")
    image = Image(asked.image)
    places = [range(origin, origin + size) for _, origin, size in RAMS]
    if outside := [line for line in image.lines if not any(line * LINE_BYTES in place for place in places)]:
        parser.error(f"{asked.image} has data at {outside[0] * LINE_BYTES:#x}, where the SoC has no memory")
    soc = Soc(module, about["bus"], image)
    soc.finalize()
    asked.output.mkdir(parents=True, exist_ok=True)
    # Besides the Verilog, LiteX writes the RAMs' initial contents, which the Verilog reads from its working folder.
    with contextlib.chdir(asked.output):
        soc.platform.get_verilog(soc, name="soc").write("soc.v")
    return 0


if __name__ == "__main__":
    sys.exit(main())
