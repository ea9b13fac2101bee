"""Common base of the proof harnesses: claims, asserted as signals in every cycle, and columns for a trace."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Assert, Module, Signal, Value

from .records import Column

__all__ = ["Claims"]


class Claims:
    """Adds claims to the module ``m``. ``claims`` maps the name of each claim's signal to its text.

    ``asserts``: whether a claim with this text is asserted; the others only appear in a counterexample.
    """

    m: Module
    claims: dict[str, str]
    columns: list[Column]
    asserts: Callable[[str], bool] = staticmethod(lambda text: True)

    def claim(self, text: str, holds: Value) -> None:
        """Add a claim to prove: ``holds`` is 1 in every cycle."""
        name = f"claim_{len(self.claims)}"
        signal = Signal(name=name, attrs={"keep": 1})
        self.m.d.comb += signal.eq(holds)
        if self.asserts(text):
            self.m.d.comb += Assert(signal)
        self.claims[name] = text

    def show(self, title: str, value: Value, when: Value | None = None, *, kind: str = "number") -> None:
        """Add a column to the counterexample table (:class:`Column`)."""
        number = len(self.columns)
        names = [f"show_{number}", "" if when is None else f"show_{number}_when"]
        for name, shown in zip(names, (value, when), strict=True):
            if shown is not None:
                signal = Signal(Value.cast(shown).shape(), name=name, attrs={"keep": 1})
                self.m.d.comb += signal.eq(shown)
        self.columns.append(Column(title, names[0], kind, names[1]))
