"""Warp policies from a user's file: ``FILE.py`` or ``FILE.py:CLASS`` in place of a policy's name.

A file has a class in plain Python (a subclass of :class:`sim.machine.policies.base.Policy`), a class for the hardware
(a subclass of :class:`hdl.policies.base.Policy`) whose name ends in ``Hardware``, or both. The name of a policy is the
name of its class and the first digits of the file's SHA-256. An edited file is therefore a different policy in every
result and every cache key.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from .base import Policy, PolicyInputs
from .plain import add

__all__ = ["PolicyFile", "PolicyFileError", "files_of", "is_file", "load", "loaded", "require_hardware",
           "require_python", "require_same"]

_TEXT = re.compile(r"(?P<file>.*\.py)(?::(?P<name>\w*))?", re.DOTALL)
#: The suffix of the name of a class for the hardware.
_HARDWARE = "Hardware"
#: The classes of a policy: in plain Python, and for the hardware.
_Pair = tuple[type[Policy[Any]] | None, type | None]
#: Digits of the digest in a policy's name.
_DIGITS = 8


class PolicyFileError(ValueError):
    """A file without a usable policy; the message is one line."""


@dataclass(frozen=True)
class PolicyFile:
    """A policy that has been loaded."""

    name: str  # in SmConfig.policies
    path: Path  # absolute
    class_name: str
    digest: str  # SHA-256 of the file
    in_python: bool
    in_hardware: bool

    @property
    def text(self) -> str:
        """The argument for :func:`load`, valid from any folder."""
        return f"{self.path}:{self.class_name}"

    def as_json(self) -> dict[str, str]:
        """The entry in ``policy_files`` of a result."""
        return {"file": str(self.path), "class": self.class_name, "sha256": self.digest}


_LOADED: dict[str, PolicyFile] = {}


def is_file(text: str) -> bool:
    """Whether ``text`` names a file rather than a policy."""
    return "/" in text or _TEXT.fullmatch(text) is not None


def load(text: str) -> str:
    """Load the policy that ``text`` names, and return its name, which is valid everywhere in Metronome from now on.

    Raises
    ------
    PolicyFileError
        If the file cannot be read or executed, has no such policy, or has several and ``text`` names none.
    """
    match = _TEXT.fullmatch(text)
    if match is None:
        raise PolicyFileError(f"{text}: a policy's file is written FILE.py or FILE.py:CLASS")
    path, asked = Path(match["file"]).expanduser(), match["name"]
    try:
        content = path.read_bytes()
    except OSError as error:
        raise PolicyFileError(f"{path}: {error.strerror}") from None
    digest = hashlib.sha256(content).hexdigest()
    pairs = _pairs(_module(path, content, digest), path)
    name = _chosen(path, asked, list(pairs))
    for each in filter(None, pairs[name]):
        if missing := sorted(getattr(each, "__abstractmethods__", ())):
            raise PolicyFileError(f"{path}: class {each.__name__} lacks {', '.join(missing)}")
    return _register(path, name, digest, *pairs[name])


def loaded(names: Iterable[str]) -> dict[str, PolicyFile]:
    """Return those of the policies that come from files."""
    return {name: _LOADED[name] for name in names if name in _LOADED}


def files_of(names: Iterable[str | None]) -> dict[str, dict[str, str]]:
    """Return the ``policy_files`` of a result: an entry for each policy that comes from a file."""
    return {name: file.as_json() for name, file in loaded(name for name in names if name is not None).items()}


def require_same(files: Mapping[str, str]) -> None:
    """Load the same policies in another process; ``files``: name -> ``FILE.py:CLASS``.

    Raises
    ------
    PolicyFileError
        As :func:`load`, or if a file has changed.
    """
    for name, text in files.items():
        if name not in _LOADED and load(text) != name:
            raise PolicyFileError(f"{text}: the file has changed while it was in use: run the command again")


def require_hardware(names: Iterable[str]) -> None:
    """Raise PolicyFileError if a policy from a file has no class for the hardware."""
    for file in loaded(names).values():
        if not file.in_hardware:
            raise PolicyFileError(
                f"{file.path.name} has no class {file.class_name}{_HARDWARE} for the hardware: write it, or use "
                "metronome predict or --engine predict"
            )


def require_python(name: str) -> None:
    """Raise PolicyFileError if the policy comes from a file that has no class in plain Python."""
    for file in loaded([name]).values():
        if not file.in_python:
            raise PolicyFileError(
                f"{file.path.name} has no class {file.class_name} in plain Python, which a prediction asks: write it"
            )


def _module(path: Path, content: bytes, digest: str) -> ModuleType:
    """Execute the file, once for each digest, and return its module."""
    name = f"metronome_policy_{digest[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module  # dataclasses look for it there
    try:
        exec(compile(content, str(path), "exec"), module.__dict__)
    except KeyboardInterrupt:
        del sys.modules[name]
        raise
    except BaseException as error:  # SystemExit, too: a file that ends Python is no policy
        del sys.modules[name]
        raise PolicyFileError(f"{path}{_line(error, path)}: {_said(error)}") from None
    return module


def _line(error: BaseException, path: Path) -> str:
    """Describe the line of the file in which an error was raised."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f", line {error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f", line {lines[-1]}" if lines else ""


def _said(error: BaseException) -> str:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    said = f"{type(error).__name__}: {text.partition(chr(10))[0]}"
    hint = " (a policy is one file, and may import what is installed)" if isinstance(error, ImportError) else ""
    return said + hint


def _pairs(module: ModuleType, path: Path) -> dict[str, _Pair]:
    """Return by name the class in plain Python and the one for the hardware. A leading _ marks a base class."""
    hardware_module = sys.modules.get("metronome.hdl.policies.base")
    pairs: dict[str, _Pair] = {}
    classes = [each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__]
    for each in dict.fromkeys(classes):
        for_hardware = hardware_module is not None and issubclass(each, hardware_module.Policy)
        if each.__name__.startswith("_") or not (for_hardware or issubclass(each, Policy)):
            continue
        name = each.__name__
        if for_hardware != name.endswith(_HARDWARE):
            other = f"{name}{_HARDWARE}" if for_hardware else name.removesuffix(_HARDWARE)
            kind = "for the hardware" if for_hardware else "in plain Python"
            raise PolicyFileError(f"{path}: class {name} is a policy {kind}: call it {other}")
        in_python, in_hardware = pairs.get(name.removesuffix(_HARDWARE), (None, None))
        pairs[name.removesuffix(_HARDWARE)] = (in_python, each) if for_hardware else (each, in_hardware)
    return pairs


def _chosen(path: Path, asked: str | None, names: list[str]) -> str:
    """Return the name of the requested policy; without a request, of the only one."""
    if not names:
        raise PolicyFileError(f"{path} has no policy: metronome new --policy mine writes a file that has one")
    if asked is None and len(names) == 1:
        return names[0]
    wanted = (asked or "").removesuffix(_HARDWARE)
    if wanted in names:
        return wanted
    example = f"{path}:{names[0]}"
    if not asked:
        raise PolicyFileError(f"{path} has {', '.join(names)}: name one of them, as in {example}")
    raise PolicyFileError(f"{path} has no policy {asked}: it has {', '.join(names)}")


def _register(path: Path, class_name: str, digest: str, policy: type[Policy[Any]] | None, hardware: type | None) -> str:
    name = f"{class_name}_{digest[:_DIGITS]}"
    if name not in _LOADED:
        _LOADED[name] = PolicyFile(
            name=name, path=path.absolute(), class_name=class_name, digest=digest, in_python=policy is not None,
            in_hardware=hardware is not None,
        )
        if policy is not None:
            _require_reads(path, policy)
            policy.name = name
            add(policy)
        if hardware is not None:
            hardware.name = name  # type: ignore[attr-defined]  # a ClassVar of every policy
            sys.modules["metronome.hdl.policies"].add(hardware)
    return name


def _require_reads(path: Path, policy: type[Policy[Any]]) -> None:
    """Raise PolicyFileError if ``reads`` has an input that does not exist."""
    known = list(inspect.signature(PolicyInputs).parameters)
    for field in policy.reads:
        if field not in known:
            raise PolicyFileError(f"{path}: {policy.__name__}.reads has {field!r}: it can have {', '.join(known)}")
