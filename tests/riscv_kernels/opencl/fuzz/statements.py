"""Statements of OpenCL C with what they do to a :class:`~.values.Work`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tests.riscv_kernels.opencl.fuzz.values import DTYPES, Expr, Memory, Work, element, width

__all__ = ["WAIT", "Statement", "assign", "block", "choose", "declare_memory", "load", "loop", "sequence", "store"]


@dataclass(frozen=True)
class Statement:
    lines: tuple[str, ...]
    run: Callable[[Work], None]


def sequence(parts: Sequence[Statement]) -> Statement:
    def run(work: Work) -> None:
        for each in parts:
            each.run(work)

    return Statement(tuple(line for each in parts for line in each.lines), run)


def block(head: str, body: Statement, foot: str = "}") -> tuple[str, ...]:
    return (f"{head} {{", *(f"    {line}" for line in body.lines), foot)


WAIT = Statement(("barrier(CLK_LOCAL_MEM_FENCE);",), lambda work: work.wait())


def assign(kind: str, name: str, one: Expr, *, declare: bool = False) -> Statement:
    return Statement((f"{kind + ' ' if declare else ''}{name} = {one.text};",),
                     lambda work: work.set(name, kind, one.value(work)))


def declare_memory(kind: str, name: str, count: int, *, shared: bool) -> Callable[[Work], None]:
    """What the declaration of an array does: its cells hold what no kernel may read."""
    def run(work: Work) -> None:
        cells = (work.groups if shared else work.items, count, *((width(kind),) * (width(kind) > 1)))
        work.memories[name] = Memory(kind, np.full(cells, 77).astype(DTYPES[element(kind)]), shared)

    return run


def load(kind: str, name: str, index: Expr, text: str | None = None) -> Expr:
    return Expr(kind, text or f"{name}[{index.text}]", lambda work: work.load(name, index.value(work)))


def store(name: str, index: Expr, one: Expr, text: str | None = None) -> Statement:
    return Statement((f"{text or f'{name}[{index.text}]'} = {one.text};",),
                     lambda work: work.store(name, index.value(work), one.value(work)))


def _while(work: Work, test: Expr) -> np.ndarray:
    return work.active & np.broadcast_to(test.value(work) != 0, (work.items,))


def choose(condition: Expr, body: Statement, other: Statement | None = None) -> Statement:
    """``if`` and ``else``."""
    def run(work: Work) -> None:
        before = work.active
        taken = _while(work, condition)
        for side, active in ((body, taken), (other, before & ~taken)):
            work.active = active
            if side is not None and active.any():
                side.run(work)
        work.active = before

    lines = block(f"if ({condition.text})", body)
    return Statement(lines if other is None else (*lines, *block("else", other)), run)


def loop(lines: tuple[str, ...], start: Statement, test: Expr, body: Statement, *, first: bool = True) -> Statement:
    """A loop as ``lines`` have it: ``start``, then ``body`` (with the step) as long as ``test`` holds before it.

    Without ``first`` the test comes after the body.
    """
    def run(work: Work) -> None:
        before = work.active
        start.run(work)
        work.active = _while(work, test) if first else before
        turns = 0
        while work.active.any():
            body.run(work)
            work.active = _while(work, test)
            turns += 1
            assert turns < 1000, "an endless loop"
        work.active = before

    return Statement(lines, run)
