"""The machine parameters of the models: only measured numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metronome.hdl.config import LINE_BYTES

from ..characterize.classes import UNITS
from ..characterize.derive import Finding
from ..characterize.measure import Curve

__all__ = ["Parameters", "parameters_of"]

#: Kinds of :class:`sim.studies.models.mix.Step` that are control flow, by the name of the measured cost; all SIMT
#: instructions cost as much as ``split``.
_FLOWS = ("branch not taken", "branch forward taken", "branch backward taken", "jal", "jalr")


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """All values in cycles.

    ``interval``: from an instruction of a kind to the next independent one. ``distance``: to a dependent one.
    ``hit``, ``miss``, ``local``: the same for loads. ``line``: between two lines from memory, when many are
    requested. ``issue``: between two instructions of any warps.
    """

    interval: Mapping[str, float]
    distance: Mapping[str, float]
    hit: float
    miss: float
    local: float
    line: float
    issue: float

    @property
    def bandwidth(self) -> float:
        """Bytes from memory per cycle."""
        return LINE_BYTES / self.line


def parameters_of(findings: Sequence[Finding], curves: Sequence[Curve]) -> Parameters:
    """Return the parameters found by ``metronome characterize``.

    Raises
    ------
    ValueError
        If one of them could not be derived.
    """
    values = {each.key: each.value for each in findings}

    def value(key: str) -> float:
        found = values[key]
        if found is None:
            raise ValueError(f"{key} could not be derived")
        return found

    behind = value("dependent issue")
    interval = {unit.name: value(f"interval_{unit.name}") for unit in UNITS}
    interval |= {name: value(name) for name in _FLOWS} | {"simt": value("split"), "system": value("fence")}
    distance = {unit.name: value(f"latency_{unit.name}") + behind for unit in UNITS}
    crowd = max(each.warps for each in curves)
    slopes = {(each.name, each.dependent): each.slope for each in curves if each.warps == crowd}
    alone = {(each.name, each.dependent): each.slope for each in curves if each.warps == 1}
    miss = value("load miss")
    return Parameters(
        interval=interval | {"load": alone["load_hit", False], "store": alone["store", False]}, distance=distance,
        # Without a cache every load is a miss.
        hit=miss if values["load hit"] is None else value("load hit"), miss=miss, local=value("local load"),
        line=slopes["load_miss", False] / crowd, issue=slopes["alu", False] / crowd,
    )
