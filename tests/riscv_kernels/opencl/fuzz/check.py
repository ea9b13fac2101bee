"""One random kernel on the golden model, compared word by word with the interpreter's values."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from metronome.hdl.presets import BASE, MID
from metronome.riscv_kernels.host import Buffers
from metronome.riscv_kernels.opencl import Local, OpenCl
from metronome.sim.program.compiler.elf_cache import ToolchainError
from metronome.sim.program.kernels import KernelError
from tests.riscv_kernels.iss_runs import finished
from tests.riscv_kernels.opencl.fuzz.kernels import RandomKernel, Slot, random_kernel
from tests.riscv_kernels.opencl.fuzz.precompiled import PrecompiledUnit
from tests.riscv_kernels.opencl.runs import launch_of

__all__ = ["Outcome", "check_seed", "differences", "problem_of"]

LEVELS = ("-O2", "-O2", "-O1", "-O3", "-Os")


@dataclass(frozen=True)
class Outcome:
    """``kind`` is passed, wrong or refused; then the text says what, and has file and line if it is a refusal."""

    seed: int
    kind: str
    text: str = ""


def _wrong(found: np.ndarray, slot: Slot) -> np.ndarray:
    """Which work-items have a word that it may not be."""
    if slot.limit is None:
        return found != slot.expected
    values, wanted = found.view(np.float32).astype(np.float64), slot.expected
    with np.errstate(all="ignore"):
        nearest = wanted.astype(np.float32)
        unit = np.maximum(2.0 ** (np.floor(np.log2(np.abs(wanted))) - 23), 2.0**-149)
        unit = np.where(np.isfinite(unit), unit, 0)
        overflow = (np.isinf(values) & (np.sign(values) == np.sign(wanted))
                    & (np.abs(wanted) + slot.limit.ulp * unit >= float(np.finfo(np.float32).max)))
        close = (np.abs(values - wanted) <= slot.limit.ulp * unit) | (values == nearest) | overflow
    sign = (wanted != 0) | (np.signbit(values) == np.signbit(wanted)) | slot.limit.either_zero
    return ~((np.isnan(wanted) & np.isnan(values)) | (close & sign))


def differences(kernel: RandomKernel, words: np.ndarray) -> list[str]:
    """The first wrong work-item of each word that is wrong; ``words``: uint32 (items, slots)."""
    found = []
    for place, slot in enumerate(kernel.slots):
        wrong = _wrong(np.ascontiguousarray(words[:, place]), slot)
        for item in np.flatnonzero(wrong)[:1]:
            want = slot.expected[item] if slot.limit else hex(slot.expected[item])
            got = words[item, place : place + 1].view(np.float32)[0] if slot.limit else hex(words[item, place])
            found.append(f"{slot.text} of work-item {item} is {got!s}, not {want!s} ({int(wrong.sum())} wrong)")
    return found


def problem_of(kernel: RandomKernel, config: object) -> tuple[OpenCl, int]:
    """What a host program would say, and where the words are."""
    buffers = Buffers(config)
    inputs, floats = buffers.place("in_words", kernel.inputs), buffers.place("in_floats", kernel.floats)
    out = buffers.place_output("out_words", kernel.items * len(kernel.slots))
    passed = [Local(kernel.passed)] if kernel.passed else []
    sizes = [kernel.local[0] * kernel.groups, *kernel.local[1:]]
    return OpenCl(
        arguments=[inputs, floats, out, kernel.turns, *passed], global_size=sizes, local_size=list(kernel.local),
        kernel=kernel.name, options=kernel.options, buffers=buffers.placed, check=lambda read: [],
    ), out


def check_seed(seed: int, folder: Path) -> Outcome:
    """Build it in ``folder``, at an optimisation level of its seed, and run it on a machine of its seed."""
    kernel = random_kernel(seed)
    source = folder / f"seed_{seed}.cl"
    source.write_text(kernel.source)
    config = (BASE, MID)[seed % 2]
    problem, out = problem_of(kernel, config)
    try:
        launch = launch_of(source, problem, config, (LEVELS[seed % len(LEVELS)],), PrecompiledUnit)
    except (ToolchainError, KernelError) as error:
        text = str(error).splitlines()[0]
        place = re.search(rf"{source.name}(:\d+)", text)
        return Outcome(seed, "refused", text if place else f"{text} (no line)")
    try:
        run = finished(launch, config)
    except AssertionError as error:
        return Outcome(seed, "wrong", str(error))
    words = run.words(out, kernel.items * len(kernel.slots)).reshape(kernel.items, len(kernel.slots))
    found = differences(kernel, words)
    return Outcome(seed, "wrong" if found else "passed", "; ".join(found))
