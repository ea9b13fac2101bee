"""Warp policies from a file of the user: ``FILE.py`` or ``FILE.py:CLASS`` in place of a policy's name.

A file has a class in plain Python (a subclass of :class:`sim.machine.policies.base.Policy`), a class for the hardware
(a subclass of :class:`hdl.policies.base.Policy`) whose name ends in ``Hardware``, or both. The name of a policy is the
name of its class with the first digits of the file's SHA-256. An edited file is therefore another policy, in every
result and in every cache key.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import os
import re
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from metronome.hdl.config import SmConfig

from ..user_paths import user_path
from .base import Policy, PolicyInputs
from .plain import POLICIES, add
from .purity import MODULE, held_by, held_by_class

__all__ = [
    "WITH_LOST",
    "PolicyFile",
    "PolicyFileError",
    "changed_outside_the_state",
    "files_of",
    "is_file",
    "is_there",
    "line_of",
    "load",
    "loaded",
    "policy_code",
    "raised_in_a_policy",
    "require_inputs",
    "require_python",
    "require_same",
    "text_of",
]

#: The folder of Metronome's packages.
_ROOT = Path(__file__).resolve().parents[3]
_TEXT = re.compile(r"(?P<file>.*\.py)(?::(?P<name>\w*))?", re.DOTALL)
#: How the name of a class for the hardware ends.
_HARDWARE = "Hardware"
#: The classes of a policy: in plain Python, and for the hardware.
_Pair = tuple[type[Policy[Any]] | None, type | None]
#: Where the input ``lost`` is.
WITH_LOST = "which only a build with ccws has: add it, as in --set policies=./mine.py+ccws"
#: Digits of the digest in a policy's name.
_DIGITS = 8


class PolicyFileError(ValueError):
    """A file without a policy that can be used; the text is one line."""


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
        """The argument of :func:`load` for this policy, from any folder."""
        return f"{self.path}:{self.class_name}"

    def as_json(self) -> dict[str, str]:
        """The entry in ``policy_files`` of a result."""
        return {"file": str(self.path), "class": self.class_name, "sha256": self.digest}


_LOADED: dict[str, PolicyFile] = {}
#: The data in the module and class of each policy at the time it was loaded.
_AS_LOADED: dict[str, dict[str, bytes]] = {}
#: Audit events of code that starts a thread or another program.
_STARTS = frozenset(("_thread.start_new_thread", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system",
                     "subprocess.Popen"))
#: The number of calls of policy code in progress.
_calls = 0


def _watch_files(event: str, arguments: tuple[Any, ...]) -> None:
    """Audit hook: refuse threads and programs of a policy, and files, unless it imports an installed module."""
    if _calls == 0:
        return
    if event in _STARTS:
        raise PermissionError("it starts a thread or a program: a policy only computes")
    if event != "open" or not isinstance(arguments[0], str | bytes):
        return
    path = os.path.realpath(os.fsdecode(arguments[0]))
    # An installation in place has links in sys.path, to folders of _ROOT.
    installed = (os.path.realpath(each) for each in (*sys.path, sys.prefix, sys.base_prefix, str(_ROOT)) if each)
    own = [os.path.realpath(module.__file__) for name, module in list(sys.modules.items())
           if name.startswith(MODULE) and module.__file__]
    if not path.startswith(tuple(f"{each}{os.sep}" for each in installed)) and path not in own:
        raise PermissionError(f"it opens {Path(path).name}: a policy is one file, and reads no other")


@functools.cache
def _watching() -> None:
    sys.addaudithook(_watch_files)


@contextlib.contextmanager
def policy_code() -> Iterator[None]:
    """Run the code of a policy within the block: it may not open files, and its output goes to standard error."""
    global _calls
    _watching()
    _calls += 1
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _calls -= 1


def is_file(text: str) -> bool:
    """Whether ``text`` names a file, and not a policy."""
    return "/" in text or _TEXT.fullmatch(text) is not None


def is_there(text: str) -> bool:
    """Whether ``text`` names a file that exists."""
    match = _TEXT.fullmatch(text.strip())
    return match is not None and user_path(match["file"]).is_file()


def load(text: str) -> str:
    """Load the policy that ``text`` names; return its name, by which all of Metronome knows it from now on.

    Raises
    ------
    PolicyFileError
        If the file cannot be read or executed, or has no such policy, or several.
    """
    match = _TEXT.fullmatch(text)
    if match is None:
        raise PolicyFileError(f"{text}: a policy's file is written FILE.py or FILE.py:CLASS")
    path, asked = user_path(match["file"]), match["name"]
    if path.exists() and not path.is_file():  # a pipe would never end
        raise PolicyFileError(f"{path}: is a folder" if path.is_dir() else f"{path}: is not a regular file")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise PolicyFileError(f"{path}: {error.strerror}") from None
    digest = hashlib.sha256(content).hexdigest()
    pairs = _pairs(_module(path, content, digest), path)
    name = _chosen(path, asked, pairs)
    for each in filter(None, pairs[name]):
        if missing := sorted(getattr(each, "__abstractmethods__", ())):
            raise PolicyFileError(f"{path}: class {each.__name__} lacks {', '.join(missing)}")
    return _register(path, name, digest, *pairs[name])


def loaded(names: Iterable[str]) -> dict[str, PolicyFile]:
    """Those of the policies that come from files."""
    return {name: _LOADED[name] for name in names if name in _LOADED}


def files_of(names: Iterable[str | None]) -> dict[str, dict[str, str]]:
    """Return ``policy_files`` of a result: the files of those policies that come from files."""
    return {name: file.as_json() for name, file in loaded(name for name in names if name is not None).items()}


def require_same(files: Mapping[str, str]) -> None:
    """Load policies in another process: name -> ``FILE.py:CLASS``.

    Raises
    ------
    PolicyFileError
        As :func:`load`, and if a file has changed.
    """
    for name, text in files.items():
        if name not in _LOADED and load(text) != name:
            raise PolicyFileError(f"{text}: the file has changed while it was in use: run the command again")


def require_python(name: str) -> None:
    """PolicyFileError if the policy comes from a file, and has no class in plain Python."""
    for file in loaded([name]).values():
        if not file.in_python:
            raise PolicyFileError(
                f"{file.path.name} has no class {file.class_name} in plain Python, which a prediction asks: write it"
            )


def raised_in_a_policy(error: BaseException) -> str | None:
    """The line for an error that comes from the code of a policy's file; None if it does not."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith(MODULE)]
    files = {module.__file__ for module in modules}
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
    if not frames:
        return None
    text = str(error).partition("\n")[0]
    return f"{frames[-1].filename}, line {frames[-1].lineno}: {type(error).__name__}: {text}"


def changed_outside_the_state(policy: Policy[Any], at_first: dict[str, bytes]) -> str | None:
    """The name of an attribute or global variable that a policy has changed, if there is one.

    ``at_first``: :func:`held_by` of it when it was made.
    """
    now = held_by(policy)
    before = at_first | _AS_LOADED.get(type(policy).name, {})
    return next((name for name, content in now.items() if before.get(name) != content), None)


def require_inputs(config: SmConfig) -> None:
    """PolicyFileError if a policy from a file reads an input that the machine does not have."""
    for name in loaded((*config.policies, *config.fetch_policies)):
        if name in POLICIES and "lost" in POLICIES[name].reads and not config.watches_locality:
            raise PolicyFileError(f"{name} reads lost, {WITH_LOST}")


def _module(path: Path, content: bytes, digest: str) -> ModuleType:
    """The file, executed once."""
    name = f"{MODULE}{digest[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    module = ModuleType(name)
    module.__file__ = str(path.absolute())
    # Standard output is for results, also while hardware is elaborated.
    module.__dict__["print"] = _print
    module.__dict__["hash"] = _hash
    sys.modules[name] = module  # dataclasses look for it there
    try:
        with policy_code():
            exec(compile(content, module.__file__, "exec"), module.__dict__)
    except KeyboardInterrupt:
        del sys.modules[name]
        raise
    except BaseException as error:  # also SystemExit: a file that ends Python is not a policy
        del sys.modules[name]
        raise PolicyFileError(f"{path}{line_of(error, path)}: {text_of(error)}") from None
    return module


def _print(*values: object, file: Any = None, **options: Any) -> None:
    """``print`` of a policy, by default to standard error."""
    print(*values, file=sys.stderr if file is None else file, **options)


def _hash(value: object) -> int:
    """``hash`` of a policy. Python's hash of text is another one in each process, and the run would be, too."""
    if isinstance(value, str | bytes):
        raise TypeError("hash of text differs between processes: a policy's choices must not depend on it")
    return hash(value)


def line_of(error: BaseException, path: Path) -> str:
    """Where in the file of a policy an error has come up: ``, line 7``, or an empty string."""
    file = str(path.absolute())
    if isinstance(error, SyntaxError) and error.filename == file:
        return f", line {error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f", line {lines[-1]}" if lines else ""


def text_of(error: BaseException) -> str:
    """The kind of an error, and the first line of its text."""
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    said = f"{type(error).__name__}: {text.partition(chr(10))[0]}"
    hint = " (a policy is one file, and may import what is installed)" if isinstance(error, ImportError) else ""
    return said + hint


def _pairs(module: ModuleType, path: Path) -> dict[str, _Pair]:
    """By name: the class in plain Python, and the one for the hardware. A name with _ in front is of a base class."""
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


def _chosen(path: Path, asked: str | None, pairs: Mapping[str, _Pair]) -> str:
    """The requested policy; without a name, the only one."""
    names = list(pairs)
    if not names:
        raise PolicyFileError(f"{path} has no policy: metronome new --policy mine writes a file that has one")
    if asked is None and len(names) == 1:
        return names[0]
    wanted = (asked or "").removesuffix(_HARDWARE)
    if wanted in names and (wanted == asked or pairs[wanted][1] is not None):
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
            _AS_LOADED[name] = held_by_class(policy)
        if hardware is not None:
            hardware.name = name  # type: ignore[attr-defined]  # a ClassVar of every policy
            sys.modules["metronome.hdl.policies"].add(hardware)
    return name


def _require_reads(path: Path, policy: type[Policy[Any]]) -> None:
    """PolicyFileError for an input that no machine has."""
    known = list(inspect.signature(PolicyInputs).parameters)
    if not isinstance(policy.reads, tuple | list):
        raise PolicyFileError(f"{path}: {policy.__name__}.reads must be a tuple of names, as in ('eligible', 'active')")
    for field in policy.reads:
        if field not in known:
            raise PolicyFileError(f"{path}: {policy.__name__}.reads has {field!r}: it can have {', '.join(known)}")
