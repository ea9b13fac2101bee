"""The host side of a kernel, ``host.py``: loaded from its folder, called, and never trusted.

Each error in it is reported in one line with the author's file and line. Its output goes to standard error,
since standard output may be a JSON document.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import KernelError, Problem, Reader, ReadMemory
from metronome.riscv_kernels.opencl import OpenCl

from ..build.sources import ROOT, closure
from .host_modules import OwnModules, own_modules
from .kernel_names import C_TYPES

__all__ = ["Host", "HostError", "load_host", "shown"]

_SOURCE = "host.py"
#: The parameters of ``make``.
_MAKE = ("dtype", "size", "seed", "config")


class HostError(KernelError):
    """An error in a user's ``host.py``; one line with its place."""


@dataclass(frozen=True, kw_only=True)
class Host:
    """A loaded host side; the types of its fields are checked, and :attr:`problem` checks the result of ``make``."""

    file: str
    about: str
    #: Element types, the default one first.
    types: tuple[str, ...]
    default_size: int
    max_size: int
    #: ``problem(dtype, size, seed, config, function)``, whose check returns lines; ``function`` may be None.
    problem: Callable[[str, int, int, SmConfig, str | None], Problem | OpenCl]
    #: The files with its code, and those that it has read so far.
    files: Callable[[], list[Path]] = list


def shown(path: Path) -> str:
    """The path as a user would write it: relative to the current folder if it lies inside."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _kind(error: BaseException) -> str:
    """``ValueError``, ``struct.error``."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _place(error: BaseException, folder: Path) -> str:
    """``file:line`` of the author's line that the error comes from: the innermost one inside the folder."""
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).is_relative_to(folder):
        return f"{shown(Path(error.filename))}:{error.lineno or 1}"
    stack = traceback.extract_tb(error.__traceback__)
    frames = [frame for frame in stack if Path(frame.filename).is_relative_to(folder)]
    return f"{shown(Path(frames[-1].filename))}:{frames[-1].lineno}" if frames else shown(folder / _SOURCE)


def _said(error: BaseException, folder: Path) -> str:
    """The text of the error or, if that is empty, as after ``assert a == b``, the author's line."""
    text = _one_line(error.msg if isinstance(error, SyntaxError) else str(error))
    if text:
        return text
    frames = [each for each in traceback.extract_tb(error.__traceback__) if Path(each.filename).is_relative_to(folder)]
    return _one_line(frames[-1].line or "") if frames else ""


@contextlib.contextmanager
def _guarded(folder: Path, modules: OwnModules) -> Iterator[None]:
    """Run the author's code: the folder is importable, output goes to standard error, errors become HostErrors.

    ``modules`` are those that this host side has imported so far.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(own_modules(folder, modules))
        stack.callback(setattr, sys, "path", list(sys.path))
        stack.callback(setattr, sys, "dont_write_bytecode", sys.dont_write_bytecode)
        sys.path.insert(0, str(folder))
        sys.dont_write_bytecode = True  # no __pycache__ in a folder that is not ours
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        try:
            yield
        except KernelError:
            raise  # the author's own message, or one of ours
        except (Exception, SystemExit) as error:
            said = ": ".join(filter(None, [_place(error, folder), _kind(error), _said(error, folder)]))
            raise HostError(said) from error


def _execute(folder: Path, modules: OwnModules) -> ModuleType:
    """Run ``folder/host.py`` under a unique module name, and return the module."""
    path = folder / _SOURCE
    module = ModuleType(f"metronome_host_{abs(hash(str(path))):x}")
    module.__file__ = str(path)
    try:
        source = path.read_bytes()
    except OSError as error:
        raise HostError(f"{shown(path)}: cannot be read: {error.strerror}") from None
    with _guarded(folder, modules):
        # A dataclass looks for its module there.
        modules[module.__name__] = sys.modules[module.__name__] = module
        exec(compile(source, str(path), "exec"), module.__dict__)
    return module


def _is_size(value: Any) -> bool:
    return type(value) is int and value >= 1


def _are_types(value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) > 0 and all(each in C_TYPES for each in value)


#: Required parts of a host side: name, a test of the value, and the requirement in words.
_PARTS: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("ABOUT", lambda value: isinstance(value, str) and bool(value.strip()), "a line of text that describes the kernel"),
    ("TYPES", _are_types, f"a tuple of {' and '.join(map(repr, C_TYPES))}, the default one first"),
    ("DEFAULT_SIZE", _is_size, "a whole number of at least 1"),
    ("MAX_SIZE", _is_size, "a whole number of at least 1"),
    ("make", callable, f"a function make({', '.join(_MAKE)}) that returns a Problem"),
)


def _require_takes(function: Callable[..., Any], name: str, parameters: Sequence[str], file: str, what: str) -> None:
    """Raise HostError with the function's line unless it accepts the parameters, each in its place."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a function that is not written in Python
        return
    places = list(signature.parameters)
    moved = any(each in places and places.index(each) != index for index, each in enumerate(parameters))
    try:
        signature.bind(*parameters)
    except TypeError:
        moved = True
    if moved:
        code = getattr(inspect.unwrap(function), "__code__", None)
        line = f":{code.co_firstlineno}" if code is not None and shown(Path(code.co_filename)) == file else ""
        wanted = f"{name}({', '.join(parameters)})"
        raise HostError(f"{file}{line}: {what} must be {wanted}, not {name}({', '.join(places)})")


def load_host(folder: Path, module: str | None = None) -> Host:
    """Load the host side in ``folder``; ``module`` is its name if it is one of ours, already importable.

    Raises
    ------
    HostError
        If it cannot be run, or lacks a part.
    """
    folder = folder.resolve()
    file = shown(folder / _SOURCE)
    modules = OwnModules()
    if module is None:
        host = _execute(folder, modules)
    else:
        with _guarded(folder, modules):
            host = importlib.import_module(module)
    for name, is_right, what in _PARTS:
        if not hasattr(host, name):
            raise HostError(f"{file}: {name} is missing: it must be {what}")
        if not is_right(getattr(host, name)):
            raise HostError(f"{file}: {name} must be {what}, not {_one_line(repr(getattr(host, name)))[:80]}")
    if host.MAX_SIZE < host.DEFAULT_SIZE:
        raise HostError(f"{file}: MAX_SIZE must be at least DEFAULT_SIZE ({host.DEFAULT_SIZE}), not {host.MAX_SIZE}")

    _require_takes(host.make, "make", _MAKE, file, "make")

    def problem(dtype: str, size: int, seed: int, config: SmConfig, function: str | None = None) -> Problem | OpenCl:
        with _guarded(folder, modules):
            # A source with several kernels may need different arguments for each.
            wants = function is not None and "kernel" in inspect.signature(host.make).parameters
            made = host.make(dtype, size, seed, config, **({"kernel": function} if wants else {}))
        return _checked(made, folder, file, modules, config)

    def files() -> list[Path]:
        own = [] if module is None else [ROOT / name for name in closure([f"riscv_kernels/{folder.name}/{_SOURCE}"])]
        return sorted({*own, *modules.files(folder / _SOURCE)})

    return Host(
        file=file, about=_one_line(host.ABOUT), types=tuple(host.TYPES), default_size=host.DEFAULT_SIZE,
        max_size=host.MAX_SIZE, problem=problem, files=files,
    )


def _buffers(made: Problem | OpenCl, file: str) -> dict[str, tuple[int, bytes]]:
    buffers = {}
    for name, place in made.buffers.items():
        if not (isinstance(place, tuple | list) and len(place) == 2 and hasattr(place[0], "__index__")
                and isinstance(place[1], bytes | bytearray)):
            raise HostError(f"{file}: buffer {name!r} must be (address, bytes), not {_one_line(repr(place))[:80]}")
        buffers[str(name)] = (int(place[0]), bytes(place[1]))
    return buffers


def _parts_of(made: Problem | OpenCl) -> tuple[tuple[str, bool, str], ...]:
    """The fields of the result of ``make``: name, whether it is valid, and the requirement in words."""
    common = (
        ("buffers", isinstance(made.buffers, dict), "a dict"),
        ("check", callable(made.check), "a function check(read)"),
    )
    if isinstance(made, Problem):
        return ("arguments", isinstance(made.arguments, bytes | bytearray), "bytes"), *common
    arguments = isinstance(made.arguments, list | tuple | dict)
    return (
        ("arguments", arguments, "a tuple in the kernel's order, or a dict by the names of its parameters"), *common,
        ("kernel", made.kernel is None or isinstance(made.kernel, str), "a name or None"),
        ("options", isinstance(made.options, str), "a text like '-DTILE=4'"),
    )


def _checked(made: Any, folder: Path, file: str, modules: OwnModules, config: SmConfig) -> Problem | OpenCl:
    """Return the result of ``make``, with a check that is guarded too."""
    if not isinstance(made, Problem | OpenCl):
        raise HostError(f"{file}: make() must return a Problem, not {_one_line(repr(made))[:80]}")
    for name, is_right, what in _parts_of(made):
        if not is_right:
            value = _one_line(repr(getattr(made, name)))[:80]
            raise HostError(f"{file}: {name} of the {type(made).__name__} must be {what}, not {value}")
    _require_takes(made.check, "check", ("read",), file, f"check of the {type(made).__name__}")
    buffers = _buffers(made, file)

    def check(read: ReadMemory) -> list[str]:
        try:
            with _guarded(folder, modules):
                found = made.check(Reader(read=read, memory_map=config.memory_map, buffers=buffers))
        except HostError as error:
            # Many checks use `assert` or numpy.testing: the check has then failed, which is not a mistake in host.py.
            if not isinstance(error.__cause__, AssertionError):
                raise
            return [str(error)]
        if isinstance(found, str) or not isinstance(found, list | tuple) or not all(isinstance(e, str) for e in found):
            raise HostError(f"{file}: check must return a list of lines, empty if all is right, not "
                            f"{_one_line(repr(found))[:80]}")
        return [_one_line(line) for line in found]

    if isinstance(made, OpenCl):
        return dataclasses.replace(made, buffers=buffers, check=check)
    return Problem(arguments=bytes(made.arguments), buffers=buffers, check=check)
