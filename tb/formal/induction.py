"""Induction step with one query per claim: many small queries are solved much faster than their disjunction.

One solver answers them all, and keeps what it has learned. For some designs, one solver per query is much faster.

The input is yosys' write_smt2 output for the module ``top``: a state type ``|top_s|`` and the predicates ``|top_h|``
(consistent), ``|top_u|`` (the assumptions hold), ``|top_a|`` (all claims hold), ``|top_a n|`` (claim n holds) and
``|top_t|`` (a transition).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["step_queries", "trace_query", "trace_values", "unproved"]

#: The number of a claim and of its cell: cells are numbered in the order in which the harness makes them.
_CLAIM = re.compile(r"^; yosys-smt2-assert (\d+) \$(\d+)", re.MULTILINE)


def _path(smt2: str, depth: int) -> list[str]:
    """Declare consecutive states s0 to s<depth>, with the claims assumed in all but the last."""
    logic = "QF_AUFBV" if "(Array " in smt2 else "QF_UFBV"
    lines = [f"(set-logic {logic})", smt2]
    for step in range(depth + 1):
        lines += [f"(declare-fun s{step} () |top_s|)", f"(assert (|top_h| s{step}))", f"(assert (|top_u| s{step}))"]
        if step < depth:
            lines.append(f"(assert (|top_a| s{step}))")
        if step:
            lines.append(f"(assert (|top_t| s{step - 1} s{step}))")
    return lines


def step_queries(smt2: str, depth: int, *, apart: bool = False) -> tuple[list[int], list[str]]:
    """Return the claims, and a script that asks of each whether it may fail after ``depth`` cycles in which all hold.

    The queries follow the order in which the harness makes the claims; each may also assume the earlier claims in the
    last cycle. The script first asks whether such a path exists at all: that answer must be "sat". If ``apart``, each
    query is a script of its own, for a solver of its own.
    """
    claims = [int(number) for number, cell in sorted(_CLAIM.findall(smt2), key=lambda found: int(found[1]))]
    path = _path(smt2, depth)
    fails = [f"(assert (not (|top_a {claim}| s{depth})))" for claim in claims]
    holds = [f"(assert (|top_a {claim}| s{depth}))" for claim in claims]
    if apart:
        asked = [[], *([*holds[:at], fails[at]] for at in range(len(claims)))]
        return claims, ["\n".join([*path, *each, "(check-sat)", "(exit)", ""]) for each in asked]
    lines = [*path, "(check-sat)"]
    for fail, hold in zip(fails, holds, strict=True):
        lines += ["(push 1)", fail, "(check-sat)", "(pop 1)", hold]
    return claims, ["\n".join([*lines, "(exit)", ""])]


def trace_query(smt2: str, depth: int, claim: int, signals: Sequence[str]) -> str:
    """Return a script that asks for the values of ``signals`` on a path at whose end ``claim`` fails."""
    asked = [f"(get-value ((|top_n {name}| s{step})))" for step in range(depth + 1) for name in signals]
    lines = [*_path(smt2, depth), f"(assert (not (|top_a {claim}| s{depth})))", "(check-sat)"]
    return "\n".join(["(set-option :produce-models true)", *lines, *asked, "(exit)", ""])


def trace_values(answer: str, depth: int, signals: Sequence[str]) -> list[dict[str, int]]:
    """Parse the solver's answer to :func:`trace_query` into values by cycle and name."""
    values = [int(bits, 2) if bits else int(truth == "true")
              for bits, truth in re.findall(r"(?:#b([01]+)|\b(true|false))\s*\)\s*\)", answer)]
    if len(values) != (depth + 1) * len(signals):
        raise ValueError(f"the solver gave {len(values)} values for {(depth + 1) * len(signals)} questions")
    rows = [values[start : start + len(signals)] for start in range(0, len(values), len(signals))]
    return [dict(zip(signals, row, strict=True)) for row in rows]


def unproved(claims: list[int], answers: str) -> list[int]:
    """Return the claims whose answer is not "unsat".

    Raises
    ------
    ValueError
        If the solver did not answer every query, or if no path satisfies the assumptions and claims.
    """
    lines = answers.split()
    if len(lines) != len(claims) + 1 or not set(lines) <= {"sat", "unsat", "unknown"}:
        raise ValueError(f"the solver answered {' '.join(lines[:20])!r} to {len(claims) + 1} questions")
    if lines[0] != "sat":
        raise ValueError("no path satisfies the assumptions and the claims: the proof would be void")
    return [claim for claim, answer in zip(claims, lines[1:], strict=True) if answer != "unsat"]
