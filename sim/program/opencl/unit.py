"""Compiling an OpenCL C source into the assembly of one kernel."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Sequence
from pathlib import Path

from ...machine.settings import near
from ..compiler.clang import RUNTIME, WITHOUT_PASSES, ToolchainError, Unit, own_unit
from ..compiler.elf_cache import Parts
from ..compiler.soft_float import with_routines
from .alignment import on_the_stack
from .local import as_threads, named, place_locals
from .options import macros_file, split_macros
from .source import ENTRY, Kernel, find_kernels, launcher

__all__ = ["LAUNCHER", "OpenClUnit"]

#: The main program of every kernel.
LAUNCHER = tuple(RUNTIME / "opencl" / name for name in ("launch.c", "entry.S"))
_LANGUAGE = (
    "-x", "cl", "-cl-std=CL1.2", "-cl-no-stdinc", "-cl-single-precision-constant", "-cl-kernel-arg-info",
    # The arguments of printf are promoted as in C; refused.h rejects every other use of double.
    "-Xclang", "-cl-ext=+cl_khr_fp64",
    # Common: parameters that a kernel has only for a common interface, and extensions requested but not needed.
    "-Wno-unused-parameter", "-Wno-ignored-pragmas",
    # A __local variable is set by one work-item, and read by others.
    "-Wno-sometimes-uninitialized",
    "-include", str(RUNTIME / "opencl" / "builtins.h"),
)
_LAUNCHER_NAME = "opencl_launcher.cl"


@dataclasses.dataclass(frozen=True)
class OpenClUnit(Unit):
    """A user's ``.cl`` source, from which one kernel is built."""

    #: The kernel's name; None: the only kernel in the source.
    kernel: str | None = None
    #: The flags of the program, without the user's macros: they also apply to the later steps of the translation.
    given: tuple[str, ...] = ()

    @classmethod
    def parts(cls, kernel: str | None) -> Parts:
        """The parts of a program with ``kernel`` of an OpenCL source."""
        return Parts(unit=functools.partial(cls.make, kernel), launcher=LAUNCHER, kernels=[ENTRY])

    @classmethod
    def make(cls, kernel: str | None, source: Path, flags: Sequence[str]) -> OpenClUnit:
        """Make the unit of a source with the flags of every user's source, followed by ``flags``.

        Macros of ``flags`` are defined after the built-in header, which may use the same names for something else.
        """
        usual = own_unit(source, ())
        # The name is in the flags so that it is part of the cache key.
        name = [] if kernel is None else [f"-DMETRONOME_KERNEL={kernel}"]
        macros, others = split_macros(flags)
        header = ["-include", str(macros_file(macros))] if macros else []
        return cls(
            usual.source, usual.directory, (*usual.flags, *_LANGUAGE, *name, *header, *others), kernel, tuple(others)
        )

    def assembly(self, work: Path) -> tuple[str, str]:
        """See :class:`Unit`. Besides the kernel, it has a function that calls it, and tables for the host.

        Raises
        ------
        ToolchainError
            If it does not compile, or the kernel is not in it.
        """
        code = work / "unit.ll"
        said = self.compile(*WITHOUT_PASSES, "-o", str(code))
        kernel = self._chosen(find_kernels(code.read_text("latin-1")))
        # After the source, in the same translation, so that the kernel becomes part of the function that calls it.
        (work / _LAUNCHER_NAME).write_text(launcher(kernel), "utf-8")
        behind = Unit(work / _LAUNCHER_NAME, self.directory, (
            *self.flags, "-include", self.name, "-w", f"-ffile-prefix-map={work}/=",
        ))
        behind.compile(*WITHOUT_PASSES, "-o", str(code))
        threads = on_the_stack(as_threads(code.read_text("latin-1")))
        code.write_text(with_routines(threads) if self.soft_float else threads, "latin-1")
        translated = Unit(code, self.directory, (*self.given, "-x", "ir", "-w", "-Qunused-arguments"))
        translated.compile("-S", "-o", str(work / "unit.s"))
        text = (work / "unit.s").read_text("latin-1")
        for name in (_LAUNCHER_NAME, "unit.ll", "unit.s"):
            (work / name).unlink()
        text = place_locals(text, any(one.kind == "local" for one in kernel.parameters))
        # The name's form in assembly.
        name = kernel.name if re.fullmatch(r"[\w.$]+", kernel.name, re.ASCII) else f'"{kernel.name}"'
        return named(text, name.encode("utf-8").decode("latin-1")), said

    def _chosen(self, kernels: Sequence[Kernel]) -> Kernel:
        names = [each.name for each in kernels]
        if not names:
            raise ToolchainError(f"{self.name}: it has no kernel, a function void NAME(...) with __kernel")
        if self.kernel is None:
            if len(names) > 1:
                raise ToolchainError(f"{self.name} has the kernels {', '.join(names)}: choose one: --kernel {names[0]}")
            return kernels[0]
        if self.kernel not in names:
            raise ToolchainError(
                f"{self.name} has no kernel {self.kernel!r}{near(self.kernel, names)}: use {', '.join(names)}"
            )
        return kernels[names.index(self.kernel)]
