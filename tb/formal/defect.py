"""A deliberately broken design: one replacement in the source of one method."""

from __future__ import annotations

from dataclasses import dataclass

from .flow import Case, Parameters

__all__ = ["Defect"]


@dataclass(frozen=True)
class Defect:
    """``old`` becomes ``new`` in ``method`` ("module:Class.method"); ``property`` has to find a violation.

    ``claim``: the claim of the property that has to be violated; empty for any.
    """

    name: str
    property: str
    method: str
    old: str
    new: str
    prediction: str = "not_taken"
    scheme: str = "swas"
    icache: bool = True
    policy: str = "lrr"
    parameters: Parameters = ()
    claim: str = ""

    def case(self) -> Case:
        """Return the smallest configuration: two warps for each scheduler."""
        warps = 2 * dict(self.parameters).get("schedulers", 1)
        return Case(self.property, self.scheme, self.policy, self.prediction, warps=warps, icache=self.icache,
                    parameters=self.parameters)
