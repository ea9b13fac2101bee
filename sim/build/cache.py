"""The build cache: a folder whose entries are complete or absent, and are locked while a process uses them.

An entry is a folder ``KIND-KEY`` (a kernel's is ``kernels/KEY``) or a small file of that name. A folder is created as
``tmp-*`` under a lock with the entry's name, and then renamed. A lock on the folder itself marks it as in use:
:mod:`sim.build.cache_pruning` removes only folders that it can lock.

A read-only cache is read, and missing entries are created in a folder of the user's (:func:`places`).
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from .processes import own_folder, surely, undisturbed
from .sources import ROOT

__all__ = ["MAKING", "cache_folder", "entry", "found", "held", "hold", "locked", "places", "remember", "try_lock",
           "used", "workplace"]

#: Held by a process from creating a temporary folder until the folder is locked, and while looking for old folders.
MAKING = "making.lock"
#: Folder -> its file descriptor with a shared lock, until the process ends.
_held: dict[Path, int] = {}


def cache_folder() -> Path:
    """``METRONOME_CACHE``, else ``build/cache`` of the checkout, else (installed elsewhere) the user's cache folder."""
    if chosen := os.environ.get("METRONOME_CACHE"):
        # Tools that start in other folders write there.
        return Path(chosen).absolute()
    if (ROOT / "pyproject.toml").exists():
        return ROOT / "build" / "cache"
    return _users()


def _users() -> Path:
    """The user's own cache folder."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification: ignore a path that is not absolute.
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "metronome"


def places() -> list[Path]:
    """Return the folders in which entries are looked for; new entries go to the last one.

    This is the cache. If it cannot be written, the user's own cache folder follows or, if there can be none either,
    a folder that is removed when this process ends.
    """
    cache = cache_folder()
    if _can_be_written(cache):
        return [cache]
    own = None
    with contextlib.suppress(RuntimeError, OSError):  # the user has no home, or none that can be written
        own = _users()
        own.mkdir(parents=True, exist_ok=True)
    return [cache, own if own not in (None, cache) and os.access(own, os.W_OK | os.X_OK) else _for_now()]


def _can_be_written(folder: Path) -> bool:
    """Whether entries can be created in the cache. A folder that the user names is created, or the failure reported."""
    there = next(place for place in (folder, *folder.parents) if os.path.lexists(place))
    if not there.is_dir() or (there != folder and os.environ.get("METRONOME_CACHE")):
        return True
    return os.access(there, os.W_OK | os.X_OK)


@functools.cache
def _for_now() -> Path:
    """A folder for this process and its forked copies, for as long as the process lasts."""
    folder, owner = tempfile.mkdtemp(prefix="metronome-cache-"), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    print(f"metronome: the build cache {cache_folder()} is not writable: this command keeps its builds in a "
          "temporary folder (set METRONOME_CACHE to a writable folder)", file=sys.stderr)
    return Path(folder)


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether the open file is the one now at ``path``."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file ``path``, one process at a time; it is removed when no process needs it."""
    while True:
        file = None
        try:
            with undisturbed():
                file = path.open("a")
            fcntl.flock(file, fcntl.LOCK_EX)
            if _is_at(file.fileno(), path):  # else its previous holder has removed it
                yield
                return
        finally:
            if file is not None:
                surely(functools.partial(_unlock, file, path))


def _unlock(file: IO[str], path: Path) -> None:
    """Remove the lock file unless another process has it, and close it."""
    if file.closed:
        return
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_at(file.fileno(), path):
            path.unlink()
    file.close()


@contextlib.contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Whether the file or folder ``path`` is otherwise unused; if so, lock it until the block ends."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        yield False
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = _is_at(descriptor, path)
        except BlockingIOError:
            free = False
        yield free
    finally:
        os.close(descriptor)


def hold(path: Path) -> bool:
    """Protect the folder ``path`` from pruning until this process ends; False if there is none."""
    if path in _held:
        if _is_at(_held[path], path):
            return True
        os.close(_held.pop(path))  # another process has created it
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        return False
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    if not _is_at(descriptor, path):  # pruned while we waited
        os.close(descriptor)
        return False
    _held[path] = descriptor
    return True


def used(path: Path) -> None:
    """Note that an entry is used now: pruning removes the least recently used first."""
    with contextlib.suppress(OSError):  # a read-only cache can still be read
        os.utime(path)


@contextlib.contextmanager
def _locked_folder(cache: Path) -> Iterator[tuple[Path, int]]:
    """A temporary folder and the file descriptor that locks it."""
    with contextlib.ExitStack() as stack:
        with undisturbed(), locked(cache / MAKING):
            folder = stack.enter_context(own_folder(parent=cache))
            descriptor = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield folder, descriptor


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """A temporary folder in the cache, removed at the end of the block."""
    cache = places()[-1]
    cache.mkdir(parents=True, exist_ok=True)
    with _locked_folder(cache) as (folder, _):
        yield folder


def found(name: str) -> Path:
    """The path of the entry ``name``, or if it does not exist, the path at which it would be created."""
    paths = [place / name for place in places()]
    return next((path for path in paths if path.exists()), paths[-1])


def held(name: str, is_whole: Callable[[Path], bool]) -> Path | None:
    """The folder ``name`` of the cache, if it exists and ``is_whole``; it is kept until this process ends."""
    return next((place / name for place in places() if _is_there(place, place / name, is_whole)), None)


def entry(
    name: str, make: Callable[[Path], None], is_whole: Callable[[Path], bool] = Path.exists, *, own: bool = False
) -> Path:
    """Return the folder ``name`` of the cache: the existing one if it ``is_whole``, else one filled by ``make`` now.

    Pruning cannot remove it until this process ends. ``own``: a folder that can be written.
    """
    *shared, cache = places()
    for place in () if own else shared:
        if _is_there(place, place / name, is_whole):
            return place / name
    cache.mkdir(parents=True, exist_ok=True)
    path = cache / name
    if _is_there(cache, path, is_whole):
        return path
    path.parent.mkdir(exist_ok=True)
    with locked(path.with_name(f"{path.name}.lock")):
        if _is_there(cache, path, is_whole):
            return path
        with _locked_folder(cache) as (folder, descriptor):
            make(folder)
            shutil.rmtree(path, ignore_errors=True)  # a damaged one
            with undisturbed():
                folder.rename(path)
                if path.parent == cache:
                    _keep(path, descriptor)
    return path


def _keep(path: Path, descriptor: int) -> None:
    """Keep a newly created folder locked without interruption."""
    if path in _held:
        os.close(_held.pop(path))
    _held[path] = os.dup(descriptor)
    fcntl.flock(_held[path], fcntl.LOCK_SH)


def _is_there(cache: Path, path: Path, is_whole: Callable[[Path], bool]) -> bool:
    # Kernels are many and small: they are locked by their common folder.
    if hold(path if path.parent == cache else path.parent) and is_whole(path):
        used(path)
        return True
    return False


def remember(name: str, text: str) -> None:
    """Write the small entry ``name`` of one file: a reader finds all of it or none."""
    with workplace() as folder:
        (folder / name).write_text(text)
        (folder / name).replace(places()[-1] / name)
