"""What the tests on the simulated RTL share: programs from words, and a check of how a run ended."""

from dataclasses import dataclass

from metronome.sim.machine.memory.store import SparseMemory

#: Where the argument block of a program without a host side would be (isa.md).
ARGUMENTS = 0x0001_0000


@dataclass(frozen=True)
class RawProgram:
    """An assembled :class:`sim.program.assembler.asm.Program` as the runner wants it."""

    image: bytes
    entry: int = 0x8000_0000
    argument_address: int = ARGUMENTS

    def load_into(self, memory: SparseMemory) -> None:
        memory.write(self.entry, self.image)


def problems(result) -> list[str]:
    """What is wrong with a run that was to end well; empty when nothing is."""
    found = [*result.mismatches, *result.assertions]
    if result.status != "ended":
        found.append(f"status {result.status}, fault {result.fault}, {[str(warp) for warp in result.hang]}")
    if not result.checked:
        found.append("the run was not checked in lock step")
    return found
