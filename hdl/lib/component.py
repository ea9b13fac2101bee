"""The base class of every block of hdl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amaranth.lib import wiring

__all__ = ["Component"]


class Component(wiring.Component):
    """An Amaranth component whose ports a type checker accepts.

    Amaranth creates an object's ports when it creates the object, from the signature given to ``super().__init__``. A
    type checker cannot see them: to it, any attribute that our classes do not define is a port of any type.
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
