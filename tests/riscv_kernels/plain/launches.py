"""The programs of this folder, built and ready to launch."""

import struct
from pathlib import Path

from metronome.sim.program.compiler.elf_cache import build_elf
from metronome.sim.program.elf import load_elf
from metronome.sim.program.kernels import Launch
from tests.riscv_kernels.iss_runs import RESULTS

__all__ = ["FOLDER", "plain_launch"]

FOLDER = Path(__file__).parent


def plain_launch(name, config, level, threads):
    elf = build_elf([FOLDER / f"{name}.c"], name=name, flags=(level, "-Werror"))
    return Launch(
        name=name, image=load_elf(elf, config.memory_map), memory_map=config.memory_map,
        arguments=struct.pack("<2I", RESULTS, threads),
    )
