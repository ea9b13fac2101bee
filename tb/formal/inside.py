"""Looking inside an elaborated component: the proofs refer to the registers of the very modules that are built."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Elaboratable, Fragment, MemoryInstance, Signal, Value
from amaranth.lib import data

__all__ = ["Inside"]


class Inside:
    """A component, elaborated once, whose parts are reached by the names of submodules (``"fetch.misses"``).

    ``fragment`` is what the component elaborates to: used as a submodule it is the component itself. Nothing in the
    component's source knows of the proof; a name that is no longer there is an error and not a weaker proof.
    """

    def __init__(self, component: Elaboratable) -> None:
        # The stubs know only what Amaranth documents of a fragment; its origins, statements and parts are not.
        self.fragment: Any = Fragment.get(component, None)

    def part(self, path: str) -> Any:
        """The submodule at ``path``; the component itself for the empty path.

        Raises
        ------
        LookupError
            Where there is none.
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
        """The signal ``name`` that the submodule at ``path`` drives, seen as ``layout`` where one is given.

        Raises
        ------
        LookupError
            Where there is none or more than one.
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
        """Take everything out of the submodule at ``path``: its outputs are then free."""
        part = self.part(path)
        part.statements.clear()
        part.subfragments.clear()

    def look_at(self, path: str, address: Value, layout: data.Layout | type[data.Struct]) -> Any:
        """What the memory at ``path`` holds at ``address`` now; no port of the design is used or changed."""
        memory = self.part(path)
        if not isinstance(memory, MemoryInstance):
            raise LookupError(f"the proofs look for a memory {path}, which is something else in the design")
        value = Signal(layout)
        memory.read_port(  # type: ignore[attr-defined]  # as `fragment`: not documented
            domain="comb", addr=address, data=Value.cast(value), en=Const(1, 1), transparent_for=()
        )
        return value
