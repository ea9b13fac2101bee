"""A top level for users of other languages: one port for each field, with names derived from the layouts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from amaranth.hdl import Module, Shape, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..lib.component import Component

__all__ = ["Flat", "FlatPort", "flat_ports"]

#: The member of a stream that carries its fields: they are named after the stream.
_PAYLOAD = "payload"


@dataclass(frozen=True, kw_only=True)
class FlatPort:
    """A port of :class:`Flat`: one field of a port of the component inside."""

    name: str  # of the port: the parts of its path with underscores
    path: tuple[str, ...]  # the members of the signature that lead to it, then the fields of their layouts
    member: tuple[str, ...]  # the first part of the path: the port of the component inside
    offset: int  # of its lowest bit in that port
    width: int  # in bits
    is_input: bool  # whether it is driven from outside

    @property
    def dotted(self) -> str:
        """The path as one text: ``mem.req.payload.line``."""
        return ".".join(self.path)


def _fields(
    shape: object, path: tuple[str, ...], offset: int, elements: Mapping[str, Sequence[str | None]]
) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """Path, lowest bit and width of every field."""
    if isinstance(shape, data.StructLayout):
        for name, field in shape:
            yield from _fields(field.shape, (*path, name), offset + field.offset, elements)
    elif isinstance(shape, data.ArrayLayout) and (names := elements.get(".".join(path))) is not None:
        for part, (_, field) in zip(names, shape, strict=True):
            if part is not None:
                yield from _fields(field.shape, (*path, part), offset + field.offset, elements)
    else:
        yield path, offset, Shape.cast(shape).width


def flat_ports(
    component: wiring.Component, *, names: Mapping[str, str] | None = None,
    elements: Mapping[str, Sequence[str | None]] | None = None,
) -> list[FlatPort]:
    """The ports of :class:`Flat`, in the order of the signature and of the layouts.

    Raises
    ------
    ValueError
        If two fields would have the same name.
    """
    found: dict[str, FlatPort] = {}
    for member, description, value in component.signature.flatten(component):
        shape = value.shape() if isinstance(value, data.View) else Value.cast(value).shape()
        member = tuple(map(str, member))
        for path, offset, width in _fields(shape, member, 0, elements or {}):
            parts = [(names or {}).get(part, part) for part in path]
            if len(path) > len(member) and member[-1] == _PAYLOAD:
                del parts[len(member) - 1]
            port = FlatPort(
                name="_".join(filter(None, parts)), path=path, member=member, offset=offset, width=width,
                is_input=description.flow is In,
            )
            if port.name in found:
                raise ValueError(f"{port.dotted} and {found[port.name].dotted} would both be called {port.name}")
            found[port.name] = port
    return list(found.values())


class Flat(Component):
    """``component`` with a port for each field of its ports: wires only, no registers, no added latency.

    Each field of a structure, nested or not, is a port; an array is one port, its first element in the lowest bits. A
    port is named after the path to it, with underscores; the payload of a stream is named after the stream.

    Parameters
    ----------
    component : wiring.Component
        The component inside, as submodule ``sm``.
    names : mapping of str to str
        Replacements for parts of a path; an empty one leaves the part out.
    elements : mapping of str to sequence
        For the path (with dots) of an array: the names of its elements, each of which is then a port; None omits an
        output.

    Raises
    ------
    ValueError
        If two ports would have the same name.
    """

    def __init__(
        self, component: wiring.Component, *, names: Mapping[str, str] | None = None,
        elements: Mapping[str, Sequence[str | None]] | None = None,
    ) -> None:
        self._component = component
        self.ports = flat_ports(component, names=names, elements=elements)
        #: One per field; the layout of the field gives its meaning.
        super().__init__({port.name: In(port.width) if port.is_input else Out(port.width) for port in self.ports})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.sm = component = self._component
        values = {tuple(map(str, path)): value for path, _, value in component.signature.flatten(component)}
        for port in self.ports:
            inside = Value.cast(values[port.member])[port.offset : port.offset + port.width]
            outside = getattr(self, port.name)
            m.d.comb += inside.eq(outside) if port.is_input else outside.eq(inside)
        return m
