"""Hints for the static prediction, from a profile (docs/prediction.md, "Hints").

The golden model executes the program once. A branch whose outcome is mostly not the one that ``btfn`` predicts gets a
hint: bit 0 of its word is cleared. A hint changes when instructions issue, never their results.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import struct
from dataclasses import fields
from pathlib import Path

import numpy as np

from metronome.hdl.config import SmConfig

from ..build.cache import entry
from ..build.sources import contents
from ..machine.golden import Iss
from ..machine.memory.store import SparseMemory
from .assembler.formats import branch_offset
from .elf import ElfImage, load_elf
from .launch import Launch, load_into

__all__ = ["outcomes", "with_hints"]

_WORD = struct.Struct("<I")
#: The opcode of branches, without bit 0.
_BRANCH = 0x62
#: A profile ends after so many instructions.
_MOST = 1 << 22
#: Fields of the machine that the golden model does not have: policies, predictions, times and caches.
_NOT_IN_MODEL = re.compile(
    r".*policies|group_warps|rates|locality_.*|victim_tags|coordination|prediction|return_stack|jump_targets|"
    r"branch_runs|two_bit|icache_.*|.*latency.*|dcache_.*|store_buffer|load_parts|probe|assertions|oracles|all_counters"
)


class _Recorder:
    """Records which warps execute which instruction (:class:`sim.machine.golden.watch.Recorder`)."""

    def __init__(self) -> None:
        self.pcs: list[int] = []
        self.warps: list[int] = []

    def executed(self, pc: int, warps: int, epoch: int, masks: np.ndarray) -> None:
        self.pcs.append(pc)
        self.warps.append(warps)

    def access(self, addresses: np.ndarray, data: np.ndarray | None) -> None:
        """Ignore an access."""

    def arguments(self, warp: int, first: int, second: int) -> None:
        """Ignore operands."""

    def volatile(self, pc: int) -> None:
        """Ignore that a value depends on time: a profile need not be exact."""


def outcomes(launch: Launch, config: SmConfig) -> dict[int, tuple[int, int]]:
    """Execute the program, or its first instructions, and count the outcomes of each of its branches.

    Returns
    -------
    pc -> (how often it fell through, how often it was taken), in executions by warps. A branch to the next instruction
    is not listed. If the program faults or waits forever, what it did until then counts.
    """
    memory = SparseMemory(config.memory_map)
    load_into(launch, memory)
    branches = _branches(launch.image)
    iss = Iss(config, memory)
    iss.launch(launch.entry, launch.argument_address)
    recorder = iss.recorder = _Recorder()
    iss.run(_MOST)
    pcs, warps = np.array(recorder.pcs, np.int64), np.array(recorder.warps, np.uint64)
    found: dict[int, tuple[int, int]] = {}
    for warp in range(config.warps):
        own = pcs[(warps >> np.uint64(warp) & np.uint64(1)).astype(bool)]
        here, following = own[:-1], own[1:]
        for pc in np.unique(here[np.isin(here, list(branches))]).tolist():
            then = following[here == pc]
            fell, taken = found.get(pc, (0, 0))
            found[pc] = (fell + int((then == pc + 4).sum()), taken + int((then == pc + branches[pc]).sum()))
    return found


def _branches(image: ElfImage) -> dict[int, int]:
    """The offset of each branch in the program, by its address; without those to the next instruction."""
    found = {}
    for segment in image.segments:
        for place, (word,) in enumerate(_WORD.iter_unpack(segment.data[: len(segment.data) // 4 * 4])):
            if word & 0x7E == _BRANCH and (offset := branch_offset(word)) != 4 and segment.address % 4 == 0:
                found[segment.address + 4 * place] = offset
    return found


def with_hints(launch: Launch, config: SmConfig) -> ElfImage:
    """Return the image of ``launch``, an ELF, with the hints of its profile. The file is in the cache."""
    image, name = launch.image, launch.image.path.name
    machine = [(each.name, getattr(config, each.name)) for each in fields(config)
               if not _NOT_IN_MODEL.fullmatch(each.name)]
    key = hashlib.sha256(repr((
        contents(["sim/program/hints.py"]), name, image.content, launch.arguments, sorted(launch.buffers.items()),
        machine,
    )).encode())

    def make(folder: Path) -> None:
        code = image.path.with_suffix(".s")
        if code.exists():
            shutil.copy(code, folder)
        (folder / name).write_bytes(image.patched(_hinted(image, outcomes(launch, config))))

    built = entry(f"kernels/{key.hexdigest()[:16]}", make, lambda target: (target / name).exists())
    return load_elf(built / name, config.memory_map)


def _hinted(image: ElfImage, found: dict[int, tuple[int, int]]) -> dict[int, int]:
    """The word of each branch in ``found``, with a hint if its static prediction is mostly wrong."""
    words = {}
    for segment in image.segments:
        for pc in found:
            if segment.address <= pc < segment.address + len(segment.data):
                (word,) = _WORD.unpack_from(segment.data, pc - segment.address)
                fell, taken = found[pc]
                backward = word >> 31
                # Of two equally good predictions, "not taken" costs no redirect.
                wrong = taken <= fell if backward else taken > fell
                words[pc] = word & ~1 if wrong else word | 1
    return words
