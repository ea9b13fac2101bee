"""The built-in header compiled once for many kernels, since reading it takes longer than all the rest."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from pathlib import Path

from metronome.sim.build.cache import entry
from metronome.sim.program.compiler.clang import RUNTIME, Unit
from metronome.sim.program.opencl import OpenClUnit

__all__ = ["PrecompiledUnit"]

_HEADER = RUNTIME / "opencl" / "builtins.h"


class PrecompiledUnit(OpenClUnit):
    """As its base: clang makes the same of a header that it has compiled before."""

    @classmethod
    def make(cls, kernel: str | None, source: Path, flags: Sequence[str]) -> PrecompiledUnit:
        unit = super().make(kernel, source, flags)
        place = unit.flags.index(str(_HEADER))
        others = (*unit.flags[: place - 1], *unit.flags[place + 1 :])
        # Neither the user's macros nor the kernel's name are the header's.
        own = [flag for before, flag in zip(("", *others), others, strict=False)
               if "-include" not in (before, flag) and not flag.startswith("-DMETRONOME_KERNEL")]
        header = Unit(_HEADER, unit.directory, (*own, "-x", "cl-header"))

        def build(folder: Path) -> None:
            header.compile("-w", "-o", str(folder.resolve() / "builtins.pch"))

        content = [path.read_bytes() for path in sorted(RUNTIME.rglob("*.h"))]
        key = hashlib.sha256(repr((header, content)).encode()).hexdigest()[:32]
        made = entry(f"kernels/{key}", build, lambda target: (target / "builtins.pch").exists())
        return dataclasses.replace(unit, flags=("-include-pch", str((made / "builtins.pch").resolve()), *others))
