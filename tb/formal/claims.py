"""What every harness of a proof has: claims, each a signal that is asserted in every cycle."""

from __future__ import annotations

from amaranth.hdl import Assert, Module, Signal, Value

__all__ = ["Claims"]


class Claims:
    """Adds claims to the module ``m``. ``claims``: the name of the signal of each -> what it says."""

    m: Module
    claims: dict[str, str]

    def claim(self, text: str, holds: Value) -> None:
        """Something to prove: ``holds`` in every cycle."""
        name = f"claim_{len(self.claims)}"
        signal = Signal(name=name, attrs={"keep": 1})
        self.m.d.comb += [signal.eq(holds), Assert(signal)]
        self.claims[name] = text
