"""Instructions that the golden model executed in lock step, as a checker keeps and reports them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..machine.golden import Fault

__all__ = ["ExecutedInstruction", "describe", "describe_store", "register_name"]


class ExecutedInstruction(NamedTuple):
    """An instruction that the golden model executed in ``cycle``; the other fields are as in :class:`Commit`.

    ``values`` holds the bytes of the lanes of ``rd``: bytes are copied and compared much faster than an array.
    """

    cycle: int
    warp: int
    pc: int
    instr: int
    mask: int
    rd: int | None
    values: bytes | None
    volatile: bool = False
    fault: Fault | None = None

    @property
    def lanes(self) -> np.ndarray:
        """``values`` as numbers: uint32 (threads,)."""
        assert self.values is not None
        return np.frombuffer(self.values, np.uint32)


def register_name(rd: int | None) -> str:
    """Return the name of register 0 to 63 in a report."""
    return "nothing" if rd is None else f"x{rd}" if rd < 32 else f"f{rd - 32}"


def describe(done: ExecutedInstruction) -> str:
    """Return one line of a report's history."""
    text = f"pc {done.pc:#010x} {done.instr:08x} mask {done.mask:#x}"
    if done.fault is not None:
        return f"{text} fault {done.fault.cause.name.lower()}"
    if done.values is not None:
        text += f" {register_name(done.rd)} = [{' '.join(f'{value:x}' for value in done.lanes.tolist())}]"
    return text


def describe_store(pc: int, size: int, mask: int) -> str:
    """Return a store in a report."""
    return f"pc {pc:#010x}, {size} bytes, mask {mask:#x}"
