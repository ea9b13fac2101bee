"""The user's options for compiling a program."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

from metronome.hdl.gpu.config import Dispatch, GpuConfig

from .soft_float import CONTRADICTS, SOFT_FLOAT_FLAGS

__all__ = ["AS_USUAL", "WITH_VALUE", "Compiling", "refused_flag", "split_flags"]

#: Flags whose value is the next word, which may look like another flag.
WITH_VALUE = frozenset((
    "-D", "-U", "-I", "-include", "-imacros", "-isystem", "-iquote", "-idirafter", "-mllvm", "-x", "-Xclang",
    "-Xpreprocessor", "-Xassembler", "-o", "-MF", "-MT", "-MQ", "-target",
))
_NO_PROGRAM = "it makes the compiler write something other than a program"
_NO_RUNTIME = "its code needs a runtime that the machine does not have"
_OTHER_CALLS = "the runtime is built for rv32imf and ilp32f, and floats would be passed in other registers"
_NO_FLOATS = "--soft-float chooses an instruction set without F, and ilp32"
_NO_FRAME_POINTER = "s0 is not available as a frame pointer, except with --no-simt"
#: Flags that clang accepts, and the reason why none of them gives a correct program.
_REFUSED = (
    (re.compile(r"-[ESc]|-M(M|D|MD|G|P|F|T|Q)?|-d[A-Z]+|-o.*|-x.*|-###|--?(version|help)|-emit-\S*|-fsyntax-only|"
                r"-save-temps.*|-gsplit-dwarf.*|-flto.*|"
                r"--(analyze|precompile|assemble|compile|preprocess)"), _NO_PROGRAM),
    (re.compile(r"-pg|--coverage|-ftest-coverage|-fprofile-(generate|instr-generate|arcs)\S*|-finstrument-functions\S*|"
                r"-fstack-protector(-\w+)?|-fcoverage-mapping|-fxray-instrument|-fsanitize=.*"), _NO_RUNTIME),
    (re.compile(r"-march=(?!rv32(g|i[a-eg-z]*f)).*|-mabi=(?!ilp32f$).*|-target|--target=.*|-m(32|64|soft-float)"),
     _OTHER_CALLS),
)
_FRAME_POINTER = ("-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer")


@dataclass(frozen=True)
class Compiling:
    """How a program is compiled."""

    #: The user's flags, after ours.
    flags: tuple[str, ...] = ()
    #: The kernel of an OpenCL source.
    function: str | None = None
    #: Make divergent branches correct.
    simt: bool = True
    #: Use no float instruction: operations on floats become calls (:mod:`.soft_float`).
    soft_float: bool = False
    #: Mark branches whose static prediction is mostly wrong (:mod:`sim.program.hints`).
    hints: bool = False
    #: For a GPU of several SMs (riscv_kernels/runtime/sms.h).
    several_sms: bool = False
    #: With several SMs: the address of the unit that hands out blocks; None if there is none.
    dispatch: int | None = None

    def for_gpu(self, gpu: GpuConfig | None) -> Compiling:
        """The same for a GPU; for one SM if it is None."""
        address = None if gpu is None or gpu.dispatch is Dispatch.NONE else gpu.dispatch_address
        return replace(self, several_sms=gpu is not None, dispatch=address)

    @property
    def of_gpu(self) -> list[str]:
        """The flags for several SMs: SM 0 runs main, and threads run on all."""
        unit = [] if self.dispatch is None else [f"-DMETRONOME_DISPATCH={self.dispatch:#x}"]
        return ["-DMETRONOME_SMS", *unit] if self.several_sms else []

    def given(self) -> str | None:
        """An option that was given, if there is one: a program that is not compiled takes none."""
        if self.flags:
            return "--cflags"
        if not self.simt:
            return "--no-simt"
        if self.soft_float:
            return "--soft-float"
        return "--hints" if self.hints else None


#: The default: no options.
AS_USUAL = Compiling()


def refused_flag(flags: Sequence[str], simt: bool, soft_float: bool = False) -> str | None:
    """The first of ``flags`` that must be refused, and the reason, in words; None if clang may judge them."""
    traps = any(flag.startswith("-fsanitize-trap") for flag in flags)
    own: Sequence[str] = ()
    if soft_float:
        own = SOFT_FLOAT_FLAGS
        for flag in filter(CONTRADICTS.fullmatch, flags):
            return f"{flag}: {_NO_FLOATS}"
    words = iter(flags)
    for flag in words:
        for pattern, reason in _REFUSED:
            if pattern.fullmatch(flag) and not (flag.startswith("-fsanitize=") and traps) and flag not in own:
                return f"{flag}: {_NO_FLOATS if soft_float and reason is _OTHER_CALLS else reason}"
        if flag in _FRAME_POINTER and simt:
            return f"{flag}: {_NO_FRAME_POINTER}"
        if flag in WITH_VALUE and next(words, None) is None:
            return f"{flag}: its value is missing"
    return None


def split_flags(text: str) -> tuple[str, ...]:
    """The flags in ``text``, split as a shell does. Raises ValueError for an unmatched quotation mark."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise ValueError(f"{error}: quote the flags as for a shell") from None
