"""The assumptions of a bound about hardware and program, and where each is proved or checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metronome.hdl.gpu.config import Interconnect

from ..code.inputs import Range
from ..paths.facts import Facts

__all__ = ["Assumption", "UserStatements", "assumptions_of"]


@dataclass(frozen=True)
class Assumption:
    """An assumption; ``held_by``: the proof, test or contract that ensures it, or "the user"."""

    text: str
    held_by: str

    def as_json(self) -> dict[str, str]:
        """Return the assumption as in the JSON of ``metronome wcet``."""
        return {"text": self.text, "held_by": self.held_by}


_ALWAYS = (
    Assumption("only buffers and loaded files are inputs; the arguments are as given", "the user"),
    Assumption("no run faults: accesses are aligned and in memory, and lanes agree on each branch", "the user"),
    Assumption("at launch the caches are empty, and memory is idle at the start of its schedule", "the user"),
    Assumption("registers and local memory are 0 at launch, or are written before they are read", "the user"),
)
_EXACT = (
    Assumption("the hardware behaves as the predictor computes", "tests/system/test_prediction_rtl.py"),
    Assumption("the warps' order does not change what a load reads", "sim/predict/model/races.py, in this prediction"),
)
_COMPOSED = (
    Assumption("eligibility and selection follow the policy; a slot is popped and refetched at once", "proof P1, P3"),
    Assumption("buffers never run dry: a warp that may issue has an instruction to issue", "proof P2"),
    Assumption("a warp issues its instructions in program order, and no others", "proof P4"),
    Assumption("NOPs: one for a miss, d for a redirect, at most t_F for a jump followed at decode", "proof P5"),
    Assumption("a warp is suspended only while its line is being fetched", "proof P7"),
    Assumption("a scheduler selects a warp whenever one is eligible", "proof P3, tests/hdl/policies"),
    Assumption("latencies of the units and of the load/store unit", "tests/system/test_prediction_rtl.py"),
)
_LEARNED = Assumption(
    "predictions that may be wrong are counted as wrong", "tests/sim/analysis/bound/test_predictions.py"
)
_MEMORY = Assumption(
    "memory answers within its bound", "tests/sim/machine/memory, sim.machine.memory.tdm.TdmMemory.worst_case_latency"
)


#: For each interconnect of several SMs that has bounds.
_OTHERS: dict[Interconnect | None, tuple[Assumption, ...]] = {
    None: (),
    Interconnect.TDM: (Assumption("the other SMs change nothing at the memory port of an SM", "proof P11"),),
    Interconnect.ROUND_ROBIN: (Assumption(
        "a request waits for at most one of each other SM, and an answer for none", "tests/hdl/gpu/test_interconnect.py"
    ),),
}


@dataclass(frozen=True, kw_only=True)
class UserStatements:
    """The user's statements about a program. Nothing checks them for all runs.

    - ``ranges``: the ranges of its inputs.
    - ``facts``: its flow facts, which are used only where the path analysis finds no bound itself.
    - ``memory_latency``: the most cycles from the acceptance of a request to its answer, for a memory model that has no
      bound of its own.
    """

    ranges: Sequence[Range] = ()
    facts: Facts | None = None
    memory_latency: int | None = None

    @property
    def texts(self) -> list[str]:
        """The statements as assumptions of the bound, without flow facts."""
        texts = [f"the inputs are in the range {each.text}" for each in self.ranges]
        texts += [
            f"the program reads {each.name} wherever its value matters (it has no debug information)"
            for each in self.ranges if each.undescribed
        ]
        if self.memory_latency is not None:
            texts.append(f"memory answers every access within {self.memory_latency} cycles (--memory-bound)")
        return texts


    @property
    def with_facts(self) -> dict[str, Any]:
        """The fields ``given`` and ``origins`` of a bound, with the flow facts that were used."""
        used = {} if self.facts is None else self.facts.used
        facts = [f"flow fact: {each.text}" for each in dict.fromkeys(used.values())]
        return {"given": self.texts + facts, "origins": {pc: fact.origin for pc, fact in used.items()}}


def assumptions_of(
    *, exact: bool, given: Sequence[str] = (), memory_given: bool = False, learns: bool = False,
    interconnect: Interconnect | None = None,
) -> tuple[Assumption, ...]:
    """Return the assumptions of an ``exact`` time or of a composed bound, after those that the user has ``given``.

    ``memory_given``: whether the user states the latency of memory. ``learns``: see :attr:`SmConfig.learns`.
    ``interconnect``: that of several SMs.
    """
    mine = tuple(Assumption(text, "the user") for text in given) + _ALWAYS
    if exact:
        return mine + _EXACT
    return mine + _COMPOSED + (_LEARNED,) * learns + (_MEMORY,) * (not memory_given) + _OTHERS[interconnect]
