"""Output folders of subcommands: written completely or not at all, and never over files of other origin."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from metronome.sim.build.processes import surely, undisturbed
from metronome.sim.machine.user_paths import user_path

from ..process.errors import UsageError
from .outputs import refuse_folder

__all__ = ["VERILOG", "Kind", "is_folder", "require_folder", "write_folder"]

#: The suffix of a single file.
_SUFFIXES = (".v",)
#: Suffixes of Verilog and VHDL files, in lower case, that name neither a single file nor a folder.
_LOOK_LIKE_FILES = (".v", ".sv", ".vh", ".svh", ".vhd", ".vhdl")


@dataclass(frozen=True)
class Kind:
    """The command that writes such folders, and the possible names of the index with the hashes of the other files."""

    command: str
    indices: tuple[str, ...]


VERILOG = Kind("metronome verilog", ("metronome_sm.json", "metronome_gpu.json"))


def is_folder(name: str) -> bool:
    """Return whether --output names a folder to write: not ``-``, not ``FILE.v``, not a device or a pipe."""
    path = user_path(name)
    try:
        # The target of /dev/stdout may be a file, whether it still exists or not.
        device = Path("/dev") in path.absolute().parents
        special = device or (path.exists() and not path.is_dir() and not path.is_file())
    except (OSError, ValueError):  # not a possible file name: the code that writes it reports this
        special = True
    return not (name in ("", "-") or special or path.suffix in _SUFFIXES)


def _refusal(folder: Path, kind: Kind) -> str | None:
    """Return why the folder must not be replaced: it holds files that would be lost; None if it does not."""
    from metronome.sim.build.export.files import changed_files

    changed = changed_files(folder, kind.indices)
    if changed is None:
        return f"it exists and is not an export of {kind.command}"
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        return f"it has files that {kind.command} did not write, or that have changed: {changed[0]}{more}"
    return None


def require_folder(name: str, kind: Kind = VERILOG) -> Path:
    """Return the path of the folder after checking now that it is writable, not after a long elaboration.

    Raises
    ------
    UsageError
        If it cannot be written, or holds anything but an unmodified export.
    """
    if kind == VERILOG and Path(name).suffix.lower() in _LOOK_LIKE_FILES:
        raise UsageError(
            f"--output: cannot write {name!r}: end the name of a single file in .v; a folder's name has no such suffix"
        )
    refuse_folder(name)
    try:
        folder = user_path(name).resolve()
        if folder.exists() and not folder.is_dir():
            more = "; the name of a single file of Verilog ends with .v" if kind == VERILOG else ""
            raise OSError(0, f"it is a file{more}")
        if folder.is_dir():
            if Path.cwd().is_relative_to(folder):
                raise OSError(0, "it is the current folder or contains it: name one inside it")
            if (reason := _refusal(folder, kind)) is not None:
                raise OSError(0, f"{reason}: name another folder, or move it away")
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent):
            pass
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"--output: cannot write the folder {name!r}: {reason}") from None
    return folder


def write_folder(folder: Path, files: Mapping[str, bytes], kind: Kind = VERILOG) -> None:
    """Create ``folder`` with ``files`` atomically, in place of an earlier export.

    Raises
    ------
    UsageError
        If writing fails after all; the previous contents are then still there.
    """
    place = None
    try:
        place = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        new, old = place / "new", place / "old"
        new.mkdir()
        for name, content in files.items():
            (new / name).write_bytes(content)
        if folder.is_dir() and (reason := _refusal(folder, kind)) is not None:  # since the first check
            raise OSError(0, f"{reason}")
        with undisturbed():
            _exchange(folder, new, old)
    except OSError as error:
        raise UsageError(f"cannot write the folder {folder}: {error.strerror}") from None
    finally:
        if place is not None:
            surely(lambda: shutil.rmtree(place, ignore_errors=True))


def _exchange(folder: Path, new: Path, old: Path) -> None:
    """Rename ``new`` to ``folder`` and any existing ``folder`` to ``old``; on failure nothing changes."""
    with contextlib.suppress(FileNotFoundError):
        os.rename(folder, old)
    try:
        os.rename(new, folder)
    except OSError:
        with contextlib.suppress(FileNotFoundError):
            os.rename(old, folder)
        raise
