"""Programs with buffers, for the tests of the runtime's library."""

import struct
from collections.abc import Sequence

import numpy as np
from iss_runs import PROGRAMS, RESULTS, Run, run_launch

from metronome.hdl.config import SmConfig
from metronome.sim.elf import load_elf
from metronome.sim.iss import EndStatus
from metronome.sim.kernel import Launch
from metronome.sim.toolchain import build_elf

#: Where input buffers begin; the results are below.
INPUTS = 0x0100_0000


def place(buffers: Sequence[bytes | np.ndarray]) -> tuple[list[int], dict[str, tuple[int, bytes]]]:
    """The addresses of the buffers, and what Launch takes."""
    addresses: list[int] = []
    placed = {}
    address = INPUTS
    for number, buffer in enumerate(buffers):
        data = bytes(buffer)
        addresses.append(address)
        placed[str(number)] = (address, data)
        address += (len(data) + 63) // 64 * 64 + 64
    return addresses, placed


def prepare(program: str, config: SmConfig, words: Sequence[int], buffers: Sequence[bytes | np.ndarray] = ()) -> Launch:
    """A program of the folder; its argument block is the results' address, ``words``, and the buffers' addresses."""
    image = load_elf(build_elf([PROGRAMS / f"{program}.c"], name=program), config.memory_map)
    addresses, placed = place(buffers)
    arguments = struct.pack(f"<{1 + len(words) + len(addresses)}I", RESULTS, *words, *addresses)
    return Launch(name=program, image=image, memory_map=config.memory_map, arguments=arguments, buffers=placed)


def run(launch: Launch, config: SmConfig) -> Run:
    """On the golden model, to its end."""
    done = run_launch(launch, config)
    if done.end.fault is not None:
        raise AssertionError(f"{launch.image.source_line(done.end.fault.pc)}: {done.end.fault}")
    assert done.end.status is EndStatus.ENDED, done.end
    assert done.exit_code == 0
    return done
