"""Start programs without leaving any behind: each has a process group, which ends with the call in every case.

That includes an exception from a signal handler (Ctrl-C, and SIGTERM in the command line), at any moment.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pebble import ProcessPool

__all__ = ["WorkersError", "begin_worker", "children_ended", "own_folder", "run", "start", "started", "surely",
           "tool_environment", "undisturbed", "without_sigpipe", "worker_pool"]

#: The signals with which a user or a batch system ends a command.
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Variables passed to the programs of a build: the locations of programs, libraries and their own files.
_PASSED = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "XDG_CACHE_HOME", "YOWASP_CACHE_DIR")
#: linux/prctl.h
_PR_SET_PDEATHSIG = 1


def tool_environment(**more: str) -> dict[str, str]:
    """The environment of the programs that build cached results, and ``more``.

    Compilers, make, perl and yosys read dozens of variables (CPATH, CFLAGS, MAKEFLAGS, PERL5OPT, ...). The user's are
    not passed on, so results do not depend on them.
    """
    return {name: os.environ[name] for name in _PASSED if name in os.environ} | {"LC_ALL": "C"} | more


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Delay signals with a Python handler until the block ends: for a few steps that belong together.

    Python runs handlers in the main thread only, so other threads need no delay.
    """
    waiting: list[int] = []

    def raise_waiting() -> None:
        for number in waiting:
            signal.raise_signal(number)

    with contextlib.ExitStack() as stack:
        stack.callback(raise_waiting)
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                handler = signal.getsignal(number)
                if callable(handler):
                    stack.callback(signal.signal, number, handler)
                    signal.signal(number, lambda number, frame: waiting.append(number))
        yield


def surely(action: Callable[[], object]) -> None:
    """Complete ``action``, which may be done twice, even if a signal arrives at its start."""
    try:
        with undisturbed():
            action()
    except BaseException:
        with undisturbed():
            action()
        raise


@contextlib.contextmanager
def own_folder(prefix: str = "tmp-", parent: Path | None = None) -> Iterator[Path]:
    """A temporary folder, removed at the end of the block."""
    folder = ""
    try:
        with undisturbed():
            folder = tempfile.mkdtemp(prefix=prefix, dir=parent)
        yield Path(folder)
    finally:
        if folder:
            surely(functools.partial(shutil.rmtree, folder, ignore_errors=True))


def end_with_parent(parent: int | None = None) -> Callable[[], None] | None:
    """Return the function that a process runs before it starts, so that it ends with the thread that started it.

    ``parent`` is the process that starts it, by default this one.

    Without it, a simulation whose parent was killed would run for ever. Linux only: None elsewhere. Everything is
    looked up now, since a process between fork and exec can do little without the danger of a deadlock.
    """
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    expected = os.getpid() if parent is None else parent
    arguments = [ctypes.c_ulong(value) for value in (signal.SIGKILL, 0, 0, 0)]

    def die_with_parent() -> None:
        prctl(_PR_SET_PDEATHSIG, *arguments)
        if os.getppid() != expected:  # it was faster
            os._exit(1)

    return die_with_parent


def begin_worker(parent: int) -> None:
    """Initialise a worker: it ends with its parent, and leaves Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if (end := end_with_parent(parent)) is not None:
        end()


class WorkersError(ValueError):
    """Processes cannot be started; one line."""


@contextlib.contextmanager
def worker_pool(workers: int, begin: Callable[[int], None] = begin_worker) -> Iterator[ProcessPool]:
    """A pool of ``workers`` processes of this machine; all of them have ended when the block ends.

    ``begin`` is called first in each, with the parent's number. Raises WorkersError if none can be started.
    """
    import multiprocessing

    from pebble import ProcessPool

    context = multiprocessing.get_context("spawn")
    try:
        # The pool itself would start its first process much later.
        context.Lock()
    except OSError as error:
        # sem_open(3): a lock between processes is a file there.
        raise WorkersError(
            f"cannot start another process ({error.strerror}): /dev/shm must be a writable folder, because processes "
            "share locks in it"
        ) from None
    pool = ProcessPool(max_workers=workers, context=context, initializer=begin, initargs=(os.getpid(),))
    try:
        yield pool
    finally:
        pool.stop()
        pool.join()


@functools.cache
def _setpriv() -> str | None:
    """util-linux's program that requests a signal at the parent's end, if there is one that can."""
    found = shutil.which("setpriv")
    if found is None or subprocess.run(
        [found, "--pdeathsig", "KILL", "--", "true"], stderr=subprocess.DEVNULL, check=False
    ).returncode != 0:
        return None
    return found


def start(command: Sequence[str | Path], **options: Any) -> subprocess.Popen:
    """Start a process that ends with the thread that started it; ``options`` are those of Popen."""
    program = shutil.which(command[0], path=(options.get("env") or os.environ).get("PATH"))
    setpriv = _setpriv()
    if setpriv is None or program is None or not _can_be_executed(Path(program)):
        return subprocess.Popen(command, preexec_fn=end_with_parent(), **options)
    # Without a preexec_fn Python need not copy the page tables of this process: 50 ms a gigabyte. The shell checks
    # whether the parent ended before the signal was requested.
    command = [setpriv, "--pdeathsig", "KILL", "--", "sh", "-c", '[ "$PPID" = "$0" ] && exec "$@"', str(os.getpid()),
               *command]
    return subprocess.Popen(command, **options)


def _can_be_executed(program: Path) -> bool:
    """Whether it is a program or a script: a shell would run any other file as a script of its own."""
    try:
        with program.open("rb") as file:
            return file.read(4).startswith((b"\x7fELF", b"#!"))
    except OSError:  # it may be started all the same
        return False


@contextlib.contextmanager
def started(command: Sequence[str | Path], **options: Any) -> Iterator[subprocess.Popen]:
    """A process in a group of its own; at the end of the block, every process left in the group is killed.

    ``options`` are those of Popen. Standard input is empty.
    """
    process = None
    try:
        with undisturbed():
            process = start(command, stdin=subprocess.DEVNULL, process_group=0, **options)
        yield process
    finally:
        if process is not None:
            surely(functools.partial(_end, process))


def _end(process: subprocess.Popen) -> None:
    """Kill the group unless its first process, and with it the processes it started, ended by itself."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def run(
    command: Sequence[str | Path], *, cwd: Path, env: dict[str, str] | None = None, log: IO[bytes] | None = None,
    seconds: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end. Its output is in the result, or all of it in ``log``.

    Raises
    ------
    subprocess.TimeoutExpired
        After ``seconds``; the program is killed.
    """
    outputs: dict[str, Any] = {"stdout": log, "stderr": subprocess.STDOUT}
    if log is None:
        outputs = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8", "errors": "replace"}
    with started(command, cwd=cwd, env=env, **outputs) as process:
        out, err = process.communicate(timeout=seconds)
        return subprocess.CompletedProcess(command, process.returncode, out, err)


@contextlib.contextmanager
def without_sigpipe() -> Iterator[None]:
    """Within the block, a write to a pipe without a reader raises BrokenPipeError and never ends this process.

    Python ignores SIGPIPE, but a library in the process may have restored it.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})
    try:
        yield
    finally:
        signal.sigtimedwait({signal.SIGPIPE}, 0)  # discard a pending one
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _children(pid: int) -> set[int]:
    """The processes that ``pid`` started and that still exist; empty if the system does not list them."""
    found: set[int] = set()
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # the thread has ended
            found.update(map(int, path.read_text().split()))
    return found


@contextlib.contextmanager
def children_ended(what: bytes) -> Iterator[None]:
    """If the block ends early, kill the processes started in it whose command line contains ``what``.

    For a library that starts a program without returning a handle for it.
    """
    before = _children(os.getpid())
    try:
        yield
    except BaseException:
        for pid in _children(os.getpid()) - before:
            with contextlib.suppress(OSError):  # it has just ended
                if what in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGKILL)
        raise
