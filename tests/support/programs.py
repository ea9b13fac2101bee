"""Programs that a test writes in C, and the memory and the golden model that a launch begins with."""

from metronome.hdl.presets import BASE
from metronome.sim.machine.golden import Iss
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.program.compiler.elf_cache import build_elf
from metronome.sim.program.kernels import load_into, prepare_source


def written(folder, text, name="program"):
    """The path of a source."""
    source = folder / f"{name}.c"
    source.write_text(text, "utf-8")
    return source


def prepared(folder, text, config=BASE, name="program"):
    return prepare_source(written(folder, text, name), config=config)


def built(folder, text, name="program", flags=()):
    """The path of the ELF."""
    return build_elf([written(folder, text, name)], name=name, flags=flags)


def memory_of(launch, config):
    memory = SparseMemory(config.memory_map)
    load_into(launch, memory)
    return memory


def launched(launch, config):
    """The golden model before its first instruction."""
    iss = Iss(config, memory_of(launch, config))
    iss.launch(launch.entry, launch.argument_address)
    return iss
