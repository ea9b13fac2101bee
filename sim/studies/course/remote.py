"""A submission's policy in a process of its own (:mod:`.sandbox`), for the predictor."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from metronome.hdl.config import SmConfig

from ...build.processes import start, tool_environment
from ...machine.policies.base import Policy, PolicyInputs
from .sandbox import ANSWER, LARGEST, QUESTION, STATE
from .submission import SubmissionError

__all__ = ["RemotePolicy", "Sandbox"]

#: The process limits its own processor time. It is killed after this many times the limit, plus these seconds.
_TIMES, _MORE_SECONDS = 10, 5
#: struct timeval
_TIMEVAL = struct.Struct("@ll")
_PROGRAM = "from metronome.sim.studies.course.sandbox import main; main()"


class Sandbox:
    """Executes submissions, one at a time, each in a new process."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        paths = os.pathsep.join(path for path in sys.path if path)
        with theirs:
            self._process = start(
                [sys.executable, "-P", "-c", _PROGRAM, str(theirs.fileno())], pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                # The user's other variables may be secrets.
                env=tool_environment(PYTHONPATH=paths),
            )

    @contextlib.contextmanager
    def execute(self, path: Path, kind: str, config: SmConfig, seconds: float) -> Iterator[RemotePolicy]:
        """The policy of class ``kind``, which may take ``seconds`` of processor time; its process ends with the block.

        Raises
        ------
        SubmissionError
            If it cannot be made; in the block: for any error of the submission.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours:
            with theirs:
                socket.send_fds(self._control, [pickle.dumps((path, kind, config, seconds))], [theirs.fileno()])
            try:
                yield RemotePolicy(path, ours, seconds)
            finally:
                self._control.send(b"0")
                if not self._control.recv(1):
                    raise RuntimeError("the process that executes submissions has ended")

    def close(self) -> None:
        """End the process."""
        self._control.close()
        self._process.wait()


class _Shown:
    """A pick that is not a warp, by the text that represents it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


class RemotePolicy(Policy[float]):
    """The policy at the other end of ``link``. A state is the number of one of its states.

    It is a float if the submission does not compare it with others.
    """

    name = "submission"
    #: The predictor may keep its choices: each depends on state and inputs alone.
    keeps = True

    def __init__(self, path: Path, link: socket.socket, seconds: float) -> None:
        self._path, self._link, self._seconds = path, link, seconds
        most = _TIMES * seconds + _MORE_SECONDS
        self._deadline = time.monotonic() + most
        # Python's own timeout takes another system call for each message.
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _TIMEVAL.pack(int(most), 0))
        self._next: float = 0
        declared = self._read(self._receive(), "reads")
        if not isinstance(declared, list) or not all(isinstance(name, str) for name in declared):
            raise self._broken()
        self.reads = tuple(declared)

    def reset(self) -> float:
        """State 0."""
        return 0

    def pick(self, state: float, inputs: PolicyInputs) -> int | None:
        """The pick of the submission, which also computes the next state."""
        answer = self._ask(QUESTION.pack(
            int(state), inputs.eligible, inputs.active, inputs.waiting, inputs.activated, inputs.lost, inputs.change,
        ) + bytes(inputs.lanes) + bytes(inputs.fetched))
        if len(answer) != ANSWER.size:
            return cast(int, _Shown(_printable(self._read(answer, "pick"))))
        picked, self._next = ANSWER.unpack(answer)
        if self._next < 0:
            # The predictor keeps no choices for states that are not plain data.
            self._next = float(-1 - self._next)
        return None if picked == -1 else picked

    def update(self, state: float, inputs: PolicyInputs, picked: int | None) -> float:
        """The state that came with the pick."""
        return self._next

    def shown(self, state: float) -> str:
        """The text of a state."""
        return _printable(self._read(self._ask(STATE.pack(int(state))), "state"))

    def _ask(self, question: bytes) -> bytes:
        # A process that has ended before the question has said why.
        with contextlib.suppress(OSError):
            self._link.send(question)
        return self._receive()

    def _receive(self) -> bytes:
        answer = b""
        with contextlib.suppress(OSError):
            answer = self._link.recv(LARGEST)
        if time.monotonic() > self._deadline:
            raise SubmissionError(f"{self._path.name}: it takes longer than {self._seconds:g} s")
        if not answer:
            raise SubmissionError(f"{self._path.name}: it has ended the process")
        return answer

    def _read(self, answer: bytes, key: str) -> Any:
        """Return an entry of an answer. Raises SubmissionError for an error, and for an invalid answer."""
        try:
            read = json.loads(answer)
            error, value = read.get("error"), read.get(key)
        except (ValueError, RecursionError, AttributeError):
            raise self._broken() from None
        if error is not None:
            raise SubmissionError(_printable(error))
        return value

    def _broken(self) -> SubmissionError:
        return SubmissionError(f"{self._path.name}: it writes to a file that is not its own")


def _printable(text: Any) -> str:
    """One line without control characters: a submission chooses the text, and a terminal shows it."""
    return "".join(sign if sign.isprintable() else " " for sign in str(text))
