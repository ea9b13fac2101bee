"""The registers of a lane of :class:`hdl.execute.fpu.unit.FloatUnit` for each choice of latencies."""

from __future__ import annotations

from dataclasses import dataclass

from ...config import SmConfig
from ...isa.latencies import unit_latencies
from ...isa.ops import Unit
from .recurrence import STEPS

__all__ = ["Stages"]

#: The steps of a multiply-add in their order; a register may follow each.
_ORDER = ("select", "unpack", "multiply", "product", "align", "add", "blocks", "normalise", "round")
#: Steps up to the register where a conversion enters.
_FRONT = ("select", "unpack", "multiply", "product")
#: The steps with a register at any latency.
_ALWAYS = frozenset({"product", "add", "normalise", "round"})
#: Those with one from the next latency on, each.
_FURTHER = ("align", "multiply", "blocks", "select", "unpack")
#: Cycles that a register after "blocks" adds to conversions and divisions need these latencies.
_BLOCKS_FCVT, _BLOCKS_FDIV = 6, STEPS + 4


@dataclass(frozen=True, kw_only=True)
class Stages:
    """The registers of a lane for three latencies (:class:`hdl.config.SmConfig`)."""

    latency_fma: int  # of multiply-adds, in cycles
    latency_fcvt: int  # of conversions
    latency_fdiv: int  # of divisions and square roots

    @classmethod
    def of(cls, config: SmConfig) -> Stages:
        """Those of a configuration."""
        latencies = unit_latencies(config)
        return cls(latency_fma=latencies[Unit.FMA], latency_fcvt=latencies[Unit.FCVT],
                   latency_fdiv=latencies[Unit.FDIV])

    @property
    def registered(self) -> frozenset[str]:
        """The steps of a multiply-add that a register follows, ``latency_fma`` of them.

        One after "blocks" delays conversions and divisions, too, so it needs latencies of these that allow it.
        """
        later = self.latency_fcvt >= _BLOCKS_FCVT and self.latency_fdiv >= _BLOCKS_FDIV
        further = [step for step in _FURTHER if later or step != "blocks"]
        return _ALWAYS | {*further[:self.latency_fma - len(_ALWAYS)]}

    @property
    def front(self) -> int:
        """Registers of a multiply-add up to the one after its product, where a conversion enters."""
        return sum(step in self.registered for step in _FRONT)

    @property
    def back(self) -> int:
        """Registers after that one: 3 to 5. Conversions pass them too."""
        return self.latency_fma - self.front

    @property
    def conversion_delay(self) -> int:
        """Registers of a conversion before the one after the product."""
        return self.latency_fcvt - 1 - self.back

    @property
    def normalised(self) -> int:
        """Cycles before its result in which a quotient is normalised: 2 or 3."""
        return 2 + ("blocks" in self.registered)

    @property
    def _spare(self) -> int:
        """Cycles of a division that its work does not take: normalising the operands, the steps, and the end."""
        return self.latency_fdiv - (1 + STEPS + self.normalised)

    @property
    def holds_operands(self) -> bool:
        """Whether a division's operands are registered before they are normalised."""
        return self._spare > 0

    @property
    def holds_exponent(self) -> bool:
        """Whether the exponent of its result is registered, in a cycle between that and the first step."""
        return self._spare > 1

    @property
    def division_start(self) -> int:
        """Cycles before its result in which a division's operands are normalised."""
        return 1 + STEPS + self.normalised + self.holds_exponent

    def enables(self, step: str) -> int | None:
        """The number of the register after ``step`` among those of the front or the back; None without one."""
        if step not in self.registered:
            return None
        group = _FRONT if step in _FRONT else [each for each in _ORDER if each not in _FRONT]
        return sum(each in self.registered for each in group[:group.index(step)])
