"""What the predictors of a warp say about an instruction, and what they are told about its outcome."""

from __future__ import annotations

from amaranth.hdl import Cat, Value
from amaranth.lib import data

from ..config import SmConfig

__all__ = ["NEAR_BITS", "is_link", "near", "outcome_layout", "prediction_layout", "with_high_bits"]

#: Bits of a predicted address, from bit 2 on: it lies in the same MiB as the jump. Others are predicted wrongly.
NEAR_BITS = 18


def near(address: Value) -> Value:
    """The part of an address that a predictor keeps."""
    return address[2:2 + NEAR_BITS]


def with_high_bits(kept: Value, pc: Value) -> Value:
    """The address with the part ``kept``, near the jump at ``pc``."""
    return Cat(kept, pc[2 + NEAR_BITS:]) << 2


def prediction_layout() -> data.StructLayout:
    """The prediction that a jump or branch takes along from decode to its outcome, besides its direction."""
    return data.StructLayout({
        "target": NEAR_BITS,  # where a jalr that is predicted goes
        "run": 1,  # the branch has an entry in :class:`hdl.frontend.prediction.branch_runs.BranchRuns`,
        "way": 1,  # in this way of its set
    })


def outcome_layout(config: SmConfig) -> data.StructLayout:
    """The outcome of a branch or jump, in the cycle after X. Without ``valid`` the rest is undefined."""
    return data.StructLayout({
        "valid": 1,
        "warp": config.warp_bits,
        "pc": 32,
        "conditional": 1,  # a branch
        "backward": 1,  # a branch to a lower address
        "indirect": 1,  # a jalr
        "pushes": 1,  # it pushes its return address
        "pops": 1,  # it pops one, and pops before it pushes
        "taken": 1,  # it is taken
        "wrong": 1,  # its prediction was wrong: direction or target
        "target": 32,  # where a taken one continues
        "run": 1,  # as in the prediction
        "way": 1,  # as in the prediction
    })


def is_link(register: Value) -> Value:
    """Whether a register holds return addresses by convention: ra or t0 (unprivileged manual, "JALR")."""
    return (register == 1) | (register == 5)
