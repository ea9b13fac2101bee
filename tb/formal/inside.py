"""Access to the internals of an elaborated component, so that proofs use the registers of the real modules."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Elaboratable, Fragment, MemoryInstance, Signal, Value
from amaranth.lib import data

__all__ = ["Internals"]


class Internals:
    """A component, elaborated once, whose parts are reached by the names of submodules (``"fetch.misses"``).

    ``fragment`` is the elaborated component: used as a submodule, it is the component itself. The component's source
    does not depend on the proof; a name that no longer exists is an error, not a weaker proof.
    """

    def __init__(self, component: Elaboratable, platform: object = None) -> None:
        # The stubs know only what Amaranth documents of a fragment; its origins, statements and parts are not.
        self.fragment: Any = Fragment.get(component, platform)

    def part(self, path: str) -> Any:
        """Return the submodule at ``path``; the component itself for the empty path.

        Raises
        ------
        LookupError
            If there is no such submodule.
        """
        found = self.fragment
        for name in path.split(".") if path else ():
            found = next((part for part, its, _ in found.subfragments if its == name), None)
            if found is None:
                raise LookupError(f"the proofs look for a submodule {path}, which the design does not have")
        return found

    def component(self, path: str) -> Any:
        """The component that elaborated to the submodule at ``path``."""
        return self.part(path).origins[0]

    def signal(self, path: str, name: str, layout: data.Layout | None = None) -> Any:
        """Return the signal ``name`` that the submodule at ``path`` drives, viewed as ``layout`` if one is given.

        Raises
        ------
        LookupError
            If there is none, or more than one.
        """
        found = self._driven(path, name)
        if len(found) != 1:
            raise LookupError(f"the proofs look for one signal {name} in {path or 'the design'}: it has {len(found)}")
        return found[0] if layout is None else data.View(layout, found[0])

    def _driven(self, path: str, name: str) -> list[Signal]:
        lists = self.part(path).statements.values()
        return [signal for driven in (statements._lhs_signals() for statements in lists) for signal in driven
                if signal.name == name]

    def cut(self, path: str) -> None:
        """Remove the contents of the submodule at ``path``, so that its outputs are free."""
        part = self.part(path)
        part.statements.clear()
        part.subfragments.clear()

    def look_at(self, path: str, address: Value, layout: data.Layout | type[data.Struct]) -> Any:
        """Return the word at ``address`` of the memory at ``path``, without using or changing a port of the design."""
        memory = self.part(path)
        if not isinstance(memory, MemoryInstance):
            raise LookupError(f"the proofs look for a memory {path}, which is something else in the design")
        value = Signal(layout)
        memory.read_port(  # type: ignore[attr-defined]  # as `fragment`: not documented
            domain="comb", addr=address, data=Value.cast(value), en=Const(1, 1), transparent_for=()
        )
        return value
