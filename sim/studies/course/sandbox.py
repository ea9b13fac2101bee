"""The process in which a submission is executed. It contains neither the solution nor the checker.

``main`` is a process that has imported all that a submission may use, and nothing that contains the solution. It forks
for each run of a submission. The fork gives up what it does not need (:func:`_confine`), executes the submission, and
answers the questions of :mod:`.remote`:

===================  ===============================================  ===========================================
question             content                                          answer
===================  ===============================================  ===========================================
the first, unasked                                                    JSON: ``reads``
pick and update      :data:`QUESTION`, the lanes and the instructions  :data:`ANSWER`: the warp, the number of the
                     fetched of each warp                             next state. JSON: ``pick``, if it is no
                                                                      eligible warp
a state              :data:`STATE`, its number                        JSON: ``state``
===================  ===============================================  ===========================================

Instead of any answer there may be JSON with an ``error``. State 0 is that of ``reset``.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import resource
import signal
import socket
import struct
import sys
import types
import unicodedata  # noqa: F401  # the compiler imports it for \N{...}
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from ...machine.policies.base import DeclaredInputs, Policy, PolicyInputs, eligible_pick
from ...machine.policies.purity import MODULE, held_by, plain_data
from . import confinement
from .imports import ALLOWED, BASE

__all__ = ["ANSWER", "LARGEST", "QUESTION", "STATE", "main"]

_SETS = ("eligible", "active", "waiting", "activated", "lost", "change")
#: The state, and the inputs of _SETS.
QUESTION = struct.Struct("<7Q")
#: The warp, -1 for none; the number of the next state, or -1 less its number if it is not compared with others.
ANSWER = struct.Struct("<2q")
STATE = struct.Struct("<Q")
#: The maximum number of bytes of a message, and of characters of a state or a pick that is shown.
LARGEST, _SHOWN = 1 << 16, 400
#: The policy's data outside its state are compared after each of the first calls, and then at this interval.
_FIRST, _EVERY = 64, 512
#: The descriptor of the socket in the process of a submission.
_SOCKET = 3
_DESCRIPTORS = 1 << 12
#: The memory that a submission may use.
_BYTES = 2 << 30
#: A submission that continues after the alarm is ended after this many more seconds.
_GRACE_SECONDS = 1
#: States are compared only if fewer than half of the first ones were new.
_COMPARED = 1024


class _TooLongError(BaseException):
    """Raised by the alarm; no ordinary exception handler of the submission catches it."""


class _Inputs(DeclaredInputs):
    """The declared inputs by their names."""

    def __init__(self, values: dict[str, Any]) -> None:
        vars(self).update(values)


class _WrongError(Exception):
    """An error in the submission; the text is one line."""


def main() -> None:
    """Fork for every request at the socket whose descriptor is the first argument, one at a time, until it closes."""
    control = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ALLOWED:
        import_module(name)
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, LARGEST, 1)
        if not message:
            return
        child = os.fork()
        if child == 0:
            try:
                _execute(descriptors[0], *pickle.loads(message))
            finally:
                os._exit(0)
        os.close(descriptors[0])
        control.recv(1)  # the run has ended, or lasts too long, or no process waits for it any more
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        control.send(b"0")


def _execute(descriptor: int, path: Path, kind: str, config: Any, seconds: float) -> None:
    _limit(descriptor, seconds)
    try:
        text = path.read_bytes()
    except OSError as error:
        _send({"error": f"{path.name}: {error.strerror}"})
        return
    # The system itself refuses a file, a socket or a pipe from now on.
    _at_most(resource.RLIMIT_NOFILE, _SOCKET + 1)
    warnings.simplefilter("ignore")  # to show one takes a module
    refused = confinement.confine(str(path))
    _Server(path, refused, seconds).serve(text, kind, config)


def _limit(descriptor: int, seconds: float) -> None:
    """Keep the socket only, beside the three descriptors of /dev/null, and limit time, memory and files."""
    os.dup2(descriptor, _SOCKET)
    os.closerange(_SOCKET + 1, _DESCRIPTORS)
    # Counts processor time, which does not depend on other work of the machine.
    signal.setitimer(signal.ITIMER_PROF, seconds, _GRACE_SECONDS)
    cpu = int(seconds + _GRACE_SECONDS) + 2
    for what, most in (("AS", _BYTES), ("CORE", 0), ("CPU", cpu), ("FSIZE", 0), ("NPROC", 0)):
        _at_most(getattr(resource, f"RLIMIT_{what}"), most)


def _at_most(what: int, most: int) -> None:
    hard = resource.getrlimit(what)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (most, most))


def _send(message: dict[str, Any]) -> None:
    text = json.dumps(message).encode()
    os.write(_SOCKET, text if len(text) != ANSWER.size else text + b" ")


class _Server:
    """Executes the submission at ``path``; ``refused``: one line for each refusal."""

    def __init__(self, path: Path, refused: list[str], seconds: float) -> None:
        self._path, self._refused = path, refused
        self._late = f"it takes longer than {seconds:g} s"
        self._alarms, self._compares = 0, True
        self._numbers: dict[Any, int] = {}
        self._states: list[Any] = []
        self._calls = 0
        signal.signal(signal.SIGPROF, self._alarm)

    def _alarm(self, number: int, frame: Any) -> NoReturn:
        self._alarms += 1
        if self._alarms > 1:
            _send({"error": f"{self._path.name}: {self._late}"})
            os._exit(0)
        raise _TooLongError

    def serve(self, text: bytes, kind: str, config: Any) -> None:
        """Load the submission, and answer questions until there are no more, or to the first error."""
        try:
            self._begin(text, kind, config)
            while question := os.read(_SOCKET, LARGEST):
                if len(question) == STATE.size:
                    _send({"state": self._shown(self._states[STATE.unpack(question)[0]])})
                else:
                    self._answer(question)
        except _TooLongError as error:
            _send({"error": f"{self._where(error)}: {self._late}"})
        except _WrongError as error:
            _send({"error": str(error)})
        except Exception as error:  # ours: those of the submission are _WrongError
            _send({"error": f"{self._path.name}: a defect in Metronome, not in the submission: {error!r}"})
        os.read(_SOCKET, 1)

    def _begin(self, text: bytes, kind: str, config: Any) -> None:
        name, path = f"{MODULE}submission", str(self._path)
        module = types.ModuleType(name)
        module.__file__ = path
        sys.modules[name] = module  # dataclasses look for it there
        self._guarded(lambda: exec(compile(text, path, "exec"), module.__dict__))
        self._policy: Any = self._guarded(lambda: self._kind(getattr(module, kind, None), kind).of(config))
        self._reads = tuple(dict.fromkeys(("eligible", *self._declared(kind))))
        self._places = [(name, _SETS.index(name)) for name in self._reads if name in _SETS]
        self._held = held_by(self._policy)
        self._number(self._guarded(self._policy.reset))
        _send({"reads": self._reads})

    def _kind(self, found: Any, kind: str) -> Any:
        if not isinstance(found, type):
            raise _WrongError(f"{self._path.name}: there is no class {kind}")
        if not issubclass(found, Policy):
            raise _WrongError(f"{self._path.name}: class {kind} is no subclass of Policy, from {BASE}")
        if missing := sorted(getattr(found, "__abstractmethods__", ())):
            raise _WrongError(f"{self._path.name}: class {kind} lacks {', '.join(missing)}")
        found.name = kind
        return found

    def _declared(self, kind: str) -> tuple[str, ...]:
        reads, known = self._policy.reads, tuple(PolicyInputs.__dataclass_fields__)
        if not isinstance(reads, tuple | list) or not set(reads) <= set(known):
            raise _WrongError(f"{self._path.name}: {kind}.reads must be a tuple of names from {', '.join(known)}")
        return tuple(reads)

    def _answer(self, question: bytes) -> None:
        state, *values = QUESTION.unpack_from(question)
        eligible, before = values[0], self._states[state]
        inputs = _Inputs({name: values[at] for name, at in self._places})
        if len(question) > QUESTION.size:
            self._add_counts(inputs, question[QUESTION.size :])
        picked, chosen, after = self._guarded(self._chosen, before, inputs, eligible)
        if not chosen:
            _send({"pick": self._shown(picked)})
            return
        self._require_pure()
        os.write(_SOCKET, ANSWER.pack(-1 if picked is None else picked, self._number(after)))

    def _chosen(self, state: Any, inputs: Any, eligible: int) -> tuple[Any, bool, Any]:
        """The pick, whether it may be picked, and the next state."""
        answer = self._policy.pick(state, inputs)
        try:
            picked = eligible_pick(answer, eligible)
        except ValueError:
            return answer, False, None
        return picked, True, self._policy.update(state, inputs, picked)

    def _add_counts(self, inputs: _Inputs, counts: bytes) -> None:
        names = [name for name in ("lanes", "fetched") if name in self._reads]
        warps = len(counts) // len(names)
        for number, name in enumerate(names):
            inputs.__dict__[name] = tuple(counts[number * warps : (number + 1) * warps])

    def _require_pure(self) -> None:
        self._calls += 1
        if self._calls > _FIRST and self._calls % _EVERY:
            return
        held = held_by(self._policy)
        if changed := [name for name in held if self._held.get(name) != held[name]]:
            raise _WrongError(f"{self._path.name}: {changed[0]} has changed: a policy may remember in its state alone, "
                              "which update returns")

    def _number(self, state: Any) -> int:
        """The number of a state, or -1 less the number of one that is not compared with others.

        Equal states have one number, if they are plain data and at least half of the first ones were equal to others.
        """
        if self._calls == _COMPARED:
            self._compares = 2 * len(self._numbers) < _COMPARED
        number = len(self._states)
        if self._compares:
            with contextlib.suppress(TypeError):
                found = self._numbers.setdefault(plain_data(state), number)
                if found == number:
                    self._states.append(state)
                return found
        self._states.append(state)
        return -1 - number

    def _shown(self, value: Any) -> str:
        text = " ".join(self._guarded(repr, value).split())
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."

    def _guarded(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of ``work``; an error in it, or anything that was refused, is a _WrongError."""
        try:
            result = work(*arguments)
        except _WrongError:
            raise
        except Exception as error:
            said = error.msg if isinstance(error, SyntaxError) else str(error)
            text = f"{type(error).__name__}: {' '.join(said.split())}".removesuffix(": ")
            text = self._refused[0] if self._refused else f"{self._where(error)}: {text}"
            raise _WrongError(text) from None
        except (SystemExit, KeyboardInterrupt, GeneratorExit):
            raise _WrongError(f"{self._path.name}: it ends the program") from None
        if self._refused:
            raise _WrongError(self._refused[0])
        return result

    def _where(self, error: BaseException) -> str:
        """The file, line and function of the submission in which ``error`` was raised."""
        found, step = self._path.name, error.__traceback__
        while step is not None:
            if step.tb_frame.f_code.co_filename == str(self._path):
                found = confinement.place(self._path.name, step.tb_frame.f_code, step.tb_lineno)
            step = step.tb_next
        return found
