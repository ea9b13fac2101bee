"""The prediction of an instruction, and its outcome, as the predictors exchange them with other units."""

from __future__ import annotations

import enum
from typing import Any

from amaranth.hdl import Cat, Mux, Value
from amaranth.lib import data

from ..config import SmConfig
from ..prediction_sizes import NEAR_BITS

__all__ = ["JumpKind", "is_branch", "is_jalr", "is_link", "is_usually_taken", "jump_kind", "near", "outcome_layout",
           "packed", "pops", "prediction_layout", "unpacked", "with_high_bits"]


class JumpKind(enum.IntEnum):
    """Kinds of branches and jumps, for the counters."""

    NONE = 0  # also a jal, which goes where it says
    BRANCH = 1
    RETURN = 2  # a jalr that pops a return address
    JUMP = 3  # another jalr


def near(address: Value) -> Value:
    """The part of an address that a predictor keeps."""
    return address[2:2 + NEAR_BITS]


def with_high_bits(kept: Value, pc: Value) -> Value:
    """The address with the part ``kept``, near the jump at ``pc``."""
    return Cat(kept, pc[2 + NEAR_BITS:]) << 2


def is_link(register: Value) -> Value:
    """Whether a register holds return addresses by convention: ra or t0 (unprivileged manual, "JALR")."""
    return (register == 1) | (register == 5)


def is_branch(word: Value) -> Value:
    """Whether a word that is a branch or jump is a branch."""
    return word[1:7] == 0b110001


def is_usually_taken(word: Value) -> Value:
    """Whether a branch is statically predicted taken: if it is backward; a hint says the opposite (isa.md, "Hints")."""
    return word[31] ^ ~word[0]


def is_jalr(word: Value) -> Value:
    """Whether a word that is a branch or jump is a jalr."""
    return word[:7] == 0b1100111


def pops(word: Value) -> Value:
    """Whether a jump is a return by the convention for a stack of return addresses (as :func:`is_link`)."""
    return is_jalr(word) & is_link(word[15:20]) & ~(is_link(word[7:12]) & (word[7:12] == word[15:20]))


def jump_kind(word: Value) -> Value:
    """The :class:`JumpKind` of a branch or jump."""
    return Mux(is_branch(word), JumpKind.BRANCH, Mux(is_jalr(word), Mux(pops(word), JumpKind.RETURN, JumpKind.JUMP), 0))


def prediction_layout() -> data.StructLayout:
    """The prediction that a jump or branch takes along from decode to its outcome, besides its direction."""
    return data.StructLayout({
        "target": NEAR_BITS,  # where a jalr that is predicted goes
        "run": 1,  # the branch has an entry in :class:`hdl.frontend.prediction.branch_runs.BranchRuns`,
        "way": 1,  # in this way of its set
    })


def packed(prediction: Any, word: Value) -> Value:
    """The bits of the prediction of a branch or jump that are used: a branch has no target, and a jalr nothing else."""
    return Mux(is_branch(word), Cat(prediction.run, prediction.way), prediction.target)


def unpacked(prediction: Any, bits: Value) -> list:
    """The statements that fill a prediction with packed ``bits``; what its instruction does not use is undefined."""
    return [prediction.target.eq(bits), prediction.run.eq(bits[0]), prediction.way.eq(bits[1])]


def outcome_layout(config: SmConfig) -> data.StructLayout:
    """The outcome of a branch or jump, in the cycle after X. Without ``valid`` the rest is undefined."""
    return data.StructLayout({
        "valid": 1,
        "warp": config.warp_bits,
        "pc": 32,
        "conditional": 1,  # a branch
        "usual": 1,  # a branch that is statically predicted taken
        "indirect": 1,  # a jalr
        "pushes": 1,  # it pushes its return address
        "pops": 1,  # it pops one, and pops before it pushes
        "taken": 1,  # it is taken
        "wrong": 1,  # its prediction was wrong: direction or target
        "target": 32,  # where a taken one continues
        "run": 1,  # of a branch, as in the prediction
        "way": 1,  # of a branch, as in the prediction
    })
