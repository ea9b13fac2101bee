"""The base class of every block of hdl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amaranth.lib import wiring

__all__ = ["Component"]


class Component(wiring.Component):
    """An Amaranth component whose ports a type checker accepts.

    Ports are made by Amaranth when an object is made, from the signature given to ``super().__init__``. A type
    checker cannot see them: for it, whatever no class of ours defines is a port, of any type.
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
