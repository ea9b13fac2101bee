"""What a bound takes for granted of the hardware and of the program, and where each is proved or checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Assumption", "assumptions_of"]


@dataclass(frozen=True)
class Assumption:
    """``text``: what is taken for granted. ``held_by``: the proof, test or contract that holds it, or "the user"."""

    text: str
    held_by: str

    def as_json(self) -> dict[str, str]:
        """For the document of ``metronome wcet``."""
        return {"text": self.text, "held_by": self.held_by}


_ALWAYS = (
    Assumption("the inputs are what the buffers and loaded files hold; the arguments are those given", "the user"),
    Assumption("no run faults: accesses are aligned and in memory, lanes agree about a branch", "the user"),
    Assumption("at the launch caches are empty, and memory is idle at the beginning of its schedule", "the user"),
    Assumption("registers and local memory are 0 at the launch, or are written before they are read", "the user"),
)
_EXACT = (
    Assumption("what the predictor computes is what the hardware does", "tests/system/test_prediction_rtl.py"),
    Assumption("no order of the warps changes what a load finds", "sim/predict/model/races.py, in this prediction"),
)
_COMPOSED = (
    Assumption("who is eligible and selected follows the policy; a slot is popped and fetched in one", "proof P1, P3"),
    Assumption("buffers never run dry: a warp that may issue has something to issue", "proof P2"),
    Assumption("a warp issues its program order, and nothing else", "proof P4"),
    Assumption("NOPs: one for a miss, d for a redirect, at most t_F for a jump followed at decode", "proof P5"),
    Assumption("a warp is suspended only while its line is on its way", "proof P7"),
    Assumption("a scheduler selects somebody whenever somebody is eligible", "proof P3, tests/hdl/policies"),
    Assumption("latencies of the units and of the load/store unit", "tests/system/test_prediction_rtl.py"),
)
_MEMORY = Assumption(
    "memory answers within its bound", "tests/sim/machine/memory, sim.machine.memory.tdm.TdmMemory.worst_case_latency"
)


def assumptions_of(*, exact: bool, given: Sequence[str] = (), memory_given: bool = False) -> tuple[Assumption, ...]:
    """The assumptions of a time that is ``exact``, or of a composed one; those that the user has ``given`` come first.

    ``memory_given``: one of these says how long memory takes.
    """
    composed = _COMPOSED if memory_given else (*_COMPOSED, _MEMORY)
    return tuple(Assumption(text, "the user") for text in given) + _ALWAYS + (_EXACT if exact else composed)
