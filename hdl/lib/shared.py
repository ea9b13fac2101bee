"""One Verilog module for many identical parts: a lane is elaborated once, whatever the number of threads."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from typing import Any

from amaranth.back import verilog
from amaranth.hdl import ClockSignal, Instance, Module, ResetSignal, Value
from amaranth.lib import wiring

__all__ = ["SharedModules", "own_yosys", "share_lanes", "share_module", "to_verilog"]

#: Where Amaranth looks for the program that writes its Verilog.
_YOSYS = "AMARANTH_USE_YOSYS"


@contextlib.contextmanager
def own_yosys() -> Iterator[None]:
    """Make Amaranth use the wheel's Yosys within the block.

    It would prefer an installed one of any version, and the same sources would give different bytes.
    """
    before = os.environ.get(_YOSYS)
    os.environ[_YOSYS] = "builtin"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_YOSYS]
        else:
            os.environ[_YOSYS] = before


def to_verilog(component: wiring.Component, *, name: str, platform: object) -> str:
    """The Verilog of ``component`` as module ``name``, by the wheel's Yosys."""
    with own_yosys():
        text: str = verilog.convert(
            component, name=name, platform=platform, emit_src=False, strip_internal_attrs=True
        )
    return text


class SharedModules:
    """A platform that puts the parts added by :func:`share_lanes` into modules of their own.

    Elaborate the design with it, then add :attr:`text` to the design's own Verilog. Parts may share parts.

    Parameters
    ----------
    prefix : str
        The modules are called ``<prefix>_<class>``, with a number appended from the second set of arguments on.
    """

    def __init__(self, *, prefix: str) -> None:
        self._prefix = prefix
        #: By class and arguments: the module's name, its port names and the signature of the part.
        self._modules: dict[tuple, tuple[str, list[str], wiring.Signature]] = {}
        #: Names of modules without their numbers, once for each module.
        self._names: list[str] = []
        self._texts: list[str] = []

    @property
    def text(self) -> str:
        """The Verilog of all shared modules, in the order of their first use."""
        return "".join(self._texts)

    def lanes(self, m: Module, part: type[wiring.Component], count: int, arguments: dict[str, Any]) -> list[Any]:
        """Add the instances ``lane0``.. of ``part(**arguments)`` to ``m``; return interfaces with their ports."""
        return self.instances(m, part, count, "lane", arguments)

    def instances(
        self, m: Module, part: type[wiring.Component], count: int, name: str, arguments: dict[str, Any]
    ) -> list[Any]:
        """Add ``count`` instances of one module to ``m``, ``name`` followed by their number; return their ports."""
        key = (part, *sorted(arguments.items()))
        if key not in self._modules:
            self._modules[key] = self._make(part, arguments)
        module, names, signature = self._modules[key]
        domain = {"clk": ClockSignal(), "rst": ResetSignal()}
        interfaces = []
        for i in range(count):
            interface = signature.create(path=(f"{name}{i}",))
            ports = [("i", port, domain[port]) for port in domain if port in names]
            for path, member, value in signature.flatten(interface):
                is_input = member.flow is wiring.In  # type: ignore[attr-defined]  # the stubs take a member for its flow
                ports.append(("i" if is_input else "o", "__".join(map(str, path)), Value.cast(value)))
            m.submodules[f"{name}{i}"] = Instance(module, *ports)
            interfaces.append(interface)
        return interfaces

    def unused_name(self, part: type[wiring.Component]) -> str:
        """A name for another module for ``part``."""
        words = re.findall("[A-Z][a-z0-9]*", part.__name__)
        name = "_".join([self._prefix, *(word.lower() for word in words)])
        self._names.append(name)
        same = self._names.count(name)
        return name if same == 1 else f"{name}_{same}"

    def _make(self, part: type[wiring.Component], arguments: dict[str, Any]) -> tuple[str, list[str], wiring.Signature]:
        name = self.unused_name(part)
        component = part(**arguments)
        text = to_verilog(component, name=name, platform=self)
        header = re.search(rf"^module {re.escape(name)}\(([^)]*)\);", text, re.MULTILINE)
        assert header is not None, f"{name} has no header"
        self._texts.append(text)
        return name, [port.strip() for port in header[1].split(",")], component.signature


def share_lanes(
    m: Module, platform: object, part: type[wiring.Component], count: int, **arguments: Any
) -> list[Any]:
    """Add ``count`` parts ``part(**arguments)`` to ``m`` as submodules ``lane0``..; return objects with their ports.

    With a :class:`SharedModules` platform, parts with equal arguments are instances of one module, elaborated once;
    with any other, each part is an ordinary submodule. ``arguments`` must be hashable. The parts live in domain sync.
    """
    if isinstance(platform, SharedModules):
        return platform.lanes(m, part, count, arguments)
    lanes = [part(**arguments) for _ in range(count)]
    for i, lane in enumerate(lanes):
        m.submodules[f"lane{i}"] = lane
    return lanes


def share_module(
    m: Module, platform: object, part: type[wiring.Component], count: int, *, name: str, **arguments: Any
) -> list[Any]:
    """Add ``count`` parts as :func:`share_lanes` does, as submodules ``name`` followed by their number.

    Each stays a part of its own with every :class:`SharedModules`, also where lanes become a loop: for parts that are
    too large for that.
    """
    if isinstance(platform, SharedModules):
        return platform.instances(m, part, count, name, arguments)
    parts = [part(**arguments) for _ in range(count)]
    for i, each in enumerate(parts):
        m.submodules[f"{name}{i}"] = each
    return parts
